// SPDX-License-Identifier: Apache-2.0
// Applies an epilogue to transposed tiles of a product, before they are transposed to the result: a
// tile then takes few calls, and is written to memory once.
#pragma once

#include <optional>

#include "backends/cpu/contract/tile.h"
#include "backends/cpu/program/program.h"

namespace mt::cpu {

struct TurnedEpilogue {
  PreparedProgram program;  // over rows of a tile
  int product, result;      // indices of the memory it reads and writes; the tile replaces both
};

// For a group whose product is computed in such tiles. Returns nothing if
//  - the epilogue depends on the order of elements;
//  - an operand varies along both axes of the result, between batch entries, along rows if a tile
//    has only part of them, or along columns if it has several entries;
//  - the result does not take the product's place.
std::optional<TurnedEpilogue> turned_epilogue(const ContractGroup& group, const TurnedTiles& tiles);

// Whether what a program computes depends only on values, not on their positions.
bool goes_anywhere(const Program& program);
// Changes the layout of a memory from [m, n], the same for all batch entries, to [n, m]; false if
// it varies along both.
bool turn(Memory* memory, int64_t m, int64_t n);

}  // namespace mt::cpu
