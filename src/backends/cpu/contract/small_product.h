// SPDX-License-Identifier: Apache-2.0
// A product of small matrices of any type that lie evenly. What blocked.cpp and exact.cpp find out
// about their operands each time is found out once, when the contraction is prepared: that takes as
// long as some ten thousand multiply-adds. The bits are the same, since each element is one chain
// of multiply-adds over all of k wherever its tile begins.
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

  // Whether the contraction is one.
  explicit operator bool() const { return run_ != nullptr; }
  // Bytes of scratch for run().
  size_t scratch() const;
  // a, b, out: of the batch entry.
  void run(const void* a, const void* b, void* out, char* scratch, const Epilogue* epilogue,
           int64_t batch) const {
    (this->*run_)(a, b, out, scratch, epilogue, batch);
  }

 private:
  // Lines of an operand that are copied as numbers of the sums' type.
  struct Lines {
    Lines() = default;
    Lines(Dtype dtype, int64_t count, int64_t length, int64_t step, int64_t pitch);
    int64_t elements() const { return load ? round_up(count * pitch, 64) : 0; }
    char* bring(const void* from, char** scratch, size_t size) const;

    Kernel load = nullptr;  // nullptr: the operand is read where it lies
    int64_t count, length, step, pitch;
  };

  bool prepare(const Schedule& schedule, const MatrixOperand& a, const MatrixOperand& b);
  // What all tiles are told, and where the first sliver of a lies.
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
  bool packs_ = false, turned_;  // b, and the result
  bool dots_ = false;            // a vector of integers, and rows that lie along it
  Kernel store_ = nullptr;       // to the result, unless that has the type of the sums
  int64_t lanes_, panel_;        // columns of a tile
  // The columns of a tile, and what its kernel is told of b: how far its rows are from each other,
  // how far ahead to fetch them, and where the next panel is.
  struct Panel {
    int64_t columns, step, ahead, size;
  };
  Panel panels_[2];  // whole ones, and the last
  int64_t whole_panels_;
  bool fetches_;   // the result's lines, before they are written
  int64_t pitch_;  // of the rows that a tile writes: whole vectors where that may be
  int64_t slivers_ = 0, least_rows_, higher_slivers_;
  int64_t passing_ = 0;  // slivers that the epilogue takes together
  StridedKernels::Pack pack_;
  // For slivers of least_rows_ and of one row more: of whole panels, and of the last.
  AnyKernel kernels_[2][2];
};

}  // namespace mt::cpu
