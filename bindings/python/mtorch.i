// SPDX-License-Identifier: Apache-2.0
// The extension under the Python package: C functions by their names without mt_. The package
// builds on it what Python expects: keywords, defaults, operators, protocols.
%module(package="mtorch") native

%{
#include <limits.h>
#include <mtorch/mtorch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

// SWIG keeps objects in static variables, which interpreters would take from each other. So its start
// has another name, behind one that lets only the main interpreter in.
#undef SWIG_init
#define SWIG_init mtorch_native_init
SWIGEXPORT PyObject* SWIG_init(void);

PyMODINIT_FUNC PyInit__native(void) {
  static PyObject* module;  // made once, also for a program that imports it anew
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "mtorch works in the main interpreter only, not in a sub-interpreter");
    return NULL;
  }
  if (!module) module = SWIG_init();
  // Else Python would give other interpreters a copy without asking.
  if (module) PyModule_GetDef(module)->m_size = 0;
  Py_XINCREF(module);
  return module;
}
%}

%include "errors.i"
%include "work.i"
%include "operators.i"
%include "typemaps.i"

// SWIG begins docstrings with an empty line, behind which Python does not see their signatures.
%init %{
  for (PyMethodDef* method = SwigMethods; method->ml_name; method++) {
    if (method->ml_doc && *method->ml_doc == '\n') method->ml_doc++;
  }
%}

// The interpreter is free for other threads while the library works, except in what only looks.
%nothread mt_ndim;
%nothread mt_dim;
%nothread mt_size;
%nothread mt_dtype_of;
%nothread mt_dtype_name;
%nothread mt_dtype_size;
%nothread mt_promote_types;
%nothread mt_device_of;
%nothread mt_requires_grad;
%nothread mt_is_leaf;
%nothread mt_grad_mode;
%nothread mt_set_grad_mode;
%nothread mt_no_grad_begin;
%nothread mt_no_grad_end;
%nothread mt_default_device;
%nothread mt_threads;
%nothread mt_eager;
%nothread mt_matmul_precision;
%nothread mt_set_matmul_precision;
%nothread mt_version;
%nothread mt_version_text;

// Structs of options refuse what they do not have.
%pythonnondynamic;

// x[key] is them.
%ignore mt_index;
%ignore mt_index_put;

%include "docstrings.i"
%include "../mtorch.i"
%include "indexing.i"
%include "results.i"
%include "sequences.i"
%include "callbacks.i"
%include "memory.i"
