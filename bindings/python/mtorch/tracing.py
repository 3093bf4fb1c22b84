# SPDX-License-Identifier: Apache-2.0
"""Functions that are recorded once and replayed, and explanations of what was fused."""
from __future__ import annotations

import functools
import subprocess
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterator

from . import native
from ._modes import _log, _Mode, _Parts
from .autograd import _is_tensor, _within
from .create import asarray
from ._types import Operand

if TYPE_CHECKING:
    from ._tensor import Tensor


class _Itself:
    """A module as a constant: the same as itself alone, however its class compares."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Itself) and self.module is other.module

    def __hash__(self) -> int:
        return id(self.module)


def _constant(value: Any) -> Any:
    is_module = hasattr(type(value), "named_modules")
    return ("module", _Itself(value)) if is_module else ("constant", type(value), value)


def _flatten(value: Operand, tensors: list[Tensor]) -> Any:
    """The form of nested tuples, lists and dictionaries; their tensors are appended."""
    if _is_tensor(value):
        tensors.append(value)
        return "tensor"
    if isinstance(value, (tuple, list)):
        return type(value).__name__, tuple(_flatten(item, tensors) for item in value)
    if isinstance(value, dict):
        return "dict", tuple((key, _flatten(value[key], tensors)) for key in value)
    if hasattr(value, "__array_interface__") and getattr(value, "ndim", False):  # NumPy's
        tensors.append(asarray(value))
        return "tensor"
    return _constant(value)


def _unflatten(form: Any, tensors: Iterator[Tensor]) -> Any:
    if form == "tensor":
        return next(tensors)
    kind, *parts = form
    if kind == "constant":
        return parts[1]
    if kind == "module":
        return parts[0].module
    if kind == "dict":
        return {key: _unflatten(part, tensors) for key, part in parts[0]}
    items = (_unflatten(part, tensors) for part in parts[0])
    return list(items) if kind == "list" else tuple(items)


class _MoreResults(Exception):
    """A first call gives more than there was room for, and is made again."""


class _Recorded:
    """The recordings of a function for one form of its arguments, one mode of each module whose mode it
    reads, and the parts of those that it calls."""

    usual = 512  # more results than most first calls have, whose number is not known before

    def __init__(self, function: Callable[..., Any], form: Any) -> None:
        self.function, self.form = function, form
        self.result_form, self.count = None, self.usual
        self.modes: dict[int, Any] = {}  # by id, weak references to modules with their modes
        self.parts: dict[int, _Parts] = {}  # by the module's id
        self.seen = _Mode.latest_change  # when its modes were last those of the modules
        self._callback = self.call  # the handle only borrows it
        self.handle = native.trace_function(self._callback)

    def call(self, *tensors: Any) -> list[Tensor]:
        args, kwargs = _unflatten(self.form, iter(tensors))
        results: list[Tensor] = []
        around, _log.met = _log.met, {}
        around_called, _log.called = _log.called, {}
        try:
            form = _flatten(self.function(*args, **kwargs), results)
            for key, (module, mode) in _log.met.items():
                if mode is not None:
                    self.modes[key] = weakref.ref(module), mode
                if around is not None:
                    around.setdefault(key, (module, mode))
            self.parts.update((key, _Parts(module)) for key, module in _log.called.items())
            if around is not None:
                around_called.update(_log.called)
        finally:
            _log.met, _log.called = around, around_called
        if self.result_form is not None and form != self.result_form:
            raise ValueError("trace: the function returns other things for other shapes")
        self.result_form = form
        # The library wants one result at least.
        results = results or [native.zeros((), native.MT_F32, None)]
        room, self.count = self.count, len(results)
        if self.count > room:
            raise _MoreResults
        return results

    def is_whole(self) -> bool:
        """Whether the modules still have the layers and tensors with which it was recorded."""
        return all(parts.are_there() for parts in self.parts.values())

    def fits(self) -> bool:
        """Whether the modules are in the modes in which it was recorded."""
        known = ((module(), mode) for module, mode in self.modes.values())
        return all(module is None or module.training == mode for module, mode in known)


class Trace:
    """A function that is recorded once for each form, shape and type of its arguments, and
    replayed after that. See trace().

    >>> import mtorch as mt
    >>> mt.trace(lambda x: x + 1)(mt.ones(2))
    tensor([2., 2.])
    """

    many = 64  # recordings for other constants alone, at which a warning is due

    def __init__(self, function: Callable[..., Any], static: Any = ()) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._recorded: dict[Any, _Recorded] = {}  # the latest of each form
        self._others: dict[Any, list[_Recorded]] = {}  # by form, for other modes of modules
        self._latest: _Recorded | None = None
        self._static = (static,) if isinstance(static, (int, str)) else tuple(static)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors: list[Tensor] = []
        if _within.functions and native.grad_mode():  # what is replayed has no history
            args, kwargs = _unflatten(_flatten((args, kwargs), tensors), iter(tensors))
            return self._function(*args, **kwargs)
        if self._static:
            form = ("tuple", (
                ("tuple", tuple(_constant(arg) if i in self._static
                                else _flatten(arg, tensors) for i, arg in enumerate(args))),
                ("dict", tuple((key, _constant(arg) if key in self._static
                                else _flatten(arg, tensors)) for key, arg in kwargs.items()))))
        else:
            form = _flatten((args, kwargs), tensors)
        try:
            recorded = self._recorded.get(form)
        except TypeError as error:
            raise TypeError(f"trace: an argument that is no tensor is a constant of the recording "
                            f"and must be hashable: {error}") from None
        if recorded is None:
            recorded = self._recorded[form] = _Recorded(self._function, form)
            if len(self._recorded) == self.many:
                name = getattr(self, "__name__", "a function")
                warnings.warn(f"trace: {name} was recorded for {self.many} different constants; "
                              "give numbers that change as tensors", stacklevel=2)
        elif recorded.seen is not _Mode.latest_change:
            recorded = self._of_the_modules(form, recorded)
        self._latest = recorded
        try:
            results = native.trace_call(recorded.handle, tensors, recorded.count)
        except _MoreResults:
            results = native.trace_call(recorded.handle, tensors, recorded.count)
        return _unflatten(recorded.result_form, iter(results))

    def _of_the_modules(self, form: Any, recorded: _Recorded) -> _Recorded:
        """What was recorded, or is to be, for the modules as they are now."""
        latest = _Mode.latest_change
        if not recorded.fits() or not recorded.is_whole():
            known = [other for other in (*self._others.get(form, ()), recorded) if other.is_whole()]
            fitting = [other for other in known if other.fits()] or [_Recorded(self._function, form)]
            recorded = self._recorded[form] = fitting[0]
            self._others[form] = [other for other in known if other is not recorded]
        recorded.seen = latest
        return recorded

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @property
    def count(self) -> int:
        """How many recordings there are."""
        everything = sum(self._others.values(), list(self._recorded.values()))
        return sum(native.trace_count(recorded.handle) for recorded in everything)

    def explain(self, dot: bool = False) -> Any:
        """What the latest recording runs as one group, and why not more: see explain().

        >>> import mtorch as mt
        >>> "group" in mt.explain(mt.exp(mt.ones(3)) + 1)
        True
        """
        if self._latest is None:
            raise ValueError("explain: the trace has recorded nothing yet")
        handle = self._latest.handle
        if dot:
            return native.explain_trace_dot(handle)
        return Explanation(native.explain_trace(handle), native.explain_trace_dot(handle))


def trace(function: Callable[..., Any] | None = None, *, static: Any = ()) -> Any:
    """A decorator: the function is recorded once for each form, shape and type of its arguments, and
    each mode, train() or eval(), of the modules that it calls, and replayed after that; anew where
    a layer or tensor of such a module has been replaced. Whatever else its Python reads, as numbers and
    attributes, is a constant: what it was when it was recorded.

    Tensors in arguments and results, also within tuples, lists and dictionaries, are inputs and
    outputs; NumPy's arrays count as tensors. What the function gets for them are tensors of its own,
    so `x += 1` of an argument changes nothing for the caller. Whatever else is an argument is a constant of its
    recording, must be hashable or a module, and with another value, or module, the function is
    recorded again. `static` names arguments, by place or keyword, that are constants whatever they
    are.

    Every tensor that the function reads or rebinds (weights, gradients, optimizer state, the
    generator) is a hidden input or output, so a whole training step can be one. A value cannot be
    read inside, so Python's `if` and `while` cannot depend on one: that is an Error, which says so;
    where() chooses element by element. Within a function whose derivatives are taken, as by grad(),
    it is called without being recorded, since what is replayed has no history.

    >>> import mtorch as mt
    >>> @mt.trace
    ... def scaled(x, factor):
    ...     return mt.tanh(x) * factor
    >>> scaled(mt.zeros(3), 2), scaled.count
    (tensor([0., 0., 0.]), 1)
    """
    if function is None:
        return functools.partial(trace, static=static)
    return Trace(function, static)


class Explanation(str):
    """What runs as one group, the bytes that it moves, and the reason for each edge that is not
    fused: text, and in a notebook a drawing when Graphviz is installed.

    >>> import mtorch as mt
    >>> isinstance(mt.explain(mt.ones(3) + 1), str)
    True
    """

    dot: str

    def __new__(cls, text: str, dot: str) -> Explanation:
        self = super().__new__(cls, text)
        self.dot = dot
        return self

    def __repr__(self) -> str:
        return str(self)

    def _repr_svg_(self) -> str | None:
        return svg_of(self.dot)


def svg_of(dot: str) -> str | None:
    """A graph drawn by Graphviz, None when that is not installed."""
    try:
        return subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True,
                              check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def eval(*tensors: Tensor) -> None:
    """Computes tensors now, together; none: everything that is pending on this thread.

    >>> import mtorch as mt
    >>> x = mt.ones(3) + 1
    >>> mt.eval(x)
    """
    native.eval(tensors)


def explain(x: Any, dot: bool = False) -> Any:
    """What a read of the tensor x would run as one group now, the bytes it moves, and the reason
    for each edge that is not fused; as an Explanation, or the text for Graphviz. Also of a traced
    function.

    >>> import mtorch as mt
    >>> "group" in mt.explain(mt.exp(mt.ones(3)) + 1)
    True
    """
    if isinstance(x, Trace):
        return x.explain(dot)
    if dot:
        return native.explain_dot(x)
    return Explanation(native.explain(x), native.explain_dot(x))
