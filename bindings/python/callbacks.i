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
