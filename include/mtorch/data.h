// SPDX-License-Identifier: Apache-2.0
/// @file data.h
/// Data in batches: shuffled by a seed, made ready in the background.
///
/// A loader gives batch after batch, epoch after epoch, without an end:
///
/// @code
/// mt_tensor* data[] = {images, labels};
/// mt_loader* loader = mt_loader_new(data, 2, 64, NULL);
/// for (int64_t i = 0; i < epochs * mt_loader_batches(loader) && !mt_error(); i++) MT_SCOPE {
///   mt_tensor* batch[2];
///   mt_loader_next(loader, batch);
///   mt_backward(mt_cross_entropy(logits(batch[0]), batch[1], 1, MT_REDUCTION_MEAN));
///   ...
/// }
/// mt_loader_release(loader);
/// @endcode
#ifndef MTORCH_DATA_H_
#define MTORCH_DATA_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Tensors of one length along axis 0, and where in them a program is. Opaque. Several threads may
/// take batches from one: each batch goes to one of them.
typedef struct mt_loader mt_loader;

/// Options of mt_loader_new().
typedef struct mt_loader_options {
  size_t struct_size;
  bool shuffle;        ///< each epoch in a random order of its own; false: as the rows lie
  int64_t seed;        ///< of the orders; -1: draws from the thread's current generator; 0
  bool drop_last;      ///< leaves a smaller last batch out; false
  int64_t prefetch;    ///< batches that a thread of the loader makes ahead; 0: there is none
  const char* device;  ///< where batches go; NULL: they stay where the tensors are
} mt_loader_options;
#define MT_LOADER_OPTIONS_INIT \
  { sizeof(mt_loader_options), false, 0, false, 0, NULL }

/// A loader of batches of `batch_size` rows of `n` tensors, as they are now. The order of an epoch
/// is a function of seed, epoch and length alone: the same in every language, on every device,
/// whatever else draws. `options` may be NULL. MT_ESHAPE unless all have the same length. Released
/// with mt_loader_release().
MT_API mt_loader* mt_loader_new(mt_tensor* const* tensors, size_t n, int64_t batch_size,
                                const mt_loader_options* options);
/// Ends its thread and frees it. NULL is harmless.
MT_API void mt_loader_release(mt_loader* loader);
/// How many batches an epoch has.
MT_API int64_t mt_loader_batches(mt_loader* loader);
/// Sets `batch`, which has room for one tensor for each of the loader's, to the next batch: after
/// the last one of an epoch to the first of the next. NULLs after an error, which leaves the loader
/// where it was. MT_ETRACE inside a trace; MT_EINVAL when an epoch has no batch.
MT_API mt_status mt_loader_next(mt_loader* loader, mt_tensor** batch);
/// How many epochs it has given whole.
MT_API int64_t mt_loader_epoch(mt_loader* loader);
/// How many batches of the current epoch it has given.
MT_API int64_t mt_loader_position(mt_loader* loader);
/// Goes on from batch `position` of an epoch, as of a saved run. MT_EINDEX when there is none
/// or 2^62 epochs come before it; MT_EINVAL within an epoch whose order has no seed.
MT_API mt_status mt_loader_seek(mt_loader* loader, int64_t epoch, int64_t position);

#ifdef __cplusplus
}
#endif
#endif
