# SPDX-License-Identifier: Apache-2.0
"""Memory shared with NumPy and DLPack, lifetimes, errors, text."""
import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import mtorch as mt

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_round_trips(dtype, shape):
    x = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
    t = mt.asarray(x)
    assert t.dtype.name == dtype and t.shape == shape
    for back in (t.numpy(), np.asarray(t), np.array(t), pickle.loads(pickle.dumps(t)).numpy(),
                 copy.deepcopy(t).numpy()):
        assert back.dtype == x.dtype
        np.testing.assert_array_equal(back, x)
    assert t.tolist() == x.tolist()


def test_strided_arrays_are_packed():
    x = np.arange(24).reshape(4, 6)
    np.testing.assert_array_equal(mt.asarray(x[::2, ::-1]).numpy(), x[::2, ::-1])
    np.testing.assert_array_equal(mt.asarray(x.T).numpy(), x.T)


def test_in_by_copy_and_by_loan():
    x = np.zeros(3, np.float32)
    copied, lent = mt.asarray(x), mt.asarray(x, copy=False)
    x[0] = 1
    assert copied.tolist() == [0, 0, 0] and lent.tolist() == [1, 0, 0]
    with pytest.raises((ValueError, BufferError)):
        mt.asarray(np.zeros((4, 4))[:, ::2], copy=False)
    with pytest.raises(TypeError):
        mt.asarray(np.zeros(3, complex))
    with pytest.raises(TypeError):
        mt.asarray(object())


def test_a_loan_lasts_as_long_as_it_is_needed():
    class Array(np.ndarray):
        pass

    x = np.ones(1000).view(Array)
    gone = weakref.ref(x)
    y = mt.asarray(x, copy=False)[10:20] * 2
    del x
    gc.collect()
    assert y.tolist() == [2] * 10
    del y
    gc.collect()
    assert gone() is None


def test_out_without_a_copy():
    t = mt.arange(1000)
    t.eval()
    a, b = t.numpy(), t.numpy()
    assert a.ctypes.data == b.ctypes.data and not a.flags.writeable
    t += 1
    assert a[0] == 0 and t.numpy()[0] == 1
    del t
    gc.collect()
    assert a[999] == 999
    view = mt.arange(10)[::3].numpy()
    gc.collect()
    assert view.tolist() == [0, 3, 6, 9]


def test_array_interface():
    class Only:  # what NumPy falls back on
        def __init__(self, x):
            self.__array_interface__ = x.__array_interface__

    x = np.asarray(Only(mt.asarray([[1.0, 2.0]])))
    gc.collect()
    assert x.tolist() == [[1, 2]] and x.dtype == np.float32


def test_dlpack():
    x = mt.arange(6).reshape(2, 3).astype(mt.float64)
    y = np.from_dlpack(x)
    z = mt.from_dlpack(x[:, 1:])
    del x
    gc.collect()
    assert y.tolist() == [[0, 1, 2], [3, 4, 5]] and z.tolist() == [[1, 2], [4, 5]]
    w = mt.from_dlpack(np.arange(12.0).reshape(3, 4)[:, ::2])
    gc.collect()
    assert w.tolist() == [[0, 2], [4, 6], [8, 10]]
    capsule = w.__dlpack__(max_version=(1, 0))
    assert "dltensor_versioned" in repr(capsule)
    assert mt.native.from_capsule(capsule).tolist() == w.tolist()
    with pytest.raises(TypeError, match="before"):
        mt.native.from_capsule(capsule)
    assert w.__dlpack_device__() == (1, 0)


def test_dlpack_of_negative_strides():
    x = mt.flip(mt.arange(3))
    y = np.from_dlpack(x)
    assert y.tolist() == [2, 1, 0] and y.strides == (8,)
    assert mt.native.from_capsule(x.__dlpack__()).tolist() == [2, 1, 0]
    with pytest.raises(BufferError, match="negative strides need a copy"):
        x.__dlpack__(max_version=(1, 0), copy=False)
    assert not np.from_dlpack(mt.zeros(2)).flags.writeable
    assert mt.zeros(2).__dlpack__(max_version=(1, 0), copy=False)


def test_tensors_are_freed():
    def used():
        memory = mt.native.memory()
        mt.native.memory_read("cpu", memory)
        return memory.used

    gc.collect()
    before = used()
    for _ in range(20):
        x = mt.random.normal((1000, 100)).requires_grad_()
        mt.sum(x @ x.T).backward()
        with mt.no_grad():
            x[0] = 1
        del x
    mt.eval()
    gc.collect()
    assert used() <= before + 4096


class Doubled(mt.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(context, dy):
        (x,) = context.saved_tensors
        return dy * 2 + x * 0


CALLBACKS = {
    "forward": lambda x: Doubled.apply(x).sum().item(),
    "backward": lambda x: Doubled.apply(x.requires_grad_()).sum().backward(),
    "checkpoint": lambda x: mt.checkpoint(lambda x: x * 2, x.requires_grad_()).sum().backward(),
    "trace": lambda x: mt.trace(mt.sum)(x).item(),
    "gradcheck": lambda x: mt.gradcheck(mt.sum, x[:512].astype(mt.float64).requires_grad_()),
}


@pytest.mark.parametrize("call", CALLBACKS.values(), ids=CALLBACKS)
def test_callbacks_free_their_arguments(call):
    def use():
        x = mt.ones(4096) + 1
        mt.eval(x)
        call(x)

    use()
    gc.collect()
    before = mt.memory().used
    for _ in range(5):
        use()
    gc.collect()
    assert mt.memory().used <= before + 16384


def test_weak_references():
    x = mt.ones((2,))
    reference = weakref.ref(x)
    assert reference() is x and {x: 1}[x] == 1
    del x
    assert reference() is None
    with pytest.raises(AttributeError):
        mt.ones((2,)).gradient = 1  # a slip of the pen


def test_as_numbers():
    x = mt.asarray(3)
    assert int(x) == 3 and float(x) == 3.0 and bool(x) and x.item() == 3
    assert type(x.item()) is int and type(mt.asarray(True).item()) is bool
    assert mt.asarray(2**64 - 1).item() == 2**64 - 1
    assert f"{mt.asarray(0.5):.3f}" == "0.500"
    with pytest.raises(ValueError):
        mt.ones((2,)).item()
    with pytest.raises(ValueError):
        bool(mt.ones((2,)))


def test_text():
    assert repr(mt.asarray([[1.0, 2.5], [-3.0, 4.0]])) == (
        "tensor([[ 1. ,  2.5],\n        [-3. ,  4. ]])")
    assert repr(mt.ones((2, 1, 2), dtype=mt.int8)) == (
        "tensor([[[1, 1]],\n\n        [[1, 1]]], dtype=int8)")
    assert repr(mt.asarray([1, 2])) == "tensor([1, 2])"
    assert repr(mt.ones((), dtype=mt.float64)) == "tensor(1.0, dtype=float64)"
    assert repr(mt.ones((2,)).requires_grad_()) == "tensor([1., 1.], requires_grad=True)"
    assert repr(mt.zeros((0, 3))) == "tensor([], shape=(0, 3), dtype=float32)"
    assert str(mt.asarray([True, False])) == "[ True False]"
    x = np.random.default_rng(0).normal(size=(30, 60))
    assert repr(mt.asarray(x))[7:].replace("\n ", "\n").startswith(repr(x)[6:60])
    assert str(mt.asarray(x)) == str(x)


def test_errors_have_their_classes_and_say_what_does_not_fit():
    a, b = mt.ones((64, 3)), mt.ones((2, 1))
    with pytest.raises(ValueError, match=r"matmul.*64,3.*2,1"):
        a @ b
    with pytest.raises(TypeError, match="uint64"):
        mt.ones((1,), dtype=mt.uint64) + mt.ones((1,), dtype=mt.int8)
    with pytest.raises(IndexError):
        mt.sum(a, axis=2)
    with pytest.raises(mt.Error, match="nowhere"):
        mt.ones((1,), device="nowhere")
    with pytest.raises(MemoryError):
        mt.ones((2**40,)).eval()
    with pytest.raises(FileNotFoundError, match="missing.npy"):
        mt.load("missing.npy")
    with pytest.raises(TypeError):
        mt.ones((1,), dtype="float33")
    with pytest.raises(TypeError):
        mt.matmul(a, None)
    with pytest.raises(TypeError):
        mt.exp("text")
    with pytest.raises(ValueError):
        mt.zeros((1,) * 17)
    assert (a + 1).shape == (64, 3)
