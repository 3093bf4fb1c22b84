// SPDX-License-Identifier: Apache-2.0
// An error of the library as an MTorchException, and what each native call begins with.
%{
static struct {
  JavaVM* vm;
  jclass exception, callbacks, thread_state, byte_buffer;
  jmethodID new_exception, call, call_operator, call_cell, enter;
} java;

// The exception that a callback of this thread threw, on its way through the library.
static _Thread_local jthrowable thrown;

// Set when the first virtual thread calls. Such threads move between those that the library knows,
// so what it keeps for each thread is put in place within each call.
static volatile int any_virtual;

static jclass find_class(JNIEnv* jenv, const char* name) {
  jclass found = (*jenv)->FindClass(jenv, name);
  return found ? (*jenv)->NewGlobalRef(jenv, found) : NULL;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  JNIEnv* jenv = NULL;
  (void)reserved;
  java.vm = vm;
  if ((*vm)->GetEnv(vm, (void**)&jenv, JNI_VERSION_10) != JNI_OK) return JNI_ERR;
  java.exception = find_class(jenv, "org/mtorch/MTorchException");
  java.callbacks = find_class(jenv, "org/mtorch/Callbacks");
  java.thread_state = find_class(jenv, "org/mtorch/ThreadState");
  java.byte_buffer = find_class(jenv, "java/nio/ByteBuffer");
  if (!java.exception || !java.callbacks || !java.thread_state || !java.byte_buffer) return JNI_ERR;
  java.new_exception = (*jenv)->GetMethodID(jenv, java.exception, "<init>", "(I[B)V");
  java.call = (*jenv)->GetStaticMethodID(jenv, java.callbacks, "call",
                                         "(Lorg/mtorch/TensorFunction;[JI)[J");
  java.call_operator = (*jenv)->GetStaticMethodID(jenv, java.callbacks, "callOperator",
                                                  "(Lorg/mtorch/Function;[J[J[JI)[J");
  java.call_cell = (*jenv)->GetStaticMethodID(jenv, java.callbacks, "callCell",
                                              "(Lorg/mtorch/CellCalls;[J[Ljava/nio/ByteBuffer;)V");
  java.enter = (*jenv)->GetStaticMethodID(jenv, java.thread_state, "enter", "()J");
  bool fine = java.new_exception && java.call && java.call_operator && java.call_cell && java.enter;
  return fine ? JNI_VERSION_10 : JNI_ERR;
}

static jbyteArray to_bytes(JNIEnv* jenv, const char* text) {
  if (!text) return NULL;
  jsize size = (jsize)strlen(text);
  jbyteArray bytes = (*jenv)->NewByteArray(jenv, size);
  if (bytes) (*jenv)->SetByteArrayRegion(jenv, bytes, 0, size, (const jbyte*)text);
  return bytes;
}

static void throw_new(JNIEnv* jenv, mt_status code, const char* message) {
  jbyteArray bytes = to_bytes(jenv, message);
  if (!bytes) return;
  jobject exception =
      (*jenv)->NewObject(jenv, java.exception, java.new_exception, (jint)code, bytes);
  if (exception) (*jenv)->Throw(jenv, exception);
}

// Throws the thread's error, and clears it.
static void throw_error(JNIEnv* jenv) {
  jthrowable inner = thrown;
  thrown = NULL;
  if (inner && mt_error() == MT_EUSER) {
    (*jenv)->Throw(jenv, inner);
  } else {
    throw_new(jenv, mt_error(), mt_error_message());
  }
  if (inner) (*jenv)->DeleteGlobalRef(jenv, inner);
  mt_clear();
}

// How many callbacks this thread is in. It is held in place meanwhile, and the mode is the
// library's.
static _Thread_local int callback_depth;

// False when an exception is to be thrown.
static bool begin_call(JNIEnv* jenv) {
  if (!any_virtual || callback_depth > 0) return true;
  jlong state = (*jenv)->CallStaticLongMethod(jenv, java.thread_state, java.enter);
  if ((*jenv)->ExceptionCheck(jenv)) return false;
  if (!state) return true;  // an ordinary thread
  mt_set_grad_mode(state & 1);
  mt_generator_use((mt_generator*)(state & ~(jlong)1));
  return true;
}
%}

%exception {
  if (!begin_call(jenv)) {
    $cleanup
    return $null;
  }
  $action
  if (mt_error() != MT_OK) {
    $cleanup
    throw_error(jenv);
    return $null;
  }
}
