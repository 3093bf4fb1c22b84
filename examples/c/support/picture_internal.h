// SPDX-License-Identifier: Apache-2.0
// What the files that draw panels share.
#ifndef EXAMPLES_SUPPORT_PICTURE_INTERNAL_H
#define EXAMPLES_SUPPORT_PICTURE_INTERNAL_H

#include <stdio.h>

#include "picture.h"

struct picture {
  FILE* file;
  const char* path;
  bool out_of_memory;
};

// Text with what HTML would take for markup made harmless.
void picture_escaped(picture* p, const char* text, size_t size);

// Begins a panel; the caller ends it with </section>. `extent` is "", "wide" (all columns) or
// "tall" (two rows).
void picture_panel(picture* p, const char* title, const char* extent);

#endif
