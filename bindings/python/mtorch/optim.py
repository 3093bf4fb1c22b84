# SPDX-License-Identifier: Apache-2.0
"""Optimizers over parameters, clipping, and learning rates as functions of the step."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Mapping

from . import _names, io, native
from .schedules import (  # noqa: F401
    CosineSchedule, OneCycleSchedule, Schedule, StepSchedule, schedule_cosine, schedule_one_cycle,
    schedule_step, schedule_warmup)
from ._types import Path

if TYPE_CHECKING:
    from ._tensor import Tensor


class Optimizer:
    """An update rule and its state, for tensors that require a gradient.

    >>> import mtorch as mt
    >>> w = mt.tensor([1.0, 2.0]).requires_grad_()
    >>> optimizer = mt.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist(), isinstance(optimizer, mt.optim.Optimizer)
    ([0.5, 1.0], True)
    """

    def __init__(self, parameters: Iterable[Tensor], make: Any, lr: float, options: Any,
                 **values: Any) -> None:
        given: Any = parameters
        name = type(self).__name__
        if isinstance(given, native.Tensor):
            raise TypeError(f"{name}: needs a sequence of parameters, not one tensor")
        self.parameters = list({id(parameter): parameter for parameter in given}.values())
        if not self.parameters:
            raise ValueError(f"{name}: no parameters")
        for option, value in values.items():
            setattr(options, option, value)
        self._collection = native.parameters_new(native.MT_F32, None)
        for i, parameter in enumerate(self.parameters):
            if not isinstance(parameter, native.Tensor):
                raise TypeError(f"{name}: parameters are tensors, all with the same options; parameter "
                                f"{i} is a {type(parameter).__name__}")
            frozen = native.is_leaf(parameter) and not native.requires_grad(parameter)
            native.parameters_add(self._collection, str(i), parameter)
            if frozen:
                native.set_requires_grad(parameter, False)
        self._handle = make(self._collection, lr, options)

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
        """The learning rate; traced steps follow it too."""
        return native.optimizer_learning_rate(self._handle)

    @lr.setter
    def lr(self, lr: float) -> None:
        native.optimizer_set_learning_rate(self._handle, lr)

    @property
    def param_groups(self) -> list[Any]:
        """The parameters and their rate as the one group that there is, whose "lr" can be set.

        >>> import mtorch as mt
        >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
        >>> for group in optimizer.param_groups:
        ...     group["lr"] = 0.5
        >>> optimizer.lr
        0.5
        """
        return [_Group(self)]

    @property
    def steps(self) -> int:
        """How many steps it has taken."""
        return native.optimizer_steps(self._handle)

    def state_dict(self) -> dict[str, Tensor]:
        """All that a later step depends on, as tensors by name, which later steps do not change:
        "step", "learning_rate" and what the rule keeps of parameter i, as "mean.i". mt.save() writes
        it to a file.

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
        native.optimizer_save(self._handle, str(path))

    def load(self, path: Path) -> None:
        """Reads it back; nothing changes unless all fit."""
        native.optimizer_load(self._handle, str(path))


    def __repr__(self) -> str:
        count = sum(parameter.size for parameter in self.parameters)
        return f"{type(self).__name__}(lr={self.lr:g}, {count:,} parameters, {self.steps} steps)"

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__}: an optimizer belongs to its parameters; keep its "
                        "state_dict(), and load that into one made for the other parameters")


class _Group(dict):  # type: ignore[type-arg]
    """What PyTorch's programs look for in an optimizer's group."""

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__(params=optimizer.parameters, lr=optimizer.lr)
        self._optimizer = optimizer

    def __setitem__(self, name: str, value: Any) -> None:
        if name != "lr":
            raise KeyError(f"{name!r}: of a group only \"lr\" can be set")
        self._optimizer.lr = value
        super().__setitem__(name, value)

    def update(self, *others: Any, **values: Any) -> None:
        for name, value in dict(*others, **values).items():
            self[name] = value

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self


class SGD(Optimizer):
    """Gradient descent, with momentum, Nesterov's too, and weight decay.

    >>> import mtorch as mt
    >>> mt.optim.SGD([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, momentum: float = 0.0,
                 dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> None:
        super().__init__(parameters, native.optimizer_sgd, lr, native.sgd_options(),
                         momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                         nesterov=nesterov)


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015).

    >>> import mtorch as mt
    >>> mt.optim.Adam([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    _make: Any = native.optimizer_adam

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                 weight_decay: float = 0.0) -> None:
        super().__init__(parameters, self._make, lr, native.adam_options(),
                         beta1=betas[0], beta2=betas[1], epsilon=epsilon,
                         weight_decay=weight_decay)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    >>> import mtorch as mt
    >>> mt.optim.AdamW([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    _make: Any = native.optimizer_adamw

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                 weight_decay: float = 0.01) -> None:
        super().__init__(parameters, lr, betas, epsilon, weight_decay)


class RMSprop(Optimizer):
    """RMSProp (Hinton, 2012).

    >>> import mtorch as mt
    >>> mt.optim.RMSprop([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-2, smoothing: float = 0.99,
                 epsilon: float = 1e-8, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, native.optimizer_rmsprop, lr, native.rmsprop_options(),
                         smoothing=smoothing, epsilon=epsilon, momentum=momentum,
                         weight_decay=weight_decay)


class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011).

    >>> import mtorch as mt
    >>> mt.optim.Adagrad([mt.ones(2).requires_grad_()], lr=0.1).lr
    0.1
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-2, epsilon: float = 1e-10,
                 initial: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, native.optimizer_adagrad, lr, native.adagrad_options(),
                         epsilon=epsilon, initial=initial, weight_decay=weight_decay)


if not TYPE_CHECKING:
    __getattr__ = _names._missing("mtorch.optim", _names.OPTIMIZERS)
    __dir__ = _names._public(globals())
