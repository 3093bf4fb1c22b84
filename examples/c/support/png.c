// SPDX-License-Identifier: Apache-2.0
#include "png.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint8_t* put_u32(uint8_t* to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) *to++ = (uint8_t)(value >> shift);
  return to;
}

// A PNG chunk: length, type, data, checksum over type and data.
static uint8_t* put_chunk(uint8_t* to, const char* type, const uint8_t* data, uint32_t size) {
  to = put_u32(to, size);
  uint8_t* checked = to;
  memcpy(to, type, 4);
  if (size > 0) memcpy(to + 4, data, size);
  return put_u32(to + 4 + size, (uint32_t)crc32(0, checked, size + 4));
}

static char* base64(const char* prefix, const uint8_t* data, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t prefix_size = strlen(prefix);
  char* text = malloc(prefix_size + (size + 2) / 3 * 4 + 1);
  if (!text) return NULL;
  memcpy(text, prefix, prefix_size);
  char* to = text + prefix_size;
  for (size_t i = 0; i < size; i += 3) {
    size_t left = size - i;
    uint32_t three = (uint32_t)data[i] << 16;
    if (left > 1) three |= (uint32_t)data[i + 1] << 8;
    if (left > 2) three |= data[i + 2];
    *to++ = digits[three >> 18];
    *to++ = digits[three >> 12 & 63];
    *to++ = left > 1 ? digits[three >> 6 & 63] : '=';
    *to++ = left > 2 ? digits[three & 63] : '=';
  }
  *to = '\0';
  return text;
}

char* png_data_uri(const uint8_t* rgba, uint32_t width, uint32_t height) {
  size_t row = (size_t)width * 4, raw_size = (row + 1) * height;
  uLongf packed_size = compressBound(raw_size);
  uint8_t *raw = malloc(raw_size), *packed = malloc(packed_size);
  uint8_t* file = malloc(packed_size + 64);  // signature and the frames of three chunks: 57 bytes
  char* text = NULL;
  if (raw && packed && file) {
    for (uint32_t y = 0; y < height; y++) {
      raw[y * (row + 1)] = 0;  // no filter
      memcpy(raw + y * (row + 1) + 1, rgba + y * row, row);
    }
    if (compress2(packed, &packed_size, raw, raw_size, 9) == Z_OK) {
      uint8_t header[13] = {0};
      put_u32(put_u32(header, width), height);
      header[8] = 8;  // bits a channel
      header[9] = 6;  // red, green, blue, alpha
      memcpy(file, "\x89PNG\r\n\x1a\n", 8);
      uint8_t* end = put_chunk(file + 8, "IHDR", header, sizeof header);
      end = put_chunk(end, "IDAT", packed, (uint32_t)packed_size);
      end = put_chunk(end, "IEND", NULL, 0);
      text = base64("data:image/png;base64,", file, (size_t)(end - file));
    }
  }
  free(raw), free(packed), free(file);
  return text;
}
