# SPDX-License-Identifier: Apache-2.0
"""listed.py FOLDER...: every source in these folders stands in a meson.build above it."""
import pathlib
import sys

count, faults = 0, []
for folder in map(pathlib.Path, sys.argv[1:]):
    builds = [build for build in folder.rglob("meson.build") if "consumer" not in build.parts]
    for file in sorted(file for suffix in ("cpp", "cu") for file in folder.rglob(f"*.{suffix}")):
        above = [build for build in builds if build.parent in file.parents]
        count += 1
        if not any(str(file.relative_to(build.parent)) in build.read_text() for build in above):
            # The headers' test compiles its own program by hand.
            if file.parent.name != "headers":
                faults.append(f"{file} is in no meson.build")
print("\n".join(faults) or f"{count} sources, all of them built")
sys.exit(bool(faults) or not count)
