# SPDX-License-Identifier: Apache-2.0
"""Runs every program of the documentation's pages in one language, and compares what it prints with
what the page shows: programs.py c|cpp|python|java SOURCE LIBRARY [COMPILER...]. For Java the library
is the jar, and the compiler java. Needs nothing but the blocks' grammar, docs/site/blocks.py."""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

language, source, library, *compiler = sys.argv[1:]
source, library = pathlib.Path(source).resolve(), str(pathlib.Path(library).resolve())
sys.path.insert(0, str(source / "docs/site"))
import blocks  # noqa: E402
import pages  # noqa: E402
import run  # noqa: E402


def check_fences(path, found):
    """A fence whose words nobody reads would be skipped in silence."""
    for block in found:
        known = {*blocks.LANGUAGES, "continue", "outside", "picture"}
        unknown = [word for word in block.words if word not in known]
        if unknown or block.language not in {*blocks.LANGUAGES, "output", "sh", "text", ""}:
            raise SystemExit(f"{path}:{block.line + 1}: unknown: {block.language} {unknown}")


def run_compiled(program, path):
    """What a whole program prints."""
    text = blocks.source([block for block, _ in program], language, "Page")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, f"Page.{language}")
        file.write_text(text)
        if language == "java":
            command = [*compiler, "-cp", library, file.name]
        else:
            standard = {"c": "-std=c11", "cpp": "-std=c++20"}[language]
            command = [*compiler, standard, "-Wall", "-Wextra", "-Werror",
                       f"-I{source / 'include'}", file, library,
                       f"-Wl,-rpath,{pathlib.Path(library).parent}", "-o", f"{folder}/page"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        if language != "java" and done.returncode == 0:
            done = subprocess.run(["./page"], cwd=folder, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{text}\n{path}: this program failed with {done.returncode}")
        return done.stdout


def same(printed, shown):
    """Whether the page shows what is printed; … stands for anything."""
    pattern = ".*?".join(re.escape(part) for part in shown.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.S)


def compare(path, line, printed, shown):
    if same(printed, shown):
        return True
    print(f"{path}:{line + 1}: {language}: the page shows (-), but printed is (+)")
    print("\n".join(difflib.unified_diff(shown.strip().splitlines(), printed.strip().splitlines(),
                                         lineterm="", n=99)))
    return False


def check(path):
    """Runs a page; returns how many programs it has, and whether all print what is shown."""
    found = blocks.blocks(path.read_text())
    check_fences(path, found)
    programs, right = blocks.programs(found, language), True
    for program in programs:
        if language == "python":
            outputs = run.run_python([block for block, _ in program], str(path))
            for (block, shown), printed in zip(program, outputs):
                if block.kind == "picture":
                    if not printed.lstrip().startswith(("<svg", "digraph")):
                        print(f"{path}:{block.line + 1}: no picture")
                        right = False
                else:
                    right &= compare(path, block.line, printed, shown or "")
        else:
            shown = "\n".join(text.strip() for _, text in program if text)
            right &= compare(path, program[0][0].line, run_compiled(program, path), shown)
    return len(programs), right


listed = [path for _, entries in pages.PAGES for _, path in entries if path.endswith(".md")]
forgotten = {f"docs/{file.name}" for file in source.glob("docs/*.md")} - set(listed)
if forgotten:
    sys.exit(f"pages that docs/site/pages.py does not list: {sorted(forgotten)}")
checked = [(path, *check(source / path)) for path in listed]
for name, count, _ in checked:
    print(f"{name}: {count} programs")
if sum(count for _, count, _ in checked) == 0:
    sys.exit(f"no page has a program in {language}")
sys.exit(not all(right for *_, right in checked))
