# SPDX-License-Identifier: Apache-2.0
"""Compiles the package and puts it into a jar with the native libraries.
package.py JAVAC JAR POM VERSION OUTPUT LIBRARY... SOURCE.java..."""
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

javac, jar, pom, version, output, *inputs = sys.argv[1:]
sources = [path for path in inputs if path.endswith(".java")]
libraries = [path for path in inputs if not path.endswith(".java")]
machine = {"x86_64": "amd64"}.get(platform.machine(), platform.machine())

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    subprocess.run([javac, "--release", "17", "-encoding", "UTF-8", "-Xlint:all,-try", "-Werror",
                    "-d", folder, *sources], check=True)
    native = folder / f"org/mtorch/native/{platform.system().lower()}-{machine}"
    native.mkdir(parents=True)
    for library in libraries:  # under the names that they ask for each other by
        name = pathlib.Path(library).name.replace(version, version.split(".")[0])
        shutil.copyfile(library, native / name)
    maven = folder / "META-INF/maven/org.mtorch/mtorch"
    maven.mkdir(parents=True)
    shutil.copyfile(pom, maven / "pom.xml")
    (maven / "pom.properties").write_text(
        f"groupId=org.mtorch\nartifactId=mtorch\nversion={version}\n")
    manifest = folder / "manifest"
    manifest.write_text(f"Automatic-Module-Name: org.mtorch\nImplementation-Version: {version}\n")
    subprocess.run([jar, "--create", "--file", output, "--manifest", manifest, "-C", folder, "org",
                    "-C", folder, "META-INF"], check=True)
