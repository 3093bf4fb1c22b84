// SPDX-License-Identifier: Apache-2.0
/// @file error.h
/// Errors: the first one on a thread is kept until mt_clear(), so one check at the end is enough.
///
/// A function that fails records a code and a message, and returns NULL, a negative mt_status, NaN
/// or 0. While an error is pending on the thread:
///  - a tensor function given NULL returns NULL and adds nothing, so nested expressions are safe;
///    other tensor functions work as usual;
///  - functions that change state (backward, optimizer steps, assign, load, save, seed, ...) do
///    nothing and return the pending code, so that a failed loss cannot damage weights;
///  - release, scope ends, unmap, strings, getters and this file's functions always work.
///
/// A function that fails has changed nothing. The library never aborts, exits or prints, and no
/// C++ exception crosses its functions.
///
/// **Errors that any function can give**, not repeated below: MT_ENULL for a NULL that is not
/// marked "or NULL"; MT_ENOMEM; MT_EINVAL for a number that is no dtype; MT_EDEVICE for
/// tensors on different devices and for a device string that names none; MT_ESHAPE for shapes that
/// do not fit, over 16 dimensions, or too large to address; MT_EDTYPE for element types that the
/// function does not take; MT_EINDEX for an axis out of range and MT_EINVAL for one named twice in
/// a set of axes; and, from a call that reads a value, the error of whatever work it had waited
/// for, and MT_ETRACE inside a trace. A function that takes what others refuse says so.
#ifndef MTORCH_ERROR_H_
#define MTORCH_ERROR_H_

#include <stdint.h>

#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/// MT_OK or one of the negative codes below.
typedef int32_t mt_status;

enum {
  MT_OK = 0,
  MT_EINVAL = -1,        ///< a value, axis, name or state that cannot be
  MT_ESHAPE = -2,        ///< shapes that do not fit
  MT_EDTYPE = -3,        ///< element types that do not fit
  MT_ENOMEM = -4,        ///< out of memory, or over the limit set by mt_set_memory_limit()
  MT_EDEVICE = -5,       ///< no such device, devices that differ, or a device that failed
  MT_EUSER = -6,         ///< a user's callback failed
  MT_ENULL = -7,         ///< a required pointer was NULL
  MT_ENOGRAD = -8,       ///< asked for a gradient that does not exist
  MT_EIO = -9,           ///< a file that cannot be read, written or understood
  MT_EINDEX = -10,       ///< an index or axis out of range
  MT_ETRACE = -11,       ///< not possible inside a trace
  MT_EUNSUPPORTED = -12  ///< valid, but this build or device cannot do it
};

/// The first error on this thread since mt_clear(), or MT_OK.
MT_API mt_status mt_error(void);

/// Its message, beginning with the operator's name and showing what did not fit:
/// "matmul: [64,3] x [2,1]: inner sizes 3 and 2 differ". Empty when there is none. Belongs to the
/// thread, until mt_clear().
MT_API const char* mt_error_message(void);

/// Forgets the error of this thread.
MT_API void mt_clear(void);

/// Records an error from a callback or a binding, unless one is pending; returns the pending code.
/// `code` is one of the negative codes; any other counts as MT_EUSER. `message` is copied.
MT_API mt_status mt_set_error(mt_status code, const char* message);

/// The name of a code: "MT_ESHAPE" for -2; "unknown" for what is none. Belongs to the library.
MT_API const char* mt_status_name(mt_status code);

#ifdef __cplusplus
}
#endif
#endif
