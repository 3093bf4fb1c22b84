// SPDX-License-Identifier: Apache-2.0
// Nested lists and tuples of numbers as tensors. They are read twice, what they hold first, then
// their numbers; no Python code runs meanwhile and the interpreter is held, so nobody changes them.
%nothread tensor_of_numbers;

%fragment("sequences", "header", fragment="results") {
  enum { most_nested = 16, few_numbers = 64 };
  enum { has_truths = 1, has_wholes = 2, has_floats = 4, has_others = 8 };

  typedef struct {
    int64_t sizes[most_nested];
    size_t ndim;
    size_t ragged;  // the first dimension where rows differ in length, or SIZE_MAX
    int has;
    int64_t count, low, high;
    union {  // where the next number goes
      bool* truths;
      int64_t* wholes;
      float* floats;
      double* doubles;
      PyObject** items;
    } next;
  } nested_numbers;

  // The sizes, as the first items have them. ValueError if there are too many.
  static bool measure(PyObject* object, nested_numbers* all) {
    for (all->ndim = 0; is_row(object); all->ndim++) {
      if (all->ndim == most_nested) {
        PyErr_SetString(PyExc_ValueError, "asarray: lists in more than 16 dimensions");
        return false;
      }
      Py_ssize_t n = all->sizes[all->ndim] = PySequence_Fast_GET_SIZE(object);
      if (n == 0) return ++all->ndim, true;
      object = PySequence_Fast_GET_ITEM(object, 0);
    }
    return true;
  }

  // Calls `visit` with each innermost row, until it gives false.
  typedef bool (*row_visitor)(nested_numbers* all, PyObject** items, Py_ssize_t n);
  static bool visit_rows(nested_numbers* all, PyObject* object, size_t depth, row_visitor visit) {
    if (depth == all->ndim) return visit(all, &object, 1);
    PyObject** items = PySequence_Fast_ITEMS(object);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    if (++depth == all->ndim) return visit(all, items, n);
    for (Py_ssize_t i = 0; i < n; i++) {
      if (!is_row(items[i]) || PySequence_Fast_GET_SIZE(items[i]) != all->sizes[depth]) {
        if (depth < all->ragged) all->ragged = depth;
      } else if (!visit_rows(all, items[i], depth, visit)) {
        return false;
      }
    }
    return true;
  }

  static bool note_kinds(nested_numbers* all, PyObject** items, Py_ssize_t n) {
    int has = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
      const PyTypeObject* type = Py_TYPE(items[i]);
      if (type == &PyFloat_Type) {
        has |= has_floats;
      } else if (type == &PyLong_Type) {
        has |= has_wholes;
      } else if (type == &PyBool_Type) {
        has |= has_truths;
      } else {
        has |= has_others;
        if (is_row(items[i]) && all->ndim < all->ragged) all->ragged = all->ndim;
      }
    }
    all->has |= has;
    all->count += n;
    return true;
  }

  static bool read_truths(nested_numbers* all, PyObject** items, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) *all->next.truths++ = items[i] == Py_True;
    return true;
  }

  // False: the number is beyond int64.
  static bool read_whole(nested_numbers* all, PyObject* item, int64_t* value) {
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (*value < all->low) all->low = *value;
    if (*value > all->high) all->high = *value;
    return !overflow;
  }
  static bool read_wholes(nested_numbers* all, PyObject** items, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
      if (!read_whole(all, items[i], all->next.wholes++)) return false;
    }
    return true;
  }

  static bool read_double(nested_numbers* all, PyObject* item, double* value) {
    int64_t whole;
    if (PyFloat_CheckExact(item)) return *value = PyFloat_AS_DOUBLE(item), true;
    if (!read_whole(all, item, &whole)) return false;
    return *value = (double)whole, true;
  }
  static bool read_floats(nested_numbers* all, PyObject** items, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
      double value;
      if (!read_double(all, items[i], &value)) return false;
      *all->next.floats++ = (float)value;
    }
    return true;
  }
  static bool read_doubles(nested_numbers* all, PyObject** items, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
      if (!read_double(all, items[i], all->next.doubles++)) return false;
    }
    return true;
  }

  static bool read_items(nested_numbers* all, PyObject** items, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) *all->next.items++ = Py_NewRef(items[i]);
    return true;
  }

  // The items in one list, and the sizes.
  static PyObject* flattened(nested_numbers* all, PyObject* object) {
    PyObject** items = PyMem_RawMalloc((size_t)all->count * sizeof *items);
    if (!items) return PyErr_NoMemory();
    all->next.items = items;
    visit_rows(all, object, 0, read_items);
    PyObject* list = PyList_New(all->count);  // from here on the rows may change
    for (int64_t i = 0; i < all->count; i++) {
      if (list) PyList_SET_ITEM(list, i, items[i]);
      else Py_DECREF(items[i]);
    }
    PyMem_RawFree(items);
    PyObject* sizes = list ? tuple_of_sizes(all->sizes, all->ndim) : NULL;
    PyObject* both = sizes ? PyTuple_Pack(2, list, sizes) : NULL;
    Py_XDECREF(list);
    Py_XDECREF(sizes);
    return both;
  }

  // ValueError for whole numbers that integers of the type do not reach.
  static bool whole_numbers_fit(const nested_numbers* all, mt_dtype dtype) {
    const int bits = dtype ? (int)mt_dtype_size(dtype) * 8 : 0;
    int64_t low = 0, high = INT64_MAX;
    if (dtype == MT_I8 || dtype == MT_I16 || dtype == MT_I32 || dtype == MT_I64) {
      high >>= 64 - bits;
      low = -high - 1;
    } else if (dtype == MT_U8 || dtype == MT_U16 || dtype == MT_U32) {
      high = (INT64_C(1) << bits) - 1;
    } else if (dtype != MT_U64) {
      return true;
    }
    if (all->low >= low && all->high <= high) return true;
    PyErr_Format(PyExc_ValueError, "asarray: %lld does not fit into %s",
                 (long long)(all->low < low ? all->low : all->high), mt_dtype_name(dtype));
    return false;
  }

  static mt_tensor* tensor_of_rows(const nested_numbers* all, const void* data, mt_dtype made,
                                   mt_dtype dtype, const char* device) {
    mt_tensor *tensor, *cast = NULL;
    BEGIN_WORK
    tensor = mt_from_data(data, all->sizes, all->ndim, made, device);
    if (tensor && dtype && dtype != made) {
      cast = mt_astype(tensor, dtype);
      mt_release(mt_take(tensor));
      tensor = cast;
    }
    END_WORK
    return tensor;
  }
}
%fragment("sequences");

%inline %{
// A tensor of a number, or of numbers in lists and tuples; dtype 0: the type that suits them. Where
// Python must look at the items, because they are other objects or beyond int64: all of them in one
// list, and the sizes.
static PyObject* tensor_of_numbers(PyObject* object, mt_dtype dtype, const char* device) {
  nested_numbers all = {.ragged = SIZE_MAX, .low = INT64_MAX, .high = INT64_MIN};
  if (!measure(object, &all)) return NULL;
  visit_rows(&all, object, 0, note_kinds);
  if (all.ragged != SIZE_MAX) {
    return PyErr_Format(PyExc_ValueError, "asarray: rows of different lengths at dimension %zu",
                        all.ragged);
  }
  if (all.count == 0) return given(mt_zeros(all.sizes, all.ndim, dtype ? dtype : MT_F32, device));
  if (all.has & has_others) return flattened(&all, object);
  mt_dtype made = MT_BOOL;
  row_visitor reader = read_truths;
  if (all.has & has_floats) {
    const bool single = !dtype || dtype == MT_F32;
    made = single ? MT_F32 : MT_F64;
    reader = single ? read_floats : read_doubles;
    if (!dtype) dtype = MT_F32;
  } else if (all.has & has_wholes) {
    made = MT_I64;
    reader = read_wholes;
  }
  int64_t few[few_numbers];
  void* data = few;
  if (all.count > few_numbers) data = PyMem_RawMalloc((size_t)all.count * mt_dtype_size(made));
  if (!data) return PyErr_NoMemory();
  all.next.truths = data;
  PyObject* result = NULL;
  if (!visit_rows(&all, object, 0, reader)) {
    result = flattened(&all, object);
  } else if (whole_numbers_fit(&all, dtype)) {
    result = given(tensor_of_rows(&all, data, made, dtype, device));
  }
  if (data != few) PyMem_RawFree(data);
  return result;
}
%}
