# SPDX-License-Identifier: Apache-2.0
"""The table of a module and those below it."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

from .. import native

if TYPE_CHECKING:
    from .module import Module


def _shapes_of_results(net: Module, args: tuple[Any, ...],
                       kwargs: Mapping[str, Any]) -> dict[int, str]:
    """The shape of each module's first result where `net` is called; by the module's id."""
    shapes: dict[int, str] = {}

    def note(module: Module, args: Any, result: Any) -> None:
        first = result[0] if isinstance(result, tuple) else result
        shapes[id(module)] = str(list(first.shape)) if isinstance(first, native.Tensor) else ""

    remove = [module.register_forward_hook(note) for module in net.modules()]
    training, before = net.training, native.set_grad_mode(False)
    try:
        net.eval()(*args, **kwargs)
    finally:
        net.train(training)
        native.set_grad_mode(before)
        for undo in remove:
            undo()
    return shapes


def _summary_of(net: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    shapes = _shapes_of_results(net, args, kwargs) if args or kwargs else {}
    rows = [("module", "result", "parameters")]
    for name, module in net.named_modules():
        count = sum(tensor.size for tensor in module.parameters())
        label = f"{name}: {type(module).__name__}" if name else type(module).__name__
        rows.append((label, shapes.get(id(module), ""), f"{count:,}"))
    first, second, third = (max(map(len, column)) for column in zip(*rows))
    return "\n".join(f"{a:{first}}  {b:>{second}}  {c:>{third}}" for a, b, c in rows)
