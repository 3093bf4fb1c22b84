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
