# SPDX-License-Identifier: Apache-2.0
"""Learning rates that follow the steps."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping

from . import native
from ._modes import _log
from ._names import _explained
from .native import (
    schedule_cosine as schedule_cosine, schedule_one_cycle as schedule_one_cycle,
    schedule_step as schedule_step, schedule_warmup as schedule_warmup)

if TYPE_CHECKING:
    from .optim import Optimizer


class Schedule:
    """A learning rate that follows the steps: schedule(step) is called with 0, 1, ... and its value
    becomes the optimizer's rate, at once and at each step().

    >>> import mtorch as mt
    >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
    >>> schedule = mt.optim.Schedule(optimizer, lambda step: 1 / (1 + step))
    >>> [schedule.step() for _ in range(3)]
    [0.5, 0.3333333333333333, 0.25]
    """

    _kept: tuple[str, ...] = ("steps",)

    @_explained
    def __init__(self, optimizer: Optimizer, schedule: Callable[[int], float]) -> None:
        self.optimizer, self.schedule, self.steps = optimizer, schedule, 0
        self.base_lr = optimizer.lr
        optimizer.lr = schedule(0)

    def step(self) -> float:
        """Goes on by one step; the rate from now on. Error inside a trace, whose replays would not."""
        if _log.met is not None:
            raise native.Error("step: a schedule inside a trace would go on when that is recorded, and stand "
                               "still when it is replayed; call it after the traced step, which follows the "
                               "rate")
        self.optimizer.lr = lr = self.schedule(self.steps + 1)
        self.steps += 1
        return lr

    def state_dict(self) -> dict[str, Any]:
        """How many steps it has gone and, of a schedule that begins with the optimizer's rate, that
        rate.

        >>> import mtorch as mt
        >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=0.5)
        >>> mt.optim.StepSchedule(optimizer, every=2).state_dict()
        {'steps': 0, 'base_lr': 0.5}
        """
        return {name: getattr(self, name) for name in self._kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there, whatever the optimizer's rate was when this schedule was made; numbers,
        or tensors of one, as they come from a file. Nothing changes unless all fit."""
        if state.keys() != set(self._kept):
            raise ValueError(f"load_state_dict: the schedule keeps {sorted(self._kept)}, "
                             f"not {sorted(state)}")
        steps = int(state["steps"])
        if steps < 0 or steps != state["steps"]:
            raise ValueError(f"load_state_dict: {state['steps']} is no number of steps")
        before = self.state_dict()
        try:
            vars(self).update({name: float(state[name]) for name in self._kept}, steps=steps)
            self.optimizer.lr = self.schedule(steps)
        except BaseException:
            vars(self).update(before)
            raise


class _FromTheRate(Schedule):
    """One that begins with the rate that the optimizer has when the schedule is made."""

    _kept = ("steps", "base_lr")

    def __init__(self, optimizer: Optimizer, schedule: Callable[[int], float]) -> None:
        if optimizer.lr == 0 and any(group["lr"] != 0 for group in optimizer.param_groups):
            raise ValueError(f"{type(self).__name__}: the first group's rate is 0, which others "
                             "cannot follow: name a group that learns first")
        super().__init__(optimizer, schedule)


class StepSchedule(_FromTheRate):
    """Falls by a factor at regular times.

    >>> import mtorch as mt
    >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
    >>> schedule = mt.optim.StepSchedule(optimizer, every=2, factor=0.5)
    >>> [schedule.step() for _ in range(4)]
    [1.0, 0.5, 0.5, 0.25]
    """

    @_explained
    def __init__(self, optimizer: Optimizer, every: int, factor: float = 0.1) -> None:
        super().__init__(optimizer,
                         lambda step: schedule_step(self.base_lr, step, every, factor))


class CosineSchedule(_FromTheRate):
    """Rises evenly for `warmup` steps, then falls along half a cosine to `lowest` at `steps`.

    >>> import mtorch as mt
    >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
    >>> schedule = mt.optim.CosineSchedule(optimizer, steps=4)
    >>> [round(schedule.step(), 3) for _ in range(4)]
    [0.854, 0.5, 0.146, 0.0]
    """

    @_explained
    def __init__(self, optimizer: Optimizer, steps: int, lowest: float = 0.0,
                 warmup: int = 0) -> None:
        def rate(step):
            falling = schedule_cosine(self.base_lr, max(step - warmup, 0), max(steps - warmup, 1),
                                      lowest)
            return schedule_warmup(falling, step, warmup) if step < warmup else falling

        super().__init__(optimizer, rate)


class OneCycleSchedule(_FromTheRate):
    """Up to the optimizer's rate and down again within `steps`.

    >>> import mtorch as mt
    >>> optimizer = mt.optim.SGD([mt.ones(1).requires_grad_()], lr=1.0)
    >>> schedule = mt.optim.OneCycleSchedule(optimizer, steps=10)
    >>> optimizer.lr < 1
    True
    """

    @_explained
    def __init__(self, optimizer: Optimizer, steps: int) -> None:
        super().__init__(optimizer, lambda step: schedule_one_cycle(self.base_lr, step, steps))
