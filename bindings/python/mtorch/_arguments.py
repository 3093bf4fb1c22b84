# SPDX-License-Identifier: Apache-2.0
"""What arguments must be, where the library is not the first to look at them."""
from __future__ import annotations

import inspect
import operator
from typing import Any, Callable


def _checked(name: str, x: Any) -> Any:
    """x, a tensor or an array of another library; else TypeError."""
    if not hasattr(x, "shape"):
        raise TypeError(f"{name}: needs a tensor, not {type(x).__name__}")
    return x


def _place(name: str, axis: int, ndim: int) -> int:
    """An axis counted from the first; IndexError outside."""
    if not -ndim <= axis < ndim:
        raise IndexError(f"{name}: axis {axis} of {ndim} dimensions")
    return axis % ndim


def _whole(x: Any) -> int | None:
    """The whole number that x is, also as NumPy's; else None."""
    try:
        return operator.index(x)
    except TypeError:
        return None


def _several(axes: Any) -> tuple[int, ...]:
    """One axis or several, as several."""
    one = _whole(axes)
    return tuple(axes) if one is None else (one,)


def _no_axes(axes: Any) -> bool:
    """Whether these are axes, but none of them; None means all."""
    return isinstance(axes, (tuple, list)) and not axes


def _known_options(owner: Any, function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Options that the function has; else TypeError."""
    for name in options:
        if name not in inspect.signature(function).parameters:
            raise TypeError(f"{type(owner).__name__}() got an unexpected keyword argument {name!r}")
    return options


def _into(out: Any, result: Any) -> Any:
    """`result`, or `out` with its values."""
    if out is None:
        return result
    if tuple(out.shape) != result.shape:
        raise ValueError(f"out is {tuple(out.shape)}, not {result.shape}")
    out[...] = result
    return out


def _options(options: Any, **values: Any) -> Any:
    for name, value in values.items():
        setattr(options, name, value)
    return options
