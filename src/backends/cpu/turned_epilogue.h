// SPDX-License-Identifier: Apache-2.0
// An epilogue on tiles as a product makes them, before they are turned to the result: a tile is
// then done in few calls, and written to memory once.
#pragma once

#include <optional>
#include <vector>

#include "backends/cpu/contract/tile.h"
#include "backends/cpu/program/program.h"

namespace mt::cpu {

struct TurnedEpilogue {
  PreparedProgram program;  // over rows of a tile
  int product, result;      // the memory that it reads and writes, in whose place the tile lies
  // Memory of which a tile's columns read as many elements, from its first entry on; of so many
  // entries, which then begin anew.
  struct ByEntries {
    int memory;
    int64_t period;
  };
  std::vector<ByEntries> by_entries;
};

// Of a group whose product is computed in such tiles. Nothing if the epilogue needs elements in
// their order, its operands differ along both axes of the result, between batch entries that no
// column stands for, by rows of which a tile has a part, or by columns where it has entries
// abreast, or its result does not take the product's place.
std::optional<TurnedEpilogue> turned_epilogue(const ContractGroup& group, const TurnedTiles& tiles);

// Whether what a program computes depends on the values alone, and not on where they are.
bool goes_anywhere(const Program& program);
// Makes of a memory of [m, n], the same for all batch entries, one of [n, m]; false if it differs
// along both.
bool turn(Memory* memory, int64_t m, int64_t n);

}  // namespace mt::cpu
