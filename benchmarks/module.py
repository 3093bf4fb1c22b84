# SPDX-License-Identifier: Apache-2.0
"""Modules of rows (module.h) and the limits of the machine, loaded into this process."""
import ctypes

import numpy


_TYPES = {numpy.dtype(numpy.float32): 0, numpy.dtype(numpy.float64): 1, numpy.dtype(numpy.int64): 2}

MOST_RESULTS = 70_000_000


class _Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("ndim", ctypes.c_int64), ("type", ctypes.c_int32)]


class Module:
    """One shared library of rows."""

    def __init__(self, path, threads):
        self._library = ctypes.CDLL(str(path))
        self._library.bench_open.restype = ctypes.c_void_p
        self._library.bench_result.restype = ctypes.c_int64
        self._library.bench_message.restype = ctypes.c_char_p
        self._library.bench_version.restype = ctypes.c_char_p
        self.wait = getattr(self._library, "bench_wait", lambda: None)
        self.set_threads(threads)

    def set_threads(self, threads):
        self._library.bench_set_threads(threads)

    def set_device(self, device):
        """Where our rows lie from now on; fails with why the device is not there."""
        self._library.bench_set_device.restype = ctypes.c_char_p
        found = self._library.bench_set_device(device.encode()).decode()
        if found != device:
            raise RuntimeError(found)

    def version(self):
        return self._library.bench_version().decode()

    def open(self, name, inputs):
        arrays = (_Array * len(inputs))()
        for array, values in zip(arrays, inputs):
            dims = (ctypes.c_int64 * values.ndim)(*values.shape)
            array.data, array.dims, array.ndim = values.ctypes.data, dims, values.ndim
            array.type = _TYPES[values.dtype]
        handle = self._library.bench_open(name.encode(), arrays, ctypes.c_int64(len(inputs)))
        if not handle:
            raise LookupError(self._message() or "not in this module")
        return _Row(self._library, ctypes.c_void_p(handle), self._message)

    def _message(self):
        return self._library.bench_message().decode()


class _Row:
    def __init__(self, library, handle, message):
        self._library, self._handle, self._message = library, handle, message

    def run(self, times):
        self._library.bench_run(self._handle, ctypes.c_int64(times))

    def result(self):
        room = numpy.empty(MOST_RESULTS, numpy.float64)
        count = self._library.bench_result(self._handle, room.ctypes.data_as(ctypes.c_void_p),
                                           ctypes.c_int64(room.size))
        if count < 0:
            raise RuntimeError(self._message())
        return room[:count]

    def close(self):
        self._library.bench_close(self._handle)


class Limits:
    """What the machine can do at most, measured when asked."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._library.limits_flops.restype = ctypes.c_double
        self._library.limits_flops.argtypes = [ctypes.c_bool]
        self._library.limits_round_trip.restype = ctypes.c_double
        self._library.limits_stream.restype = ctypes.c_double

    def set_threads(self, threads):
        self._library.limits_set_threads(threads)

    def operations(self, count):
        """Functions that measure how many seconds so many operations take at least, by name: of
        operands on registers, and loaded from the nearest cache where there is a loop for that."""
        made = {"limit": lambda: count / self._library.limits_flops(False)}
        if self._library.limits_flops(True):
            made["loading"] = lambda: count / self._library.limits_flops(True)
        return made

    def round_trip(self):
        """Seconds for a line of memory to go to another core and back."""
        return self._library.limits_round_trip()

    def stream(self, arrays):
        """A side that goes through arrays once: (how, bytes) of each, which is read, written or
        updated."""
        sizes = (ctypes.c_int64 * len(arrays))(*[size for _, size in arrays])
        self._library.limits_open_stream(sizes, "".join(how[0] for how, _ in arrays).encode())
        return _Stream(self._library)


class _Stream:
    def __init__(self, library):
        self._library = library

    def run(self, times):
        self.seconds(times)

    def seconds(self, times):
        """From when its threads, which are new each time, all run."""
        return self._library.limits_stream(ctypes.c_int64(times))

    def close(self):
        self._library.limits_close_stream()
