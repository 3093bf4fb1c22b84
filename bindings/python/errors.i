// SPDX-License-Identifier: Apache-2.0
// An error of the library as an exception of the fitting class.
%{
static PyObject* mtorch_error;  // mtorch.Error

// The exception that a callback of this thread raised, on its way through the library.
static _Thread_local struct {
  PyObject *type, *value, *traceback;
} raised;

static void keep_raised(void) {
  Py_CLEAR(raised.type);
  Py_CLEAR(raised.value);
  Py_CLEAR(raised.traceback);
  PyErr_Fetch(&raised.type, &raised.value, &raised.traceback);
  PyErr_NormalizeException(&raised.type, &raised.value, &raised.traceback);
  PyObject* text = raised.value ? PyObject_Str(raised.value) : NULL;
  const char* message = text ? PyUnicode_AsUTF8(text) : NULL;
  mt_clear();
  mt_set_error(MT_EUSER, message ? message : "a Python exception");
  Py_XDECREF(text);
  PyErr_Clear();
}

static PyObject* error_class(mt_status code) {
  switch (code) {
    case MT_EINVAL:
    case MT_ESHAPE:
      return PyExc_ValueError;
    case MT_EDTYPE:
    case MT_ENULL:
      return PyExc_TypeError;
    case MT_EINDEX:
      return PyExc_IndexError;
    case MT_ENOMEM:
      return PyExc_MemoryError;
    default:
      return mtorch_error;
  }
}

// C's words in the messages of one code, and what Python says in their place.
static const struct {
  mt_status code;
  const char *words, *ours;
} wordings[] = {{MT_ENOGRAD, "retain it there", "give that one retain_graph=True"},
                {MT_ENULL, "is NULL", "is None"}};

static void set_error(mt_status code, const char* message) {
  for (size_t i = 0; i < sizeof wordings / sizeof *wordings; ++i) {
    size_t length = strlen(wordings[i].words), before = strlen(message);
    if (wordings[i].code != code || before < length) continue;
    before -= length;
    if (strcmp(message + before, wordings[i].words) != 0) continue;
    PyObject* start = PyUnicode_DecodeUTF8(message, (Py_ssize_t)before, "replace");
    if (start) PyErr_Format(error_class(code), "%U%s", start, wordings[i].ours);
    Py_XDECREF(start);
    return;
  }
  PyErr_SetString(error_class(code), message);
}

// Raises the thread's error, if there is one, and clears it. True when it did.
static bool raise_error(void) {
  mt_status code = mt_error();
  if (code == MT_OK) return false;
  if (code == MT_EUSER && raised.type) {
    PyErr_Restore(raised.type, raised.value, raised.traceback);
    raised.type = raised.value = raised.traceback = NULL;
  } else {
    set_error(code, mt_error_message());
  }
  mt_clear();
  return true;
}
%}

%init %{
  mtorch_error = PyErr_NewExceptionWithDoc(
      "mtorch.Error", "What went wrong in the library and has no class of its own in Python.",
      PyExc_RuntimeError, NULL);
  if (!mtorch_error) return NULL;
  Py_INCREF(mtorch_error);
  PyModule_AddObject(m, "Error", mtorch_error);
%}
%pythoncode %{
Error = _native.Error
%}

%exception {
  $action
  if (raise_error()) SWIG_fail;
}
