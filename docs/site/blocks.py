# SPDX-License-Identifier: Apache-2.0
"""The fenced blocks of a page, and the programs that they make: what the site shows is what the
tests run. The words after the fence:

    c, cpp, python, java    code. Blocks one after another in different languages say the same, and
                            the site shows the reader's language.
    continue                the code goes on from the block before in its language
    outside                 in C, C++ and Java: stands before main()
    picture                 Python that prints a picture, as SVG or for Graphviz, shown in its place
    output [LANGUAGE...]    what the code blocks before print; … is anything
    sh LANGUAGE             commands, shown to readers of that language; nothing runs them
"""
import dataclasses
import re
import textwrap

LANGUAGES = {"c": "C", "cpp": "C++", "python": "Python", "java": "Java"}
FENCE = re.compile(r"^( *)```(\S*)([^\n`]*)\n(.*?)^ *```$", re.M | re.S)


@dataclasses.dataclass
class Block:
    language: str
    words: list
    text: str
    line: int  # of the fence, from 0
    after: bool  # only empty lines part it from the block before

    @property
    def kind(self):
        """code, picture, output, sh, ..."""
        if self.language not in LANGUAGES:
            return self.language
        return "picture" if "picture" in self.words else "code"

    @property
    def reader(self):
        """The language whose readers see it; None for all."""
        if self.kind == "code":
            return self.language
        return next((word for word in self.words if word in LANGUAGES), None)


def blocks(page):
    """The blocks of a page's text, in order."""
    found, end = [], 0
    for fence in FENCE.finditer(page):
        indent, language, words, text = fence.groups()
        text = "".join(line.removeprefix(indent) for line in text.splitlines(True))
        after = bool(found) and not page[end:fence.start()].strip()
        found.append(Block(language, words.split(), text, page.count("\n", 0, fence.start()), after))
        end = fence.end()
    return found


def groups(all_blocks):
    """Lists of blocks that stand beside each other, each for other readers."""
    found = []
    for block in all_blocks:
        readers = [other.reader for other in found[-1]] if found else []
        if (block.after and block.kind == found[-1][0].kind and block.reader
                and None not in readers and block.reader not in readers):
            found[-1].append(block)
        else:
            found.append([block])
    return found


def programs(all_blocks, language):
    """The page's programs in a language: lists of pairs of a block and the output it should have,
    None where the page shows none."""
    found, before = [], []
    for group in groups(all_blocks):
        for block in group:
            if block.language == language:
                if "continue" not in block.words or not found:
                    found.append([])
                found[-1].append((block, None))
            elif (block.kind == "output" and block.reader in (None, language)
                  and any(other.language == language for other in before)):
                found[-1][-1] = (found[-1][-1][0], block.text)
        if group[0].kind != "output":
            before = group
    return found


HEAD = {
    "c": "#include <mtorch/mtorch.h>\n#include <stdio.h>\n",
    "cpp": "#include <iostream>\n#include <mtorch/mtorch.hpp>\nusing namespace mtorch;\n",
    "java": "import org.mtorch.*;\n",
}
MAIN = {
    "c": ("\nint main(void) {\n  MT_SCOPE {\n",
          '  }\n  if (mt_error()) fprintf(stderr, "%s\\n", mt_error_message());\n'
          "  return mt_error() != MT_OK;\n}\n", 4),
    "cpp": ("\nint main() {\n", "}\n", 2),
    "java": ("\n  public static void main(String[] arguments) {\n"
             "    try (Scope scope = Scope.open()) {\n", "    }\n  }\n", 6),
}


def source(parts, language, name):
    """A whole program. `name` is the Java class."""
    if language == "python":
        return "\n".join(block.text for block in parts)
    imports, outside, inside = [HEAD[language]], [], []
    for block in parts:
        lines = block.text.splitlines(True)
        taken = [line for line in lines if re.match(r"#include|using namespace|import ", line)]
        imports += [line for line in taken if line not in "".join(imports)]
        text = "".join(line for line in lines if line not in taken).lstrip("\n")
        if "outside" in block.words:
            outside.append("\n" + textwrap.indent(text, "  " if language == "java" else ""))
        elif text:
            inside.append(textwrap.indent(text, " " * MAIN[language][2]))
    before, after, _ = MAIN[language]
    text = "".join(outside) + before + "\n".join(inside) + after
    if language == "java":
        text = f"\npublic class {name} {{{text}}}\n"
    return "".join(imports) + text
