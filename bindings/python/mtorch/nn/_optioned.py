# SPDX-License-Identifier: Apache-2.0
"""Modules over functions with options."""
from __future__ import annotations

from typing import Any, Callable

from .._arguments import _known_options
from . import functional
from .module import Module


class _Optioned(Module):
    """A module over a function, whose options, as far as they were given, are its attributes."""

    function: Callable[..., Any] = staticmethod(functional.mse_loss)

    def _take(self, **options: Any) -> None:
        self._taken = tuple(_known_options(self, self.function, options))
        for name, value in options.items():
            setattr(self, name, value)

    @property
    def options(self) -> dict[str, Any]:
        """The options that the function is called with."""
        return {name: getattr(self, name) for name in self._taken}
