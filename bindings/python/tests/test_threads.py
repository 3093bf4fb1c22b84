# SPDX-License-Identifier: Apache-2.0
"""Threads: they run during each other's work, wait for each other, and never for good."""
import faulthandler
import os
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import mtorch as mt


@pytest.fixture(autouse=True)
def says_where_it_hangs():
    # Unoptimized, for a sanitizer, all takes longer.
    faulthandler.dump_traceback_later(1200 if "ASAN_OPTIONS" in os.environ else 120, exit=True)
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)
    faulthandler.cancel_dump_traceback_later()


def run_together(*functions):
    errors = []

    def watched(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=watched, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def ticks_during(work):
    """How often another thread, which wakes every half millisecond, runs meanwhile."""
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    work()
    end = time.perf_counter()
    stop.set()
    thread.join()
    return sum(begin < at < end for at in ticks)


def test_other_threads_run_during_work():
    x = mt.random.normal((700, 700)).eval()

    def work():
        for _ in range(6):
            mt.eval(mt.tanh(x @ x @ x))

    assert ticks_during(work) >= 3


def test_threads_train_their_own_models():
    def train(seed, results):
        mt.seed(seed)
        w = mt.random.normal((8, 1)).requires_grad_()
        x = mt.random.normal((32, 8))
        for _ in range(20):
            mt.mean((x @ w - 1) ** 2).backward()
            with mt.no_grad():
                w -= 0.05 * w.grad
            w.grad = None
        results[seed] = w.tolist()

    alone, together = {}, {}
    for seed in range(3):
        train(seed, alone)
    threads = [threading.Thread(target=train, args=(seed, together)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alone == together


def test_errors_belong_to_their_thread():
    failures = []

    def fail():
        for _ in range(200):
            try:
                mt.ones((2,)) + mt.ones((3,))
            except ValueError:
                failures.append(1)

    threads = [threading.Thread(target=fail) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        assert (mt.ones((2,)) + 1).shape == (2,)
    for thread in threads:
        thread.join()
    assert len(failures) == 600


class Doubled(mt.Function):
    """Python that runs in the middle of the library's work, and is in no hurry."""

    @staticmethod
    def forward(context, x):
        time.sleep(0)
        return (x * 2).eval()

    @staticmethod
    def backward(context, gradient):
        time.sleep(0)
        return gradient * 2


def test_threads_take_each_others_pending_values():
    # Each asks for what the other has recorded, drops what the other works on, calls into Python
    # from within the library, and lends memory whose owner hears of its end: in Python again.
    sys.setswitchinterval(1e-5)
    boxes = [[mt.zeros((4,))], [mt.zeros((4,))]]
    ends = []

    class Array(np.ndarray):
        pass

    def work(own, other, seed):
        random = np.random.default_rng(seed)
        for i in range(400):
            theirs = other[0]
            x = theirs + 1
            own[0] = x + 1  # pending here; the old value ends, wherever it was pending
            kind = random.integers(5)
            if kind == 0:
                theirs.eval()
            elif kind == 1:
                leaf = x.detach().requires_grad_()
                Doubled.apply(leaf).sum().backward()
                assert leaf.grad.tolist() == [2] * 4
            elif kind == 2:
                lent = np.ones(2000, np.float32).view(Array)
                weakref.finalize(lent, lambda: ends.append((mt.ones((2,)) + 1).sum().item()))
                own[0] = own[0] + mt.asarray(lent, copy=False)[:4]
                del lent
            elif kind == 3:
                (mt.ones((300, 300)) @ mt.ones((300, 300)) + theirs[0]).eval()
            own[0] = own[0] * 0.5

    run_together(lambda: work(boxes[0], boxes[1], 0), lambda: work(boxes[1], boxes[0], 1),
                 lambda: work([mt.zeros((4,))], boxes[0], 2))
    for box in boxes:
        box[0].eval()
    assert ends and set(ends) == {4.0}


@pytest.mark.parametrize("needs", [lambda x: (x + 1).eval(), mt.nonzero], ids=["slot", "function"])
def test_waiting_for_another_thread_lets_it_run_python(needs):
    # One thread works long on its pending values, in a trace that calls Python; the other needs one
    # of them at once, and its slot for `+`, or a function whose shape depends on it, would hold the
    # interpreter.
    recording, go_on = threading.Event(), threading.Event()
    shared = []

    @mt.trace
    def slow(x):
        shared.append(x + 1)
        recording.set()
        go_on.wait(0.2)
        return x * 2

    def record():
        assert slow(mt.ones((4,))).tolist() == [2] * 4

    def ask():
        recording.wait()
        with pytest.raises(mt.Error, match="trace"):
            needs(shared[0])
        go_on.set()

    run_together(record, ask)


def test_large_operators_computed_at_once_let_others_run():
    x = mt.random.normal((1500, 1500)).eval()

    def work():
        end = time.perf_counter() + 0.5
        while time.perf_counter() < end:
            (x @ x).eval()

    assert ticks_during(work) >= 40


def test_large_copies_of_memory_let_others_run():
    array = np.ones(50_000_000, np.float32)
    assert ticks_during(lambda: mt.tensor(array)) >= 3


def test_checks_of_many_indices_let_others_run():
    x, indices = mt.ones(4), mt.zeros(40_000_000, dtype=mt.int64).eval()
    assert ticks_during(lambda: mt.take(x, indices, axis=0)) >= 3


def test_lists_that_others_change_are_read_whole():
    sys.setswitchinterval(1e-5)
    rows = [[1.0] * 50 for _ in range(50)]
    end = time.perf_counter() + 0.3

    def change():
        while time.perf_counter() < end:
            rows[25], rows[49] = [2.0] * 50, rows[25]
            rows.append(rows.pop(0))

    def read():
        while time.perf_counter() < end:
            x = mt.tensor(rows)
            assert x.shape in [(49, 50), (50, 50)] and set(x.numpy().ravel()) <= {1, 2}

    run_together(change, read)
