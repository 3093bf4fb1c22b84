# SPDX-License-Identifier: Apache-2.0
"""Where time goes."""
from __future__ import annotations

import os
from typing import Any

from . import native
from ._types import Path


class Profile:
    """Measures what runs inside `with Profile() as profile:`, in all threads: each group that fusion
    made, as often as it ran. Printing it shows a table, the dearest first; `save` writes a timeline.
    ValueError while another one measures.

    >>> import mtorch as mt
    >>> with mt.Profile() as profile:
    ...     y = (mt.ones((64, 64)) @ mt.ones((64, 64)) + 1).tolist()
    >>> "contraction 64 x 64 x 64, then add" in str(profile)
    True
    """

    def __init__(self) -> None:
        self._handle: Any = None

    def __enter__(self) -> Profile:
        self._handle = native.profile_start()
        return self

    def __exit__(self, *exception: Any) -> None:
        native.profile_stop(self._handle)

    def __str__(self) -> str:
        return native.profile_text(self._handle) if self._handle else "a profile that has not begun"

    __repr__ = __str__

    def save(self, path: Path) -> None:
        """Writes the single runs as Chrome's trace events, for ui.perfetto.dev."""
        if self._handle is None:
            raise ValueError("save: the profile has not begun")
        native.profile_save(self._handle, os.fspath(path))
