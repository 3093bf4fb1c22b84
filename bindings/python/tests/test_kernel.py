# SPDX-License-Identifier: Apache-2.0
"""Kernels of the user's own."""
import ctypes
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import mtorch as mt


@mt.Kernel
def matmul(cell, a, b, out):
    j, i, _ = cell.index
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = a[i] @ b[:, j]


def product(kernel, a, b, numbers=()):
    rows, columns = a.shape[0], b.shape[1]
    return kernel(a, b, grid=(-(-columns // 4), -(-rows // 4)), block=(4, 4), numbers=numbers,
                  results=((rows, columns), mt.float32))


def test_runs_for_each_cell():
    a, b = mt.random.normal((5, 7)), mt.random.normal((7, 6))
    np.testing.assert_allclose(product(matmul, a, b).numpy(), (a @ b).numpy(), rtol=1e-5)
    np.testing.assert_allclose(product(matmul, b.T, a.T).T.numpy(), (a @ b).numpy(), rtol=1e-5)
    reference = product(matmul, a.to("cpu:reference"), b.to("cpu:reference"))
    assert reference.device == "cpu:reference"
    np.testing.assert_allclose(reference.numpy(), (a @ b).numpy(), rtol=1e-5)


def test_several_results_and_numbers():
    @mt.Kernel
    def split(cell, x, whole, rest, scale):
        i = cell.index[0]
        value = x[i] * scale
        whole[i], rest[i] = np.floor(value), value - np.floor(value)

    whole, rest = split(mt.tensor([0.75, -0.25]), grid=2, numbers=[2],
                        results=[(2, mt.int32), ((2,), mt.float64)])
    assert whole.dtype == mt.int32 and whole.tolist() == [1, -1]
    assert rest.dtype == mt.float64 and rest.tolist() == [0.5, 0.5]


def test_places():
    @mt.Kernel
    def places(cell, out):
        x, y, z = cell.index
        sx, sy, _ = (b * g for b, g in zip(cell.block_size, cell.grid_size))
        out[x + sx * (y + sy * z)] = 100 * x + 10 * y + z

    found = places(grid=(2, 1, 2), block=(2, 3), results=(24, mt.int64)).numpy().reshape(2, 3, 4)
    z, y, x = np.indices((2, 3, 4))
    assert (found == 100 * x + 10 * y + z).all()


def test_exceptions_come_out_as_themselves():
    @mt.Kernel
    def divides(cell, x, out):
        out[cell.index[0]] = 1 // int(x[cell.index[0]])

    x = mt.tensor([1, 2, 0])
    with pytest.raises(ZeroDivisionError):
        divides(x, grid=3, results=(3, mt.int64))
    assert divides(x + 1, grid=3, results=(3, mt.int64)).tolist() == [0, 0, 1]

    @mt.Kernel
    def writes(cell, x, out):
        x[0] = 1

    with pytest.raises(ValueError, match="read-only"):
        writes(x, grid=1, results=(3, mt.int64))
    with pytest.raises(ValueError, match="2048 threads"):
        writes(x, grid=1, block=(64, 32), results=(3, mt.int64))
    with pytest.raises(ValueError, match="at most 3"):
        writes(x, grid=(1, 1, 1, 1), results=(3, mt.int64))


def test_gradients_within_a_function():
    class Product(mt.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return product(matmul, a, b)

        @staticmethod
        def backward(ctx, dy):
            a, b = ctx.saved_tensors
            return product(matmul, dy, b.T), product(matmul, a.T, dy)

    a, b = mt.random.normal((3, 4)), mt.random.normal((4, 2)).requires_grad_()
    mt.sum(Product.apply(a, b) ** 2).backward()
    found, b.grad = b.grad, None
    mt.sum((a @ b) ** 2).backward()
    np.testing.assert_allclose(found.numpy(), b.grad.numpy(), rtol=1e-4)
    with pytest.raises(mt.Error, match="a kernel, which has no gradient"):
        mt.sum(product(matmul, a, b)).backward()


def test_in_a_trace():
    traced = mt.trace(lambda a, b: product(matmul, a * 2, b) + 1)
    for seed in range(3):
        a, b = mt.random.normal((3, 4)), mt.random.normal((4, 2))
        np.testing.assert_allclose(traced(a, b).numpy(), (a * 2 @ b + 1).numpy(), rtol=1e-4,
                                   atol=1e-5)


def test_only_for_a_gpu():
    kernel = mt.Kernel(cuda="__global__ void nothing(float* out) {}", name="nothing")
    assert repr(kernel) == "mtorch.Kernel(nothing: CUDA C)"
    with pytest.raises(mt.Error, match="nothing: the kernel is for a GPU"):
        kernel(grid=1, results=(1, mt.float32))
    assert repr(matmul) == "mtorch.Kernel(matmul: a function)"
    with pytest.raises(ValueError, match="neither"):
        mt.Kernel()


C_KERNEL = """
#include <mtorch/kernel.h>
mt_status scale(void* user, const mt_cell* at, const void* const* in, void* const* out,
                const double* numbers) {
  int64_t i = at->block[0] * at->block_size[0] + at->thread[0];
  (void)user;
  if (i < (int64_t)numbers[0]) ((float*)out[0])[i] = ((const float*)in[0])[i] * (float)numbers[1];
  return MT_OK;
}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_c_function(tmp_path):
    include = pathlib.Path(__file__).parents[3] / "include"
    (tmp_path / "scale.c").write_text(C_KERNEL)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-I{include}", "scale.c", "-o", "scale.so"],
                   cwd=tmp_path, check=True)
    function = ctypes.CDLL(str(tmp_path / "scale.so")).scale
    for given in function, ctypes.cast(function, ctypes.c_void_p).value:
        scale = mt.Kernel(given, name="scale")
        x = mt.arange(1000, dtype=mt.float32)
        y = scale(x, grid=4, block=256, numbers=[1000, 0.5], results=(1000, mt.float32))
        assert (y == x * 0.5).all().item()
