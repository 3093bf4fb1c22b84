// SPDX-License-Identifier: Apache-2.0
// The C interface as SWIG sees it, for every language: names, ownership, what is left out. A
// language's own module defines its typemaps first and includes this file.
%include <stdint.i>

%rename("%(strip:[mt_])s") "";

// What only C and C++ need.
%ignore mt_take;
%ignore mt_retain;
%ignore mt_release;
%ignore mt_scope;
%ignore mt_scope_begin;
%ignore mt_scope_end;
%ignore mt_free_string;
%ignore mt_map;
%ignore mt_map_strided;
%ignore mt_unmap;
%ignore mt_copy_to_host;
%ignore mt_from_data;
%ignore mt_wrap;
%ignore mt_wrap_mutable;
%ignore mt_error;
%ignore mt_error_message;
%ignore mt_clear;
%ignore mt_set_error;
%ignore mt_before_work;
%ignore mt_device_stream;
%ignore mt_wait_for_stream;
%ignore mt_let_stream_wait;
%ignore mt_index_item;
%ignore mt_operator;
%ignore mt_function;
%ignore mt_cell;
%ignore mt_cell_function;
%ignore mt_kernel_definition;
%ignore mt_launch;
%ignore mt_kernel_result;
%ignore mt_kernel_new;
%ignore mt_kernel_call;
%ignore struct_size;
%ignore MT_MAKE_VERSION;
%ignore MT_VERSION;

// These take functions or fill arrays of results: each language has its own form of them.
%ignore mt_split;
%ignore mt_topk;
%ignore mt_rnn;
%ignore mt_gru;
%ignore mt_lstm;
%ignore mt_apply_recurrent;
%ignore mt_transformer_options;
%ignore mt_layer_transformer;
%ignore mt_unique_all;
%ignore mt_slogdet;
%ignore mt_qr;
%ignore mt_eigh;
%ignore mt_svd;
%ignore mt_grad;
%ignore mt_tape_inputs;
%ignore mt_tape_dims;
%ignore mt_tape_gradient;
%ignore mt_tape_replay;
%ignore mt_checkpoint;
%ignore mt_custom;
%ignore mt_gradient_check;
%ignore mt_trace_new;
%ignore mt_trace_call;
%ignore mt_dims;
%ignore mt_loader_new;
%ignore mt_loader_next;
%ignore mt_loader_options;
%ignore mt_generator_state;
%ignore mt_to_dlpack;
%ignore mt_from_dlpack;
%ignore mt_to_dlpack_unversioned;
%ignore mt_from_dlpack_unversioned;

// Text that the caller frees.
%typemap(newfree) char* "mt_free_string($1);"
%newobject mt_to_string;
%newobject mt_to_text;
%newobject mt_tape_to_string;
%newobject mt_tape_to_dot;
%newobject mt_explain;
%newobject mt_explain_dot;
%newobject mt_explain_trace;
%newobject mt_explain_trace_dot;
%newobject mt_profile_text;
%newobject mt_device_description;

// Objects with one release function each. MT_OBJECT(type, name in the language, release). A language
// with classes of its own for them defines this, and the two below, before it includes this file.
#ifndef MT_OBJECT
%define MT_OBJECT(type, name, release)
%rename(name) type;
%nodefaultctor type;
struct type {
  %extend {
    ~type() { release($self); }
  }
};
%ignore release;
%enddef
#endif
#ifndef SWIGPYTHON  // which has a type of its own, for speed
MT_OBJECT(mt_tensor, Tensor, mt_release)
#endif
MT_OBJECT(mt_parameters, Parameters, mt_parameters_release)
MT_OBJECT(mt_optimizer, Optimizer, mt_optimizer_release)
MT_OBJECT(mt_tape, Tape, mt_tape_release)
MT_OBJECT(mt_trace, Trace, mt_trace_release)
MT_OBJECT(mt_profile, Profile, mt_profile_release)
MT_OBJECT(mt_kernel, Kernel, mt_kernel_release)
MT_OBJECT(mt_generator, Generator, mt_generator_release)
MT_OBJECT(mt_loader, Loader, mt_loader_release)
%newobject mt_parameters_new;
%newobject mt_load_npz;
%newobject mt_load_safetensors;
%newobject mt_optimizer_sgd;
%newobject mt_optimizer_adam;
%newobject mt_optimizer_adamw;
%newobject mt_optimizer_rmsprop;
%newobject mt_optimizer_adagrad;
%newobject mt_optimizer_state;
%newobject mt_tape_begin;
%newobject mt_generator_new;
%newobject mt_profile_start;

// A layer belongs to its collection.
#ifndef MT_OWN_LAYER
%rename(Layer) mt_layer;
%nodefaultctor mt_layer;
%nodefaultdtor mt_layer;
struct mt_layer {};
#endif

// Structs of options begin with every default.
#ifndef MT_OPTIONS
%define MT_OPTIONS(type, defaults)
%extend type {
  type() {
    type initial = defaults;
    type* options = malloc(sizeof *options);
    if (options) *options = initial;
    return options;
  }
}
%enddef
#endif

// A language may define what holds for the headers whose functions record operators.
#ifndef MT_RECORDING_BEGINS
%define MT_RECORDING_BEGINS
%enddef
%define MT_RECORDING_ENDS
%enddef
#endif

%include <mtorch/version.h>
%include <mtorch/error.h>
%include <mtorch/tensor.h>
MT_RECORDING_BEGINS
%include <mtorch/ops.h>
%include <mtorch/reduce.h>
%include <mtorch/view.h>
%include <mtorch/linear.h>
%include <mtorch/random.h>
MT_RECORDING_ENDS
%include <mtorch/linalg.h>
%include <mtorch/tape.h>
%include <mtorch/trace.h>
%include <mtorch/profile.h>
%include <mtorch/kernel.h>
%include <mtorch/nn.h>
%include <mtorch/optim.h>
%include <mtorch/data.h>
%include <mtorch/io.h>
%include <mtorch/device.h>

MT_OPTIONS(mt_conv_options, MT_CONV_OPTIONS_INIT)
MT_OPTIONS(mt_pool_options, MT_POOL_OPTIONS_INIT)
MT_OPTIONS(mt_batch_norm_options, MT_BATCH_NORM_OPTIONS_INIT)
MT_OPTIONS(mt_attention_options, MT_ATTENTION_OPTIONS_INIT)
MT_OPTIONS(mt_cross_entropy_options, MT_CROSS_ENTROPY_OPTIONS_INIT)
MT_OPTIONS(mt_backward_options, MT_BACKWARD_OPTIONS_INIT)
MT_OPTIONS(mt_gradient_check_options, MT_GRADIENT_CHECK_OPTIONS_INIT)
MT_OPTIONS(mt_sgd_options, MT_SGD_OPTIONS_INIT)
MT_OPTIONS(mt_adam_options, MT_ADAM_OPTIONS_INIT)
MT_OPTIONS(mt_rmsprop_options, MT_RMSPROP_OPTIONS_INIT)
MT_OPTIONS(mt_adagrad_options, MT_ADAGRAD_OPTIONS_INIT)
MT_OPTIONS(mt_memory, MT_MEMORY_INIT)
