# SPDX-License-Identifier: Apache-2.0
"""Compiles the package and puts it into a jar with the native libraries, and all that they need and
not every Linux with a C++ program has.
package.py JAVAC JAR POM VERSION OUTPUT LIBRARY... SOURCE.java..."""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

# What the C and the C++ compiler bring.
SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|gomp|atomic))\.so.*")

javac, jar, pom, version, output, *inputs = sys.argv[1:]
sources = [path for path in inputs if path.endswith(".java")]
libraries = [path for path in inputs if not path.endswith(".java")]
machine = {"x86_64": "amd64"}.get(platform.machine(), platform.machine())


def needed(library):
    """The names and files of the libraries that this one names, but for the system's."""
    listed = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    files = dict(re.findall(r"(\S+) => (\S+)", listed))
    dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True,
                             text=True).stdout
    return {name: files[name] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
            if not SYSTEM.fullmatch(name)}


def add(name, library, found):
    """Adds what a library needs, and then itself."""
    if name in found:
        return
    for other, path in needed(library).items():
        add(other, path, found)
    found[name] = library


found = {}
for path in libraries:  # under the names that they ask for each other by
    add(pathlib.Path(path).name.replace(version, version.split(".")[0]), path, found)

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    subprocess.run([javac, "--release", "17", "-encoding", "UTF-8", "-Xlint:all,-try", "-Werror",
                    "-d", folder, *sources], check=True)
    native = folder / f"org/mtorch/native/{platform.system().lower()}-{machine}"
    native.mkdir(parents=True)
    for name, library in found.items():
        shutil.copyfile(library, native / name)
    (native / "order").write_text("\n".join(found) + "\n")
    maven = folder / "META-INF/maven/org.mtorch/mtorch"
    maven.mkdir(parents=True)
    shutil.copyfile(pom, maven / "pom.xml")
    (maven / "pom.properties").write_text(
        f"groupId=org.mtorch\nartifactId=mtorch\nversion={version}\n")
    manifest = folder / "manifest"
    manifest.write_text(f"Automatic-Module-Name: org.mtorch\nImplementation-Version: {version}\n")
    subprocess.run([jar, "--create", "--file", output, "--manifest", manifest, "-C", folder, "org",
                    "-C", folder, "META-INF"], check=True)
