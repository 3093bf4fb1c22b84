# SPDX-License-Identifier: Apache-2.0
"""Gradients as functions, and regions without them."""
from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence, TypeGuard

from . import native
from ._arguments import _whole
from ._names import _explained
from .create import asarray

if TYPE_CHECKING:
    from ._tensor import Tensor


class _GradMode:
    """A region, as a `with` block or a decorator, in which histories are recorded or not."""

    def __init__(self, record: bool) -> None:
        self._record = record
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(native.set_grad_mode(self._record))

    def __exit__(self, *exception: Any) -> None:
        native.set_grad_mode(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{getattr(function, '__name__', 'a function')} is asynchronous, and others run "
                            "while it waits: a `with` block around what does not wait is what it needs")

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with _GradMode(self._record):
                return function(*args, **kwargs)

        @functools.wraps(function)
        def inside_steps(*args, **kwargs):
            return _steps(function(*args, **kwargs), self._record)
        return inside_steps if inspect.isgeneratorfunction(function) else inside


def _steps(generator: Any, record: bool) -> Any:
    """A generator each of whose steps is within the region, but not what is between them."""
    step: Callable[[], Any] = functools.partial(next, generator)
    try:
        while True:
            with _GradMode(record):
                item = step()
            try:
                step = functools.partial(generator.send, (yield item))
            except GeneratorExit:
                with _GradMode(record):
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)
    except StopIteration as end:
        return end.value


def no_grad(function: Callable[..., Any] | None = None) -> Any:
    """A region in which no history is recorded: of `with no_grad():`, or a function under @no_grad. Of a
    generator, its steps are within, and what runs between them is not.

    >>> import mtorch as mt
    >>> x = mt.ones(2, ).requires_grad_()
    >>> with mt.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """
    return _GradMode(False)(function) if function else _GradMode(False)


def enable_grad() -> _GradMode:
    """A region in which histories are recorded again, inside no_grad().

    >>> import mtorch as mt
    >>> x = mt.ones(2).requires_grad_()
    >>> with mt.no_grad(), mt.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """
    return _GradMode(True)


def is_grad_enabled() -> bool:
    """Whether this thread records histories.

    >>> import mtorch as mt
    >>> mt.is_grad_enabled()
    True
    """
    return native.grad_mode()


def _is_tensor(x: Any) -> TypeGuard[Tensor]:
    return isinstance(x, native.Tensor)


def _listed(tensors: Any, what: str = "expected") -> list[Any]:
    if _is_tensor(tensors):
        return [tensors]
    if isinstance(tensors, (int, float, str)) or not hasattr(tensors, "__iter__"):
        raise TypeError(f"{what}: a tensor or several, not {type(tensors).__name__}")
    return list(tensors)


class _Within(threading.local):
    functions = 0  # of which this thread is taking derivatives, one within another


_within = _Within()


@contextlib.contextmanager
def _differentiated() -> Iterator[None]:
    """A region for a function whose derivatives are wanted: its history is recorded, and that of
    derivatives which are taken within."""
    before = native.set_grad_mode(True)
    _within.functions += 1
    try:
        yield
    finally:
        _within.functions -= 1
        native.set_grad_mode(before)


def _is_nested(*args: Any, create_graph: bool = False) -> bool:
    """Whether the derivatives of a function of these are to be differentiated in turn."""
    return native.grad_mode() and (create_graph or _within.functions > 0 or any(
        _is_tensor(x) and x.requires_grad for x in args))


def _leaf(x: Any, nested: bool) -> Any:
    """The value of a tensor, a number or an array as a tensor of its own whose gradient is wanted, so
    that no other use of it counts; with its history, if derivatives of derivatives are wanted."""
    x = x if _is_tensor(x) else asarray(x)
    return native.copy(x) if nested and x.requires_grad else native.require_grad(native.detach(x))


def _beside(x: Any, like: Tensor) -> Any:
    """What is multiplied with `like`: a tensor as it is, or a number or an array of that type."""
    return x if _is_tensor(x) else asarray(x, dtype=like.dtype, device=like.device)


def _slopes(outputs: Sequence[Any], inputs: Sequence[Any], weights: Sequence[Any],
            create_graph: bool) -> tuple[Any, ...]:
    """As grad() of several, but zeros where all outputs are constant; no weights are ones."""
    varying = [i for i, output in enumerate(outputs) if output.requires_grad]
    if not varying:
        return tuple(map(native.zeros_like, inputs))
    return grad([outputs[i] for i in varying], inputs,
                [weights[i] for i in varying] if weights else [], create_graph)


@_explained
def grad(outputs: Any, inputs: Any = None, grad_outputs: Any = None,
         create_graph: bool = False) -> Any:
    """The gradients of sum(outputs * grad_outputs) to each input: a tensor for one input, else a
    tuple. With a function in place of tensors: the function that gives its gradient to its first
    argument, or to those at the places `inputs`: zeros, where it does not depend on one. What that
    gives can be differentiated in turn with `create_graph`, which is the rule if one of its arguments
    requires a gradient, and within a function that is differentiated itself; a function that takes
    weights from elsewhere needs it.

    >>> import mtorch as mt
    >>> x = mt.tensor([1.0, 2.0]).requires_grad_()
    >>> mt.grad((x * x).sum(), x)
    tensor([2., 4.])
    >>> mt.grad(lambda x: (x * x * x).sum())(mt.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    if callable(outputs):
        with_value = value_and_grad(outputs, 0 if inputs is None else inputs, create_graph)
        return functools.wraps(outputs)(lambda *args, **kwargs: with_value(*args, **kwargs)[1])
    given = [] if grad_outputs is None else _listed(grad_outputs)
    with _GradMode(create_graph and native.grad_mode()):
        found = native.gradients(_listed(outputs), _listed(inputs), given)
    return found[0] if _is_tensor(inputs) else tuple(found)


def value_and_grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0,
                   create_graph: bool = False) -> Callable[..., tuple[Any, Any]]:
    """The function that gives the value of `function` and its gradient to the arguments at the
    places `argnums`, as grad() does.

    >>> import mtorch as mt
    >>> mt.value_and_grad(lambda x: (x * x).sum())(mt.tensor([1.0, 2.0]))
    (tensor(5.0), tensor([2., 4.]))
    """
    single = _whole(argnums)
    places: list[int] = list(argnums) if single is None else [single]  # type: ignore[arg-type]

    @functools.wraps(function)
    def both(*args, **kwargs):
        args = list(args)
        nested = _is_nested(*args, *kwargs.values(), create_graph=create_graph)
        for i in places:
            args[i] = _leaf(args[i], nested)
        with _differentiated():
            value = _one("grad", function(*args, **kwargs))
        found = _slopes([value], [args[i] for i in places], [], nested)
        return value if nested else native.detach(value), found if single is None else found[0]
    return both


def _one(name: str, value: Any) -> Any:
    if not _is_tensor(value):
        raise TypeError(f"{name}: the function gives one tensor, not {type(value).__name__}")
    return value


def vjp(function: Callable[..., Any],
        *primals: Tensor) -> tuple[Any, Callable[..., tuple[Tensor, ...]]]:
    """function(*primals) and the function that gives, for a tensor of the result's shape, or one
    for each result, the gradients of their product with the results to each primal, as a tuple.

    >>> import mtorch as mt
    >>> y, pull = mt.vjp(lambda x: x * x, mt.tensor([1.0, 2.0]))
    >>> pull(mt.tensor([1.0, 10.0]))
    (tensor([ 2., 40.]),)
    """
    nested = _is_nested(*primals)
    leaves = [_leaf(x, nested) for x in primals]
    with _differentiated():
        results = function(*leaves)
    outputs = _listed(results, "vjp: the function gives")

    def pull(*cotangents):
        if len(cotangents) != len(outputs):
            raise ValueError(f"vjp: {len(cotangents)} tensors for {len(outputs)} results")
        weights = list(map(_beside, cotangents, outputs))
        return _slopes(outputs, leaves, weights, nested or _is_nested(*weights))

    values = outputs if nested else list(map(native.detach, outputs))
    return values[0] if _is_tensor(results) else tuple(values), pull


def jvp(function: Callable[..., Any], primals: Sequence[Tensor],
        tangents: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """function(*primals) and the derivative of its result along `tangents`, one for each primal:
    gradients are linear in what they are multiplied with, so their gradient to that is it.

    >>> import mtorch as mt
    >>> mt.jvp(mt.sin, (mt.tensor([0.0, 1.0]),), (mt.tensor([1.0, 0.0]),))[1]
    tensor([1., 0.])
    """
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(tangents)} tangents for {len(primals)} primals")
    nested = _is_nested(*primals, *tangents)
    leaves = [_leaf(x, nested) for x in primals]
    with _differentiated():
        result = _one("jvp", function(*leaves))
    with _GradMode(True):
        weight = native.require_grad(native.zeros_like(native.detach(result)))
        slopes = _slopes([result], leaves, [weight], True)
        along, = _slopes(slopes, [weight], list(map(_beside, tangents, leaves)), nested)
    return result if nested else native.detach(result), along


def jacobian(function: Callable[..., Any], argnum: int | Sequence[int] = 0,
             create_graph: bool = False) -> Callable[..., Any]:
    """The function that gives every slope of `function` to its argument at the place `argnum`:
    the result's shape, then the argument's; a tuple for several places. `create_graph`: as of grad().

    >>> import mtorch as mt
    >>> mt.jacobian(lambda x: x * x)(mt.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    def slopes(*args):
        place, nested = _whole(argnum), _is_nested(*args, create_graph=create_graph)
        if place is None:
            return tuple(jacobian(function, one, create_graph)(*args) for one in argnum)
        args = list(args)
        leaf = args[place] = _leaf(args[place], nested)
        with _differentiated():
            result = _one("jacobian", function(*args))
        if not result.size or not result.requires_grad:  # it is constant
            return native.zeros((*result.shape, *leaf.shape), native.dtype_of(leaf), leaf.device)
        with _GradMode(True):
            flat = native.reshape(result, -1)
            units = native.eye(flat.size, flat.size, 0, native.dtype_of(flat), flat.device)
            rows = [grad(flat, leaf, native.select(units, 0, i), nested) for i in range(flat.size)]
            return native.reshape(native.stack(rows, 0), (*result.shape, *leaf.shape))
    return functools.wraps(function)(slopes)


def hessian(function: Callable[..., Any], argnum: int | Sequence[int] = 0,
            create_graph: bool = False) -> Callable[..., Any]:
    """The function that gives the second derivatives of `function`, whose result is one number (else
    ValueError), to its argument at the place `argnum`: that argument's shape twice. For several places
    a tuple of tuples, one for each pair. `create_graph`: as of grad().

    >>> import mtorch as mt
    >>> mt.hessian(lambda x: (x ** 3).sum())(mt.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    def curvature(*args):
        place, nested = _whole(argnum), _is_nested(*args, create_graph=create_graph)
        if place is None:
            return tuple(tuple(jacobian(grad(function, i), j, create_graph)(*args) for j in argnum)
                         for i in argnum)
        args = list(args)
        leaf = args[place] = _leaf(args[place], nested)
        with _differentiated():
            value = _one("hessian", function(*args))
        if value.size != 1:
            raise ValueError(f"hessian: the function gives shape {value.shape}, not one number")
        with _GradMode(True):
            slope = native.reshape(_slopes([value], [leaf], [], True)[0], -1)
        size = leaf.size
        rows = [native.zeros_like(leaf)] * size
        if slope.requires_grad:
            units = native.eye(size, size, 0, native.dtype_of(slope), slope.device)
            rows = [grad(slope, leaf, native.select(units, 0, i), nested) for i in range(size)]
        with _GradMode(nested):
            return native.reshape(native.stack(rows, 0), (*leaf.shape, *leaf.shape))
    return functools.wraps(function)(curvature)


from .custom import Function, checkpoint, gradcheck  # noqa: E402,F401 (where PyTorch has them)
