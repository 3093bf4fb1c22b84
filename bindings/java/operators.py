# SPDX-License-Identifier: Apache-2.0
"""Writes the operators of Tensor, with their documentation, from the public headers: one operator
is described in one place.  operators.py INCLUDE OUTPUT"""
import pathlib
import re
import sys

include, output = map(pathlib.Path, sys.argv[1:])
HEADERS = ["tensor.h", "ops.h", "reduce.h", "view.h", "linear.h", "linalg.h", "nn.h", "tape.h"]
SKIPPED = {"take", "retain", "require_grad", "gradient", "index_put"}  # Tensor has its own
CODES = {"EINVAL": "INVALID", "ESHAPE": "SHAPE", "EDTYPE": "DTYPE", "ENOMEM": "MEMORY",
         "EDEVICE": "DEVICE", "EUSER": "USER", "ENULL": "MISSING", "ENOGRAD": "NO_GRADIENT",
         "EIO": "IO", "EINDEX": "INDEX", "ETRACE": "TRACE", "EUNSUPPORTED": "UNSUPPORTED"}
PLAIN = {"int64_t": "long", "size_t": "long", "double": "double", "bool": "boolean",
         "mt_dtype": "DType", "int32_t": "Reduction", "const char*": "String"}


def camel(name):
    return re.sub(r"_(\w)", lambda m: m[1].upper(), name)


def declarations(text):
    """(name, parameters, documentation) of each function that returns a tensor; those that stand
    together without words between share what is above."""
    for paragraph in re.split(r"\n\s*\n", text):
        above = []
        pieces = re.findall(r"^/// ?(?!<)(.*)|^(MT_API [^;]*;)(?: *///< (.*))?", paragraph, re.M)
        fresh = True
        for comment, declaration, trailing in pieces:
            if not declaration:
                above = [comment] if fresh else above + [comment]
                fresh = False
                continue
            fresh = True
            match = re.match(r"MT_API mt_tensor\* mt_(\w+)\((.*)\);", " ".join(declaration.split()))
            if match:
                yield match[1], match[2], [trailing] if trailing else above


def parameters(text):
    """A list of (kind, name): Java's types, and "lists" for two that share a length."""
    left = [re.fullmatch(r"(.*?[ *])(\w+)(\[\d\])?", p.strip()).groups()[:2]
            for p in text.split(",")]
    left = [(kind.strip(), name) for kind, name in left]
    result = []
    while left:
        kind, name = left.pop(0)
        if kind == "mt_tensor*":
            result.append(("Tensor", name))
        elif kind == "mt_tensor* const*":
            left.pop(0)
            result.append(("Tensor...", name))
        elif kind == "const mt_index_item*":
            left.pop(0)
            result.append(("Index...", name))
        elif kind == "const int64_t*" and left[0][0] == "const int64_t*":
            second = left.pop(0)[1]
            left.pop(0)
            result.append(("lists", (name, second)))
        elif kind == "const int64_t*":
            left.pop(0)
            result.append(("long...", name))
        elif match := re.fullmatch(r"const mt_(\w+)_options\*", kind):
            result.append((camel("_" + match[1]) + "Options", name))
        elif kind in PLAIN:
            result.append((PLAIN[kind], name))
        else:
            return None
    return result


def javadoc(name, lines):
    text = "\n".join(lines).strip() or f"The operator {name}"
    if name.endswith("_keep"):
        text += "\nReduced axes keep size 1."
    for sign, entity in ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "&#64;"):
        text = text.replace(sign, entity)
    text = re.sub(r"\bMT_(E\w+)\b", lambda m: "{@link ErrorCode#%s}" % CODES[m[1]], text)
    text = re.sub(r"\bmt_(\w+)\(\)", lambda m: "{@code %s}" % camel(m[1]), text)
    text = re.sub(r"\bmt_(\w+)\(", lambda m: camel(m[1]) + "(", text)
    text = re.sub(r"`([^`]*)`", r"{@code \1}", text)
    text = text.replace("NULL, 0 means all", "none means all").replace("NULL", "null")
    # Formulas that stand alone.
    text = re.sub(r"\n\n((?:    .*\n?)+)", r"\n<pre>\n\1</pre>\n", text)
    body = "\n".join(f"   * {line}".rstrip() for line in text.split("\n") if line.strip())
    return f"  /**\n{body}\n   */\n"


# What may be left out at the end, and what it is then: always, and of some operators.
DEFAULTS = {**dict.fromkeys(("bias", "mask", "options", "tolerance"), "null"),
            "reduction": "Reduction.MEAN", "step": "1", "k": "0", "correction": "0", "order": "2"}
LAST = {"axis": "-1"}
USUAL = {**dict.fromkeys(("softmax", "log_softmax", "vecdot", "cross", "categorical"), LAST),
         **dict.fromkeys(("sort", "argsort"), {**LAST, "descending": "false"}),
         **dict.fromkeys(("layer_norm", "group_norm"), {"weight": "null", "epsilon": "1e-5"}),
         "rms_norm": {"weight": "null", "epsilon": "1e-6"}, "cross_entropy": LAST,
         "huber_loss": {"delta": "1"}, "dropout": {"training": "true"}, "pad": {"value": "0"},
         "resize_linear": {"align_corners": "false"},
         "diff": {**LAST, "order": "1"}, "searchsorted": {"right": "false"},
         "cholesky": {"upper": "false"}, "solve_triangular": {"upper": "false"},
         "matrix_norm": {"order": '"fro"'}, "masked_select": {"mask": None},
         "norm": {"axes": "new long[0]"}}
FIRST = {"norm": "order"}  # as elsewhere norm(1) is of order 1; its axes come after it


def usual(name, what):
    """What a parameter of an operator is when it is left out; None when it cannot be."""
    return USUAL.get(name.removesuffix("_keep"), {}).get(what, DEFAULTS.get(what))


def method(name, given, documentation, optional=()):
    """One Java method; `optional` are left out."""
    receiver = given[0][0] == "Tensor"
    first = FIRST.get(name.removesuffix("_keep"))
    arguments, shown, last = [], [], None
    for i, (kind, what) in enumerate(given):
        if i == 0 and receiver:
            arguments.append("(Tensor) this")
        elif what in optional:
            arguments.append(usual(name, what))
        elif kind == "lists":
            arguments.append(f'Shapes.join("{name}", {camel(what[0])}, {camel(what[1])})')
            shown += [f"long[] {camel(w)}" for w in what]
        elif kind == "long..." and any(after not in (*optional, first) for _, after in given[i + 1:]):
            arguments.append(camel(what))  # not last: a number before it would look like one of it
            shown.append(f"long[] {camel(what)}")
        elif kind.endswith("..."):
            arguments.append(camel(what))
            last = f"{kind} {camel(what)}"
        else:
            arguments.append(camel(what))
            shown.append(f"{kind} {camel(what)}")
    shown += [last] if last else []
    static = "" if receiver else "static "
    ours = camel(name.removesuffix("_with"))  # an overload
    return (f"{documentation}  public {static}Tensor {ours}({', '.join(shown)}) {{\n"
            f"    return Native.{name}({', '.join(arguments)});\n  }}\n")


def number_methods(name, documentation):
    for kind in "double", "long":
        yield (f"{documentation}  public Tensor {camel(name)}({kind} number) {{\n"
               f"    try (Tensor operand = Tensor.operand(number)) {{\n"
               f"      return Native.{name}((Tensor) this, operand);\n    }}\n  }}\n")


methods, names = [], []
for header in HEADERS:
    for name, text, lines in declarations((include / "mtorch" / header).read_text()):
        given = None if "(" in text or name in SKIPPED else parameters(text)
        if not given or not any(kind in ("Tensor", "Tensor...") for kind, _ in given[:2]):
            continue
        if given[0][0] not in ("Tensor", "Tensor...", "String"):
            continue
        documentation = javadoc(name, lines)
        names.append(name)
        methods.append(method(name, given, documentation))
        optional = []
        while len(given) - len(optional) > 1 and usual(name, given[-1 - len(optional)][1]):
            optional.append(given[-1 - len(optional)][1])
            if optional[-1] != FIRST.get(name.removesuffix("_keep")):
                methods.append(method(name, given, documentation, tuple(optional)))
        if header == "ops.h" and [kind for kind, _ in given] == ["Tensor", "Tensor"]:
            methods += number_methods(name, documentation)

assert len(names) > 150, names
output.write_text(f"""// SPDX-License-Identifier: Apache-2.0
// Written by bindings/java/operators.py from the public headers.
package org.mtorch;

/** The operators of tensors. */
abstract sealed class Operators extends NativeObject permits SeveralResults {{
  Operators(long address, boolean managed) {{
    super(Handle.TENSOR, address, managed);
  }}

{chr(10).join(methods)}}}
""")
