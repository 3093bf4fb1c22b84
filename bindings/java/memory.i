// SPDX-License-Identifier: Apache-2.0
// Memory shared with Java: direct buffers both ways, arrays by copy.
%{
// Where a buffer's element `position` lies; NULL, after saying why, unless it is direct.
static char* buffer_address(JNIEnv* jenv, jobject buffer, int64_t offset) {
  char* address = (*jenv)->GetDirectBufferAddress(jenv, buffer);
  if (!address) mt_set_error(MT_EINVAL, "wrap: the buffer is not direct; of() copies an array");
  return address ? address + offset : NULL;
}
%}

%inline %{
static mt_tensor* wrap_buffer(JNIEnv* jenv, jobject buffer, int64_t offset, const int64_t* dims,
                              size_t ndim, mt_dtype dtype, bool rewritten) {
  char* address = buffer_address(jenv, buffer, offset);
  if (!address) return NULL;
  jobject kept = (*jenv)->NewGlobalRef(jenv, buffer);
  mt_tensor* tensor = (rewritten ? mt_wrap_mutable : mt_wrap)(address, dims, ndim, dtype, "cpu",
                                                              drop_object, kept);
  if (!tensor) (*jenv)->DeleteGlobalRef(jenv, kept);
  return tensor;
}

// A primitive array, of as many elements as the shape has: Java checked that.
static mt_tensor* copy_array(JNIEnv* jenv, jobject array, const int64_t* dims, size_t ndim,
                             mt_dtype dtype, const char* device) {
  void* elements = (*jenv)->GetPrimitiveArrayCritical(jenv, array, NULL);
  if (!elements) return NULL;
  mt_tensor* tensor = mt_from_data(elements, dims, ndim, dtype, device);
  (*jenv)->ReleasePrimitiveArrayCritical(jenv, array, elements, JNI_ABORT);
  return tensor;
}

// All elements, which are of the array's type and number: Java checked that.
static void copy_to_array(JNIEnv* jenv, mt_tensor* x, jobject array) {
  const void* from = mt_map(x);
  if (!from) return;
  size_t bytes = (size_t)mt_size(x) * mt_dtype_size(mt_dtype_of(x));
  void* elements = (*jenv)->GetPrimitiveArrayCritical(jenv, array, NULL);
  if (elements) {
    memcpy(elements, from, bytes);
    (*jenv)->ReleasePrimitiveArrayCritical(jenv, array, elements, 0);
  }
  mt_unmap(x);
}

// A handle of its own on the value, mapped: what a buffer looks at until view_close().
static int64_t view_open(mt_tensor* x) {
  mt_tensor* view = mt_take(mt_astype(x, mt_dtype_of(x)));
  if (view && !mt_map(view)) {
    mt_release(view);
    view = NULL;
  }
  return (int64_t)view;
}
static jobject view_buffer(JNIEnv* jenv, int64_t address) {
  mt_tensor* view = (mt_tensor*)address;
  const void* elements = mt_map(view);
  mt_unmap(view);
  int64_t bytes = mt_size(view) * (int64_t)mt_dtype_size(mt_dtype_of(view));
  return (*jenv)->NewDirectByteBuffer(jenv, (void*)elements, bytes);
}
static void view_close(int64_t address) {
  mt_unmap((mt_tensor*)address);
  mt_release((mt_tensor*)address);
}
%}
