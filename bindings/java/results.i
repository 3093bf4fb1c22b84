// SPDX-License-Identifier: Apache-2.0
// Functions with several results, and what Java asks for in another form than C.
%typemap(jni) tensor_list "jlongArray"
%typemap(jtype) tensor_list "long[]"
%typemap(jstype) tensor_list "Tensor[]"
%typemap(out, null="NULL") tensor_list "$result = take_results(jenv, &$1);"
%typemap(javaout) tensor_list {
    return Tensor.ownAll($jnicall);
  }
%typemap(jni) integer_list "jlongArray"
%typemap(jtype) integer_list "long[]"
%typemap(jstype) integer_list "long[]"
%typemap(out, null="NULL") integer_list {
  $result = (*jenv)->NewLongArray(jenv, (jsize)$1.n);
  if ($result) (*jenv)->SetLongArrayRegion(jenv, $result, 0, (jsize)$1.n, (const jlong*)$1.items);
}
%typemap(javaout) integer_list {
    return $jnicall;
  }

// Functions that speak to Java themselves.
%typemap(in, numinputs=0) JNIEnv* "$1 = jenv;"
%define MT_JAVA_PLAIN(c_type, java_type)
%typemap(jni) c_type #c_type
%typemap(jtype) c_type #java_type
%typemap(jstype) c_type #java_type
%typemap(javain) c_type "$javainput"
%typemap(in) c_type "$1 = $input;"
%typemap(out) c_type "$result = $1;"
%typemap(javaout) c_type {
    return $jnicall;
  }
%enddef
MT_JAVA_PLAIN(jlongArray, long[])
MT_JAVA_PLAIN(jobject, Object)

%{
typedef struct {
  const int64_t* items;
  size_t n;
} integer_list;

static tensor_list new_results(size_t n) {
  return (tensor_list){calloc(n + 1, sizeof(mt_tensor*)), n};
}

// The handles as Java's numbers, which then owns them. Frees the list. After an error all are NULL.
static jlongArray take_results(JNIEnv* jenv, tensor_list* list) {
  for (size_t i = 0; i < list->n; i++) {
    if (list->items[i]) mt_take(list->items[i]);
  }
  jlongArray array = (*jenv)->NewLongArray(jenv, (jsize)list->n);
  if (array) {
    (*jenv)->SetLongArrayRegion(jenv, array, 0, (jsize)list->n, (const jlong*)list->items);
  }
  free(list->items);
  return array;
}

// Frees the list when the call failed, so that the exception may leave.
static tensor_list finish(tensor_list list) {
  if (mt_error() != MT_OK) {
    free(list.items);
    list = (tensor_list){NULL, 0};
  }
  return list;
}
%}

%inline %{
static void release(int kind, int64_t address) {
  void* object = (void*)address;
  switch (kind) {
    case 0: mt_release(object); break;
    case 1: mt_parameters_release(object); break;
    case 2: mt_optimizer_release(object); break;
    case 3: mt_tape_release(object); break;
    case 4: mt_generator_release(object); break;
    case 6: mt_loader_release(object); break;
    case 7: mt_kernel_release(object); break;
    case 8: mt_profile_release(object); break;
  }
}

static void require_grad(mt_tensor* x) { mt_require_grad(x); }

static integer_list shape(mt_tensor* x) {
  const int64_t* dims = mt_dims(x);
  return (integer_list){dims, dims ? mt_ndim(x) : 0};
}
static int ndim(mt_tensor* x) { return (int)mt_ndim(x); }

static tensor_list split(mt_tensor* x, const int64_t* dims, size_t ndim, int64_t axis) {
  tensor_list list = new_results(ndim);
  mt_split(x, dims, ndim, axis, list.items);
  return finish(list);
}
static tensor_list topk(mt_tensor* x, int64_t k, int64_t axis, bool largest) {
  tensor_list list = new_results(2);
  mt_topk(x, k, axis, largest, &list.items[0], &list.items[1]);
  return finish(list);
}
static tensor_list unique_all(mt_tensor* x) {
  tensor_list list = new_results(4);
  mt_tensor** r = list.items;
  mt_unique_all(x, &r[0], &r[1], &r[2], &r[3]);
  return finish(list);
}

static tensor_list slogdet(mt_tensor* x) {
  tensor_list list = new_results(2);
  mt_slogdet(x, &list.items[0], &list.items[1]);
  return finish(list);
}
static tensor_list qr(mt_tensor* x, bool complete) {
  tensor_list list = new_results(2);
  mt_qr(x, complete, &list.items[0], &list.items[1]);
  return finish(list);
}
static tensor_list eigh(mt_tensor* x) {
  tensor_list list = new_results(2);
  mt_eigh(x, &list.items[0], &list.items[1]);
  return finish(list);
}
static tensor_list svd(mt_tensor* x, bool full) {
  tensor_list list = new_results(3);
  mt_svd(x, full, &list.items[0], &list.items[1], &list.items[2]);
  return finish(list);
}

static tensor_list rnn(mt_tensor* x, mt_tensor* state, mt_tensor* weight_ih, mt_tensor* weight_hh,
                       mt_tensor* bias_ih, mt_tensor* bias_hh) {
  tensor_list list = new_results(2);
  mt_rnn(x, state, weight_ih, weight_hh, bias_ih, bias_hh, &list.items[0], &list.items[1]);
  return finish(list);
}
static tensor_list gru(mt_tensor* x, mt_tensor* state, mt_tensor* weight_ih, mt_tensor* weight_hh,
                       mt_tensor* bias_ih, mt_tensor* bias_hh) {
  tensor_list list = new_results(2);
  mt_gru(x, state, weight_ih, weight_hh, bias_ih, bias_hh, &list.items[0], &list.items[1]);
  return finish(list);
}
static tensor_list lstm(mt_tensor* x, mt_tensor* state, mt_tensor* cell, mt_tensor* weight_ih,
                        mt_tensor* weight_hh, mt_tensor* bias_ih, mt_tensor* bias_hh) {
  tensor_list list = new_results(3);
  mt_tensor** r = list.items;
  mt_lstm(x, state, cell, weight_ih, weight_hh, bias_ih, bias_hh, &r[0], &r[1], &r[2]);
  return finish(list);
}

static tensor_list apply_recurrent(mt_layer* layer, mt_tensor* x, mt_tensor* states,
                                   mt_tensor* cells) {
  tensor_list list = new_results(3);
  mt_tensor** r = list.items;
  mt_apply_recurrent(layer, x, states, cells, &r[0], &r[1], &r[2]);
  return finish(list);
}
static mt_layer* layer_transformer(mt_parameters* parameters, const char* name, int64_t width,
                                   int64_t heads, int64_t hidden, double dropout,
                                   const char* activation, bool norm_first, bool causal,
                                   double epsilon) {
  mt_transformer_options options = {sizeof options, hidden, dropout, activation,
                                    norm_first,     causal, epsilon};
  return mt_layer_transformer(parameters, name, width, heads, &options);
}

static mt_loader* new_loader(tensor_list* tensors, int64_t batch_size, bool shuffle, int64_t seed,
                             bool drop_last, int64_t prefetch, const char* device) {
  mt_loader_options options = {sizeof options, shuffle, seed, drop_last, prefetch, device};
  return mt_loader_new(tensors->items, tensors->n, batch_size, &options);
}
static tensor_list loader_batch(mt_loader* loader, int width) {
  tensor_list list = new_results((size_t)width);
  mt_loader_next(loader, list.items);
  return finish(list);
}

static void backward_with(mt_tensor* x, mt_tensor* gradient, bool retain, bool differentiable) {
  mt_backward_options options = MT_BACKWARD_OPTIONS_INIT;
  options.retain = retain;
  options.differentiable = differentiable;
  mt_backward_with(x, gradient, &options);
}
static tensor_list gradients(tensor_list* outputs, tensor_list* inputs, tensor_list* given) {
  tensor_list list = new_results(inputs->n);
  if (given->n && given->n != outputs->n) {
    mt_set_error(MT_EINVAL, "grad: one output gradient for each output");
  } else {
    mt_grad(outputs->items, outputs->n, inputs->items, inputs->n, given->n ? given->items : NULL,
            list.items);
  }
  return finish(list);
}
static bool set_recording(bool record) { return mt_set_grad_mode(record); }

static integer_list tape_dims(mt_tape* tape, size_t i) {
  const int64_t* dims = mt_tape_dims(tape, i);
  return (integer_list){dims, dims ? mt_tape_ndim(tape, i) : 0};
}
static jlongArray tape_inputs(JNIEnv* jenv, mt_tape* tape, size_t i) {
  size_t n = mt_tape_inputs(tape, i, NULL, 0);
  int64_t* indices = calloc(n + 1, sizeof *indices);
  jlongArray array = indices && mt_error() == MT_OK ? (*jenv)->NewLongArray(jenv, (jsize)n) : NULL;
  if (array) {
    mt_tape_inputs(tape, i, indices, n);
    (*jenv)->SetLongArrayRegion(jenv, array, 0, (jsize)n, (const jlong*)indices);
  }
  free(indices);
  return array;
}
static tensor_list tape_gradients(mt_tape* tape, mt_tensor* output, tensor_list* inputs) {
  tensor_list list = new_results(inputs->n);
  mt_tape_gradient(tape, output, inputs->items, inputs->n, list.items);
  return finish(list);
}
static tensor_list tape_again(mt_tape* tape, tensor_list* inputs, tensor_list* replacements,
                              tensor_list* outputs) {
  tensor_list list = new_results(outputs->n);
  if (replacements->n != inputs->n) {
    mt_set_error(MT_EINVAL, "tape_replay: one replacement for each input");
  } else {
    mt_tape_replay(tape, inputs->items, inputs->n, replacements->items, outputs->items,
                   outputs->n, list.items);
  }
  return finish(list);
}

// used, peak, cached, limit, allocations: 0 to 4.
static int64_t memory_number(const char* device, int which) {
  mt_memory memory = MT_MEMORY_INIT;
  mt_memory_read(device, &memory);
  const int64_t numbers[] = {memory.used, memory.peak, memory.cached, memory.limit,
                             memory.allocations};
  return numbers[which];
}

static int64_t generator_number(mt_generator* generator, bool counter) {
  uint64_t numbers[2] = {0, 0};
  mt_generator_state(generator, &numbers[0], &numbers[1]);
  return (int64_t)numbers[counter];
}
static int64_t new_generator(uint64_t seed) { return (int64_t)mt_generator_new(seed); }

static void say_virtual(void) { any_virtual = 1; }
%}
