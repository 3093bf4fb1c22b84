# SPDX-License-Identifier: Apache-2.0
"""Optimizers over parameters, clipping, and learning rates as functions of the step."""
from __future__ import annotations

import collections.abc
import os
from typing import TYPE_CHECKING, Any, Mapping

from . import _names, _porting_names, io, native
from ._groups import Group, _add_parameters, _check_required
from .schedules import (
    CosineSchedule as CosineSchedule, OneCycleSchedule as OneCycleSchedule, Schedule as Schedule,
    StepSchedule as StepSchedule, schedule_cosine as schedule_cosine,
    schedule_one_cycle as schedule_one_cycle, schedule_step as schedule_step,
    schedule_warmup as schedule_warmup)
from ._types import Parameters, Path

if TYPE_CHECKING:
    from ._tensor import Tensor


class Optimizer:
    """An update rule and its state, for tensors that require a gradient; where some have options of
    their own, for groups as PyTorch writes them.

    >>> import mtorch as mt
    >>> w, b = mt.tensor([1.0, 2.0]).requires_grad_(), mt.zeros(2).requires_grad_()
    >>> optimizer = mt.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist(), isinstance(optimizer, mt.optim.Optimizer)
    ([0.5, 1.0], True)
    >>> mt.optim.AdamW([{"params": [w]}, {"params": [b], "weight_decay": 0.0}], lr=0.1)
    AdamW(lr=0.1, 2 groups, 4 parameters, 0 steps)
    """

    _make: Any = None
    _options: Any = None

    def __init__(self, parameters: Parameters, **defaults: Any) -> None:
        if self._make is None:
            raise TypeError(f"{type(self).__name__}: it has no rule of its own to update parameters; derive "
                            "it from SGD, Adam, AdamW, RMSprop or Adagrad")
        self.parameters: list[Tensor] = []
        self._defaults = defaults
        self._collection = native.parameters_new(native.MT_F32, None)
        self._groups: list[Group] = []
        self._handle: Any = None  # the first group's
        given: Any = parameters
        if isinstance(given, native.Tensor):
            raise TypeError(f"{type(self).__name__}: needs a sequence of parameters, not one tensor")
        if not isinstance(given, collections.abc.Iterable):
            here = " (its parameters() are one)" if hasattr(given, "parameters") else ""
            raise TypeError(f"{type(self).__name__}: needs a sequence of parameters, not "
                            f"{type(given).__name__}{here}")
        given = list(given)
        if given and all(hasattr(part, "parameters") for part in given):
            raise TypeError(f"{type(self).__name__}: needs parameters, not modules: module.parameters() "
                            "gives a module's")
        if not given:
            raise ValueError(f"{type(self).__name__}: no parameters")
        if not any(isinstance(group, Mapping) for group in given):
            given = [{"params": given}]
        for group in given:
            self.add_param_group(group)
        _check_required(type(self).__name__, self.parameters)

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Trains more parameters, with options of their own where the group has some.

        >>> import mtorch as mt
        >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
        >>> optimizer.add_param_group({"params": mt.ones(2).requires_grad_(), "lr": 0.5})
        >>> [group["lr"] for group in optimizer.param_groups]
        [1.0, 0.5]
        """
        new = Group(type(self), group, self._defaults, self.parameters)
        if self._groups:
            native.optimizer_add(self._handle, new.handle)
            self._groups[0].followers.append(new)
        self._handle = self._handle or new.handle
        _add_parameters(self._collection, len(self.parameters), new["params"])
        self.parameters += new["params"]
        self._groups.append(new)

    def step(self) -> None:
        """Updates the parameters once; leaves gradients as they are."""
        native.optimizer_step(self._handle)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Removes the gradients of all parameters, or makes them zeros."""
        if set_to_none:
            return native.parameters_zero_grad(self._collection)
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.grad = native.zeros_like(parameter.grad)

    def clip_grad_norm(self, max_norm: float) -> Tensor:
        """Scales all gradients so that their norm as one vector is at most max_norm; returns what
        it was, as a tensor."""
        return native.clip_grad_norm(self._collection, max_norm)

    @property
    def lr(self) -> float:
        """The learning rate, of the first group; where it is set, those of others are too, in the
        proportion that they had to it when they were added or last set on their own. While it is 0,
        the last before that counts; if there was none, theirs stay. Traced steps follow it."""
        return native.optimizer_learning_rate(self._handle)

    @lr.setter
    def lr(self, lr: float) -> None:
        native.optimizer_set_learning_rate(self._handle, lr)

    @property
    def param_groups(self) -> list[Group]:
        """The groups, each with its "params", "lr", which can be set, and options.

        >>> import mtorch as mt
        >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
        >>> for group in optimizer.param_groups:
        ...     group["lr"] = 0.5
        >>> optimizer.lr
        0.5
        """
        return list(self._groups)

    @property
    def steps(self) -> int:
        """How many steps it has taken."""
        return native.optimizer_steps(self._handle)

    def state_dict(self) -> dict[str, Tensor]:
        """All that a later step depends on, as tensors by name, which later steps do not change:
        "step" and "learning_rate", of further groups "step.1", "learning_rate.1" and
        "proportion.1", and what the rule keeps of parameter i, as "mean.i". mt.save() writes it to
        a file.

        >>> import mtorch as mt
        >>> optimizer = mt.optim.Adam([mt.ones(2).requires_grad_()])
        >>> list(optimizer.state_dict())
        ['step', 'learning_rate', 'mean.0', 'square.0']
        """
        return io.dictionary(native.optimizer_state(self._handle))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes such state back: training goes on bit for bit as where it was read. Nothing changes
        unless all names, shapes and types fit."""
        native.optimizer_set_state(self._handle, io.collection(state))

    def save(self, path: Path) -> None:
        """Writes the state to a safetensors file."""
        native.optimizer_save(self._handle, os.fspath(path))

    def load(self, path: Path) -> None:
        """Reads it back; nothing changes unless all fit."""
        native.optimizer_load(self._handle, io._existing(path))

    def __repr__(self) -> str:
        count = sum(parameter.size for parameter in self.parameters)
        groups = f"{len(self._groups)} groups, " if len(self._groups) > 1 else ""
        return (f"{type(self).__name__}(lr={self.lr:g}, {groups}{count:,} parameters, "
                f"{self.steps} steps)")

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__}: an optimizer belongs to its parameters; keep its "
                        "state_dict(), and load that into one made for the other parameters")


class SGD(Optimizer):
    """Gradient descent, with momentum, Nesterov's too, and weight decay.

    >>> import mtorch as mt
    >>> mt.optim.SGD([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    _make, _options = native.optimizer_sgd, native.sgd_options

    @_names._explained
    def __init__(self, parameters: Parameters, lr: float, momentum: float = 0.0,
                 dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> None:
        super().__init__(parameters, lr=lr, momentum=momentum, dampening=dampening,
                         weight_decay=weight_decay, nesterov=nesterov)


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015).

    >>> import mtorch as mt
    >>> mt.optim.Adam([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    _make, _options = native.optimizer_adam, native.adam_options

    @_names._explained
    def __init__(self, parameters: Parameters, lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                 weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr=lr, betas=betas, epsilon=epsilon,
                         weight_decay=weight_decay)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    >>> import mtorch as mt
    >>> mt.optim.AdamW([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    _make = native.optimizer_adamw

    @_names._explained
    def __init__(self, parameters: Parameters, lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                 weight_decay: float = 0.01) -> None:
        super().__init__(parameters, lr, betas, epsilon, weight_decay)


class RMSprop(Optimizer):
    """RMSProp (Hinton, 2012).

    >>> import mtorch as mt
    >>> mt.optim.RMSprop([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    _make, _options = native.optimizer_rmsprop, native.rmsprop_options

    @_names._explained
    def __init__(self, parameters: Parameters, lr: float = 1e-2, smoothing: float = 0.99,
                 epsilon: float = 1e-8, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr=lr, smoothing=smoothing, epsilon=epsilon,
                         momentum=momentum, weight_decay=weight_decay)


class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011).

    >>> import mtorch as mt
    >>> mt.optim.Adagrad([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    _make, _options = native.optimizer_adagrad, native.adagrad_options

    @_names._explained
    def __init__(self, parameters: Parameters, lr: float = 1e-2, epsilon: float = 1e-10,
                 initial: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr=lr, epsilon=epsilon, initial=initial,
                         weight_decay=weight_decay)


if not TYPE_CHECKING:
    __getattr__ = _names._missing("mtorch.optim", _porting_names.OPTIMIZERS)
    __dir__ = _names._public(globals())
