// SPDX-License-Identifier: Apache-2.0
// Memory shared with other objects: Python's buffers both ways, DLPack both ways.
%nothread host_view;
%nothread tensor_from_buffer;
%nothread tensor_of_bytes;
%nothread to_capsule;
%nothread from_capsule;
%nothread set_array_to_tensor;

%fragment("buffers", "header") {
  // struct's code of each element type; "" where it has none.
  static const struct {
    mt_dtype dtype;
    const char* format;
  } formats[] = {
      {MT_BOOL, "?"}, {MT_U8, "B"},  {MT_I8, "b"},  {MT_U16, "H"}, {MT_I16, "h"}, {MT_U32, "I"},
      {MT_I32, "i"},  {MT_U64, "Q"}, {MT_I64, "q"}, {MT_F16, "e"}, {MT_F32, "f"}, {MT_F64, "d"},
      {MT_U64, "L"},  {MT_I64, "l"},
  };

  static const char* format_of(mt_dtype dtype) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
      if (formats[i].dtype == dtype) return formats[i].format;
    }
    return NULL;
  }

  static mt_dtype dtype_of_format(const char* format) {
    if (!format) return MT_U8;
    if (*format == '@' || *format == '=' || (*format == '<' && PY_LITTLE_ENDIAN)) format++;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
      if (strcmp(formats[i].format, format) == 0) return formats[i].dtype;
    }
    return 0;
  }

  // A tensor's elements in host memory as a read-only buffer, pinned while the object lives.
  typedef struct {
    PyObject_HEAD
    mt_tensor* tensor;  // a handle of its own, never bound to another value
    const void* data;
    Py_ssize_t size, shape[16], strides[16];
    int ndim;
    bool strided;  // the elements do not lie in row-major order
    Py_ssize_t element;
    const char* format;
  } host_view_object;

  // Whether a reader with these flags takes elements wherever they lie.
  static bool takes_strides(int flags) {
    const int contiguous = PyBUF_C_CONTIGUOUS | PyBUF_F_CONTIGUOUS | PyBUF_ANY_CONTIGUOUS;
    return (flags & contiguous) == PyBUF_STRIDES;
  }

  static int view_buffer(PyObject* object, Py_buffer* buffer, int flags) {
    host_view_object* self = (host_view_object*)object;
    if (flags & PyBUF_WRITABLE) {
      PyErr_SetString(PyExc_BufferError, "tensors are read-only to others");
      return -1;
    }
    if (self->strided && !takes_strides(flags)) {
      PyErr_SetString(PyExc_BufferError, "the elements do not lie in row-major order");
      return -1;
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && self->ndim > 1) {
      PyErr_SetString(PyExc_BufferError, "the elements do not lie in column-major order");
      return -1;
    }
    memset(buffer, 0, sizeof *buffer);
    buffer->buf = (void*)self->data;
    buffer->obj = Py_NewRef(object);
    buffer->len = self->size;
    buffer->itemsize = self->element;
    buffer->readonly = 1;
    buffer->ndim = self->ndim;
    if (flags & PyBUF_FORMAT) buffer->format = (char*)self->format;
    if (flags & PyBUF_ND) buffer->shape = self->shape;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) buffer->strides = self->strides;
    return 0;
  }

  static void view_dealloc(PyObject* object) {
    host_view_object* self = (host_view_object*)object;
    PyTypeObject* type = Py_TYPE(object);
    if (self->data) mt_unmap(self->tensor);
    mt_release(self->tensor);
    PyObject_Free(object);
    Py_DECREF(type);
  }

  static PyType_Slot view_slots[] = {
      {Py_tp_dealloc, (void*)view_dealloc},
      {Py_bf_getbuffer, (void*)view_buffer},
      {Py_tp_doc, "A tensor's elements in host memory, as a read-only buffer."},
      {0, NULL},
  };
  static PyType_Spec view_spec = {"mtorch.HostView", sizeof(host_view_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  view_slots};
  static PyObject* view_type;

  // What a wrapped tensor keeps until the library needs its memory no more; on any thread.
  static void release_buffer(void* user) {
    if (!Py_IsInitialized()) return;
    python_entry entry = enter_python();
    PyBuffer_Release(user);
    PyMem_RawFree(user);
    leave_python(entry);
  }
}
%fragment("buffers");

%init %{
  view_type = PyType_FromSpec(&view_spec);
  if (!view_type) return NULL;
%}

%inline %{
// `bits`: a bfloat16 tensor as its patterns, in uint16. `strided`: without a copy to put the elements
// in row-major order.
static PyObject* host_view(mt_tensor* x, bool bits, bool strided) {
  host_view_object* view = PyObject_New(host_view_object, (PyTypeObject*)view_type);
  if (!view) return NULL;
  view->data = NULL;
  view->strided = false;
  int64_t strides[16];
  Py_BEGIN_ALLOW_THREADS
  view->tensor = mt_take(mt_astype(x, mt_dtype_of(x)));
  view->data = strided ? mt_map_strided(view->tensor, strides) : mt_map(view->tensor);
  Py_END_ALLOW_THREADS
  if (!view->data) {
    Py_DECREF(view);
    return NULL;
  }
  // Of what is mapped: another thread may have bound x to something else by now.
  const mt_dtype dtype = mt_dtype_of(view->tensor);
  view->format = bits && dtype == MT_BF16 ? "H" : format_of(dtype);
  if (!view->format) {
    PyErr_Format(PyExc_TypeError, "%s has no counterpart in Python; cast to float32 first",
                 mt_dtype_name(dtype));
    Py_DECREF(view);
    return NULL;
  }
  view->element = (Py_ssize_t)mt_dtype_size(dtype);
  view->ndim = (int)mt_ndim(view->tensor);
  view->size = view->element;
  const int64_t* dims = mt_dims(view->tensor);
  for (int i = view->ndim - 1; i >= 0; i--) {
    view->shape[i] = (Py_ssize_t)dims[i];
    view->strides[i] = strided ? strides[i] * view->element : view->size;
    view->strided |= view->strides[i] != view->size && view->shape[i] != 1;
    view->size *= view->shape[i];
  }
  if (view->size == 0) view->strided = false;
  return (PyObject*)view;
}
%}

%{
// The tensor's own buffer: a view's, which the buffer then keeps.
static int slot_buffer(PyObject* object, Py_buffer* buffer, int flags) {
  PyObject* view = host_view(((tensor_object*)object)->handle, false, takes_strides(flags));
  if (!view) {
    if (!PyErr_Occurred()) raise_error();
    buffer->obj = NULL;
    return -1;
  }
  int status = PyObject_GetBuffer(view, buffer, flags);
  Py_DECREF(view);
  return status;
}

// Never called, as the buffer is the view's. That it is there tells numpy.frombuffer() to keep the
// buffer, and not the tensor alone, as long as the array.
static void slot_release_buffer(PyObject* object, Py_buffer* buffer) {
  (void)object, (void)buffer;
}
%}

%inline %{
// A tensor of an object's buffer: a copy, or over its memory, which then must not be written.
static PyObject* tensor_from_buffer(PyObject* object, bool copy, const char* device) {
  Py_buffer* buffer = PyMem_RawCalloc(1, sizeof *buffer);
  if (!buffer) return PyErr_NoMemory();
  if (PyObject_GetBuffer(object, buffer, copy ? PyBUF_FULL_RO : PyBUF_FORMAT | PyBUF_ND) != 0) {
    PyMem_RawFree(buffer);
    return NULL;
  }
  mt_dtype dtype = dtype_of_format(buffer->format);
  int64_t dims[PyBUF_MAX_NDIM];
  for (int i = 0; i < buffer->ndim; i++) dims[i] = buffer->shape[i];
  size_t ndim = (size_t)buffer->ndim;
  mt_tensor* tensor = NULL;
  if (!dtype || (size_t)buffer->itemsize != mt_dtype_size(dtype)) {
    PyErr_Format(PyExc_TypeError, "elements of format '%s' have no element type here",
                 buffer->format ? buffer->format : "B");
  } else if (!copy) {
    tensor = mt_wrap(buffer->buf, dims, ndim, dtype, device, release_buffer, buffer);
    if (tensor) return from_tensor(tensor);
  } else if (PyBuffer_IsContiguous(buffer, 'C')) {
    BEGIN_WORK
    tensor = mt_from_data(buffer->buf, dims, ndim, dtype, device);
    END_WORK
  } else {
    void* packed = PyMem_RawMalloc((size_t)buffer->len + 1);
    if (!packed) {
      PyErr_NoMemory();
    } else if (PyBuffer_ToContiguous(packed, buffer, buffer->len, 'C') == 0) {
      BEGIN_WORK
      tensor = mt_from_data(packed, dims, ndim, dtype, device);
      END_WORK
    }
    PyMem_RawFree(packed);
  }
  PyBuffer_Release(buffer);
  PyMem_RawFree(buffer);
  return tensor ? from_tensor(tensor) : NULL;
}
%}

%inline %{
static PyObject* tensor_of_bytes(PyObject* data, const int64_t* dims, size_t ndim,
                                 mt_dtype dtype) {
  char* bytes = NULL;
  Py_ssize_t length = 0, needed = (Py_ssize_t)mt_dtype_size(dtype);
  if (PyBytes_AsStringAndSize(data, &bytes, &length) != 0) return NULL;
  for (size_t i = 0; i < ndim; i++) needed *= (Py_ssize_t)dims[i];
  if (length != needed) {
    PyErr_Format(PyExc_ValueError, "%zd bytes where %zd were expected", length, needed);
    return NULL;
  }
  mt_tensor* tensor;
  BEGIN_WORK
  tensor = mt_from_data(bytes, dims, ndim, dtype, NULL);
  END_WORK
  return tensor ? from_tensor(tensor) : NULL;
}
%}

%fragment("dlpack", "header") {
  // The parts of dmlc/dlpack's structures that a capsule needs: how to let go of one.
  typedef struct {
    void* data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
  } dlpack_tensor;
  struct DLManagedTensor {
    dlpack_tensor tensor;
    void* manager_ctx;
    void (*deleter)(struct DLManagedTensor* self);
  };
  struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void* manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned* self);
    uint64_t flags;
    dlpack_tensor tensor;
  };

  // A capsule that nobody took still owns its tensor.
  static void capsule_end(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
      struct DLManagedTensorVersioned* managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
      if (managed->deleter) managed->deleter(managed);
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
      struct DLManagedTensor* managed = PyCapsule_GetPointer(capsule, "dltensor");
      if (managed->deleter) managed->deleter(managed);
    }
  }
}
%fragment("dlpack");

%inline %{
// `shared`: without a copy, or not at all.
static PyObject* to_capsule(mt_tensor* x, bool versioned, bool copy, bool shared) {
  void* managed = NULL;
  Py_BEGIN_ALLOW_THREADS
  managed = versioned ? (void*)mt_to_dlpack(x, copy ? 2 : 0) : (void*)mt_to_dlpack_unversioned(x);
  Py_END_ALLOW_THREADS
  if (!managed) return NULL;
  if (shared && versioned && ((struct DLManagedTensorVersioned*)managed)->flags & 2) {
    ((struct DLManagedTensorVersioned*)managed)->deleter(managed);
    PyErr_SetString(PyExc_BufferError, "__dlpack__: negative strides need a copy");
    return NULL;
  }
  return PyCapsule_New(managed, versioned ? "dltensor_versioned" : "dltensor", capsule_end);
}

static PyObject* from_capsule(PyObject* capsule) {
  mt_tensor* tensor = NULL;
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    tensor = mt_from_dlpack(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (tensor) PyCapsule_SetName(capsule, "used_dltensor_versioned");
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    tensor = mt_from_dlpack_unversioned(PyCapsule_GetPointer(capsule, "dltensor"));
    if (tensor) PyCapsule_SetName(capsule, "used_dltensor");
  } else {
    PyErr_SetString(PyExc_TypeError, "not a DLPack capsule, or one that was used before");
  }
  return tensor ? from_tensor(tensor) : NULL;
}

// Streams as DLPack counts them: integers, which are CUDA's handles.
static unsigned long long stream_of(const char* device) {
  return (unsigned long long)(uintptr_t)mt_device_stream(device);
}
static void let_stream_wait(const char* device, unsigned long long stream) {
  mt_let_stream_wait(device, (void*)(uintptr_t)stream);
}

static void set_array_to_tensor(PyObject* function) {
  Py_XSETREF(array_to_tensor, Py_NewRef(function));
}
%}
