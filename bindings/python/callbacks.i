// SPDX-License-Identifier: Apache-2.0
// Python functions as callbacks of the library. Each holds the interpreter while it runs, and an
// exception inside travels through the library and comes out as itself.
%nothread trace_new;
%nothread trace_call;
%nothread checkpoint_call;
%nothread custom_call;
%nothread check_gradients;
%nothread trace_function;

%fragment("callbacks", "header", fragment="results") {
  static PyObject* tuple_of_handles(mt_tensor* const* tensors, size_t n) {
    PyObject* tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; tuple && i < n; i++) {
      PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, from_borrowed(tensors[i]));
    }
    return tuple;
  }

  // Hands the tensors in `value`, a sequence, to the library: new handles of its own scope, since
  // those in Python may end with `value`.
  static bool give_results(PyObject* value, mt_tensor** results, size_t n) {
    PyObject* items = PySequence_Fast(value, "the callback returned no sequence of tensors");
    if (!items) return false;
    size_t given = (size_t)PySequence_Fast_GET_SIZE(items);
    bool fine = given <= n;
    if (!fine) {
      PyErr_Format(PyExc_ValueError, "the function returned %zu tensors, at most %zu were expected",
                   given, n);
    }
    for (size_t i = 0; fine && i < given; i++) {
      PyObject* item = PySequence_Fast_GET_ITEM(items, (Py_ssize_t)i);
      mt_tensor* tensor = NULL;
      if (item == Py_None) continue;
      if (!is_tensor(item, &tensor)) {
        PyErr_Format(PyExc_TypeError, "the function returned %s where a tensor was expected",
                     Py_TYPE(item)->tp_name);
        fine = false;
      } else {
        results[i] = mt_astype(tensor, mt_dtype_of(tensor));
      }
    }
    Py_DECREF(items);
    return fine && !raise_error();
  }

  static mt_status finish(PyObject* value, mt_tensor** results, size_t n, python_entry entry) {
    bool fine = value && give_results(value, results, n);
    Py_XDECREF(value);
    if (!fine) keep_raised();
    leave_python(entry);
    return fine ? MT_OK : MT_EUSER;
  }

  static mt_status call_function(void* user, mt_tensor* const* inputs, size_t ninputs,
                                 mt_tensor** results, size_t nresults) {
    python_entry entry = enter_python();
    PyObject* arguments = tuple_of_handles(inputs, ninputs);
    PyObject* value = arguments ? PyObject_CallObject((PyObject*)user, arguments) : NULL;
    Py_XDECREF(arguments);
    return finish(value, results, nresults, entry);
  }

  static mt_status call_forward(void* user, mt_tensor* const* inputs, size_t ninputs,
                                mt_tensor** results, size_t nresults) {
    python_entry entry = enter_python();
    PyObject* x = tuple_of_handles(inputs, ninputs);
    PyObject* value = x ? PyObject_CallMethod((PyObject*)user, "forward", "(O)", x) : NULL;
    Py_XDECREF(x);
    return finish(value, results, nresults, entry);
  }

  static mt_status call_backward(void* user, mt_tensor* const* inputs, size_t ninputs,
                                 mt_tensor* const* results, size_t nresults,
                                 mt_tensor* const* result_gradients, mt_tensor** gradients) {
    python_entry entry = enter_python();
    PyObject *x = tuple_of_handles(inputs, ninputs), *y = tuple_of_handles(results, nresults),
             *dy = tuple_of_handles(result_gradients, nresults), *value = NULL;
    if (x && y && dy) value = PyObject_CallMethod((PyObject*)user, "backward", "(OOO)", x, y, dy);
    Py_XDECREF(x);
    Py_XDECREF(y);
    Py_XDECREF(dy);
    return finish(value, gradients, ninputs, entry);
  }

  static void drop_object(void* user) {
    if (!Py_IsInitialized()) return;
    python_entry entry = enter_python();
    Py_DECREF((PyObject*)user);
    leave_python(entry);
  }
}
%fragment("callbacks");

%newobject trace_function;
%inline %{
// The function is borrowed: the Python object around the trace keeps it.
static mt_trace* trace_function(PyObject* function) { return mt_trace_new(call_function, function); }

static PyObject* trace_call(mt_trace* trace, tensor_list* inputs, size_t count) {
  mt_tensor** results = new_results(count);
  Py_BEGIN_ALLOW_THREADS
  mt_trace_call(trace, inputs->tensors, inputs->n, results, count);
  Py_END_ALLOW_THREADS
  return take_set_results(results, count);
}

static PyObject* checkpoint_call(PyObject* function, tensor_list* inputs, size_t count) {
  mt_tensor** results = new_results(count);
  Py_BEGIN_ALLOW_THREADS
  mt_checkpoint(call_function, function, inputs->tensors, inputs->n, results, count);
  Py_END_ALLOW_THREADS
  return take_set_results(results, count);
}

static PyObject* custom_call(const char* name, PyObject* callbacks, tensor_list* inputs,
                             size_t count) {
  mt_tensor** results = new_results(count);
  mt_operator operation = {sizeof operation, name,        call_forward,
                           call_backward,    drop_object, callbacks};
  mt_status status;
  Py_INCREF(callbacks);
  Py_BEGIN_ALLOW_THREADS
  status = mt_custom(&operation, inputs->tensors, inputs->n, results, count);
  Py_END_ALLOW_THREADS
  if (status != MT_OK) Py_DECREF(callbacks);
  return take_set_results(results, count);
}

static void check_gradients(PyObject* function, tensor_list* inputs,
                            mt_gradient_check_options* options) {
  Py_BEGIN_ALLOW_THREADS
  mt_gradient_check(call_function, function, inputs->tensors, inputs->n, options);
  Py_END_ALLOW_THREADS
}
%}

// Kernels: a Python function for each cell, or a C function's address, and CUDA C.
%nothread kernel_of_address;
%nothread kernel_of_cells;
%nothread kernel_run;

%fragment("kernels", "header", fragment="callbacks") {
  static mt_status call_cell(void* user, const mt_cell* at, const void* const* inputs,
                             void* const* results, const double* numbers) {
    (void)numbers;  // the object has those that were given
    python_entry entry = enter_python();
    const int64_t *b = at->block, *t = at->thread, *s = at->block_size, *g = at->grid_size;
    PyObject* done = PyObject_CallMethod(
        (PyObject*)user, "run", "((LLL)(LLL)(LLL)(LLL)KK)", b[0], b[1], b[2], t[0], t[1], t[2], s[0],
        s[1], s[2], g[0], g[1], g[2], (unsigned long long)(uintptr_t)inputs,
        (unsigned long long)(uintptr_t)results);
    Py_XDECREF(done);
    if (!done) keep_raised();
    leave_python(entry);
    return done ? MT_OK : MT_EUSER;
  }

  // Reads a list of numbers into an array that the caller frees.
  static double* doubles_of(PyObject* list, size_t* count) {
    *count = (size_t)PyList_Size(list);
    double* numbers = malloc((*count + 1) * sizeof *numbers);
    for (size_t i = 0; numbers && i < *count; i++) {
      numbers[i] = PyFloat_AsDouble(PyList_GET_ITEM(list, (Py_ssize_t)i));
    }
    return numbers;
  }
}
%fragment("kernels");

%newobject kernel_of_address;
%newobject kernel_of_cells;
%inline %{
static mt_kernel* kernel_of_address(const char* name, const char* cuda, unsigned long long address) {
  mt_kernel_definition definition = {sizeof definition, name, cuda, NULL, false, NULL, NULL};
  *(void**)&definition.cell = (void*)(uintptr_t)address;
  return mt_kernel_new(&definition);
}

static mt_kernel* kernel_of_cells(const char* name, PyObject* cells) {
  mt_kernel_definition definition = {sizeof definition, name, NULL, call_cell, true, drop_object,
                                     cells};
  mt_kernel* kernel = mt_kernel_new(&definition);
  if (kernel) Py_INCREF(cells);
  return kernel;
}

static PyObject* kernel_run(mt_kernel* kernel, PyObject* grid, PyObject* block,
                            int64_t shared_bytes, const char* device, tensor_list* inputs,
                            PyObject* numbers, PyObject* shapes, PyObject* dtypes) {
  mt_launch launch = {sizeof launch, {0}, {0}, shared_bytes, device};
  size_t count = (size_t)PyList_Size(shapes), nnumbers = 0, ndim = 0;
  for (Py_ssize_t d = 0; d < 3; d++) {
    launch.grid[d] = PyLong_AsLongLong(PyList_GET_ITEM(grid, d));
    launch.block[d] = PyLong_AsLongLong(PyList_GET_ITEM(block, d));
  }
  mt_tensor** results = new_results(count);
  mt_kernel_result* forms = calloc(count + 1, sizeof *forms);
  int64_t* dims = calloc(count + 1, most_integers * sizeof *dims);
  double* values = doubles_of(numbers, &nnumbers);
  bool fine = results && forms && dims && values && !PyErr_Occurred();
  for (size_t i = 0; fine && i < count; i++) {
    int64_t* sizes = dims + i * most_integers;
    fine = fill_integers(PyList_GET_ITEM(shapes, (Py_ssize_t)i), sizes, &ndim);
    forms[i] = (mt_kernel_result){sizes, ndim,
                                  (mt_dtype)PyLong_AsLong(PyList_GET_ITEM(dtypes, (Py_ssize_t)i))};
  }
  if (fine) {
    Py_BEGIN_ALLOW_THREADS
    mt_kernel_call(kernel, &launch, inputs->tensors, inputs->n, values, nnumbers, forms, results,
                   count);
    Py_END_ALLOW_THREADS
  }
  free(forms);
  free(dims);
  free(values);
  if (fine) return take_results(results, count);
  free(results);
  return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}
%}
