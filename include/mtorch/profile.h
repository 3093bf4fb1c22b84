// SPDX-License-Identifier: Apache-2.0
/// @file profile.h
/// Where time goes: what each group of operators takes.
///
/// @code
/// mt_profile* profile = mt_profile_start();
/// for (int i = 0; i < 10; i++) train_step();
/// mt_profile_stop(profile);
/// char* table = mt_profile_text(profile);
/// puts(table);
/// mt_free_string(table);
/// mt_profile_save(profile, "steps.json");  // for a timeline: ui.perfetto.dev
/// mt_profile_release(profile);
/// @endcode
///
/// What is measured is what runs: a group, which fusion may have made of many operators
/// (mt_explain()), as often as it runs and in whichever thread, replays too. Beside groups there
/// is "planning", of a structure that was not met before. While nothing is measured this costs
/// nothing; while it is, a GPU is waited for after each group, so that its groups do not overlap
/// with the host's work.
#ifndef MTORCH_PROFILE_H_
#define MTORCH_PROFILE_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What was measured. Opaque.
typedef struct mt_profile mt_profile;

/// Starts measuring, in all threads. MT_EINVAL while another profile measures.
MT_API mt_profile* mt_profile_start(void);
/// Ends it; what runs later is not counted. Harmless when it has ended.
MT_API mt_status mt_profile_stop(mt_profile* profile);
/// What was measured up to now, as a table: a line for all runs that did the same, the dearest
/// first, with their time in all and its share of the time since the start, how often they ran, the
/// median time of one, the bytes of all that one reads and writes and the operations of its
/// contraction by that time, and what it was. Freed with mt_free_string().
MT_API char* mt_profile_text(mt_profile* profile);
/// Writes the single runs (the first 1,048,576) to a file as Chrome's trace events, in JSON, which
/// ui.perfetto.dev and chrome://tracing show as a timeline. MT_EIO.
MT_API mt_status mt_profile_save(mt_profile* profile, const char* path);
/// Frees a profile, which it ends. NULL is harmless.
MT_API void mt_profile_release(mt_profile* profile);

#ifdef __cplusplus
}
#endif
#endif
