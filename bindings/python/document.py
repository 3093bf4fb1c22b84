# SPDX-License-Identifier: Apache-2.0
"""The public headers' comments as docstrings for SWIG, each with the signature that Python shows; a
table of the functions of one and of two tensors; and the type stub of all:
document.py INCLUDE_DIRECTORY MTORCH_I EXAMPLES DOCSTRINGS TABLE STUB"""
import pathlib
import re
import sys

DECLARATION = re.compile(
    r"^MT_API\s+([\w\s]+?[\s*]+)mt_(\w+)\(([^;]*)\);(?:\s*///<\s*(.*))?$", re.M)


def parameters(text):
    """The names that remain in Python: an array and its count are one."""
    names, pointer = [], False
    for part in re.sub(r"\s+", " ", text).split(","):
        part = part.strip()
        if part == "void":
            continue
        name = re.search(r"\w*$", part).group()  # none: a function, which no binding takes
        if re.match(r"size_t n\w*$", part) and pointer:
            continue
        array = bool(re.match(
            r"const (int64_t|mt_index_item)\* |(struct )?mt_tensor\* const\* ", part))
        if not (array and pointer and part.startswith("const int64_t")):  # the second of a pair
            names.append(name)
        pointer = array
    return names


def functions(include):
    """(name, result, parameters, their names, comment) of every declared function."""
    for header in sorted(pathlib.Path(include).glob("*.h")):
        comment, declared, used = [], "", False
        for line in header.read_text().splitlines():
            if declared:
                declared += " " + line.strip()
            elif line.startswith("///") and not line.startswith("/// @"):
                comment = [*([] if used else comment), line[4:]]
                used = False
                continue
            elif line.startswith("MT_API"):
                declared = line
            else:
                comment = []
                continue
            if ");" not in declared:
                continue
            found = DECLARATION.match(declared)
            if found:
                result, name, arguments, beside = found.groups()
                text = beside or ("" if used else "\n".join(comment))
                result = re.sub(r"\s+", " ", result).strip()
                yield name, result, arguments, parameters(arguments), text
                used = True
            declared = ""


def for_python(text):
    """C's words as Python's."""
    text = re.sub(r"\bmt_(\w+)", r"\1", text)
    for word, ours in WORDS.items():
        text = text.replace(word, ours)
    return text


WORDS = {"NULL, 0": "None", "NULL": "None", "MT_EINVAL": "ValueError", "MT_ESHAPE": "ValueError",
         "MT_EDTYPE": "TypeError", "MT_EINDEX": "IndexError", "MT_ENOMEM": "MemoryError",
         "MT_ENULL": "TypeError", "MT_ETRACE": "Error"}


TYPES = {"double": "float", "bool": "bool", "size_t": "int", "int": "int", "int32_t": "int",
         "int64_t": "int", "uint64_t": "int", "mt_dtype": "int", "const char*": "str",
         "char*": "str", "mt_tensor*": "_Tensor", "mt_status": "None", "void": "None"}


def stub(name, result, arguments, names, is_fast):
    """One line of the type stub. Tensors may be numbers or arrays, and None where C takes NULL."""
    shown = []
    for part in re.sub(r"\s+", " ", arguments).split(","):
        type_, _, parameter = part.strip().rpartition(" ")
        if parameter not in names or parameter in [one.partition(":")[0] for one in shown]:
            continue
        if type_ == "const int64_t*":
            type_ = "Axes" if parameter not in ("before", "shifts", "axes_a") else "Any"
        elif type_ == "mt_tensor*":
            type_ = "Operand"
        elif parameter == "device":
            type_ = "str | None"
        else:
            type_ = TYPES.get(type_, "Any")
        shown.append(f"{parameter}: {type_}")
    if is_fast:
        shown.append("/")
    return f"def {name}({', '.join(shown)}) -> {TYPES.get(result, 'Any')}: ...\n"


# What the interface files define themselves, and the classes of options and handles.
HELPERS = """adagrad_options adam_options attention_options backward_options batch_norm_options
    apply_recurrent check_gradients checkpoint_call conv_options cross_entropy_options custom_call from_capsule
    generator_get_state gradients gradient_check_options host_view kernel_of_address
    kernel_of_cells kernel_run largest layer_transformer let_stream_wait loader_batch matrix_parts
    memory new_loader pool_options recurrent rmsprop_options set_array_to_tensor set_types_by_code
    sgd_options split_into stream_of tape_again tape_gradients tape_node_inputs tape_node_shape
    tensor_from_buffer tensor_of_bytes tensor_of_numbers to_capsule trace_call trace_function
    unique_parts""".split()


def constants(include):
    """The names of the constants that Python code uses."""
    text = "".join(header.read_text() for header in pathlib.Path(include).glob("*.h"))
    return set(re.findall(r"\b(MT_(?:BOOL|[UIF]\d+|BF16|REDUCTION_\w+))\b", text))


STUB = """# Made from the public headers.
from typing import Any
from ._types import Axes, Operand
from ._tensor import Tensor as _Tensor

class Error(RuntimeError): ...

class Tensor:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def T(self) -> _Tensor: ...
    def __len__(self) -> int: ...
    def __hash__(self) -> int: ...
    def eval(self) -> _Tensor: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __getitem__(self, key: Any, /) -> _Tensor: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
"""
OPERATORS = ("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift radd rsub rmul "
             "rtruediv rfloordiv rmod rpow rmatmul rand ror rxor rlshift rrshift").split()
COMPARISONS = "eq ne lt le gt ge".split()


def examples_of(path):
    """The examples for docstrings by the C function's name: each block of the file is a call of the
    Python function and what it gives."""
    found = {}
    for block in pathlib.Path(path).read_text().strip().split("\n\n"):
        name = re.search(r"mt\.(?:\w+\.)?(\w+)\(", block).group(1)
        found[ALIASES.get(name, name)] = f"\n\n>>> import mtorch as mt\n>>> {block}\n"
    return found


ALIASES = {"divide": "div", "multiply": "mul", "negative": "neg", "subtract": "sub"}


def quoted(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


def main(include, interface, examples_path, output, table, stub_path):
    examples = examples_of(examples_path)
    ignored = set(re.findall(r"%ignore mt_(\w+);", pathlib.Path(interface).read_text()))
    entries, fast, last, stubs = [], [], "", [STUB]
    stubs += [f"    def __{name}__(self, other: Operand, /) -> _Tensor: ...\n" for name in OPERATORS]
    stubs += [f"    def __{name}__(self, other: Operand, /) -> _Tensor: ..."
              "  # type: ignore[override]\n" for name in COMPARISONS]
    stubs += [f"    def __{name}__(self) -> _Tensor: ...\n" for name in ("neg", "abs", "invert")]
    stubs += ["\n"]
    for name, result, arguments, names, comment in functions(include):
        comment = comment or (last if name.endswith("_keep") else "")
        last = comment
        if name in ignored:
            continue
        documented = for_python(comment) + examples.get(name, "")
        text = quoted(f"{name}({', '.join(names)})\n--\n\n{documented}")
        entries.append(f'%feature("docstring") mt_{name} "{text}";\n')
        types = re.sub(r"\w+(?=,|$)", "", re.sub(r"\s+", " ", arguments))
        is_fast = (result == "mt_tensor*" and name not in BORROWED | OPTIONAL
                   and types in FAST)
        stubs.append(stub(name, result, arguments, names, is_fast))
        if is_fast:
            shown = ", ".join([*names, "/"])
            text = quoted(f"{name}({shown})\n--\n\n{documented}").replace("\n", "\\n")
            fast.append(f'{FAST[types]}({name}, "{text}")\n')
    pathlib.Path(output).write_text("".join(entries))
    pathlib.Path(table).write_text("".join(fast))
    # What only the bindings have: helpers, options, constants.
    for name in HELPERS:
        stubs.append(f"def {name}(*args: Any) -> Any: ...\n")
    for name in sorted(constants(include)):
        stubs.append(f"{name}: int\n")
    pathlib.Path(stub_path).write_text("".join(stubs))


FAST = {"mt_tensor* ": "UNARY", "mt_tensor* , mt_tensor* ": "BINARY"}
BORROWED = {"require_grad", "take", "retain"}  # what returns the same handle
OPTIONAL = {"matrix_rank", "pinv"}  # whose second tensor may be None


if __name__ == "__main__":
    main(*sys.argv[1:])
