// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/data.h.
#include "mtorch/data.h"

#include "api/guard.h"
#include "backends/devices.h"
#include "io/loader.h"

using namespace mt;
using namespace mt::api;

struct mt_loader {
  Loader loader;
};

namespace {

Loader& get(mt_loader* loader) { return required(loader, "the loader")->loader; }

}  // namespace

mt_loader* mt_loader_new(mt_tensor* const* tensors, size_t n, int64_t batch_size,
                         const mt_loader_options* given) {
  return read<mt_loader*>("loader_new", nullptr, [&] {
    if (n) required(tensors, "the array of tensors");
    mt_loader_options o = options<mt_loader_options>(given, MT_LOADER_OPTIONS_INIT);
    Loader::Options how{o.shuffle, o.seed, o.drop_last, o.prefetch,
                        o.device ? &find_device(o.device) : nullptr};
    return new mt_loader{Loader(values(tensors, n), batch_size, how)};
  });
}

void mt_loader_release(mt_loader* loader) {
  if (loader && !loader->loader.left_behind()) delete loader;
}

int64_t mt_loader_batches(mt_loader* loader) {
  return read<int64_t>("loader_batches", 0, [&] { return get(loader).batches(); });
}

mt_status mt_loader_next(mt_loader* loader, mt_tensor** batch) {
  size_t width = loader ? loader->loader.width() : 0;
  return change_all("loader_next", batch, width, [&] { return get(loader).next(); });
}

int64_t mt_loader_epoch(mt_loader* loader) {
  return read<int64_t>("loader_epoch", 0, [&] { return get(loader).place().epoch; });
}

int64_t mt_loader_position(mt_loader* loader) {
  return read<int64_t>("loader_position", 0, [&] { return get(loader).place().batch; });
}

mt_status mt_loader_seek(mt_loader* loader, int64_t epoch, int64_t position) {
  return change("loader_seek", [&] { get(loader).seek({epoch, position}); });
}
