# SPDX-License-Identifier: Apache-2.0
"""embed.py OUTPUT SRC FILE...: the files that generated kernels include, as strings in a C++ source."""
import pathlib
import sys

output, source, files = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
standard = "backends/cuda/device/standard.h"
texts = {str(pathlib.Path(f).resolve().relative_to(source)): pathlib.Path(f).read_text() for f in files}
for name in ("cmath", "cstddef", "cstdint", "cstring", "limits", "type_traits", "math.h"):
    texts[name] = f"#include \"{standard}\"\n"
with open(output, "w") as out:
    out.write('#include "backends/cuda/driver/nvrtc.h"\n\nnamespace mt::cuda {\n\nconst Header headers[] = {\n')
    for name, text in sorted(texts.items()):
        # A string literal holds 64 KiB at most; these are shorter.
        out.write(f'    {{"{name}", R"embedded({text})embedded"}},\n')
    out.write(f"}};\nconst int header_count = {len(texts)};\n\n}}  // namespace mt::cuda\n")
