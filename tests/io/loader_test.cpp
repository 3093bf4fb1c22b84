// SPDX-License-Identifier: Apache-2.0
#include "io/loader.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <thread>

#include "io/support.h"
#include "ops/ops.h"
#include "ops/random.h"

namespace mt {
namespace {

using Rows = std::vector<int64_t>;

class LoaderTest : public FileTest {
 protected:
  // [n] and [n, 2], in which row i is i, and 10 i and 10 i + 1.
  static std::vector<Tensor> tensors(int64_t n) {
    Tensor count = arange(0, static_cast<double>(n), 1, Dtype::int64, cpu_device());
    Tensor pairs =
        reshape(arange(0, static_cast<double>(n), 0.5, Dtype::float64, cpu_device()), {n, 2});
    return {count, pairs};
  }
  // All of an epoch; the two tensors' rows must belong together.
  static Rows epoch(Loader& loader) {
    Rows rows;
    for (int64_t i = 0; i < loader.batches(); ++i) {
      std::vector<Tensor> batch = loader.next();
      Rows own = values_of<int64_t>(batch[0]);
      std::vector<double> pairs = values_of<double>(batch[1]);
      EXPECT_EQ(pairs.size(), 2 * own.size());
      for (size_t k = 0; k < own.size(); ++k) {
        EXPECT_EQ(pairs[2 * k], static_cast<double>(own[k]));
        EXPECT_EQ(pairs[2 * k + 1], static_cast<double>(own[k]) + 0.5);
      }
      rows.insert(rows.end(), own.begin(), own.end());
    }
    return rows;
  }
  static Rows count_to(int64_t n) {
    Rows rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
};

TEST_F(LoaderTest, GivesEachRowOnceAnEpoch) {
  for (int64_t prefetch : {0, 1, 3, 100}) {
    Loader plain(tensors(23), 5, {.prefetch = prefetch});
    EXPECT_EQ(plain.batches(), 5);
    EXPECT_EQ(epoch(plain), count_to(23));
    EXPECT_EQ(epoch(plain), count_to(23));
    EXPECT_EQ(plain.place().epoch, 2);
    Loader shuffled(tensors(23), 5, {.shuffle = true, .prefetch = prefetch});
    Rows first = epoch(shuffled), second = epoch(shuffled);
    EXPECT_NE(first, second);
    for (Rows* rows : {&first, &second}) {
      EXPECT_NE(*rows, count_to(23));
      std::sort(rows->begin(), rows->end());
      EXPECT_EQ(*rows, count_to(23));
    }
  }
  Loader whole(tensors(23), 5, {.drop_last = true});
  EXPECT_EQ(whole.batches(), 4);
  EXPECT_EQ(epoch(whole), count_to(20));
}

TEST_F(LoaderTest, TheSeedAloneDecides) {
  Loader one(tensors(40), 7, {.shuffle = true, .seed = 5});
  Loader ahead(tensors(40), 7, {.shuffle = true, .seed = 5, .prefetch = 2});
  Loader other(tensors(40), 7, {.shuffle = true, .seed = 6});
  Immediates before = Generator::current().state();
  Rows first = epoch(one), second = epoch(one);
  EXPECT_EQ(Generator::current().state().value[1], before.value[1]);
  permutation(9, cpu_device());  // that something else draws changes nothing
  EXPECT_EQ(epoch(ahead), first);
  EXPECT_EQ(epoch(ahead), second);
  EXPECT_NE(epoch(other), first);
  // Key 5, counter 0: what a generator with this seed draws first.
  Ref<Generator> generator(new Generator(5));
  Ref<Generator> used = Generator::use(generator);
  EXPECT_EQ(values_of<int64_t>(permutation(40, cpu_device())), first);
  EXPECT_EQ(values_of<int64_t>(permutation(40, cpu_device())), second);
  Generator::use(used);
}

TEST_F(LoaderTest, DrawsFromTheCurrentGeneratorIfSoAsked) {
  Generator::current().set_state({{3, 0}});
  Rows expected = values_of<int64_t>(permutation(30, cpu_device()));
  for (int64_t prefetch : {0, 2}) {
    Generator::current().set_state({{3, 0}});
    Loader loader(tensors(30), 4, {.shuffle = true, .seed = -1, .prefetch = prefetch});
    EXPECT_EQ(epoch(loader), expected);
    EXPECT_NE(epoch(loader), expected);
    EXPECT_THROW(loader.seek({0, 3}), Error);
    loader.seek({0, 0});
  }
}

TEST_F(LoaderTest, GoesOnFromAnyPlace) {
  for (int64_t prefetch : {0, 3}) {
    Loader loader(tensors(20), 3, {.shuffle = true, .seed = 1, .prefetch = prefetch});
    Rows first = epoch(loader), second = epoch(loader);
    loader.next();
    loader.seek({1, 2});
    EXPECT_EQ(values_of<int64_t>(loader.next()[0]), Rows(second.begin() + 6, second.begin() + 9));
    EXPECT_EQ(loader.place().epoch, 1);
    EXPECT_EQ(loader.place().batch, 3);
    loader.seek({0, 0});
    EXPECT_EQ(epoch(loader), first);
    EXPECT_THROW(loader.seek({0, 7}), Error);
    EXPECT_THROW(loader.seek({-1, 0}), Error);
    EXPECT_THROW(loader.seek({INT64_MAX, 6}), Error);
    EXPECT_EQ(epoch(loader), second);
  }
}

TEST_F(LoaderTest, RefusesWhatCannotBe) {
  EXPECT_THROW(Loader({}, 3, {}), Error);
  EXPECT_THROW(Loader(tensors(4), 0, {}), Error);
  EXPECT_THROW(Loader(tensors(4), 3, {.prefetch = -1}), Error);
  EXPECT_THROW(Loader({tensors(4)[0], tensors(5)[0]}, 3, {}), Error);
  EXPECT_THROW(Loader({number(1, cpu_device())}, 3, {}), Error);
  Loader none(tensors(2), 3, {.drop_last = true});
  EXPECT_EQ(none.batches(), 0);
  EXPECT_THROW(none.next(), Error);
}

// Each batch goes to one thread, over several epochs, whether a thread makes them or not.
TEST_F(LoaderTest, ServesSeveralThreads) {
  for (int64_t prefetch : {0, 1, 4}) {
    Loader loader(tensors(30), 4, {.shuffle = true, .prefetch = prefetch});
    constexpr int64_t epochs = 5, threads = 4;
    std::atomic<int64_t> left = epochs * loader.batches();
    std::vector<Rows> taken(threads);
    std::vector<std::thread> running;
    for (Rows& rows : taken) {
      running.emplace_back([&] {
        while (left-- > 0) {
          Rows own = values_of<int64_t>(loader.next()[0]);
          rows.insert(rows.end(), own.begin(), own.end());
        }
      });
    }
    for (std::thread& thread : running) thread.join();
    std::multiset<int64_t> all;
    for (const Rows& rows : taken) all.insert(rows.begin(), rows.end());
    for (int64_t row = 0; row < 30; ++row) EXPECT_EQ(all.count(row), size_t(epochs)) << row;
    EXPECT_EQ(loader.place().epoch, epochs);
  }
}

// Those that wait for a batch are not forgotten when another thread goes elsewhere.
TEST_F(LoaderTest, IsSoughtWhileOthersWait) {
  Loader loader(tensors(30), 4, {.shuffle = true, .prefetch = 1});
  std::atomic<bool> done = false;
  std::vector<std::thread> running;
  for (int i = 0; i < 3; ++i) {
    running.emplace_back([&] {
      for (int k = 0; k < 100; ++k) EXPECT_EQ(loader.next().size(), 2u);
    });
  }
  std::thread seeker([&] {
    for (int64_t epoch = 0; !done; ++epoch) loader.seek({epoch % 5, epoch % 8});
  });
  for (std::thread& thread : running) thread.join();
  done = true;
  seeker.join();
}

TEST_F(LoaderTest, TakesItsThreadAlongAndWhatThatHasMade) {
  auto used = [] { return cpu_device().allocator->statistics().in_use; };
  const int64_t before = used();
  for (int i = 0; i < 50; ++i) {
    Loader loader(tensors(90), 12, {.shuffle = true, .prefetch = 3});
    for (int k = 0; k < i % 9; ++k) EXPECT_EQ(loader.next()[1].shape(), (Shape{k < 7 ? 12 : 6, 2}));
  }
  EXPECT_EQ(used(), before);
}

}  // namespace
}  // namespace mt
