# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site of plain files, which needs no server and no network:
build.py SOURCE OUTPUT VERSION [JAVADOC SOURCE.java...]. The pages are Markdown files of the
repository (pages.py lists them), the references come from docstrings, Doxygen and javadoc."""
import html
import json
import os
import pathlib
import re
import shutil
import sys

import jinja2
import pygments
import pygments.lexers

import blocks
import pages
import reference
import tools
from page import FORMATTER, Page

HERE = pathlib.Path(__file__).resolve().parent


class Site:
    """All pages, and where their links lead."""

    def __init__(self, source, output, version, has_java):
        self.source, self.output, self.version = source, output, version
        self.navigation = [(group, [(title, source / path if path.endswith(".md") else path)
                                    for title, path in entries
                                    if path != "java/index.html" or has_java])
                           for group, entries in pages.PAGES]
        self.listed = [path for _, entries in self.navigation for _, path in entries
                       if isinstance(path, pathlib.Path)]
        self.linked = []  # files of the repository that pages refer to
        self.index = []  # for the search: page, title, address, text
        templates = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True,
                                       trim_blocks=True, lstrip_blocks=True)
        self.template = templates.get_template("page.html")

    def target(self, path):
        """Where a file of the repository goes."""
        name = path.relative_to(self.source).as_posix()
        if path in self.listed:
            return name.removeprefix("docs/").lower().removesuffix(".md") + ".html"
        return f"source/{name}.html"

    def address(self, path, link):
        """What a page's link is in the site. Files that are no pages become some."""
        place, mark, fragment = link.partition("#")
        if not place or re.match(r"\w+:", place) or place.endswith(".html"):
            return link
        file = pathlib.Path(os.path.normpath(path.parent / place))
        if not file.is_file():
            raise SystemExit(f"{path}: a link to {place}, which is no file")
        root = "../" * self.target(path).count("/")
        if file.suffix == ".svg":
            shutil.copy(file, self.output / file.name)
            return root + file.name
        if file not in self.listed + self.linked:
            self.linked.append(file)
        return root + self.target(file) + mark + fragment

    def write(self, target, title, body, headings=()):
        """Puts a body into the template."""
        file = self.output / target
        file.parent.mkdir(parents=True, exist_ok=True)
        navigation = [(group, [(name, path if isinstance(path, str) else self.target(path))
                               for name, path in entries]) for group, entries in self.navigation]
        places = [entry for _, entries in navigation for entry in entries]
        here = next((i for i, (_, place) in enumerate(places) if place == target), None)
        file.write_text(self.template.render(
            title=title, body=body, navigation=navigation, target=target,
            root="../" * target.count("/"), version=self.version,
            headings=[heading for heading in headings if heading[0] in (2, 3)],
            before=places[here - 1] if here else None,
            after=places[here + 1] if here is not None and here + 1 < len(places) else None,
            languages=blocks.LANGUAGES, switched='class="readers"' in body))

    def write_page(self, path):
        page, target = Page(path, self.address), self.target(path)
        body = page.html()
        if "<p>PROGRAMS</p>" in body:
            body = body.replace("<p>PROGRAMS</p>", self.write_programs(page))
        self.write(target, page.title, body, page.headings)
        self.index += [[page.title, title, f"{target}#{name}", " ".join(text)]
                       for title, name, text in page.sections]

    def write_programs(self, page):
        """The page's code as whole programs, one for each language."""
        links = []
        for language in blocks.LANGUAGES:
            parts = [block for block, _ in blocks.programs(page.blocks, language)[0]]
            stem = page.path.stem.capitalize() if language == "java" else page.path.stem
            file = f"{stem}.{'py' if language == 'python' else language}"
            self.output.joinpath(file).write_text(blocks.source(parts, language, stem))
            links.append(f'<a href="{file}" download>{file}</a>')
        return f"<p>{', '.join(links)}</p>"

    def write_linked(self):
        """The files of the repository that pages refer to, as pages."""
        for file in self.linked:  # which grows on the way
            if file.suffix == ".md":
                self.write_page(file)
                continue
            try:
                lexer = pygments.lexers.get_lexer_for_filename(file.name)
            except pygments.util.ClassNotFound:
                lexer = pygments.lexers.get_lexer_by_name("text")
            text = pygments.highlight(file.read_text(), lexer, FORMATTER)
            name = file.relative_to(self.source).as_posix()
            self.write(self.target(file), name,
                       f"<h1>{html.escape(name)}</h1>"
                       f'<figure class="code"><pre tabindex="0"><code>{text}</code></pre></figure>')

    def build(self):
        for path in self.listed:
            self.write_page(path)
        for target, title, body, headings in reference.pages():
            self.write(target, title, body, headings)
            self.index += [[title, name, f"{target}#{place}", ""] for _, name, place in headings]
        self.index += [[*function, ""] for function in tools.functions(self.output)]
        self.write_linked()
        self.output.joinpath("index.js").write_text(
            f"searchIndex = {json.dumps(self.index, ensure_ascii=False)};\n")
        for file in ("site.js", "site.css"):
            shutil.copy(HERE / file, self.output)

    def check_links(self):
        """Every link within the site leads to a file, and to a place in it."""
        texts = {file: file.read_text() for file in self.output.rglob("*.html")}
        broken = []
        for file, text in texts.items():
            name = file.relative_to(self.output)
            if name.parts[0] in ("c", "cpp", "java"):  # theirs to check
                continue
            for link in set(re.findall(r'(?:href|src)="([^":]+)"', text)):
                place, _, fragment = html.unescape(link).partition("#")
                to = pathlib.Path(os.path.normpath(file.parent / place)) if place else file
                if not to.is_file() or fragment and f'id="{fragment}"' not in texts.get(to, ""):
                    broken.append(f"{name}: {link}")
        if broken:
            raise SystemExit("links that lead nowhere:\n" + "\n".join(sorted(broken)))


def main():
    source, output, version, *java = sys.argv[1:]
    source, output = pathlib.Path(source).resolve(), pathlib.Path(output).resolve()
    shutil.rmtree(output, ignore_errors=True)
    tools.doxygen(source, output, version)
    if java:
        tools.javadoc(java[0], output, version, java[1:])
    site = Site(source, output, version, bool(java))
    site.build()
    if java:  # pages refer to all references
        site.check_links()


if __name__ == "__main__":
    main()
