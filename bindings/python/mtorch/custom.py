# SPDX-License-Identifier: Apache-2.0
"""Operators of your own, checkpoints, and the check of gradients."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from . import native
from .autograd import _is_tensor, _listed

if TYPE_CHECKING:
    from ._tensor import Tensor

most_results = 256  # of a function whose number of results only its call shows


class Context:
    """What forward() leaves for backward(): `ctx` in the example of Function.

    >>> import mtorch as mt
    >>> context = mt.Context()
    >>> context.save_for_backward(mt.ones(2))
    >>> context.saved_tensors
    (tensor([1., 1.]),)
    """

    def __init__(self) -> None:
        self._kept: tuple[Any, ...] = ()
        self._inputs: Any = ()
        self._results: Any = ()

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Keeps tensors; inputs and results are kept by their place, so that nothing refers to
        itself. Any other is a constant to a gradient of the gradient: see Function."""
        self._kept = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """Those kept."""
        places = {"input": self._inputs, "result": self._results}
        return tuple(places[kept[0]][kept[1]] if isinstance(kept, tuple) else kept
                     for kept in self._kept)

    def _remember_places(self, inputs: Any, results: Any) -> Any:
        def place(tensor):
            for kind, tensors in ("input", inputs), ("result", results):
                for i, candidate in enumerate(tensors):
                    if tensor is candidate:
                        return kind, i
            return tensor
        self._kept = tuple(map(place, self._kept))


class _Call:
    """One application of a Function, as the library calls it back."""

    def __init__(self, function: Any, args: Any) -> None:
        self.function, self.args, self.context = function, args, Context()
        self.places = [i for i, arg in enumerate(args) if _is_tensor(arg)]
        self.args = [None if _is_tensor(arg) else arg for arg in args]
        self.single = True

    def forward(self, inputs: Any) -> list[Any]:
        args = list(self.args)
        for i, x in zip(self.places, inputs):
            args[i] = x
        self.context._kept = ()
        results = self.function.forward(self.context, *args)
        self.single = _is_tensor(results)
        results = _listed(results, f"{self.function.__name__}.forward gives")
        self.context._remember_places(inputs, results)
        return results

    def backward(self, inputs: Any, results: Any, gradients: Any) -> list[Any]:
        context = self.context
        context._inputs, context._results = inputs, results
        try:
            found = self.function.backward(context, *gradients)
        finally:
            context._inputs = context._results = ()
        found = [None] if found is None else _listed(found, f"{self.function.__name__}.backward gives")
        if len(found) != len(self.args):
            raise ValueError(f"{self.function.__name__}.backward gave {len(found)} gradients for "
                             f"{len(self.args)} arguments")
        return [found[i] for i in self.places]


class Function:
    """An operator with its own gradient. Subclass it with two static methods, and call apply().

    >>> import mtorch as mt
    >>> class Cube(mt.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, dy):
    ...         (x,) = ctx.saved_tensors
    ...         return dy * 3 * x * x
    >>> x = mt.tensor([1.0, 2.0]).requires_grad_()
    >>> Cube.apply(x).sum().backward()
    >>> x.grad
    tensor([ 3., 12.])

    forward() gives a tensor or several; backward() gets the gradient of each, and gives one, or
    None, for each argument of apply().

    Where backward() is differentiated again, that passes through inputs and results of forward()
    and through dy. Another value that forward() kept is a constant to it: compute it again in
    backward(), or make it a result. gradcheck(..., order=2) finds what is missing."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{cls.__name__}: call {cls.__name__}.apply(...), it has no objects")

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """The result, a tensor or several; subclasses define it."""
        raise NotImplementedError("a Function defines forward(ctx, ...), as a static method")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradient of each argument, from those of the results; subclasses define it."""
        raise NotImplementedError("a Function whose gradient is asked for defines backward(ctx, ...), "
                                  "as a static method")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        call = _Call(cls, args)
        found = native.custom_call(cls.__name__, call, [x for x in args if _is_tensor(x)],
                                   most_results)
        return found[0] if call.single else tuple(found)


def checkpoint(function: Callable[..., Any], *args: Any) -> Any:
    """function(*args), whose intermediate values are not kept but computed again by backward.

    >>> import mtorch as mt
    >>> x = mt.ones(2).requires_grad_()
    >>> mt.checkpoint(lambda x: mt.exp(x) * x, x).sum().backward()
    >>> x.grad
    tensor([5.4365635, 5.4365635])
    """
    places = [i for i, arg in enumerate(args) if _is_tensor(arg)]
    single = True

    def run(*tensors):
        nonlocal single
        full = list(args)
        for i, x in zip(places, tensors):
            full[i] = x
        results = function(*full)
        single = _is_tensor(results)
        return _listed(results, "checkpoint: the function gives")

    found = native.checkpoint_call(run, [args[i] for i in places], most_results)
    return found[0] if single else tuple(found)


def gradcheck(function: Callable[..., Any], inputs: Any, *, step: float = 1e-6,
              relative: float = 1e-5, absolute: float = 1e-7, order: int = 1) -> bool:
    """Compares the gradients of `function`, a tensor of float64 tensors, with differences; raises
    ValueError, naming input, element and both values, when they disagree. True when not.

    >>> import mtorch as mt
    >>> mt.gradcheck(lambda x: x * x, [mt.tensor([1.0, 2.0], dtype=mt.float64)])
    True
    """
    options = native.gradient_check_options()
    options.step, options.relative, options.absolute = step, relative, absolute
    options.order = order
    native.check_gradients(lambda *tensors: [function(*tensors)], _listed(inputs), options)
    return True
