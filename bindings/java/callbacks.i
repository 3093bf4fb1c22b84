// SPDX-License-Identifier: Apache-2.0
// Java objects as callbacks of the library. An exception inside travels through the library and
// comes out of the call as itself.
%{
// The environment of this thread; one that Java does not know is attached, and says so.
static JNIEnv* environment(bool* attached) {
  JNIEnv* jenv = NULL;
  *attached = false;
  if ((*java.vm)->GetEnv(java.vm, (void**)&jenv, JNI_VERSION_10) == JNI_EDETACHED) {
    *attached = (*java.vm)->AttachCurrentThreadAsDaemon(java.vm, (void**)&jenv, NULL) == JNI_OK;
    if (!*attached) return NULL;
  }
  return jenv;
}

// Lets go of a Java object, on any thread.
static void drop_object(void* user) {
  bool attached;
  JNIEnv* jenv = environment(&attached);
  if (jenv) (*jenv)->DeleteGlobalRef(jenv, user);
  if (attached) (*java.vm)->DetachCurrentThread(java.vm);
}

// Handles as numbers, each with one more owner: the Java object that will stand for it.
static jlongArray lend(JNIEnv* jenv, mt_tensor* const* tensors, size_t n) {
  jlongArray array = (*jenv)->NewLongArray(jenv, (jsize)n);
  for (size_t i = 0; array && i < n; i++) {
    jlong handle = (jlong)(tensors[i] ? mt_retain(tensors[i]) : NULL);
    (*jenv)->SetLongArrayRegion(jenv, array, (jsize)i, 1, &handle);
  }
  return array;
}

// Whether a callback threw something, which is kept until the call that needed it throws it.
static bool keep_thrown(JNIEnv* jenv) {
  jthrowable inner = (*jenv)->ExceptionOccurred(jenv);
  if (!inner) return false;
  (*jenv)->ExceptionClear(jenv);
  if (thrown) (*jenv)->DeleteGlobalRef(jenv, thrown);
  thrown = (*jenv)->NewGlobalRef(jenv, inner);
  (*jenv)->DeleteLocalRef(jenv, inner);
  mt_clear();
  return true;
}

// The environment of a callback, with room for local references; NULL when it cannot run.
static JNIEnv* enter_callback(bool* attached) {
  JNIEnv* jenv = environment(attached);
  if (!jenv || (*jenv)->PushLocalFrame(jenv, 16) == 0) return jenv;
  if (keep_thrown(jenv)) mt_set_error(MT_EUSER, "a Java exception");
  if (*attached) (*java.vm)->DetachCurrentThread(java.vm);
  return NULL;
}

static void leave_callback(JNIEnv* jenv, bool attached) {
  (*jenv)->PopLocalFrame(jenv, NULL);
  if (attached) (*java.vm)->DetachCurrentThread(java.vm);
}

// Takes over what a callback returned: handles that the library's own scope holds.
static mt_status give_results(JNIEnv* jenv, jlongArray array, mt_tensor** results, size_t n) {
  if (keep_thrown(jenv)) return mt_set_error(MT_EUSER, "a Java exception");
  (*jenv)->GetLongArrayRegion(jenv, array, 0, (jsize)n, (jlong*)results);
  return mt_error();
}

static mt_status call_function(void* user, mt_tensor* const* inputs, size_t ninputs,
                               mt_tensor** results, size_t nresults) {
  bool attached;
  JNIEnv* jenv = enter_callback(&attached);
  if (!jenv) return MT_EUSER;
  jobject function = (*jenv)->NewLocalRef(jenv, user);
  jlongArray x = lend(jenv, inputs, ninputs), y = NULL;
  if (x) {
    callback_depth++;
    y = (*jenv)->CallStaticObjectMethod(jenv, java.callbacks, java.call, function, x,
                                        (jint)nresults);
    callback_depth--;
  }
  mt_status status = give_results(jenv, y, results, nresults);
  leave_callback(jenv, attached);
  return status;
}

static mt_status call_operator(void* user, mt_tensor* const* inputs, size_t ninputs,
                               mt_tensor* const* values, size_t nvalues,
                               mt_tensor* const* gradients, mt_tensor** results, size_t nresults) {
  bool attached;
  JNIEnv* jenv = enter_callback(&attached);
  if (!jenv) return MT_EUSER;
  jlongArray x = lend(jenv, inputs, ninputs), y = NULL, dy = NULL, found = NULL;
  if (gradients) y = lend(jenv, values, nvalues), dy = lend(jenv, gradients, nvalues);
  if (x) {
    callback_depth++;
    found = (*jenv)->CallStaticObjectMethod(jenv, java.callbacks, java.call_operator, (jobject)user,
                                            x, y, dy, (jint)nresults);
    callback_depth--;
  }
  mt_status status = give_results(jenv, found, results, nresults);
  leave_callback(jenv, attached);
  return status;
}
static mt_status call_forward(void* user, mt_tensor* const* inputs, size_t ninputs,
                              mt_tensor** results, size_t nresults) {
  return call_operator(user, inputs, ninputs, NULL, 0, NULL, results, nresults);
}
static mt_status call_backward(void* user, mt_tensor* const* inputs, size_t ninputs,
                               mt_tensor* const* values, size_t nvalues,
                               mt_tensor* const* gradients, mt_tensor** results) {
  return call_operator(user, inputs, ninputs, values, nvalues, gradients, results, ninputs);
}

// The function is weak here: the Java object around the trace keeps it, and it may well know that.
typedef struct java_trace {
  mt_trace* trace;
  jobject function;
} java_trace;
%}

%inline %{
// A new handle on the value, which the scope of the callback around us holds.
static int64_t hand_over(mt_tensor* x) { return (int64_t)mt_astype(x, mt_dtype_of(x)); }

static int64_t trace_new(JNIEnv* jenv, jobject function) {
  java_trace* traced = calloc(1, sizeof *traced);
  if (!traced) {
    mt_set_error(MT_ENOMEM, "trace: out of memory");
    return 0;
  }
  traced->function = (*jenv)->NewWeakGlobalRef(jenv, function);
  traced->trace = mt_trace_new(call_function, traced->function);
  return (int64_t)traced;
}
static void trace_release(JNIEnv* jenv, int64_t address) {
  java_trace* traced = (java_trace*)address;
  mt_trace_release(traced->trace);
  (*jenv)->DeleteWeakGlobalRef(jenv, traced->function);
  free(traced);
}
static tensor_list trace_call(struct java_trace* trace, tensor_list* inputs, size_t count) {
  tensor_list list = new_results(count);
  mt_trace_call(trace->trace, inputs->items, inputs->n, list.items, count);
  return finish(list);
}
static size_t trace_count(struct java_trace* trace) { return mt_trace_count(trace->trace); }
static char* trace_explain(struct java_trace* trace, bool dot) {
  return dot ? mt_explain_trace_dot(trace->trace) : mt_explain_trace(trace->trace);
}

static tensor_list checkpoint(JNIEnv* jenv, jobject function, tensor_list* inputs, size_t count) {
  tensor_list list = new_results(count);
  (void)jenv;
  mt_checkpoint(call_function, function, inputs->items, inputs->n, list.items, count);
  return finish(list);
}
static void gradient_check(JNIEnv* jenv, jobject function, tensor_list* inputs, int order) {
  mt_gradient_check_options options = MT_GRADIENT_CHECK_OPTIONS_INIT;
  (void)jenv;
  options.order = order;
  mt_gradient_check(call_function, function, inputs->items, inputs->n, &options);
}
static tensor_list custom(JNIEnv* jenv, const char* name, jobject function, bool differentiable,
                          tensor_list* inputs, size_t count) {
  tensor_list list = new_results(count);
  mt_operator operation = {sizeof operation, name,        call_forward,
                           NULL,             drop_object, NULL};
  if (differentiable) operation.backward = call_backward;
  operation.user = (*jenv)->NewGlobalRef(jenv, function);
  if (mt_custom(&operation, inputs->items, inputs->n, list.items, count) != MT_OK) {
    (*jenv)->DeleteGlobalRef(jenv, operation.user);
  }
  return finish(list);
}
%}
%newobject trace_explain;
