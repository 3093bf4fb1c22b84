// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_options = 32 };

static const char* program = "example";

static _Noreturn void hint_and_exit(void) {
  fprintf(stderr, "Try '%s --help'.\n", program);
  exit(2);
}

void options_refuse(const char* message) {
  fprintf(stderr, "%s: %s\n", program, message);
  hint_and_exit();
}

static const char* value_name(option_kind kind) {
  switch (kind) {
    case OPTION_FLAG: return "";
    case OPTION_COUNT: return "N";
    case OPTION_THREADS: return "N";
    case OPTION_SEED: return "N";
    case OPTION_REAL: return "X";
    case OPTION_TEXT: return "TEXT";
  }
  return "";
}

static void print_default(const option_row* o) {
  switch (o->kind) {
    case OPTION_FLAG: break;
    case OPTION_COUNT:
    case OPTION_THREADS: printf(" [%d]", *(int*)o->target); break;
    case OPTION_SEED: printf(" [%llu]", (unsigned long long)*(uint64_t*)o->target); break;
    case OPTION_REAL: printf(" [%g]", *(double*)o->target); break;
    case OPTION_TEXT:
      if (*(const char**)o->target) printf(" [%s]", *(const char**)o->target);
      break;
  }
}

static void print_help(const char* summary, const option_row* all, size_t count) {
  printf("Usage: %s [options]\n\n%s\n\n", program, summary);
  for (size_t i = 0; i < count; i++) {
    char left[40];
    snprintf(left, sizeof left, "--%s %s", all[i].name, value_name(all[i].kind));
    printf("  %-18s %s", left, all[i].help);
    print_default(&all[i]);
    printf("\n");
  }
  printf("  %-18s %s\n", "--help", "this text");
}

static bool read_value(const option_row* o, const char* text) {
  char* end = NULL;
  errno = 0;
  switch (o->kind) {
    case OPTION_FLAG: *(bool*)o->target = true; return true;
    case OPTION_TEXT: *(const char**)o->target = text; return true;
    case OPTION_COUNT:
    case OPTION_THREADS: {
      long value = strtol(text, &end, 10);
      if (end == text || *end || errno || value > INT_MAX) return false;
      if (value < (o->kind == OPTION_COUNT ? 1 : 0)) return false;
      *(int*)o->target = (int)value;
      return true;
    }
    case OPTION_SEED: {
      unsigned long long value = strtoull(text, &end, 10);
      if (end == text || *end || errno || strchr(text, '-')) return false;
      *(uint64_t*)o->target = value;
      return true;
    }
    case OPTION_REAL: {
      double value = strtod(text, &end);
      if (end == text || *end || !isfinite(value)) return false;
      *(double*)o->target = value;
      return true;
    }
  }
  return false;
}

void options_parse(int argc, char** argv, const char* summary, common_options* common,
                   const option_row* own, size_t own_count) {
  const char* slash = strrchr(argv[0], '/');
  program = slash ? slash + 1 : argv[0];
  option_row all[most_options] = {
      {"seed", OPTION_SEED, &common->seed, "same seed, same result"},
      {"device", OPTION_TEXT, &common->device, "cpu, cpu:reference, cuda:0"},
      {"threads", OPTION_THREADS, &common->threads, "0: as many as the machine has"},
      {"out", OPTION_TEXT, &common->out, "name of the files to write, without extension"},
  };
  size_t count = 0;
  while (all[count].name) count++;
  for (size_t i = 0; i < own_count && count < most_options; i++) all[count++] = own[i];

  struct option getopt_table[most_options + 2] = {{0}};
  for (size_t i = 0; i < count; i++) {
    getopt_table[i].name = all[i].name;
    getopt_table[i].has_arg = all[i].kind == OPTION_FLAG ? no_argument : required_argument;
  }
  getopt_table[count] = (struct option){"help", no_argument, NULL, 'h'};

  int found, index = 0;
  while ((found = getopt_long(argc, argv, "h", getopt_table, &index)) != -1) {
    if (found == 'h') {
      print_help(summary, all, count);
      exit(0);
    }
    if (found != 0) hint_and_exit();  // getopt_long has said why
    if (!read_value(&all[index], optarg)) {
      char message[160];
      snprintf(message, sizeof message, "--%s: cannot use '%s'%s", all[index].name, optarg,
               all[index].kind == OPTION_COUNT ? " (1 or more)" : "");
      options_refuse(message);
    }
  }
  if (optind < argc) {
    char message[160];
    snprintf(message, sizeof message, "unexpected '%s'", argv[optind]);
    options_refuse(message);
  }
}

void options_name_files(common_options* common, const char* name) {
  if (common->out) name = common->out;
  int length = snprintf(common->picture, sizeof common->picture, "%s.html", name);
  snprintf(common->weights, sizeof common->weights, "%s.safetensors", name);
  if (length > (int)sizeof common->picture - 16) options_refuse("--out: too long");
}
