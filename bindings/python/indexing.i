// SPDX-License-Identifier: Apache-2.0
// x[key] and x[key] = value.
%fragment("index_list");
%fragment("indexing", "header", fragment="index_list") {
  // Whether only the interpreter's stack refers to an object, which is gone after this.
  static bool is_temporary(PyObject* object) {
#if PY_VERSION_HEX >= 0x030E0000
    return PyUnstable_Object_IsUniqueReferencedTemporary(object);
#else
    return Py_REFCNT(object) == 1;
#endif
  }

  // As a sequence has it, which NumPy asks in a list of tensors.
  static PyObject* slot_item(PyObject* object, Py_ssize_t i) {
    PyObject* key = PyLong_FromSsize_t(i);
    PyObject* item = key ? slot_get(object, key) : NULL;
    Py_XDECREF(key);
    return item;
  }

  static PyObject* slot_get(PyObject* object, PyObject* key) {
    index_list list;
    list.n = 0;
    list.of = object;
    list.kept = NULL;
    mt_tensor* y = NULL;
    if (fill_index_list(key, &list)) {
      BEGIN_WORK
      y = mt_index(((tensor_object*)object)->handle, list.items, list.n);
      END_WORK
    }
    Py_XDECREF(list.kept);
    if (y) return from_tensor(y);
    if (!PyErr_Occurred()) raise_error();
    return NULL;
  }

  static int slot_set(PyObject* object, PyObject* key, PyObject* value) {
    index_list list;
    list.n = 0;
    list.of = object;
    list.kept = NULL;
    mt_tensor *y = NULL, *number = NULL;
    PyObject* made = NULL;
    if (!value) {
      PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted");
      return -1;
    }
    if (is_temporary(object) &&
        PyErr_WarnEx(PyExc_RuntimeWarning,
                     "this assignment is lost: it changes a tensor that nothing else refers to. "
                     "x[i] and x.grad are values of their own: write x[i, j] = y, not x[i][j] = y, "
                     "and g = x.grad; g[i] = y; x.grad = g",
                     1) != 0) {
      return -1;
    }
    if (!as_tensor(value, object, &y, &number) && !PyErr_Occurred()) {  // a list, another's array
      made = made_tensor(value, object);
      if (made) is_tensor(made, &y);
    }
    if (y && fill_index_list(key, &list)) {
      BEGIN_WORK
      mt_index_put(((tensor_object*)object)->handle, list.items, list.n, y);
      END_WORK
    }
    mt_release(number);
    Py_XDECREF(made);
    Py_XDECREF(list.kept);
    return PyErr_Occurred() || raise_error() ? -1 : 0;
  }
}
%fragment("indexing");
