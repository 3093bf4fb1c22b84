// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/version.h.
#include "mtorch/version.h"

int mt_version(void) { return MT_VERSION; }
const char* mt_version_text(void) { return MT_VERSION_TEXT; }
