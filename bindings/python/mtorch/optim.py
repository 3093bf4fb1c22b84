# SPDX-License-Identifier: Apache-2.0
"""Optimizers over parameters, clipping, and learning rates as functions of the step."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable

from . import native
from .native import (  # noqa: F401
    schedule_cosine, schedule_one_cycle, schedule_step, schedule_warmup)
from ._types import Path

if TYPE_CHECKING:
    from ._tensor import Tensor


class Optimizer:
    """An update rule and its state, for tensors that require a gradient.

    >>> import mtorch as mt
    >>> isinstance(mt.optim.SGD([mt.ones(1).requires_grad_()], lr=0.1), mt.optim.Optimizer)
    True
    """

    def __init__(self, parameters: Iterable[Tensor], make: Any, lr: float, options: Any,
                 **values: Any) -> None:
        self.parameters = list(parameters)
        if not self.parameters:
            raise ValueError(f"{type(self).__name__}: no parameters")
        for name, value in values.items():
            setattr(options, name, value)
        self._collection = native.parameters_new(native.MT_F32, None)
        for i, parameter in enumerate(self.parameters):
            frozen = native.is_leaf(parameter) and not native.requires_grad(parameter)
            native.parameters_add(self._collection, str(i), parameter)
            if frozen:
                native.set_requires_grad(parameter, False)
        self._handle = make(self._collection, lr, options)

    def step(self) -> None:
        """Updates the parameters once; leaves gradients as they are."""
        native.optimizer_step(self._handle)

    def zero_grad(self) -> None:
        """Removes the gradients of all parameters."""
        native.parameters_zero_grad(self._collection)

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
    def steps(self) -> int:
        """How many steps it has taken."""
        return native.optimizer_steps(self._handle)

    def save(self, path: Path) -> None:
        """Writes state, step and learning rate to a safetensors file."""
        native.optimizer_save(self._handle, str(path))

    def load(self, path: Path) -> None:
        """Reads them back; nothing changes unless all fit."""
        native.optimizer_load(self._handle, str(path))


class SGD(Optimizer):
    """Gradient descent, with momentum, Nesterov's too, and weight decay.

    >>> import mtorch as mt
    >>> w = mt.tensor([1.0, 2.0]).requires_grad_()
    >>> optimizer = mt.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist() < [1.0, 2.0]
    True
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, momentum: float = 0.0,
                 dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> None:
        super().__init__(parameters, native.optimizer_sgd, lr, native.sgd_options(),
                         momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                         nesterov=nesterov)


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015).

    >>> import mtorch as mt
    >>> w = mt.tensor([1.0, 2.0]).requires_grad_()
    >>> optimizer = mt.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist() < [1.0, 2.0]
    True
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                 weight_decay: float = 0.0) -> None:
        super().__init__(parameters, native.optimizer_adam, lr, native.adam_options(),
                         beta1=betas[0], beta2=betas[1], epsilon=epsilon,
                         weight_decay=weight_decay)


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    >>> import mtorch as mt
    >>> w = mt.tensor([1.0, 2.0]).requires_grad_()
    >>> optimizer = mt.optim.AdamW([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist() < [1.0, 2.0]
    True
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                 weight_decay: float = 0.01) -> None:
        super().__init__(parameters, native.optimizer_adamw, lr, native.adam_options(),
                         beta1=betas[0], beta2=betas[1], epsilon=epsilon,
                         weight_decay=weight_decay)


class RMSprop(Optimizer):
    """RMSProp (Hinton, 2012).

    >>> import mtorch as mt
    >>> w = mt.tensor([1.0, 2.0]).requires_grad_()
    >>> optimizer = mt.optim.RMSprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist() < [1.0, 2.0]
    True
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-2, smoothing: float = 0.99,
                 epsilon: float = 1e-8, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, native.optimizer_rmsprop, lr, native.rmsprop_options(),
                         smoothing=smoothing, epsilon=epsilon, momentum=momentum,
                         weight_decay=weight_decay)


class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011).

    >>> import mtorch as mt
    >>> w = mt.tensor([1.0, 2.0]).requires_grad_()
    >>> optimizer = mt.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist() < [1.0, 2.0]
    True
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-2, epsilon: float = 1e-10,
                 initial: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, native.optimizer_adagrad, lr, native.adagrad_options(),
                         epsilon=epsilon, initial=initial, weight_decay=weight_decay)


class Schedule:
    """A learning rate that follows the steps: schedule(step) is called with 0, 1, ... and its value
    becomes the optimizer's rate, at once and at each step().

    >>> import mtorch as mt
    >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
    >>> schedule = mt.optim.StepSchedule(optimizer, every=2, factor=0.1)
    >>> [round(schedule.step(), 6) for _ in range(4)]
    [1.0, 0.1, 0.1, 0.01]
    """

    def __init__(self, optimizer: Optimizer, schedule: Callable[[int], float]) -> None:
        self.optimizer, self.schedule, self.steps = optimizer, schedule, 0
        optimizer.lr = schedule(0)

    def step(self) -> float:
        """Goes on by one step; the rate from now on."""
        self.steps += 1
        self.optimizer.lr = lr = self.schedule(self.steps)
        return lr


class StepSchedule(Schedule):
    """Falls by a factor at regular times.

    >>> import mtorch as mt
    >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
    >>> schedule = mt.optim.StepSchedule(optimizer, every=2, factor=0.5)
    >>> [schedule.step() for _ in range(4)]
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, every: int, factor: float = 0.1) -> None:
        lr = optimizer.lr
        super().__init__(optimizer, lambda step: schedule_step(lr, step, every, factor))


class CosineSchedule(Schedule):
    """Rises evenly for `warmup` steps, then falls along half a cosine to `lowest` at `steps`.

    >>> import mtorch as mt
    >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
    >>> schedule = mt.optim.CosineSchedule(optimizer, steps=4)
    >>> [round(schedule.step(), 3) for _ in range(4)]
    [0.854, 0.5, 0.146, 0.0]
    """

    def __init__(self, optimizer: Optimizer, steps: int, lowest: float = 0.0,
                 warmup: int = 0) -> None:
        lr = optimizer.lr

        def rate(step):
            falling = schedule_cosine(lr, max(step - warmup, 0), max(steps - warmup, 1), lowest)
            return schedule_warmup(falling, step, warmup) if step < warmup else falling

        super().__init__(optimizer, rate)


class OneCycleSchedule(Schedule):
    """Up to the optimizer's rate and down again within `steps`.

    >>> import mtorch as mt
    >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
    >>> schedule = mt.optim.OneCycleSchedule(optimizer, steps=10)
    >>> optimizer.lr < 1
    True
    """

    def __init__(self, optimizer: Optimizer, steps: int) -> None:
        lr = optimizer.lr
        super().__init__(optimizer, lambda step: schedule_one_cycle(lr, step, steps))
