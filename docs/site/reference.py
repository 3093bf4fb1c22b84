# SPDX-License-Identifier: Apache-2.0
"""The Python reference, from the docstrings of the package that was built: one page a module."""
import html
import inspect
import re

import pygments
import pygments.formatters
import pygments.lexers

import mtorch

MODULES = [
    ("mtorch", mtorch, "Creation, operators, gradients, tapes, traces, files."),
    ("mtorch.Tensor", mtorch.Tensor, "What a tensor knows and can do."),
    ("mtorch.nn", mtorch.nn, "Layers, losses and functions of networks."),
    ("mtorch.nn.init", mtorch.nn.init, "First values of parameters."),
    ("mtorch.optim", mtorch.optim, "Optimizers and learning-rate schedules."),
    ("mtorch.data", mtorch.data, "Data sets and batches."),
    ("mtorch.random", mtorch.random, "Random numbers: the same for a seed everywhere."),
    ("mtorch.linalg", mtorch.linalg, "The Array API standard's linear algebra."),
]


class _Word:
    """A type as it is written in the source."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def signature(thing):
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""

    def word(annotation):
        return _Word(annotation) if isinstance(annotation, str) else annotation

    parts = [p.replace(annotation=word(p.annotation)) for p in found.parameters.values()
             if p.name != "self"]
    result = inspect.Signature.empty if inspect.isclass(thing) else word(found.return_annotation)
    return str(found.replace(parameters=parts, return_annotation=result))


def described(thing):
    """A docstring as HTML: paragraphs, with examples as code."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r"\A\w+\(.*\)\n--\n+", "", text)  # a signature for C's functions
    out = []
    for part in filter(str.strip, re.split(r"\n\s*\n", text)):
        if part.lstrip().startswith(">>>"):
            code = pygments.highlight(part, pygments.lexers.PythonConsoleLexer(),
                                      pygments.formatters.HtmlFormatter(nowrap=True))
            out.append(f"<pre><code>{code}</code></pre>")
        else:
            out.append("<p>" + re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(part)) + "</p>")
    return "".join(out)


def public(owner):
    """The public names of a module or class: its own, not what it imported."""
    gathers = owner in (mtorch, mtorch.nn, mtorch.linalg)
    for name, thing in vars(owner).items():
        if name.startswith("_") or inspect.ismodule(thing):
            continue
        if inspect.isclass(owner):
            if callable(thing) or inspect.isdatadescriptor(thing):
                yield name, thing
        elif callable(thing):
            source = getattr(thing, "__module__", None) or ""
            own = source.startswith(owner.__name__) or "native" in source
            if own or gathers and source.startswith("mtorch"):
                yield name, inspect.unwrap(thing)


def members(name, owner):
    """Every documented member of a page's owner, inherited methods too."""
    owners = [owner] if inspect.ismodule(owner) else [c for c in owner.__mro__ if c is not object]
    found = {}
    for one in owners:
        for member, thing in public(one):
            found.setdefault(member, thing)
    return sorted(found.items(), key=lambda item: (not inspect.isclass(item[1]), item[0].lower()))


def entry(name, thing):
    shown = "" if inspect.isdatadescriptor(thing) else html.escape(signature(thing))
    body = described(thing)
    if inspect.isclass(thing):
        body += "".join(
            f'<div class="member"><h3>.{method}{html.escape(signature(what))}</h3>'
            f"{described(what)}</div>"
            for method, what in public(thing) if method != "function")  # how layers say what they call
    return f'<div class="member" id="{name}"><h3>{name}{shown}</h3>{body}</div>'


def pages():
    """(target, title, body, headings) of each page."""
    rows = "".join(
        f'<tr><td><a href="{name}.html"><code>{name}</code></a></td><td>{text}</td></tr>'
        for name, _, text in MODULES)
    yield ("python/index.html", "The Python reference",
           "<h1>The Python reference</h1><p>The package's docstrings. <code>help()</code> shows the "
           "same, and the type stubs tell editors.</p>"
           f'<div class="table"><table>{rows}</table></div>', [])
    for name, owner, text in MODULES:
        found = list(members(name, owner))
        names = ", ".join(f'<a href="#{member}"><code>{member}</code></a>' for member, _ in found)
        yield (f"python/{name}.html", name,
               f"<h1>{name}</h1><p>{text}</p><p>{names}</p>"
               + "".join(entry(member, thing) for member, thing in found),
               [(4, member, member) for member, _ in found])
