# SPDX-License-Identifier: Apache-2.0
"""What other programs write: the C and C++ references (Doxygen), the Java reference (javadoc)."""
import pathlib
import string
import subprocess
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent


def doxygen(source, output, version):
    """Writes the folders c and cpp."""
    template = string.Template(HERE.joinpath("Doxyfile.in").read_text())
    for folder, language, pattern in (("c", "C", "*.h"), ("cpp", "C++", "*.hpp")):
        output.joinpath(folder).mkdir(parents=True, exist_ok=True)
        is_c = folder == "c"
        given = template.substitute(
            source=source, output=output, version=version, folder=folder, language=language,
            pattern=pattern, python=sys.executable, for_c="YES" if is_c else "NO",
            all="NO" if is_c else "YES", tags="" if is_c else f"{output}/c/tags.xml=../c")
        subprocess.run(["doxygen", "-"], input=given, text=True, check=True)
        for page in output.joinpath(folder).glob("*.html"):  # its title leads back to the site
            page.write_text(page.read_text().replace(
                '<div id="projectname">mtorch',
                '<div id="projectname"><a href="../index.html">mtorch</a>', 1))


def functions(output):
    """(name, address) of every function in C, and of every class and function in C++."""
    for folder, title in (("c", "C"), ("cpp", "C++")):
        tags = xml.etree.ElementTree.parse(output / folder / "tags.xml")
        for compound in tags.iter("compound"):
            if compound.get("kind") in ("class", "struct") and folder == "cpp":
                yield title, compound.findtext("name"), f"{folder}/{compound.findtext('filename')}"
            if compound.get("kind") != ("file" if folder == "c" else "namespace"):
                continue
            for member in compound.iter("member"):
                if member.get("kind") == "function":
                    place = f"{member.findtext('anchorfile')}#{member.findtext('anchor')}"
                    yield title, member.findtext("name"), f"{folder}/{place}"


def javadoc(program, output, version, sources):
    """Writes the folder java. A test of its own (bindings/java) looks for what is not documented."""
    subprocess.run([program, "-quiet", "-Xdoclint:none", "-notimestamp", "-d", output / "java",
                    "-doctitle", f"mtorch {version}", "-windowtitle", f"mtorch {version}",
                    "-header", '<a href="{@docRoot}/../index.html">mtorch</a>',
                    "--add-stylesheet", HERE / "references.css", *sources], check=True)
