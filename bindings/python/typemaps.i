// SPDX-License-Identifier: Apache-2.0
// Python values as arguments of C functions, and results as Python values.

// ------------------------------------------------------------------------------------ Tensors
// A Python number stands for a tensor of its value that takes the other operand's type.
%typemap(in) struct mt_tensor* (mt_tensor* number = NULL) {
  if ($input != Py_None && !as_tensor($input, NULL, &$1, &number)) {
    not_a_tensor($input);
    SWIG_fail;
  }
}
%typemap(freearg) struct mt_tensor* "mt_release(number$argnum);"
%typemap(out) struct mt_tensor* "$result = from_tensor($1);"
%typemap(out) struct mt_tensor* mt_require_grad,
    struct mt_tensor* mt_parameters_tensor,
    struct mt_tensor* mt_parameters_get "$result = from_borrowed($1);"
%typemap(newfree) struct mt_tensor* ""

// A sequence of tensors, which it keeps alive.
%fragment("tensor_list", "header") {
  typedef struct {
    PyObject* items;
    mt_tensor** tensors;
    size_t n;
  } tensor_list;

  static bool fill_tensor_list(PyObject* object, tensor_list* list) {
    mt_tensor* alone;
    if (is_tensor(object, &alone)) {
      list->items = PyTuple_Pack(1, object);
    } else {
      list->items = PySequence_Tuple(object);
    }
    if (!list->items) return false;
    list->n = (size_t)PyTuple_GET_SIZE(list->items);
    list->tensors = malloc((list->n + 1) * sizeof *list->tensors);
    if (!list->tensors) return PyErr_NoMemory(), false;
    for (size_t i = 0; i < list->n; i++) {
      PyObject* item = PyTuple_GET_ITEM(list->items, (Py_ssize_t)i);
      list->tensors[i] = NULL;
      if (item != Py_None && !is_tensor(item, &list->tensors[i])) return not_a_tensor(item);
    }
    return true;
  }

  static void free_tensor_list(tensor_list* list) {
    free(list->tensors);
    Py_XDECREF(list->items);
  }
}
%typemap(in, fragment="tensor_list") (struct mt_tensor* const* tensors, size_t n)
    (tensor_list list = {NULL, NULL, 0}) {
  if (!fill_tensor_list($input, &list)) SWIG_fail;
  $1 = list.n ? list.tensors : NULL;
  $2 = list.n;
}
%typemap(freearg) (struct mt_tensor* const* tensors, size_t n) "free_tensor_list(&list$argnum);"
%apply (struct mt_tensor* const* tensors, size_t n) {
  (mt_tensor* const* tensors, size_t n), (mt_tensor* const* params, size_t n),
  (struct mt_tensor* const* params, size_t n)
};

// ------------------------------------------------------------------------ Numbers, truths, text
%fragment("plain_arguments", "header") {
  static bool refuse(PyObject* object, const char* function, const char* name, const char* kind) {
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Format(PyExc_TypeError, "%s: %s must be %s, not %s", function, name, kind,
                   object == Py_None ? "None" : Py_TYPE(object)->tp_name);
    } else if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Format(PyExc_OverflowError, "%s: %s is out of range: %R", function, name, object);
    }
    return false;
  }

  static bool whole_argument(PyObject* object, const char* function, const char* name,
                             int64_t* value) {
    PyObject* whole = PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
    *value = whole ? PyLong_AsLongLong(whole) : 0;
    Py_XDECREF(whole);
    return (whole && !PyErr_Occurred()) || refuse(object, function, name, "an integer");
  }

  static bool count_argument(PyObject* object, const char* function, const char* name,
                             uint64_t* value) {
    PyObject* whole = PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
    *value = whole ? PyLong_AsUnsignedLongLong(whole) : 0;
    Py_XDECREF(whole);
    return (whole && !PyErr_Occurred()) || refuse(object, function, name, "an integer");
  }

  static bool number_argument(PyObject* object, const char* function, const char* name,
                              double* value) {
    *value = PyFloat_AsDouble(object);
    return !PyErr_Occurred() || refuse(object, function, name, "a number");
  }

  static bool truth_argument(PyObject* object, const char* function, const char* name,
                             bool* value) {
    *value = object == Py_True || (is_truth_of_numpy(object) && PyObject_IsTrue(object) == 1);
    return PyBool_Check(object) || is_truth_of_numpy(object) ||
           refuse(object, function, name, "True or False");
  }

  static bool text_argument(PyObject* object, const char* function, const char* name,
                            const char** value) {
    Py_ssize_t size = 0;
    *value = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : NULL;
    if (*value && strlen(*value) != (size_t)size) {
      PyErr_Format(PyExc_ValueError, "%s: %s has a NUL in it: %R", function, name, object);
      return false;
    }
    return *value || (object == Py_None && !PyErr_Occurred()) ||
           refuse(object, function, name, "text");
  }
}
%typemap(in, fragment="plain_arguments") int64_t {
  if (!whole_argument($input, "$symname", "$1_name", &$1)) SWIG_fail;
}
%typemap(in, fragment="plain_arguments") int {
  int64_t whole;
  if (!whole_argument($input, "$symname", "$1_name", &whole)) SWIG_fail;
  if (whole < INT_MIN || whole > INT_MAX) {
    PyErr_SetNone(PyExc_OverflowError);
    refuse($input, "$symname", "$1_name", "an integer");
    SWIG_fail;
  }
  $1 = (int)whole;
}
%typemap(in, fragment="plain_arguments") uint64_t {
  if (!count_argument($input, "$symname", "$1_name", &$1)) SWIG_fail;
}
%typemap(in, fragment="plain_arguments") double {
  if (!number_argument($input, "$symname", "$1_name", &$1)) SWIG_fail;
}
%typemap(in, fragment="plain_arguments") bool {
  if (!truth_argument($input, "$symname", "$1_name", &$1)) SWIG_fail;
}
%typemap(in, fragment="plain_arguments") const char* (const char* text) {
  if (!text_argument($input, "$symname", "$1_name", &text)) SWIG_fail;
  $1 = (char*)text;
}
%typemap(freearg) const char* ""

// ----------------------------------------------------------------------------- Shapes and axes
// A number or a sequence of numbers; None is NULL, 0.
%fragment("integer_list", "header") {
  enum { most_integers = 64 };

  static bool fill_integers(PyObject* object, int64_t* values, size_t* count) {
    *count = 0;
    if (object == Py_None) return true;
    if (PyIndex_Check(object) && !PySequence_Check(object)) {
      values[0] = PyNumber_AsSsize_t(object, PyExc_OverflowError);
      *count = 1;
      return !PyErr_Occurred();
    }
    PyObject* items = PySequence_Fast(object, "expected an integer or a sequence of integers");
    if (!items) return false;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    if (n > most_integers) {
      PyErr_Format(PyExc_ValueError, "%zd dimensions, 16 at most", n);
      n = 0;
    }
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
      values[i] = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(items, i), PyExc_OverflowError);
    }
    Py_DECREF(items);
    *count = (size_t)n;
    return !PyErr_Occurred();
  }
}
%typemap(in, fragment="integer_list") (const int64_t* dims, size_t ndim)
    (int64_t values[most_integers]) {
  if (!fill_integers($input, values, &$2)) SWIG_fail;
  $1 = $2 ? values : NULL;
}
%apply (const int64_t* dims, size_t ndim) {
  (const int64_t* axes, size_t naxes), (const int64_t* sizes, size_t naxes),
  (const int64_t* counts, size_t n)
};
%typemap(in, fragment="integer_list")
    (const int64_t* before, const int64_t* after, size_t ndim)
    (int64_t values[2 * most_integers]) {
  size_t others = 0;
  PyObject* lists = PySequence_Tuple($input);
  bool fine = lists && PyTuple_GET_SIZE(lists) == 2 &&
              fill_integers(PyTuple_GET_ITEM(lists, 0), values, &$3) &&
              fill_integers(PyTuple_GET_ITEM(lists, 1), values + most_integers, &others);
  Py_XDECREF(lists);
  if (!fine && PyErr_Occurred()) SWIG_fail;
  if (!fine) SWIG_exception_fail(SWIG_TypeError, "expected two lists of integers");
  if (others != $3) SWIG_exception_fail(SWIG_ValueError, "two lists that differ in length");
  $1 = values;
  $2 = values + most_integers;
}
%apply (const int64_t* before, const int64_t* after, size_t ndim) {
  (const int64_t* shifts, const int64_t* axes, size_t naxes),
  (const int64_t* axes_a, const int64_t* axes_b, size_t naxes)
};
// Members of options: one number for each spatial axis; one alone counts for all.
%typemap(in, fragment="integer_list") int64_t[3] (int64_t values[most_integers]) {
  size_t count = 0;
  if (!fill_integers($input, values, &count)) SWIG_fail;
  if (count < 1 || count > 3) SWIG_exception_fail(SWIG_ValueError, "expected 1 to 3 numbers");
  for (; count < 3; count++) values[count] = values[count - 1];
  $1 = values;
}

// ------------------------------------------------------------------------------- Other results
%typemap(out) mt_status {
  (void)$1;  // raised by then
  $result = Py_NewRef(Py_None);
}
