// SPDX-License-Identifier: Apache-2.0
// Kernels: CUDA C, or a Java function that is called for each cell with the memory of one call.
MT_JAVA_PLAIN(jdoubleArray, double[])
%{
// A Java function with what one call hands to it, and the bytes of its inputs and results.
typedef struct java_cells {
  jobject calls;  // CellCalls
  size_t ninputs, n;
  int64_t bytes[];
} java_cells;

static void drop_cells(void* user) {
  java_cells* cells = user;
  drop_object(cells->calls);
  free(cells);
}

// The memory of inputs and results as direct buffers; NULL with an exception.
static jobjectArray buffers_of(JNIEnv* jenv, const java_cells* cells, const void* const* inputs,
                               void* const* results) {
  jobjectArray array = (*jenv)->NewObjectArray(jenv, (jsize)cells->n, java.byte_buffer, NULL);
  for (size_t i = 0; array && i < cells->n; i++) {
    void* data = i < cells->ninputs ? (void*)inputs[i] : results[i - cells->ninputs];
    jobject buffer = (*jenv)->NewDirectByteBuffer(jenv, cells->bytes[i] ? data : (void*)cells,
                                                  cells->bytes[i]);
    if (!buffer) return NULL;
    (*jenv)->SetObjectArrayElement(jenv, array, (jsize)i, buffer);
    (*jenv)->DeleteLocalRef(jenv, buffer);
  }
  return array;
}

static bool is_last(const mt_cell* cell) {
  for (int i = 0; i < 3; i++) {
    if (cell->block[i] + 1 < cell->grid_size[i]) return false;
    if (cell->thread[i] + 1 < cell->block_size[i]) return false;
  }
  return true;
}

// Whether the call that this thread is in attached it. It stays so until the last cell, as the
// Java object keeps by threads what all cells see.
static _Thread_local bool cells_attached;

static void end_cells(void) {
  if (cells_attached) (*java.vm)->DetachCurrentThread(java.vm);
  cells_attached = false;
}

static mt_status call_cell(void* user, const mt_cell* cell, const void* const* inputs,
                           void* const* results, const double* numbers) {
  java_cells* cells = user;
  bool attached;
  JNIEnv* jenv = enter_callback(&attached);
  (void)numbers;  // the object has those that were given
  if (!jenv) {
    end_cells();
    return MT_EUSER;
  }
  cells_attached |= attached;
  const int64_t *b = cell->block, *t = cell->thread;
  bool first = !(b[0] | b[1] | b[2] | t[0] | t[1] | t[2]);
  _Static_assert(sizeof(mt_cell) == 12 * sizeof(jlong), "twelve numbers");
  jlongArray place = (*jenv)->NewLongArray(jenv, 12);
  jobjectArray memory = place && first ? buffers_of(jenv, cells, inputs, results) : NULL;
  if (place && !(*jenv)->ExceptionCheck(jenv)) {
    (*jenv)->SetLongArrayRegion(jenv, place, 0, 12, (const jlong*)cell);
    callback_depth++;
    (*jenv)->CallStaticVoidMethod(jenv, java.callbacks, java.call_cell, cells->calls, place, memory);
    callback_depth--;
  }
  mt_status status = keep_thrown(jenv) ? mt_set_error(MT_EUSER, "a Java exception") : MT_OK;
  leave_callback(jenv, false);
  if (status != MT_OK || is_last(cell)) end_cells();
  return status;
}

// A kernel of one call of a Java function.
static mt_kernel* kernel_of_cells(JNIEnv* jenv, const char* name, jobject calls, jlongArray bytes,
                                  size_t ninputs) {
  jsize n = (*jenv)->GetArrayLength(jenv, bytes);
  java_cells* cells = malloc(sizeof *cells + (size_t)n * sizeof *cells->bytes);
  if (!cells) {
    mt_set_error(MT_ENOMEM, "kernel: out of memory");
    return NULL;
  }
  *cells = (java_cells){(*jenv)->NewGlobalRef(jenv, calls), ninputs, (size_t)n};
  if (n) (*jenv)->GetLongArrayRegion(jenv, bytes, 0, n, (jlong*)cells->bytes);
  for (jsize i = 0; i < n; i++) {
    if (cells->bytes[i] > INT_MAX) mt_set_error(MT_ESHAPE, "kernel: too large for a buffer");
  }
  mt_kernel_definition definition = {sizeof definition, name, NULL, call_cell, true, drop_cells,
                                     cells};
  mt_kernel* kernel = mt_error() == MT_OK ? mt_kernel_new(&definition) : NULL;
  if (!kernel) {
    (*jenv)->DeleteGlobalRef(jenv, cells->calls);
    free(cells);
  }
  return kernel;
}

// Reads type, number of sizes and sizes of each result; false when there are too many numbers.
static bool read_forms(const int64_t* codes, size_t ncodes, mt_kernel_result* forms, size_t count) {
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    if (at + 2 > ncodes || codes[at + 1] < 0 || at + 2 + (size_t)codes[at + 1] > ncodes) return false;
    forms[i] = (mt_kernel_result){codes + at + 2, (size_t)codes[at + 1], (mt_dtype)codes[at]};
    at += 2 + (size_t)codes[at + 1];
  }
  return at == ncodes;
}
%}

%inline %{
static int64_t kernel_new(const char* name, const char* cuda) {
  mt_kernel_definition definition = {sizeof definition, name, cuda, NULL, false, NULL, NULL};
  return (int64_t)mt_kernel_new(&definition);
}

// Without a kernel, `calls` are run on the CPU.
static tensor_list kernel_run(JNIEnv* jenv, mt_kernel* kernel, jobject calls, const char* name,
                              jlongArray geometry, const char* device, tensor_list* inputs,
                              jdoubleArray numbers, jlongArray codes, jlongArray bytes,
                              size_t count) {
  tensor_list list = new_results(count);
  int64_t sizes[7] = {0};
  (*jenv)->GetLongArrayRegion(jenv, geometry, 0, 7, (jlong*)sizes);
  mt_launch launch = {sizeof launch, {sizes[0], sizes[1], sizes[2]}, {sizes[3], sizes[4], sizes[5]},
                      sizes[6], device};
  size_t ncodes = (size_t)(*jenv)->GetArrayLength(jenv, codes);
  size_t nvalues = (size_t)(*jenv)->GetArrayLength(jenv, numbers);
  mt_kernel_result* forms = calloc(count + 1, sizeof *forms);
  int64_t* shapes = calloc(ncodes + 1, sizeof *shapes);
  double* values = calloc(nvalues + 1, sizeof *values);
  mt_kernel* made = NULL;
  if (!list.items || !forms || !shapes || !values) {
    mt_set_error(MT_ENOMEM, "kernel: out of memory");
  } else {
    (*jenv)->GetLongArrayRegion(jenv, codes, 0, (jsize)ncodes, (jlong*)shapes);
    (*jenv)->GetDoubleArrayRegion(jenv, numbers, 0, (jsize)nvalues, values);
    if (calls) kernel = made = kernel_of_cells(jenv, name, calls, bytes, inputs->n);
    if (kernel && read_forms(shapes, ncodes, forms, count)) {
      mt_kernel_call(kernel, &launch, inputs->items, inputs->n, values, nvalues, forms, list.items,
                     count);
    }
    mt_kernel_release(made);
  }
  free(forms);
  free(shapes);
  free(values);
  return finish(list);
}
%}
