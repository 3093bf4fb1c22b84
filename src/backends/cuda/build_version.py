# SPDX-License-Identifier: Apache-2.0
"""build_version.py OUTPUT DEPFILE VERSION SRC: the version that the core and its CUDA backend must share,
with a checksum of the headers that both are compiled with. Kernels that were generated with other
headers are not taken from the cache, either."""
import hashlib
import pathlib
import sys

output, depfile, version, source = pathlib.Path(sys.argv[1]), *sys.argv[2:4], pathlib.Path(sys.argv[4])
own = source / "backends/cpu"  # of the core alone
files = sorted(file for kind in ("*.h", "*.def") for file in source.rglob(kind) if own not in file.parents)
checksum = hashlib.sha256()
for file in files:
    checksum.update(str(file.relative_to(source)).encode() + b"\0" + file.read_bytes())
output.write_text(f"""// SPDX-License-Identifier: Apache-2.0
#pragma once

#define MT_BUILD_VERSION "{version}-{checksum.hexdigest()[:12]}"
""", encoding="utf-8")
# The folders, too, which change when a file is added.
paths = [str(path).replace(" ", "\\ ") for path in (*files, *sorted({file.parent for file in files}))]
pathlib.Path(depfile).write_text(f"{output}: {' '.join(paths)}\n", encoding="utf-8")
