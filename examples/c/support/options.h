// SPDX-License-Identifier: Apache-2.0
// Command lines: the options that all examples share, and a table of each example's own.
#ifndef EXAMPLES_SUPPORT_OPTIONS_H
#define EXAMPLES_SUPPORT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
  OPTION_FLAG,     // bool
  OPTION_COUNT,    // int, 1 or more
  OPTION_THREADS,  // int, 0 or more
  OPTION_SEED,     // uint64_t
  OPTION_REAL,     // double
  OPTION_TEXT,     // const char *
} option_kind;

// `target` holds the default, which --help shows, and receives the value.
typedef struct {
  const char* name;
  option_kind kind;
  void* target;
  const char* help;
} option_row;

typedef struct {
  const char* device;  // "cpu", "cpu:reference", "cuda:0"
  int threads;         // 0: the library chooses
  uint64_t seed;
  const char* out;  // what the two files are called, without extension; NULL: the example's choice
  char picture[512], weights[512];  // by options_name_files()
} common_options;

// --help prints and exits with 0; anything not understood prints the usage and exits with 2.
void options_parse(int argc, char** argv, const char* summary, common_options* common,
                   const option_row* own, size_t own_count);

// Fills in picture (NAME.html) and weights (NAME.safetensors), NAME being --out or else `name`.
void options_name_files(common_options* common, const char* name);

// For what only the example can check: prints `program: message`, a hint at --help, exits with 2.
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void options_refuse(const char* message);

#endif
