// SPDX-License-Identifier: Apache-2.0
// Structs of options: an array of numbers, which the Java class of options writes in the order of
// the struct's members; null for all defaults.
%{
// What is missing has its default.
static void fill_options(JNIEnv* jenv, jdoubleArray array, double* values, jsize most) {
  jsize n = (*jenv)->GetArrayLength(jenv, array);
  (*jenv)->GetDoubleArrayRegion(jenv, array, 0, n < most ? n : most, values);
}
static void fill_axes(int64_t* axes, const double* values) {
  for (int i = 0; i < 3; i++) axes[i] = (int64_t)values[i];
}
static void fill_conv_options(mt_conv_options* o, const double* v) {
  fill_axes(o->stride, v), fill_axes(o->padding, v + 3);
  fill_axes(o->dilation, v + 6), fill_axes(o->output_padding, v + 9);
  o->groups = (int64_t)v[12], o->bias = v[13] != 0, o->same = v[14] != 0;
}
static void fill_pool_options(mt_pool_options* o, const double* v) {
  fill_axes(o->stride, v), fill_axes(o->padding, v + 3), fill_axes(o->dilation, v + 6);
  o->exclude_padding = v[9] != 0;
}
static void fill_batch_norm_options(mt_batch_norm_options* o, const double* v) {
  o->training = v[0] != 0, o->momentum = v[1], o->epsilon = v[2];
}
static void fill_attention_options(mt_attention_options* o, const double* v) {
  o->causal = v[0] != 0, o->scale = v[1], o->dropout = v[2];
  o->training = v[3] != 0, o->bias = v[4] != 0;
}
static void fill_cross_entropy_options(mt_cross_entropy_options* o, const double* v) {
  o->ignore_index = (int64_t)v[0], o->label_smoothing = v[1];
}
static void fill_sgd_options(mt_sgd_options* o, const double* v) {
  o->momentum = v[0], o->dampening = v[1], o->weight_decay = v[2], o->nesterov = v[3] != 0;
}
static void fill_adam_options(mt_adam_options* o, const double* v) {
  o->beta1 = v[0], o->beta2 = v[1], o->epsilon = v[2], o->weight_decay = v[3];
}
static void fill_rmsprop_options(mt_rmsprop_options* o, const double* v) {
  o->smoothing = v[0], o->epsilon = v[1], o->momentum = v[2], o->weight_decay = v[3];
}
static void fill_adagrad_options(mt_adagrad_options* o, const double* v) {
  o->epsilon = v[0], o->initial = v[1], o->weight_decay = v[2];
}
%}

%define MT_JAVA_OPTIONS(name, class)
%ignore mt_##name;
%typemap(jni) const mt_##name* "jdoubleArray"
%typemap(jtype) const mt_##name* "double[]"
%typemap(jstype) const mt_##name* "class"
%typemap(javain) const mt_##name* "$javainput == null ? null : $javainput.numbers()"
%typemap(in) const mt_##name* (mt_##name options, double numbers[16]) {
  $1 = NULL;
  if ($input) {
    memset(&options, 0, sizeof options);
    memset(numbers, 0, sizeof numbers);
    options.struct_size = sizeof options;
    fill_options(jenv, $input, numbers, 16);
    fill_##name(&options, numbers);
    $1 = &options;
  }
}
%enddef
MT_JAVA_OPTIONS(conv_options, ConvOptions)
MT_JAVA_OPTIONS(pool_options, PoolOptions)
MT_JAVA_OPTIONS(batch_norm_options, BatchNormOptions)
MT_JAVA_OPTIONS(attention_options, AttentionOptions)
MT_JAVA_OPTIONS(cross_entropy_options, CrossEntropyOptions)
MT_JAVA_OPTIONS(sgd_options, SgdOptions)
MT_JAVA_OPTIONS(adam_options, AdamOptions)
MT_JAVA_OPTIONS(rmsprop_options, RmspropOptions)
MT_JAVA_OPTIONS(adagrad_options, AdagradOptions)
