# SPDX-License-Identifier: Apache-2.0
"""Parameters that are trained with the same options."""
from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping

from . import _porting_names, native

if TYPE_CHECKING:
    from ._tensor import Tensor


def _check_required(name: str, parameters: Iterable[Tensor]) -> None:
    """ValueError where no training changes anything; some may be frozen, for later, but not all."""
    if not any(map(native.requires_grad, parameters)):
        raise ValueError(f"{name}: parameter 0 does not require a gradient, nor does any other: "
                         "call requires_grad_()")


def _add_parameters(collection: Any, begin: int, parameters: Iterable[Tensor]) -> None:
    """Adds tensors by their numbers, and leaves those frozen that are."""
    for i, parameter in enumerate(parameters, begin):
        frozen = native.is_leaf(parameter) and not native.requires_grad(parameter)
        native.parameters_add(collection, str(i), parameter)
        if frozen:
            native.set_requires_grad(parameter, False)


class Group(collections.abc.MutableMapping[str, Any]):
    """What PyTorch's programs look for in an optimizer's group. The rate is the one that is in force
    and, where it is set, this group's alone, to follow from there; of the rest nothing can be set.

    >>> import mtorch as mt
    >>> w = mt.ones(1).requires_grad_()
    >>> group = mt.optim.SGD([{"params": w, "lr": 0.5}], lr=1.0).param_groups[0]
    >>> group["lr"], group["momentum"], len(group["params"])
    (0.5, 0.0, 1)
    """

    def __init__(self, optimizer: Any, given: Mapping[str, Any], defaults: Mapping[str, Any],
                 others: list[Tensor]) -> None:
        self.followers: list[Group] = []  # whose rates follow this one's
        name = optimizer.__name__
        if not isinstance(given, Mapping) or "params" not in given:
            raise TypeError(f"{name}: a group is a dict with \"params\", not {given!r:.60}")
        self._values: dict[str, Any] = {"params": _distinct(name, given["params"]), **defaults}
        if unknown := [key for key in given if key not in self._values]:
            words = _porting_names.OPTIONS.get(unknown[0], "").split()
            here = next((word for word in words if word in self._values), None)
            raise TypeError(f"{name}: a group has no {unknown[0]!r}: " + (
                f"it is called {here!r} here" if here else f"it has {', '.join(map(repr, self._values))}"))
        self._values.update((key, given[key]) for key in given if key != "params")
        known = set(map(id, others))
        if any(id(parameter) in known for parameter in self["params"]):
            raise ValueError(f"{name}: a parameter is in two groups")
        values = {key: value for key, value in self._values.items() if key not in ("params", "lr")}
        if "betas" in values:
            betas = values.pop("betas")
            if not isinstance(betas, (tuple, list)) or len(betas) != 2:
                raise TypeError(f"{name}: betas are two numbers, as (0.9, 0.999), not {betas!r:.60}")
            values["beta1"], values["beta2"] = betas
        options = optimizer._options()
        for key, value in values.items():
            setattr(options, key, value)
        collection = native.parameters_new(native.MT_F32, None)
        _add_parameters(collection, len(others), self["params"])
        self.handle = optimizer._make(collection, self._values["lr"], options)

    def __getitem__(self, key: str) -> Any:
        return native.optimizer_learning_rate(self.handle) if key == "lr" else self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if key != "lr":
            raise KeyError(f"{key!r}: of a group only \"lr\" can be set")
        rates = [(group, group["lr"]) for group in self.followers]
        native.optimizer_set_learning_rate(self.handle, value)
        for group, rate in rates:
            native.optimizer_set_learning_rate(group.handle, rate)

    def keys(self) -> Any:
        return self._values.keys()  # which show themselves without the tensors

    def __delitem__(self, key: str) -> None:
        raise KeyError(f"{key!r}: a group keeps what it has")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __ior__(self, other: Any) -> Group:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return repr(dict(self))


def _distinct(name: str, given: Any) -> list[Tensor]:
    """One parameter or several, each once."""
    parameters = [given] if isinstance(given, native.Tensor) else list(given)
    for i, parameter in enumerate(parameters):
        if not isinstance(parameter, native.Tensor):
            raise TypeError(f"{name}: parameters are tensors, or groups of them; parameter {i} is a "
                            f"{type(parameter).__name__}")
        if not native.is_leaf(parameter):
            raise ValueError(f"{name}: parameter {i} is computed from other tensors; optimizers "
                             "train leaves")
    once: dict[int, Any] = {id(parameter): parameter for parameter in parameters}
    return list(once.values())
