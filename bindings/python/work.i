// SPDX-License-Identifier: Apache-2.0
// The interpreter's lock around the library's work. Letting go of it costs more than tiny work
// does, so between BEGIN_WORK and END_WORK it is let go of only when the library says that it is
// about to work for long, or to wait. Hence no deadlock: whoever waits inside the library holds
// the interpreter no more.
%{
typedef struct {
  PyThreadState* left;  // set once the interpreter was let go of
} work;

static _Thread_local work* current_work;  // of the innermost call; NULL in Python's own code

#define BEGIN_WORK \
  { \
    work here = {NULL}, **current = &current_work, *outer = *current; \
    *current = &here;
#define END_WORK \
    *current = outer; \
    if (here.left) PyEval_RestoreThread(here.left); \
  }

static void let_go(void) {
  work* here = current_work;
  if (here && !here->left && PyGILState_Check()) here->left = PyEval_SaveThread();
}

// Around what the library calls back.
typedef struct {
  PyGILState_STATE gil;
  work* outer;
} python_entry;

static python_entry enter_python(void) {
  python_entry entry = {PyGILState_Ensure(), current_work};
  current_work = NULL;
  return entry;
}

static void leave_python(python_entry entry) {
  current_work = entry.outer;
  PyGILState_Release(entry.gil);
}
%}

%init %{
  mt_before_work(let_go);
%}

// The generated functions that record operators do as the operators do; the others, which may work
// or wait without saying so, let go of it always.
%define MT_RECORDS(name)
%nothread name;
%exception name {
  BEGIN_WORK
  $action
  END_WORK
  if (raise_error()) SWIG_fail;
}
%enddef
MT_RECORDS(mt_zeros)
MT_RECORDS(mt_ones)
MT_RECORDS(mt_full)
MT_RECORDS(mt_zeros_like)
MT_RECORDS(mt_ones_like)
MT_RECORDS(mt_full_like)
MT_RECORDS(mt_number)
MT_RECORDS(mt_whole_number)
MT_RECORDS(mt_arange)
MT_RECORDS(mt_linspace)
MT_RECORDS(mt_eye)
MT_RECORDS(mt_one_hot)
MT_RECORDS(mt_astype)
MT_RECORDS(mt_copy)

// Around the headers of which every function records.
%define MT_RECORDING_BEGINS
MT_RECORDS()
%enddef
%define MT_RECORDING_ENDS
%thread;
%exception {
  $action
  if (raise_error()) SWIG_fail;
}
%enddef
