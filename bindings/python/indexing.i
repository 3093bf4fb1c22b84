// SPDX-License-Identifier: Apache-2.0
// x[key] and x[key] = value.
%fragment("indexing", "header") {
  enum { most_items = 64 };

  typedef struct {
    mt_index_item items[most_items];
    PyObject* of;    // the tensor that is indexed
    PyObject* kept;  // what made arrays into tensors
    size_t n;
  } index_list;

  static bool fill_bound(PyObject* object, int64_t* bound) {
    *bound = MT_OPEN;
    if (object == Py_None) return true;
    if (!PyIndex_Check(object)) {
      PyErr_SetString(PyExc_TypeError, "slice bounds are integers or None");
      return false;
    }
    *bound = PyNumber_AsSsize_t(object, NULL);  // clips
    if (*bound == MT_OPEN) ++*bound;
    return !PyErr_Occurred();
  }

  static bool fill_by(PyObject* object, index_list* list, mt_index_item* item) {
    item->kind = MT_INDEX_BY;
    if (is_tensor(object, &item->tensor)) return true;
    PyObject* made = made_tensor(object, list->of);
    if (!made) return false;
    if (!list->kept) list->kept = PyList_New(0);
    bool fine = list->kept && PyList_Append(list->kept, made) == 0 &&
                is_tensor(made, &item->tensor);
    Py_DECREF(made);
    return fine;
  }

  static bool fill_item(PyObject* object, index_list* list) {
    mt_index_item* item = &list->items[list->n++];
    memset(item, 0, sizeof *item);
    if (object == Py_None) {
      item->kind = MT_INDEX_NEW_AXIS;
    } else if (object == Py_Ellipsis) {
      item->kind = MT_INDEX_ELLIPSIS;
    } else if (PySlice_Check(object)) {
      PySliceObject* slice = (PySliceObject*)object;
      item->kind = MT_INDEX_RANGE;
      item->step = 1;
      return fill_bound(slice->start, &item->start) && fill_bound(slice->stop, &item->stop) &&
             (slice->step == Py_None || fill_bound(slice->step, &item->step));
    } else if (PyLong_CheckExact(object) ||
               (PyIndex_Check(object) && !PySequence_Check(object) && !PyBool_Check(object) &&
                !PyObject_HasAttrString((PyObject*)Py_TYPE(object), "__dlpack__"))) {
      item->kind = MT_INDEX_AT;
      item->start = PyNumber_AsSsize_t(object, PyExc_IndexError);
      return !PyErr_Occurred();
    } else {
      return fill_by(object, list, item);
    }
    return true;
  }

  static bool fill_index_list(PyObject* key, index_list* list) {
    if (!PyTuple_Check(key)) return fill_item(key, list);
    Py_ssize_t n = PyTuple_GET_SIZE(key);
    if (n > most_items) {
      PyErr_Format(PyExc_IndexError, "%zd indices, 16 dimensions at most", n);
      return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
      if (!fill_item(PyTuple_GET_ITEM(key, i), list)) return false;
    }
    return true;
  }

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
