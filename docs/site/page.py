# SPDX-License-Identifier: Apache-2.0
"""A Markdown file as a page's body: code side by side, pictures in place of what draws them."""
import re
import subprocess

import markdown_it
import pygments
import pygments.formatters
import pygments.lexers

import blocks
import run

FORMATTER = pygments.formatters.HtmlFormatter(nowrap=True)


def slug(title):
    """A heading's name in addresses, as others make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def highlighted(text, language):
    lexer = {"output": "text", "": "text"}.get(language, language)
    return pygments.highlight(text, pygments.lexers.get_lexer_by_name(lexer), FORMATTER)


def code(block):
    """A block as HTML."""
    reader = f' data-language="{block.reader}"' if block.reader else ""
    caption = blocks.LANGUAGES.get(block.reader, "")
    caption = f"<figcaption>{caption}</figcaption>" if caption else ""
    kind = "output" if block.kind == "output" else "code"
    return (f'<figure class="{kind}"{reader}>{caption}<pre tabindex="0"><code>'
            f"{highlighted(block.text, block.language)}</code></pre></figure>")


def picture(text):
    """What a block printed, as an SVG that takes the page's colours."""
    if text.lstrip().startswith("digraph"):
        text = text.replace("{", '{ bgcolor="transparent"; node [fontsize=12, margin="0.15,0.06"];'
                            ' graph [fontname="sans-serif", fontsize=12];'
                            " graph [labeljust=l, labelloc=b];", 1)
        text = subprocess.run(["dot", "-Tsvg"], input=text, text=True, check=True,
                              stdout=subprocess.PIPE).stdout
    text = text[text.index("<svg"):].replace('"black"', '"currentColor"')
    text = re.sub(r"<!--.*?-->|<title>.*?</title>", "", text, flags=re.S)
    return f'<figure class="picture">{re.sub(r" id=.[^ >]*", "", text)}</figure>'  # ids: once a page


class Page:
    """A Markdown file. `address` turns what it links to into an address in the site."""

    def __init__(self, path, address):
        self.path, self.address = path, address
        self.text = path.read_text()
        self.blocks = blocks.blocks(self.text)
        self.headings = []  # (level, title, name)
        self.sections = []  # (title, name, text), for the search

    @property
    def title(self):
        return self.headings[0][1]

    def printed(self):
        """Line to what is printed, for the programs that draw."""
        found = {}
        for program in blocks.programs(self.blocks, "python"):
            parts = [block for block, _ in program]
            if any(part.kind == "picture" for part in parts):
                for part, text in zip(parts, run.run_python(parts, str(self.path))):
                    found[part.line] = text
        return found

    def html(self):
        """The page's body."""
        reader = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table")
        tokens = reader.parse(self.text)
        groups = {group[0].line: group for group in blocks.groups(self.blocks)}
        printed = self.printed()

        def fence(tokens, i, options, env):
            group = groups.get(tokens[i].map[0])
            if not group:  # shown with the first of its group
                return ""
            if group[0].kind == "picture":
                return picture(printed[group[0].line])
            text = "".join(map(code, group))
            return f'<div class="readers">{text}</div>' if len(group) > 1 else text

        reader.renderer.rules["fence"] = fence
        self.find_headings(tokens)
        for token in tokens:
            for child in token.children or []:
                attribute = {"link_open": "href", "image": "src"}.get(child.type)
                if attribute:
                    child.attrs[attribute] = self.address(self.path, child.attrs[attribute])
        body = reader.renderer.render(tokens, reader.options, {})
        body = body.replace("<table>", '<div class="table"><table>')
        return body.replace("</table>", "</table></div>")

    def find_headings(self, tokens):
        """Names the headings, and notes the text below each."""
        text = []
        for i, token in enumerate(tokens):
            if token.type == "heading_open":
                title = "".join(child.content for child in tokens[i + 1].children)
                token.attrSet("id", slug(title))
                self.headings.append((int(token.tag[1]), title, slug(title)))
                text = []
                self.sections.append((title, slug(title), text))
            elif token.type == "inline" and tokens[i - 1].type != "heading_open":
                text.append(re.sub(r"[`*\[\]|]|\(\S+\)", "", token.content))
