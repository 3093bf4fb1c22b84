// SPDX-License-Identifier: Apache-2.0
// mtorch.Tensor: a handle, with Python's operators in its slots, where they cost least.
// _tensor.py adds the methods that are written in Python. What is no operand gives NotImplemented.
%{
typedef struct {
  PyObject_HEAD
  mt_tensor* handle;
  PyObject* weak_references;
} tensor_object;

static PyTypeObject* tensor_type;

// An object that owns one reference to the handle: the caller's.
static PyObject* own_reference(mt_tensor* tensor) {
  tensor_object* object = PyObject_New(tensor_object, tensor_type);
  if (object) {
    object->handle = tensor;
    object->weak_references = NULL;
  } else {
    mt_release(tensor);
  }
  return (PyObject*)object;
}

static PyObject* from_tensor(mt_tensor* tensor) {  // which is new
  if (!tensor) Py_RETURN_NONE;
  return own_reference(mt_take(tensor));
}

// What a function gave: a new tensor, or NULL with an error.
static PyObject* given(mt_tensor* tensor) {
  return tensor ? from_tensor(tensor) : raise_error() ? NULL : Py_NewRef(Py_None);
}

// Somebody else's handle, as a callback is given it, whose scope keeps its own reference.
static PyObject* from_borrowed(mt_tensor* tensor) {
  if (!tensor) Py_RETURN_NONE;
  return own_reference(mt_retain(tensor));
}

static bool is_tensor(PyObject* object, mt_tensor** tensor) {
  if (!Py_IS_TYPE(object, tensor_type)) return false;
  *tensor = ((tensor_object*)object)->handle;
  return true;
}

static bool is_truth_of_numpy(PyObject* object) {
  const char* name = Py_TYPE(object)->tp_name;
  return strcmp(name, "numpy.bool_") == 0 || strcmp(name, "numpy.bool") == 0;
}

// Where numbers of Python's that stand beside `other` go: to its device, if it is a tensor.
static const char* device_beside(PyObject* other) {
  mt_tensor* tensor;
  return other && is_tensor(other, &tensor) ? mt_device_of(tensor) : NULL;
}

// A whole number: of uint64, or a float, if it is too large for int64.
static mt_tensor* whole_number(PyObject* whole, PyObject* beside) {
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(whole, &overflow);
  if (!overflow) return mt_take(mt_whole_number(value));
  unsigned long long unsigned_value = overflow > 0 ? PyLong_AsUnsignedLongLong(whole) : 0;
  if (overflow > 0 && !PyErr_Occurred()) {
    return mt_take(mt_from_data(&unsigned_value, NULL, 0, MT_U64, device_beside(beside)));
  }
  PyErr_Clear();
  double number = PyLong_AsDouble(whole);
  return PyErr_Occurred() ? NULL : mt_take(mt_number(number));
}

// Whether `object` is a single number; `number` is then a new handle of its value, or NULL with an
// exception.
static bool as_number(PyObject* object, PyObject* beside, mt_tensor** number) {
  *number = NULL;
  if (PyFloat_Check(object)) {
    *number = mt_take(mt_number(PyFloat_AS_DOUBLE(object)));
  } else if (PyBool_Check(object) || is_truth_of_numpy(object)) {
    const int truth = PyObject_IsTrue(object);
    *number = mt_take(mt_full(NULL, 0, truth, MT_BOOL, device_beside(beside)));
  } else if (PyLong_Check(object) || (!PySequence_Check(object) && PyIndex_Check(object))) {
    PyObject* whole = PyNumber_Index(object);
    if (!whole && PyErr_ExceptionMatches(PyExc_TypeError)) {  // another library's array
      PyErr_Clear();
      return false;
    }
    if (whole) *number = whole_number(whole, beside);
    Py_XDECREF(whole);
  } else {
    PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
    if (!methods || !methods->nb_float || PySequence_Check(object)) return false;
    double value = PyFloat_AsDouble(object);  // NumPy's scalars
    if (!PyErr_Occurred()) *number = mt_take(mt_number(value));
  }
  if (!*number && !PyErr_Occurred()) raise_error();
  return true;
}

static PyObject* array_to_tensor;  // mtorch's own function, for lists and arrays
static bool is_row(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }
static PyObject* tensor_from_buffer(PyObject* object, bool copy, const char* device);
static PyObject* tensor_of_numbers(PyObject* object, mt_dtype dtype, const char* device);

// A new tensor of a list or an array, the commonest without a detour over Python.
static PyObject* made_tensor(PyObject* object, PyObject* beside) {
  PyObject* made = NULL;
  const char* device = device_beside(beside);
  if (PyList_CheckExact(object) && PyList_GET_SIZE(object) > 0) {
    made = tensor_of_numbers(object, 0, device);
    if (made && !Py_IS_TYPE(made, tensor_type)) Py_CLEAR(made);
  } else if (PyObject_CheckBuffer(object)) {
    made = tensor_from_buffer(object, true, device);
  }
  if (made) return made;
  PyErr_Clear();
  mt_clear();
  // An array that may lie on another device stays there.
  const bool on_host = is_row(object) || PyObject_CheckBuffer(object);
  return PyObject_CallFunction(array_to_tensor, "Oz", object, on_host ? device : NULL);
}

// Whether `object` is NumPy's array, or one like it; `copied` is then a handle of its own, or NULL
// with an exception.
static bool as_array(PyObject* object, PyObject* beside, mt_tensor** copied) {
  PyObject* type = (PyObject*)Py_TYPE(object);
  if (!PyObject_HasAttrString(type, "__array_interface__") &&
      !PyObject_HasAttrString(type, "__dlpack__")) {
    return false;
  }
  PyObject* made = made_tensor(object, beside);
  if (made && is_tensor(made, copied)) mt_retain(*copied);
  Py_XDECREF(made);
  return true;
}

// The handle in `object`. When it is a number or an array, `*number` owns the handle, on the device
// of the tensor that it stands beside, if any. False: it is neither, or an exception is set.
static bool as_tensor(PyObject* object, PyObject* beside, mt_tensor** tensor, mt_tensor** number) {
  if (is_tensor(object, tensor)) return true;
  if (!as_number(object, beside, number) && !as_array(object, beside, number)) return false;
  *tensor = *number;
  return *number != NULL;
}

static bool not_a_tensor(PyObject* object) {
  if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_TypeError, "expected a tensor or a number, not %s",
                 Py_TYPE(object)->tp_name);
  }
  return false;
}

static PyObject* apply_unary(mt_tensor* (*function)(mt_tensor*), PyObject* object) {
  mt_tensor *x = ((tensor_object*)object)->handle, *y;
  BEGIN_WORK
  y = function(x);
  END_WORK
  return given(y);
}

static PyObject* apply_binary(mt_tensor* (*function)(mt_tensor*, mt_tensor*), PyObject* left,
                              PyObject* right) {
  mt_tensor *a, *b, *y = NULL, *numbers[2] = {NULL, NULL};
  bool operands = as_tensor(left, right, &a, &numbers[0]) &&
                  as_tensor(right, left, &b, &numbers[1]);
  if (operands) {
    BEGIN_WORK
    y = function(a, b);
    END_WORK
  }
  mt_release(numbers[0]);
  mt_release(numbers[1]);
  if (!operands && !PyErr_Occurred()) Py_RETURN_NOTIMPLEMENTED;
  return operands ? given(y) : NULL;
}

// The functions of one and of two tensors, without SWIG's reading of keywords; the headers' table.
#define UNARY(name, text) \
  static PyObject* call_##name(PyObject* module, PyObject* x) { \
    (void)module; \
    return is_exactly_tensor(x) ? apply_unary(mt_##name, x) : apply_to_one(mt_##name, x); \
  }
#define BINARY(name, text) \
  static PyObject* call_##name(PyObject* module, PyObject* const* x, Py_ssize_t n) { \
    (void)module; \
    return apply_to_two(mt_##name, #name, x, n); \
  }
static bool is_exactly_tensor(PyObject* x) { return Py_IS_TYPE(x, tensor_type); }

static PyObject* apply_to_one(mt_tensor* (*function)(mt_tensor*), PyObject* object) {
  mt_tensor *x = NULL, *y, *number = NULL;
  if (object != Py_None && !as_tensor(object, NULL, &x, &number)) return not_a_tensor(object), NULL;
  BEGIN_WORK
  y = function(x);
  END_WORK
  mt_release(number);
  return given(y);
}

static PyObject* apply_to_two(mt_tensor* (*function)(mt_tensor*, mt_tensor*), const char* name,
                              PyObject* const* x, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "%s takes 2 arguments, not %zd", name, n);
  PyObject* y = apply_binary(function, x[0], x[1]);
  if (y != Py_NotImplemented) return y;
  Py_DECREF(y);
  mt_tensor *a, *number = NULL;
  bool first = as_tensor(x[0], NULL, &a, &number);
  mt_release(number);
  return not_a_tensor(x[first ? 1 : 0]), NULL;
}

#include "tensor_functions.inc"
#undef UNARY
#undef BINARY
#define UNARY(name, text) {#name, (PyCFunction)call_##name, METH_O, text},
#define BINARY(name, text) {#name, (PyCFunction)(void (*)(void))call_##name, METH_FASTCALL, text},
static PyMethodDef tensor_functions[] = {
#include "tensor_functions.inc"
    {NULL, NULL, 0, NULL}};

#define UNARY_SLOT(name) \
  static PyObject* slot_##name(PyObject* x) { return apply_unary(mt_##name, x); }
#define BINARY_SLOT(name) \
  static PyObject* slot_##name(PyObject* a, PyObject* b) { return apply_binary(mt_##name, a, b); }
UNARY_SLOT(neg)
UNARY_SLOT(abs)
UNARY_SLOT(bitwise_invert)
BINARY_SLOT(add)
BINARY_SLOT(sub)
BINARY_SLOT(mul)
BINARY_SLOT(div)
BINARY_SLOT(floor_divide)
BINARY_SLOT(remainder)
BINARY_SLOT(matmul)
BINARY_SLOT(bitwise_and)
BINARY_SLOT(bitwise_or)
BINARY_SLOT(bitwise_xor)
BINARY_SLOT(bitwise_left_shift)
BINARY_SLOT(bitwise_right_shift)

static PyObject* slot_pow(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return apply_binary(mt_pow, a, b);
}

static PyObject* slot_compare(PyObject* a, PyObject* b, int operation) {
  switch (operation) {
    case Py_LT: return apply_binary(mt_less, a, b);
    case Py_LE: return apply_binary(mt_less_equal, a, b);
    case Py_EQ: return apply_binary(mt_equal, a, b);
    case Py_NE: return apply_binary(mt_not_equal, a, b);
    case Py_GT: return apply_binary(mt_greater, a, b);
    default: return apply_binary(mt_greater_equal, a, b);
  }
}

static void tensor_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (((tensor_object*)object)->weak_references) PyObject_ClearWeakRefs(object);
  BEGIN_WORK
  mt_release(((tensor_object*)object)->handle);
  END_WORK
  PyObject_Free(object);
  Py_DECREF(type);
}

static PyObject* slot_get(PyObject* object, PyObject* key);
static int slot_set(PyObject* object, PyObject* key, PyObject* value);
static PyObject* slot_item(PyObject* object, Py_ssize_t i);
static int slot_buffer(PyObject* object, Py_buffer* buffer, int flags);
static void slot_release_buffer(PyObject* object, Py_buffer* buffer);

// Weak references are kept here, so that the Python class adds nothing to an object.
static PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(tensor_object, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

// What is asked for most, without a detour over Python.
static PyObject* types_by_code;  // mtorch's element types

static PyObject* get_shape(PyObject* object, void* unused) {
  (void)unused;
  mt_tensor* x = ((tensor_object*)object)->handle;
  size_t n = mt_ndim(x);
  const int64_t* sizes = mt_dims(x);
  PyObject* tuple = PyTuple_New((Py_ssize_t)n);
  for (size_t i = 0; tuple && i < n; i++) {
    PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, PyLong_FromLongLong(sizes[i]));
  }
  return tuple;
}
static PyObject* get_ndim(PyObject* object, void* unused) {
  (void)unused;
  return PyLong_FromSize_t(mt_ndim(((tensor_object*)object)->handle));
}
static PyObject* get_size(PyObject* object, void* unused) {
  (void)unused;
  return PyLong_FromLongLong(mt_size(((tensor_object*)object)->handle));
}
static PyObject* get_dtype(PyObject* object, void* unused) {
  (void)unused;
  PyObject* code = PyLong_FromLong(mt_dtype_of(((tensor_object*)object)->handle));
  PyObject* dtype = code ? PyDict_GetItemWithError(types_by_code, code) : NULL;
  Py_XDECREF(code);
  return Py_XNewRef(dtype);
}
static PyObject* get_transposed(PyObject* object, void* unused) {
  (void)unused;
  mt_tensor *x = ((tensor_object*)object)->handle, *y;
  int64_t axes[16];
  size_t n = mt_ndim(x);
  if (n < 2) return Py_NewRef(object);
  for (size_t i = 0; i < n; i++) axes[i] = (int64_t)(n - 1 - i);
  BEGIN_WORK
  y = mt_permute_dims(x, axes, n);
  END_WORK
  return given(y);
}
static PyGetSetDef tensor_properties[] = {
    {"T", get_transposed, NULL, "The axes in reverse order.", NULL},
    {"shape", get_shape, NULL, "The sizes, as a tuple.", NULL},
    {"ndim", get_ndim, NULL, "The number of dimensions.", NULL},
    {"size", get_size, NULL, "The number of elements.", NULL},
    {"dtype", get_dtype, NULL, "The element type.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static Py_ssize_t slot_length(PyObject* object) {
  mt_tensor* x = ((tensor_object*)object)->handle;
  if (mt_ndim(x) > 0) return (Py_ssize_t)mt_dim(x, 0);
  PyErr_SetString(PyExc_TypeError, "a tensor without dimensions has no length");
  return -1;
}

static PyObject* method_eval(PyObject* object, PyObject* unused) {
  (void)unused;
  mt_tensor* x = ((tensor_object*)object)->handle;
  mt_status status;
  BEGIN_WORK
  status = mt_eval(&x, 1);
  END_WORK
  return status != MT_OK && raise_error() ? NULL : Py_NewRef(object);
}
static PyMethodDef tensor_methods[] = {
    {"eval", method_eval, METH_NOARGS, "Computes this tensor now; returns it."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_getset, tensor_properties},
    {Py_tp_methods, tensor_methods},
    {Py_tp_members, tensor_members},
    {Py_tp_dealloc, (void*)tensor_dealloc},
    {Py_tp_richcompare, (void*)slot_compare},
    {Py_tp_hash, (void*)_Py_HashPointer},
    {Py_nb_negative, (void*)slot_neg},
    {Py_nb_absolute, (void*)slot_abs},
    {Py_nb_invert, (void*)slot_bitwise_invert},
    {Py_nb_add, (void*)slot_add},
    {Py_nb_subtract, (void*)slot_sub},
    {Py_nb_multiply, (void*)slot_mul},
    {Py_nb_true_divide, (void*)slot_div},
    {Py_nb_floor_divide, (void*)slot_floor_divide},
    {Py_nb_remainder, (void*)slot_remainder},
    {Py_nb_power, (void*)slot_pow},
    {Py_nb_matrix_multiply, (void*)slot_matmul},
    {Py_nb_and, (void*)slot_bitwise_and},
    {Py_nb_or, (void*)slot_bitwise_or},
    {Py_nb_xor, (void*)slot_bitwise_xor},
    {Py_nb_lshift, (void*)slot_bitwise_left_shift},
    {Py_nb_rshift, (void*)slot_bitwise_right_shift},
    {Py_bf_getbuffer, (void*)slot_buffer},
    {Py_bf_releasebuffer, (void*)slot_release_buffer},
    {Py_sq_length, (void*)slot_length},
    {Py_sq_item, (void*)slot_item},
    {Py_mp_length, (void*)slot_length},
    {Py_mp_subscript, (void*)slot_get},
    {Py_mp_ass_subscript, (void*)slot_set},
    {0, NULL},
};
static PyType_Spec tensor_spec = {
    "mtorch.Tensor", sizeof(tensor_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, tensor_slots};
%}

%init %{
  tensor_type = (PyTypeObject*)PyType_FromSpec(&tensor_spec);
  if (!tensor_type) return NULL;
  Py_INCREF(tensor_type);
  PyModule_AddObject(m, "Tensor", (PyObject*)tensor_type);
  if (PyModule_AddFunctions(m, tensor_functions) != 0) return NULL;
%}
%pythoncode %{
Tensor = _native.Tensor
%}

%nothread set_types_by_code;
%inline %{
static void set_types_by_code(PyObject* types) { Py_XSETREF(types_by_code, Py_NewRef(types)); }
%}
