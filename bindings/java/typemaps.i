// SPDX-License-Identifier: Apache-2.0
// Java values as arguments of C functions, and results as Java values.

// ------------------------------------------------------------------------------------ Numbers
// The header that SWIG reads has int64_t as long, which Java's SWIG takes for 32 bits.
%include <stdint.i>
%apply long long { int64_t, uint64_t, size_t };

%typemap(jstype) mt_dtype "DType"
%typemap(javain) mt_dtype "DType.code($javainput)"
%typemap(javaout) mt_dtype {
    return DType.of($jnicall);
  }
%typemap(jstype) int32_t reduction "Reduction"
%typemap(javain) int32_t reduction "$javainput.ordinal()"

// A failed status is thrown.
%typemap(jni) mt_status "void"
%typemap(jtype) mt_status "void"
%typemap(jstype) mt_status "void"
%typemap(out, null="") mt_status "(void)$1;"
%typemap(javaout) mt_status {
    $jnicall;
  }

// --------------------------------------------------------------------------------------- Text
// UTF-8 both ways; what JNI calls UTF-8 is not.
%typemap(jni) const char* "jbyteArray"
%typemap(jtype) const char* "byte[]"
%typemap(jstype) const char* "String"
%typemap(javain) const char* "NativeText.bytes($javainput)"
%typemap(javaout) const char* {
    return NativeText.of($jnicall);
  }
%typemap(in) const char* {
  $1 = NULL;
  if ($input) {
    jsize size = (*jenv)->GetArrayLength(jenv, $input);
    $1 = malloc((size_t)size + 1);
    if ($1) {
      (*jenv)->GetByteArrayRegion(jenv, $input, 0, size, (jbyte*)$1);
      ((char*)$1)[size] = 0;
    }
  }
}
%typemap(freearg) const char* "free((void*)$1);"
%typemap(out) const char* "$result = to_bytes(jenv, $1);"
%apply const char* { char* };

// ------------------------------------------------------------------------------------ Objects
// Each is held by a Handle, which keeps it alive during the call, also against a close() on another
// thread: -1 says that it is closed already.
%define MT_JAVA_OBJECT(type, class, own)
%typemap(jni) type* "jlong"
%typemap(jtype) type* "long"
%typemap(jstype) type* "class"
%typemap(javain, pre="    long p$javainput = Handle.enter($javainput);",
         post="      Handle.leave($javainput, p$javainput);") type* "p$javainput"
%typemap(in) type* {
  if ($input == -1) {
    throw_new(jenv, MT_EINVAL, "$symname: the " #class " is closed");
    return $null;
  }
  $1 = (type*)$input;
}
%typemap(javaout) type* {
    return class.own($jnicall);
  }
%typemap(out) type* "$result = (jlong)$1;"
%enddef
MT_JAVA_OBJECT(struct mt_tensor, Tensor, own)
MT_JAVA_OBJECT(struct mt_parameters, Parameters, own)
MT_JAVA_OBJECT(struct mt_optimizer, Optimizer, own)
MT_JAVA_OBJECT(struct mt_tape, Tape, own)
MT_JAVA_OBJECT(struct mt_generator, Generator, own)
MT_JAVA_OBJECT(struct mt_loader, Loader, own)
MT_JAVA_OBJECT(struct java_trace, Trace, own)
MT_JAVA_OBJECT(struct mt_kernel, Kernel, own)
MT_JAVA_OBJECT(struct mt_profile, Profile, own)
%typemap(out) struct mt_tensor* "$result = (jlong)($1 ? mt_take($1) : NULL);"
// The collection's own handles, shared.
%typemap(out) struct mt_tensor* mt_parameters_tensor,
    struct mt_tensor* mt_parameters_get "$result = (jlong)($1 ? mt_retain($1) : NULL);"

// A layer is a bare address: its Java object keeps the collection.
%typemap(jni) struct mt_layer* "jlong"
%typemap(jtype) struct mt_layer* "long"
%typemap(jstype) struct mt_layer* "long"
%typemap(javain) struct mt_layer* "$javainput"
%typemap(in) struct mt_layer* "$1 = (struct mt_layer*)$input;"
%typemap(out) struct mt_layer* "$result = (jlong)$1;"
%typemap(javaout) struct mt_layer* {
    return $jnicall;
  }

%{
typedef struct {
  mt_tensor** items;
  size_t n;
} tensor_list;

// False when one is closed, after throwing; frees nothing.
static bool fill_tensor_list(JNIEnv* jenv, jlongArray array, tensor_list* list, const char* name) {
  list->n = array ? (size_t)(*jenv)->GetArrayLength(jenv, array) : 0;
  list->items = calloc(list->n + 1, sizeof *list->items);
  if (!list->items) {
    throw_new(jenv, MT_ENOMEM, "out of memory");
    return false;
  }
  _Static_assert(sizeof(jlong) == sizeof(mt_tensor*), "handles are passed as numbers");
  if (array) (*jenv)->GetLongArrayRegion(jenv, array, 0, (jsize)list->n, (jlong*)list->items);
  for (size_t i = 0; i < list->n; i++) {
    if (list->items[i] != (mt_tensor*)-1) continue;
    char message[96];
    snprintf(message, sizeof message, "%s: Tensor %zu is closed", name, i);
    throw_new(jenv, MT_EINVAL, message);
    free(list->items);
    return false;
  }
  return true;
}
%}
%define MT_JAVA_TENSORS(parameters)
%typemap(jni) parameters "jlongArray"
%typemap(jtype) parameters "long[]"
%typemap(jstype) parameters "Tensor[]"
%typemap(javain, pre="    long[] p$javainput = Handle.enterAll($javainput);",
         post="      Handle.leaveAll($javainput, p$javainput);") parameters "p$javainput"
%enddef
MT_JAVA_TENSORS((struct mt_tensor* const* tensors, size_t n))
%typemap(in) (struct mt_tensor* const* tensors, size_t n) (tensor_list list) {
  if (!fill_tensor_list(jenv, $input, &list, "$symname")) return $null;
  $1 = list.n ? list.items : NULL;
  $2 = list.n;
}
%typemap(freearg) (struct mt_tensor* const* tensors, size_t n) "free((void*)list$argnum.items);"
%apply (struct mt_tensor* const* tensors, size_t n) {
  (mt_tensor* const* tensors, size_t n), (mt_tensor* const* params, size_t n)
};
MT_JAVA_TENSORS(tensor_list*)
%typemap(in) tensor_list* (tensor_list list) {
  if (!fill_tensor_list(jenv, $input, &list, "$symname")) return $null;
  $1 = &list;
}
%typemap(freearg) tensor_list* "free(list$argnum.items);"

// ------------------------------------------------------------------------------ Shapes and axes
%{
enum { most_integers = 64 };

static size_t fill_integers(JNIEnv* jenv, jlongArray array, int64_t* values) {
  jsize n = array ? (*jenv)->GetArrayLength(jenv, array) : 0;
  if (n > most_integers) n = most_integers;  // which the library refuses, too
  if (n) (*jenv)->GetLongArrayRegion(jenv, array, 0, n, (jlong*)values);
  return (size_t)n;
}
%}
%define MT_JAVA_INTEGERS(parameters)
%typemap(jni) parameters "jlongArray"
%typemap(jtype) parameters "long[]"
%typemap(jstype) parameters "long[]"
%typemap(javain) parameters "$javainput"
%enddef
MT_JAVA_INTEGERS((const int64_t* dims, size_t ndim))
%typemap(in) (const int64_t* dims, size_t ndim) (int64_t values[most_integers]) {
  $2 = fill_integers(jenv, $input, values);
  $1 = $2 ? values : NULL;
}
%apply (const int64_t* dims, size_t ndim) {
  (const int64_t* axes, size_t naxes), (const int64_t* sizes, size_t naxes),
  (const int64_t* counts, size_t n)
};
// Two lists of one length, one after the other.
MT_JAVA_INTEGERS((const int64_t* first, const int64_t* second, size_t n))
%typemap(in) (const int64_t* first, const int64_t* second, size_t n)
    (int64_t values[most_integers]) {
  $3 = fill_integers(jenv, $input, values) / 2;
  $1 = values;
  $2 = values + $3;
}
%apply (const int64_t* first, const int64_t* second, size_t n) {
  (const int64_t* before, const int64_t* after, size_t ndim),
  (const int64_t* shifts, const int64_t* axes, size_t naxes),
  (const int64_t* axes_a, const int64_t* axes_b, size_t naxes)
};

// Five numbers for each item of an index, the last a handle.
%typemap(jni) (const mt_index_item* items, size_t n) "jlongArray"
%typemap(jtype) (const mt_index_item* items, size_t n) "long[]"
%typemap(jstype) (const mt_index_item* items, size_t n) "Index[]"
%typemap(javain, pre="    long[] p$javainput = Index.enter($javainput);",
         post="      Index.leave($javainput, p$javainput);")
    (const mt_index_item* items, size_t n) "p$javainput"
%typemap(in) (const mt_index_item* items, size_t n)
    (int64_t values[5 * most_integers], mt_index_item list[most_integers]) {
  jsize length = $input ? (*jenv)->GetArrayLength(jenv, $input) / 5 : 0;
  if (length > most_integers) length = most_integers;
  if (length) (*jenv)->GetLongArrayRegion(jenv, $input, 0, 5 * length, (jlong*)values);
  for (jsize i = 0; i < length; i++) {
    const int64_t* v = values + 5 * i;
    if (v[4] == -1) {
      throw_new(jenv, MT_EINVAL, "$symname: an index Tensor is closed");
      return $null;
    }
    list[i] = (mt_index_item){(int32_t)v[0], 0, v[1], v[2], v[3], (mt_tensor*)v[4]};
  }
  $1 = list;
  $2 = (size_t)length;
}
