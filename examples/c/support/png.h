// SPDX-License-Identifier: Apache-2.0
// Small pictures inside a page: pixels to a PNG in a data URI.
#ifndef EXAMPLES_SUPPORT_PNG_H
#define EXAMPLES_SUPPORT_PNG_H

#include <stdint.h>

// `rgba` holds height x width x 4 bytes, row by row. The caller frees the text; NULL: out of
// memory.
char* png_data_uri(const uint8_t* rgba, uint32_t width, uint32_t height);

#endif
