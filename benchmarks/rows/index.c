// SPDX-License-Identifier: Apache-2.0
// Sorting, running sums, and rows picked and scattered by their numbers.
#include "rows.h"

static mt_tensor* sort(mt_tensor** in) { return mt_sort(in[0], 0, false); }
static mt_tensor* argsort(mt_tensor** in) { return mt_argsort(in[0], 0, false); }
static void top100(mt_tensor** in, mt_tensor** made) {
  mt_topk(in[0], 100, 0, true, &made[0], &made[1]);
}
static mt_tensor* cumulative_sum(mt_tensor** in) { return mt_cumulative_sum(in[0], 0); }
static mt_tensor* gather(mt_tensor** in) { return mt_index_select(in[0], in[1], 0); }
// in: the table, which row each value goes to, the values.
static mt_tensor* scatter_add(mt_tensor** in) {
  mt_tensor* to = mt_broadcast_to(mt_expand_dims(in[1], 1), mt_dims(in[2]), 2);
  return mt_scatter_add(in[0], to, in[2], 0);
}

const row index_rows[] = {
    {.name = "sort", .value = sort},
    {.name = "argsort", .value = argsort},
    {.name = "top100", .values = top100, .count = 2},
    {.name = "cumulative_sum", .value = cumulative_sum},
    {.name = "gather", .value = gather},
    {.name = "scatter_add", .value = scatter_add},
    {0},
};
