# SPDX-License-Identifier: Apache-2.0
"""Waiting between two samples until no other thread works."""
import os
import pathlib
import threading
import time

PAUSE = 0.001  # seconds, as often as needed
_THREADS = pathlib.Path("/proc/self/task")


def _running():
    """Whether another thread of this process has a core or wants one. What processor time they have
    used would not tell: the kernel adds it up at its ticks, some milliseconds apart."""
    for thread in os.listdir(_THREADS):
        if int(thread) == threading.get_native_id():
            continue
        try:
            stat = (_THREADS / thread / "stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        if stat.rpartition(")")[2].split()[0] == "R":
            return True
    return False


def wait_for_idle():
    """Until threads that the last sample left spinning have gone to sleep, which takes OpenMP's
    some 5 ms and OpenBLAS's 25: the next sample wants their cores. Whether they have: on a loaded
    machine it gives up at last."""
    for _ in range(100):
        time.sleep(PAUSE)
        if not _running():
            return True
    return False
