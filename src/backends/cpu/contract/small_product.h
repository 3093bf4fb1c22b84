// SPDX-License-Identifier: Apache-2.0
// A product of small matrices of any type with even strides. What blocked.cpp and exact.cpp find
// out about their operands in each run takes as long as some ten thousand multiply-adds; here it is
// found out once, when the contraction is prepared. The bits are the same, since each element is
// one chain of multiply-adds over all of k wherever its tile begins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/micro_tile.h"
#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/schedule.h"
#include "backends/cpu/contract/tile.h"
#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {

class SmallProduct {
 public:
  // out: the type of the result.
  SmallProduct(const Schedule& schedule, const MatrixOperand& a, const MatrixOperand& b, Dtype out);

  // Whether the contraction is such a product.
  explicit operator bool() const { return run_ != nullptr; }
  // Bytes of scratch for run().
  size_t scratch() const;
  // a, b, out: of the batch entry.
  void run(const void* a, const void* b, void* out, char* scratch, const Epilogue* epilogue,
           int64_t batch) const {
    (this->*run_)(a, b, out, scratch, epilogue, batch);
  }

 private:
  // Lines of an operand that are converted to the sums' type in scratch.
  struct Lines {
    Lines() = default;
    Lines(Dtype dtype, int64_t count, int64_t length, int64_t step, int64_t pitch);
    int64_t elements() const { return load ? round_up(count * pitch, 64) : 0; }
    char* bring(const void* from, char** scratch, size_t size) const;

    Kernel load = nullptr;  // nullptr: the operand is read where it lies
    int64_t count, length, step, pitch;
  };

  bool prepare(const Schedule& schedule, const MatrixOperand& a, const MatrixOperand& b);
  // The arguments that all tiles share, and the first sliver of a.
  template <class T>
  MicroTile<T> first_tile(const T* a) const;
  template <class T>
  void run_as(const void* a, const void* b, void* out, char* scratch, const Epilogue* epilogue,
              int64_t batch) const;
  template <class T>
  void run_in_place(const void* a, const void* b, void* out, char* scratch,
                    const Epilogue* epilogue, int64_t batch) const;
  int64_t packed_elements() const;

  void (SmallProduct::*run_)(const void* a, const void* b, void* out, char* scratch,
                             const Epilogue* epilogue, int64_t batch) const = nullptr;
  Dtype sum_;
  int64_t rows_, columns_, k_, a_row_, a_k_, b_row_, b_k_;
  Lines a_lines_, b_lines_;
  bool packs_ = false, turned_;  // b is packed; the result is transposed
  bool dots_ = false;            // integers: a vector b, and rows of a that lie along it
  Kernel store_ = nullptr;       // to the result, unless that has the type of the sums
  int64_t lanes_, panel_;        // columns of a tile
  // A panel of b, as its kernel is told: its columns, how far its rows are apart, how far ahead to
  // fetch them, and how far away the next panel is.
  struct Panel {
    int64_t columns, step, ahead, size;
  };
  Panel panels_[2];  // whole ones, and the last
  int64_t whole_panels_;
  int64_t overlap_ = 0;  // columns that the last panel shares with the one before, to be whole
  bool fetches_;         // the result's lines, before they are written
  int64_t pitch_;        // distance of the rows that a tile writes; whole vectors where possible
  int64_t slivers_ = 0, least_rows_, higher_slivers_;
  int64_t passing_ = 0;  // slivers that the epilogue takes together
  StridedKernels::Pack pack_;
  // For [slivers of least_rows_, or of one row more][whole panels, or the last].
  AnyKernel kernels_[2][2];
};

}  // namespace mt::cpu
