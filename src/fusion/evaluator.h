// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mt {

// Makes evaluations go through fusion and the devices' backends. Idempotent.
void install_fusing_evaluator();

}  // namespace mt
