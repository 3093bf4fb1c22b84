# SPDX-License-Identifier: Apache-2.0
"""What other libraries and the interpreter ask of an array: buffers, copies, processes, signals."""
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import mtorch as mt


def test_buffer():
    x = mt.asarray([[1, 2], [3, 4]], dtype=mt.int16)
    view = memoryview(x)
    assert view.tolist() == [[1, 2], [3, 4]] and view.format == "h" and view.readonly
    x += 1
    assert view.tolist() == [[1, 2], [3, 4]] and bytes(x) == np.int16([2, 3, 4, 5]).tobytes()
    with pytest.raises((TypeError, BufferError)):
        memoryview(mt.ones(2, dtype=mt.bfloat16))


def test_array_protocol_copies_when_it_must():
    x = mt.asarray([1.0, 2.0])
    assert not x.__array__().flags.writeable and x.__array__(copy=True).flags.writeable
    assert x.__array__(np.float64).dtype == np.float64
    assert np.shares_memory(x.__array__(copy=False), x.numpy())
    with pytest.raises(ValueError, match="copy"):
        x.__array__(np.int32, copy=False)
    assert np.array(x).flags.writeable


def test_bfloat16():
    x = mt.asarray([1.5, -2.0, 3e38]).astype(mt.bfloat16)
    assert pickle.loads(pickle.dumps(x)).astype(mt.float32).tolist() == x.tolist()
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(TypeError, match="ml_dtypes"):
            x.numpy()
        return
    array = x.numpy()
    assert array.dtype == ml_dtypes.bfloat16 and array.astype(np.float32).tolist() == x.tolist()
    assert mt.asarray(array).tolist() == x.tolist() and np.asarray(x).dtype == array.dtype


def test_dlpack_keywords():
    x = mt.asarray([1.0, 2.0])
    assert mt.from_dlpack(x, copy=True).tolist() == [1, 2]
    with pytest.raises(ValueError, match="copy"):
        mt.from_dlpack(x, device="cpu:reference", copy=False)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    assert mt.asarray(mt.from_dlpack(np.arange(3.0)), copy=False).tolist() == [0, 1, 2]


def test_torch():
    torch = pytest.importorskip("torch")
    try:
        torch.zeros(1).numpy()
    except RuntimeError:
        pytest.skip("a PyTorch for another NumPy")
    x = mt.asarray([[1.0, 2.0], [3.0, 4.0]])
    y = torch.from_dlpack(x)
    assert y.tolist() == x.tolist() and y.data_ptr() == torch.from_dlpack(x).data_ptr()
    assert torch.from_dlpack(mt.flip(x)).tolist() == [[4, 3], [2, 1]]
    z = torch.arange(6.0).reshape(2, 3).T
    assert mt.from_dlpack(z).tolist() == z.tolist() and mt.asarray(z).tolist() == z.tolist()
    model = torch.nn.Linear(3, 2)
    ours = mt.nn.Linear(3, 2)
    ours.load_state_dict(model.state_dict())
    batch = torch.arange(12.0).reshape(4, 3)
    with torch.no_grad():
        expected = model(batch).numpy()
    np.testing.assert_allclose(ours(mt.from_dlpack(batch)).detach().numpy(), expected, rtol=1e-5, atol=1e-5)
    model.load_state_dict({name: torch.from_dlpack(value.detach())
                           for name, value in ours.state_dict().items()})


def run(program):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True,
                          text=True, timeout=60, env=os.environ)


def test_an_instruction_set_that_is_not_there_is_named_once(monkeypatch):
    monkeypatch.setenv("MT_CPU_TARGET", "NOPE")
    done = run("import mtorch as mt; x = mt.ones(9) * 2; print(x.sum().item(), (x @ x).item())")
    assert done.stdout == "18.0 36.0\n"
    (said,) = done.stderr.splitlines()
    assert said.startswith("mtorch: MT_CPU_TARGET=NOPE is ignored: it is ")


def test_forked_processes_compute():
    done = run("""
        import os
        import mtorch as mt
        x = mt.random.normal((300, 300))
        before = mt.sum(x @ x).item()
        child = os.fork()
        if child == 0:
            y = mt.random.normal((300, 300))
            same = mt.sum(x @ x).item() == before and mt.isfinite(mt.sum(y @ x)).item()
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert mt.sum(x @ x).item() == before
    """)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("first", [True, False])
def test_other_interpreters_are_refused(first):
    pytest.importorskip("_xxsubinterpreters")
    done = run(f"""
        import _xxsubinterpreters, sys
        if {first}:
            import mtorch
        other = _xxsubinterpreters.create()
        try:
            _xxsubinterpreters.run_string(other, f"import sys; sys.path[:0] = {{sys.path!r}}; import mtorch")
        except _xxsubinterpreters.RunFailedError as error:
            assert "ImportError" in str(error) and "main interpreter only" in str(error), error
        else:
            raise AssertionError("it was let in")
        _xxsubinterpreters.destroy(other)
        import gc
        import mtorch
        gc.collect()
        try:
            mtorch.ones(2) + mtorch.ones(3)
        except ValueError:
            print(mtorch.ones(3).sum().item(), repr(mtorch.ones(2)))
    """)
    assert done.stdout == "3.0 tensor([1., 1.])\n", done.stderr


def test_memory_of_others_is_read_when_it_is_needed():
    for borrow in mt.from_dlpack, lambda array: mt.asarray(array, copy=False):
        array = np.ones(3)
        x = borrow(array) + 1
        array[...] = 5  # what the documentation forbids, and why
        assert x.tolist() == [6, 6, 6]
    assert "must not be written while" in mt.from_dlpack.__doc__ and "must not be" in mt.asarray.__doc__


def test_dates_are_no_numbers():
    day, span = np.datetime64("2020-01-01"), np.timedelta64(3, "D")
    for wrong in (day, span, np.array([day]), np.array([span]), [day], [span, span], [1, span]):
        for make in mt.tensor, mt.asarray:
            with pytest.raises(TypeError, match=r"no element type here is (datetime|timedelta)64\[D\]; its view"):
                make(wrong)
    assert mt.tensor(np.array([span]).view("int64")).tolist() == [3]


def test_interrupting_a_long_run():
    done = run(f"""
        import os, threading, time
        import mtorch as mt
        threading.Timer(0.5, os.kill, (os.getpid(), {int(signal.SIGINT)})).start()
        x = mt.ones((200, 200))
        begin = time.monotonic()
        try:
            while time.monotonic() < begin + 30:
                x = mt.tanh(x @ x)
                x.eval()
        except KeyboardInterrupt:
            assert time.monotonic() < begin + 10
            assert mt.sum(mt.ones(3)).item() == 3
            print("interrupted")
    """)
    assert done.stdout == "interrupted\n", done.stderr


def test_reprs_are_numpys():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) * scale for shape in [(3,), (2, 3), (30,), (2, 2, 3), (200, 9)]
              for scale in (1, 1e-3, 1e6)]
    arrays += [np.arange(40), np.array(5), np.zeros((2, 0)), np.array([True, False]),
               np.array([np.nan, -np.inf, 1]), np.arange(3000), np.array([1e-20, 1e20])]
    for array in arrays:
        assert str(mt.asarray(array)) == str(array)
        if array.size:  # NumPy's word for float64 and int64 is none
            found, pad = repr(mt.asarray(array)).replace("tensor(", " array("), " " * 7
            expected = repr(array).replace("\n      ", "\n       ")
            expected = re.sub(r",\s+shape=\([^)]*\)", "", expected)  # of NumPy 2
            if array.dtype == np.float64:
                found = found.rpartition(",")[0].rstrip() + ")"
            assert " ".join(found.split()) == " ".join(expected.split())
    x = np.random.default_rng(1).normal(size=(4, 30)).astype(np.float32)
    words = np.array2string(x, separator=", ", prefix="tensor(", suffix=")")
    assert repr(mt.asarray(x)) == f"tensor({words})"
    assert repr(mt.ones(2).requires_grad_()) == "tensor([1., 1.], requires_grad=True)"


def test_functions_of_numpy_take_tensors():
    x, array = mt.asarray([0.25, 0.5]), np.asarray([1.0, 2.0], np.float32)
    for found, expected in ((np.sin(x), mt.sin(x)), (np.arcsin(x), mt.asin(x)),
                            (np.add(array, x), x + array), (array * x, x * array),
                            (np.power(x, 2), x ** 2), (array < x, x > array),
                            (np.float32(2) * x, x * 2), (np.abs(-x), x)):
        assert isinstance(found, mt.Tensor) and found.tolist() == expected.tolist()
    array += x
    assert type(array) is np.ndarray and array.tolist() == [1.25, 2.5]
    # What the package has not, NumPy does itself.
    assert np.add.reduce(x) == 0.75 and np.ptp(x) == 0.25 and np.frexp(x)[1].tolist() == [-1, 0]
    assert np.add.outer(x, x).shape == (2, 2) and np.divmod(x, 0.25)[0].tolist() == [1.0, 2.0]
    assert np.sin(x, where=x > 0.3, out=np.zeros(2))[0] == 0
    with pytest.raises(TypeError):
        np.add.at(x, [0], 1)  # would write into it


def test_reductions_of_numpy_take_tensors():
    x = mt.asarray([[1.0, 2.0], [5.0, 3.0]])
    array = x.numpy()
    for function in (np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.any, np.all,
                     np.argmax, np.argmin):
        for options in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}):
            found, expected = function(x, **options), function(array, **options)
            assert isinstance(found, mt.Tensor) and found.shape == expected.shape
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
            for out in (np.zeros(expected.shape), mt.zeros(expected.shape)):
                assert function(x, **options, out=out) is out
                np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-6)
    assert np.var(x, ddof=1).item() == np.var(array, ddof=1) == mt.var(x, correction=1).item()
    for function in (np.sum, np.prod, np.mean, np.var, np.std):
        assert function(x, dtype=np.float64).dtype == mt.float64
    with pytest.raises(ValueError, match="out is"):
        np.sum(x, axis=0, out=np.zeros(3))


VIEWS = {
    "transposed": lambda x: x.permute(2, 0, 1), "part": lambda x: x[1:, ::2, 1],
    "backwards": lambda x: mt.flip(x, axis=(0, 2)), "repeated": lambda x: mt.broadcast_to(
        x[:, :1], (3, 4, 5)), "element": lambda x: x[1, 2, 3], "empty": lambda x: x[:, 2:2].mT,
    "one": lambda x: x[:1, :, :1].mT}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["float32", "bool", "int8"])
def test_numpy_shows_views_where_they_lie(view, dtype):
    a = (np.arange(60).reshape(3, 4, 5) % 7).astype(dtype)
    x = mt.asarray(a)
    mt.eval(x)
    base = x.numpy()
    y = VIEWS[view](x)
    expected = y.tolist()
    for array in y.numpy(), np.asarray(y), y.__array__(copy=False), np.asarray(memoryview(y)):
        assert array.tolist() == expected and array.shape == y.shape and array.dtype == dtype
        assert not array.size or np.shares_memory(array, base)
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    copied = y.__array__(copy=True)
    assert not np.shares_memory(copied, base) and copied.tolist() == expected
    assert np.asarray(expected, dtype).tobytes() == memoryview(y).tobytes()
    assert y.ndim == 0 or bytes(y) == memoryview(y).tobytes()
    if memoryview(y).c_contiguous:
        assert np.frombuffer(y, dtype).tolist() == np.asarray(expected).ravel().tolist()
    else:
        with pytest.raises(BufferError, match="not C-contiguous"):
            np.frombuffer(y, dtype)
    del base, x, y, array
    assert copied.tolist() == expected


def test_an_array_of_a_buffer_keeps_it():
    x = mt.arange(6).reshape(2, 3) + 0
    array = np.frombuffer(x, "int64")
    assert isinstance(array.base, memoryview)
    x += 100
    mt.eval(x)
    assert array.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_numpy_shows_stays_when_the_tensor_is_bound_anew():
    x = mt.arange(6).reshape(2, 3) + 0
    array = x.mT.numpy()
    before = array.tolist()
    x += 100
    x[...] = 7
    del x
    mt.eval(mt.ones(6) * 3)  # which could take the memory
    assert array.tolist() == before == [[0, 3], [1, 4], [2, 5]]
    head = array[1:]
    del array
    assert head.tolist() == before[1:]


def test_an_array_that_cannot_be_a_view_is_refused():
    x = mt.ones((2, 3)).mT
    with pytest.raises(ValueError, match="copy"):
        x.__array__(dtype=np.float64, copy=False)
    assert x.__array__(dtype=np.float32, copy=False).shape == (3, 2)
    image = x.__array_interface__
    assert image["shape"] == (3, 2) and bytes(image["data"]) == bytes(x)
