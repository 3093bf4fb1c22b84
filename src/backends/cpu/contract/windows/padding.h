// SPDX-License-Identifier: Apache-2.0
// Padding that is only read as a contraction's second operand, as in convolutions. It is not made
// beforehand for all images: the thread that works on an image pads just that one, which then stays
// in cache; or, where sums go over images and are cut into panels, what its panel reads.
#pragma once

#include <cstdint>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/filtering/filtered_weight.h"
#include "backends/cpu/contract/windows/abreast.h"
#include "backends/cpu/contract/windows/panel_lines.h"
#include "plan/plan.h"

namespace mt::cpu {

constexpr int64_t most_padding = second_cache / 2;  // bytes of an entry, or of a panel's lines

struct Padding {
  int group = -1;  // the plan's group that pads, which then need not run; -1: there is none
  // One batch entry, before and after.
  Layout from, to;
  // The contraction's stride along k from image to image, and what it becomes in an entry; 0: none.
  int64_t far = 0, near = 0;
  PanelLines lines;          // of a panel, which are made instead of an entry if there are any
  int64_t bytes = 0;         // of an entry, or of such lines
  bool read_around = false;  // kernels read around padding; it is made only if needed after all
  // The leading dimensions, with strides in what is padded; and how many elements of the padded
  // operand one step along the last of them is.
  Axis leading;
  int64_t inner = 1;
};

// The padding of the second operand of group `contraction`, if it can be made in this way.
Padding find_padding(const Plan& plan, int contraction);
// The call that pads, if one is found.
const CallGroup& padding_call(const Plan& plan, const Padding& padding);
// The contraction as it reads padded entries.
Contraction of_entries(Contraction contraction, const Padding& padding);

// What an entry is made of, and where that begins.
EntryParts parts_of_entry(const Plan& plan, const Padding& padding);
const void* find_entry(const Plan& plan, const Padding& padding, void* const* buffers,
                       int64_t offset);

// The unpadded images, where kernels read around the padding.
PaddedImages padded_images(const Plan& plan, const Padding& padding, void* const* buffers);
// Pads the whole operand, in the place that the plan has for it.
void pad_all(const Plan& plan, const Padding& padding, void* const* buffers,
             const Immediates* immediates);

// Pads the entry that begins at element `offset` of the padded operand.
void pad_entry(const Plan& plan, const Padding& padding, void* const* buffers,
               const Immediates* immediates, int64_t offset, void* to);
// Pads the whole lines that terms [begin, end) of a panel read; returns the element of the
// contraction's second operand, as it reads lines, that lies at `to`.
int64_t pad_lines(const Plan& plan, const Padding& padding, void* const* buffers,
                  const Immediates* immediates, int64_t begin, int64_t end, void* to);

}  // namespace mt::cpu
