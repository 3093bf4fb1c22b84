// SPDX-License-Identifier: Apache-2.0
// The natives under org.mtorch: C functions by their names without mt_, as static methods of the
// package's own class Native. The classes in src/main/java build on it what Java expects.
%module Native
%pragma(java) moduleclassmodifiers="final class"
%pragma(java) jniclassclassmodifiers="final class"
%pragma(java) jniclasscode=%{
  static {
    NativeLibrary.load();
  }
%}

%{
#include <limits.h>
#include <mtorch/mtorch.h>
#include <stdlib.h>
#include <string.h>
%}

%include "errors.i"
%include "typemaps.i"
%include "options.i"

// These have other forms below.
%ignore mt_status_name;
%ignore mt_require_grad;
%ignore mt_backward_with;
%ignore mt_backward_options;
%ignore mt_gradient_check_options;
%ignore mt_memory;
%ignore mt_memory_read;
%ignore mt_ndim;
%ignore mt_tape_ndim;
%ignore mt_set_grad_mode;
%ignore mt_no_grad_begin;
%ignore mt_no_grad_end;
%ignore mt_generator_new;
%ignore mt_trace_count;
%ignore mt_explain_trace;
%ignore mt_explain_trace_dot;

#define MT_OBJECT(type, name, release) %ignore release;
#define MT_OWN_LAYER
#define MT_OPTIONS(type, defaults)
%include "../mtorch.i"
%include "results.i"
%include "callbacks.i"
%include "kernels.i"
%include "memory.i"
