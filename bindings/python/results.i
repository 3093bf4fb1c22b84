// SPDX-License-Identifier: Apache-2.0
// Functions with several results: lists in Python. They hold the interpreter where they touch its
// objects and let go of it around the library's work.
%nothread split_into;
%nothread largest;
%nothread unique_parts;
%nothread matrix_parts;
%nothread recurrent;
%nothread new_loader;
%nothread loader_batch;
%nothread apply_recurrent;
%nothread gradients;
%nothread tape_node_inputs;
%nothread tape_node_shape;
%nothread tape_gradients;
%nothread tape_again;
%nothread generator_get_state;

%fragment("results", "header") {
  static PyObject* tuple_of_sizes(const int64_t* sizes, size_t n) {
    PyObject* tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; tuple && i < n; i++) {
      PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, PyLong_FromLongLong(sizes[i]));
    }
    return tuple;
  }

  // The tensors of a function of the user's own: those that it set.
  static PyObject* take_results(mt_tensor** results, size_t n);
  static PyObject* take_set_results(mt_tensor** results, size_t most) {
    while (results && most && !results[most - 1]) most--;
    return take_results(results, most);
  }

  // New tensors as a list; NULLs as None. Frees the array.
  static PyObject* take_results(mt_tensor** results, size_t n) {
    PyObject* list = results && mt_error() == MT_OK ? PyList_New((Py_ssize_t)n) : NULL;
    for (size_t i = 0; list && i < n; i++) PyList_SET_ITEM(list, (Py_ssize_t)i, from_tensor(results[i]));
    free(results);
    return list;
  }

  static mt_tensor** new_results(size_t n) { return calloc(n + 1, sizeof(mt_tensor*)); }
}

// The lists of tensors that a helper takes.
%typemap(in, fragment="tensor_list") tensor_list* (tensor_list list = {NULL, NULL, 0}) {
  if (!fill_tensor_list($input, &list)) SWIG_fail;
  $1 = &list;
}
%typemap(freearg) tensor_list* "free_tensor_list(&list$argnum);"
%fragment("tensor_list");
%fragment("results");

%newobject new_loader;

%inline %{
static PyObject* split_into(mt_tensor* x, const int64_t* dims, size_t ndim, int64_t axis) {
  mt_tensor** results = new_results(ndim);
  BEGIN_WORK
  mt_split(x, dims, ndim, axis, results);
  END_WORK
  return take_results(results, ndim);
}

static PyObject* largest(mt_tensor* x, int64_t k, int64_t axis, bool is_largest) {
  mt_tensor** results = new_results(2);
  BEGIN_WORK
  mt_topk(x, k, axis, is_largest, &results[0], &results[1]);
  END_WORK
  return take_results(results, 2);
}

static PyObject* unique_parts(mt_tensor* x, bool indices, bool inverse, bool counts) {
  mt_tensor** r = new_results(4);
  Py_BEGIN_ALLOW_THREADS
  mt_unique_all(x, &r[0], indices ? &r[1] : NULL, inverse ? &r[2] : NULL, counts ? &r[3] : NULL);
  Py_END_ALLOW_THREADS
  return take_results(r, 4);
}

// kind: "qr", "svd", "eigh" or "slogdet". `whole`: what else the first two can give.
static PyObject* matrix_parts(const char* kind, mt_tensor* x, bool whole) {
  size_t n = strcmp(kind, "svd") == 0 ? 3 : 2;
  mt_tensor** r = new_results(3);
  Py_BEGIN_ALLOW_THREADS
  if (n == 3) {
    mt_svd(x, whole, &r[0], &r[1], &r[2]);
  } else if (strcmp(kind, "qr") == 0) {
    mt_qr(x, whole, &r[0], &r[1]);
  } else {
    (strcmp(kind, "eigh") == 0 ? mt_eigh : mt_slogdet)(x, &r[0], &r[1]);
  }
  Py_END_ALLOW_THREADS
  return take_results(r, n);
}

// kind: "rnn", "gru" or "lstm". weights: both weights, then both biases or None.
static PyObject* recurrent(const char* kind, mt_tensor* x, mt_tensor* state, mt_tensor* cell,
                           tensor_list* weights) {
  mt_tensor **r = new_results(3), **w = weights->tensors;
  if (weights->n != 4) {
    free(r);
    PyErr_SetString(PyExc_ValueError, "two weights and two biases");
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  if (strcmp(kind, "lstm") == 0) {
    mt_lstm(x, state, cell, w[0], w[1], w[2], w[3], &r[0], &r[1], &r[2]);
  } else {
    (strcmp(kind, "gru") == 0 ? mt_gru : mt_rnn)(x, state, w[0], w[1], w[2], w[3], &r[0], &r[1]);
  }
  Py_END_ALLOW_THREADS
  return take_results(r, 3);
}

static mt_loader* new_loader(tensor_list* tensors, int64_t batch_size, bool shuffle, int64_t seed,
                             bool drop_last, int64_t prefetch, const char* device) {
  mt_loader_options options = {sizeof options, shuffle, seed, drop_last, prefetch, device};
  mt_loader* loader;
  Py_BEGIN_ALLOW_THREADS
  loader = mt_loader_new(tensors->tensors, tensors->n, batch_size, &options);
  Py_END_ALLOW_THREADS
  return loader;
}

static PyObject* loader_batch(mt_loader* loader, size_t width) {
  mt_tensor** results = new_results(width);
  Py_BEGIN_ALLOW_THREADS
  mt_loader_next(loader, results);
  Py_END_ALLOW_THREADS
  return take_results(results, width);
}

static PyObject* apply_recurrent(mt_layer* layer, mt_tensor* x, mt_tensor* states,
                                 mt_tensor* cells) {
  mt_tensor** r = new_results(3);
  Py_BEGIN_ALLOW_THREADS
  mt_apply_recurrent(layer, x, states, cells, &r[0], &r[1], &r[2]);
  Py_END_ALLOW_THREADS
  return take_results(r, 3);
}

static mt_layer* layer_transformer(mt_parameters* parameters, const char* name, int64_t width,
                                   int64_t heads, int64_t hidden, double dropout,
                                   const char* activation, bool norm_first, bool causal,
                                   double epsilon) {
  mt_transformer_options options = {sizeof options, hidden, dropout, activation,
                                    norm_first,     causal, epsilon};
  return mt_layer_transformer(parameters, name, width, heads, &options);
}

static PyObject* gradients(tensor_list* outputs, tensor_list* inputs, tensor_list* given) {
  mt_tensor** results = new_results(inputs->n);
  Py_BEGIN_ALLOW_THREADS
  mt_grad(outputs->tensors, outputs->n, inputs->tensors, inputs->n,
          given->n ? given->tensors : NULL, results);
  Py_END_ALLOW_THREADS
  return take_results(results, inputs->n);
}

static PyObject* tape_node_inputs(mt_tape* tape, size_t i) {
  size_t count = mt_tape_inputs(tape, i, NULL, 0);
  int64_t* indices = malloc((count + 1) * sizeof *indices);
  if (!indices) return PyErr_NoMemory();
  mt_tape_inputs(tape, i, indices, count);
  PyObject* tuple = tuple_of_sizes(indices, count);
  free(indices);
  return tuple;
}

static PyObject* tape_node_shape(mt_tape* tape, size_t i) {
  const int64_t* sizes = mt_tape_dims(tape, i);
  return tuple_of_sizes(sizes, sizes ? mt_tape_ndim(tape, i) : 0);
}

static PyObject* tape_gradients(mt_tape* tape, mt_tensor* output, tensor_list* inputs) {
  mt_tensor** results = new_results(inputs->n);
  Py_BEGIN_ALLOW_THREADS
  mt_tape_gradient(tape, output, inputs->tensors, inputs->n, results);
  Py_END_ALLOW_THREADS
  return take_results(results, inputs->n);
}

static PyObject* tape_again(mt_tape* tape, tensor_list* inputs, tensor_list* replacements,
                            tensor_list* outputs) {
  if (inputs->n != replacements->n) {
    PyErr_SetString(PyExc_ValueError, "one replacement for each input");
    return NULL;
  }
  mt_tensor** results = new_results(outputs->n);
  Py_BEGIN_ALLOW_THREADS
  mt_tape_replay(tape, inputs->tensors, inputs->n, replacements->tensors, outputs->tensors,
                 outputs->n, results);
  Py_END_ALLOW_THREADS
  return take_results(results, outputs->n);
}

static PyObject* generator_get_state(mt_generator* generator) {
  uint64_t key = 0, counter = 0;
  if (mt_generator_state(generator, &key, &counter) != MT_OK) return NULL;
  return Py_BuildValue("KK", (unsigned long long)key, (unsigned long long)counter);
}
%}
