// SPDX-License-Identifier: Apache-2.0
/// @file tensor.h
/// Tensors: handles and who owns them, element types, creation, metadata, and reading values.
///
/// **Values.** A tensor is an array of 0 to 16 dimensions with one element type on one device. Its
/// value never changes in place: mt_assign() and what is built on it bind a handle to a new value,
/// which other handles do not see. Sizes may be 0; with no dimensions it holds one element.
///
/// **Deferred work.** A call checks shapes, types and devices at once; the arithmetic waits until a
/// value is read (mt_item(), mt_map(), ...) or mt_eval() asks for it. Results never depend on that.
///
/// **Ownership.** A function that returns an `mt_tensor*` returns a new handle, owned by this
/// thread's innermost open scope and released with it; mt_take() moves it out. With no scope open
/// the caller owns it and calls mt_release(). Functions marked "the same handle" or "borrowed"
/// return one that already exists, and add no owner.
///
/// **Arrays** come as pointer and count and are read during the call only: `dims, ndim` is a shape
/// (MT_DIMS(2, 3), or NULL, 0 for no dimensions), `axes, naxes` a set of axes. An axis may be
/// negative and then counts from the last. An array that a function fills is called `results`: its
/// elements are set to new handles, or all to NULL on an error; likewise a single `mt_tensor**`.
///
/// **Options** beyond a few go in a struct that begins with `struct_size` and has an _INIT macro
/// with every default: `mt_conv_options o = MT_CONV_OPTIONS_INIT; o.padding[0] = 1;`. NULL means
/// all defaults, and members that an older program's struct lacks have theirs.
///
/// **Text** is UTF-8. A `const char*` that is returned belongs to the library or to the object
/// asked; a `char*` belongs to the caller and is freed with mt_free_string().
///
/// **Devices** are strings: "cpu", "cpu:reference", "cuda:0"; NULL is the default (device.h).
///
/// **Threads.** Any handle may be used and released from any thread, and by several at once. They
/// may find gradients along one history and collect them in one leaf; where one thread's backward
/// forgets the history, others get their gradients in full or MT_ENOGRAD. Binding a handle anew
/// (mt_assign(), an optimizer's step, a trace's replay) is for one thread while no other uses that
/// handle. Errors, scopes, gradient mode and random generator belong to each thread.
#ifndef MTORCH_TENSOR_H_
#define MTORCH_TENSOR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/// A tensor: opaque, reference-counted.
typedef struct mt_tensor mt_tensor;
/// A group of temporary tensors that are released together: opaque.
typedef struct mt_scope mt_scope;

// ------------------------------------------------------------------------------ Element types

/// An element type: DLPack's packed code, `kind | bits << 8 | lanes << 16`.
typedef int32_t mt_dtype;

enum {
  MT_BOOL = 0x10806,
  MT_U8 = 0x10801,
  MT_U16 = 0x11001,
  MT_U32 = 0x12001,
  MT_U64 = 0x14001,
  MT_I8 = 0x10800,
  MT_I16 = 0x11000,
  MT_I32 = 0x12000,
  MT_I64 = 0x14000,
  MT_F16 = 0x11002,
  MT_BF16 = 0x11004,
  MT_F32 = 0x12002,
  MT_F64 = 0x14002
};

/// The name of an element type: "float32", "bool", ...; NULL and MT_EINVAL for what is none.
MT_API const char* mt_dtype_name(mt_dtype dtype);
/// Bytes of one element.
MT_API size_t mt_dtype_size(mt_dtype dtype);
/// The type in which an operator of both works: the Array API standard's promotion; further, an
/// integer or bool with a float gives the float, and float16 with bfloat16 gives float32. Returns 0
/// and MT_EDTYPE for uint64 with a signed integer.
MT_API mt_dtype mt_promote_types(mt_dtype a, mt_dtype b);

// ------------------------------------------------------------------------- Scopes and ownership

/// Opens a scope on this thread: from now on it owns what functions return. NULL on MT_ENOMEM.
MT_API mt_scope* mt_scope_begin(void);
/// Ends a scope and every scope opened inside it, and releases what they own. Computes nothing.
/// Returns NULL, always. MT_EINVAL for a scope that is not open on this thread; NULL is harmless.
MT_API mt_scope* mt_scope_end(mt_scope* scope);

/// Moves a tensor from the scope that owns it to the caller and returns the same handle. Harmless
/// when no scope owns it, as when none is open.
MT_API mt_tensor* mt_take(mt_tensor* tensor);
/// Adds an owner, the caller, and returns the same handle.
MT_API mt_tensor* mt_retain(mt_tensor* tensor);
/// Ends the caller's ownership; the last owner's release frees the handle. A tensor that only a
/// scope owns leaves it early. NULL is harmless; never fails, never computes.
MT_API void mt_release(mt_tensor* tensor);

/// A block whose temporaries are released at its end:
/// @code
/// MT_SCOPE { loss = mt_item(mt_mean(mt_square(mt_sub(prediction, target)), NULL, 0)); }
/// @endcode
/// `break` and `continue` leave this block, not a loop around it. Where the compiler has the
/// cleanup attribute (gcc, clang) `return` and `goto` clean up too, elsewhere the scope around it.
#define MT_SCOPE                                                                           \
  for (mt_scope * MT_UNIQUE_(mt_scope_) MT_CLEANUP_(mt_scope_cleanup_) = mt_scope_begin(); \
       MT_UNIQUE_(mt_scope_); MT_UNIQUE_(mt_scope_) = mt_scope_end(MT_UNIQUE_(mt_scope_)))

/// @cond
#define MT_JOIN2_(a, b) a##b
#define MT_JOIN_(a, b) MT_JOIN2_(a, b)
#define MT_UNIQUE_(name) MT_JOIN_(name, __LINE__)
#ifdef __GNUC__
#define MT_CLEANUP_(function) __attribute__((cleanup(function)))
static inline void mt_scope_cleanup_(mt_scope** scope) {
  if (*scope) mt_scope_end(*scope);
}
#else
#define MT_CLEANUP_(function)
#endif
#ifdef __cplusplus
extern "C++" {
template <class... T>
char (&mt_count_(const T&...))[sizeof...(T)];  // never defined: sizeof counts the arguments
}
#endif
/// @endcond

/// A list of sizes or axes as the two arguments `pointer, count`: mt_zeros(MT_DIMS(2, 3), ...).
#ifdef __cplusplus
#define MT_DIMS(...) \
  (std::initializer_list<int64_t>{__VA_ARGS__}.begin()), sizeof(mt_count_(__VA_ARGS__))
#else
#define MT_DIMS(...) \
  (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#endif

/// Frees a `char*` that the library returned. NULL is harmless.
MT_API void mt_free_string(char* text);

// --------------------------------------------------------------------------------- Creation

/// All elements 0.
MT_API mt_tensor* mt_zeros(const int64_t* dims, size_t ndim, mt_dtype dtype, const char* device);
/// All elements 1.
MT_API mt_tensor* mt_ones(const int64_t* dims, size_t ndim, mt_dtype dtype, const char* device);
/// All elements `value`, converted as mt_astype() does.
MT_API mt_tensor* mt_full(const int64_t* dims, size_t ndim, double value, mt_dtype dtype,
                          const char* device);
/// Shape, type and device of `x`, all elements 0.
MT_API mt_tensor* mt_zeros_like(mt_tensor* x);
/// Shape, type and device of `x`, all elements 1.
MT_API mt_tensor* mt_ones_like(mt_tensor* x);
/// Shape, type and device of `x`, all elements `value`.
MT_API mt_tensor* mt_full_like(mt_tensor* x, double value);

/// A number for use beside tensors: mt_mul(x, mt_number(0.5)). It has no dimensions, belongs to
/// every device, and takes the other operand's type; with integers or bool it is float32, and so
/// it is alone. Inside a trace it is a constant.
MT_API mt_tensor* mt_number(double value);
/// The same for a whole number: it takes the other operand's type, integers too, into which it must
/// fit (MT_EINVAL) unless it is compared; with bool, and alone, it is int64.
MT_API mt_tensor* mt_whole_number(int64_t value);

/// start, start + step, start + 2 step, ... before `stop`: max(0, ceil((stop - start) / step))
/// elements. MT_EINVAL when step is 0 or a value is not finite.
MT_API mt_tensor* mt_arange(double start, double stop, double step, mt_dtype dtype,
                            const char* device);
/// `count` floats spread evenly from `start` to `stop`, both included: element i is
/// start + i * ((stop - start) / (count - 1)), rounded to float64 in this order, or
/// start + i * (stop - start) / (count - 1) where that step is subnormal. The last is `stop`
/// itself.
MT_API mt_tensor* mt_linspace(double start, double stop, int64_t count, mt_dtype dtype,
                              const char* device);
/// [rows, columns] with 1 on diagonal `k` (0 the main one, positive above it), else 0.
MT_API mt_tensor* mt_eye(int64_t rows, int64_t columns, int64_t k, mt_dtype dtype,
                         const char* device);
/// [..., classes] for integers [...]: 1 where the last index equals the value, else 0. Values
/// outside [0, classes) give a row of zeros.
MT_API mt_tensor* mt_one_hot(mt_tensor* indices, int64_t classes, mt_dtype dtype);

/// A tensor with a copy of `data`: row-major, contiguous, in host memory.
MT_API mt_tensor* mt_from_data(const void* data, const int64_t* dims, size_t ndim, mt_dtype dtype,
                               const char* device);
/// A tensor over the caller's memory, without a copy: row-major, contiguous, aligned for its type,
/// and on `device`. Until `done(user)` is called, when nothing needs the memory any more, it must
/// stay and must not be written. `done` may be NULL; it is called once, on any thread, and not at
/// all when this function fails.
MT_API mt_tensor* mt_wrap(void* data, const int64_t* dims, size_t ndim, mt_dtype dtype,
                          const char* device, void (*done)(void* user), void* user);
/// The same for memory that its owner keeps writing: operators that read it run at once, at the
/// price of not fusing. Not inside a trace (MT_ETRACE).
MT_API mt_tensor* mt_wrap_mutable(void* data, const int64_t* dims, size_t ndim, mt_dtype dtype,
                                  const char* device, void (*done)(void* user), void* user);

// --------------------------------------------------------------------------------- Metadata
// None of these computes.

/// The number of dimensions.
MT_API size_t mt_ndim(mt_tensor* tensor);
/// Its sizes: mt_ndim() numbers that belong to the handle, until it is released or rebound.
MT_API const int64_t* mt_dims(mt_tensor* tensor);
/// The size along one axis; -1 on an error.
MT_API int64_t mt_dim(mt_tensor* tensor, int64_t axis);
/// The number of elements; -1 on an error.
MT_API int64_t mt_size(mt_tensor* tensor);
/// The element type; 0 on an error. (`mt_dtype` names the C type.)
MT_API mt_dtype mt_dtype_of(mt_tensor* tensor);
/// The device, as "cpu". Belongs to the library.
MT_API const char* mt_device_of(mt_tensor* tensor);

// ----------------------------------------------------------------------------- Reading values

/// Computes tensors now, together: all of `tensors`, or with NULL, 0 everything that is pending on
/// this thread and still held. On MT_ENOMEM everything stays pending, or all of a device's.
MT_API mt_status mt_eval(mt_tensor* const* tensors, size_t n);
/// The value of a tensor of one element, as a double; NaN on an error. MT_ESHAPE for another size.
MT_API double mt_item(mt_tensor* tensor);
/// The same for integers and bool, exactly; 0 on an error. MT_EDTYPE for floats and for a uint64
/// that does not fit.
MT_API int64_t mt_item_int(mt_tensor* tensor);
/// All elements in host memory, row-major and contiguous, to be read until the matching
/// mt_unmap(). Keeps the value alive whatever happens to the handle, and the handle for mt_unmap(),
/// which is valid, and still needed, after mt_release() or the end of the scope: without it both
/// are leaked. NULL on an error; not NULL for an empty tensor.
MT_API const void* mt_map(mt_tensor* tensor);
/// The same where they lie, copied only from memory that is not the host's: element (i, j, ...) is
/// i strides[0] + j strides[1] + ... elements from the address. Sets `strides`, mt_ndim() numbers,
/// which can be 0 and negative.
MT_API const void* mt_map_strided(mt_tensor* tensor, int64_t* strides);
/// Ends one mt_map() or mt_map_strided(). NULL is harmless.
MT_API void mt_unmap(mt_tensor* tensor);
/// Copies all elements to `buffer`, row-major. MT_ESHAPE when `bytes` is not exactly their size.
MT_API mt_status mt_copy_to_host(mt_tensor* tensor, void* buffer, size_t bytes);
/// The tensor as text, as NumPy prints it, long ones shortened. Freed with mt_free_string().
MT_API char* mt_to_string(mt_tensor* tensor);
/// The same laid out for code: elements with `separator` between them, as ", ", lines after the
/// first indented (by at most 75), lines of `width` characters where elements allow it.
MT_API char* mt_to_text(mt_tensor* tensor, const char* separator, size_t indent, size_t width);

// ------------------------------------------------------------------ Copies, types and devices

/// Each element converted to `dtype`: to a float rounds to nearest even; a float to an integer
/// truncates, saturates, and takes NaN to 0; between integers keeps the low bits; to bool is
/// `x != 0`. Differentiable between floats.
MT_API mt_tensor* mt_astype(mt_tensor* x, mt_dtype dtype);
/// The same values, stored in contiguous memory of their own.
MT_API mt_tensor* mt_copy(mt_tensor* x);
/// The same values on another device. Differentiable.
MT_API mt_tensor* mt_to_device(mt_tensor* x, const char* device);

/// Binds handle `x` to the value of another tensor of its shape, type and device: x[...] = value.
/// This is the base of everything in place; memory is reused when the old value has no other
/// reader. A leaf that requires a gradient stays one, and takes only a value without history (work
/// inside MT_NO_GRAD, else MT_EINVAL); any other handle takes over the value's history.
MT_API mt_status mt_assign(mt_tensor* x, mt_tensor* value);

#ifdef __cplusplus
}
#endif
#endif
