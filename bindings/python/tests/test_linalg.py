# SPDX-License-Identifier: Apache-2.0
"""Linear algebra against NumPy's, and what the standard says of it."""
import numpy as np
import pytest

import mtorch as mt

la = mt.linalg
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}
SHAPES = [(1, 1), (3, 3), (5, 3), (3, 5), (2, 4, 6, 4), (50, 50), (70, 40)]
SQUARES = [(1, 1), (3, 3), (2, 3, 4, 4), (60, 60)]


def sample(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def spread(shape, dtype):
    """Far from singular."""
    return (sample(shape, dtype) + 2 * np.sqrt(shape[-1]) * np.eye(shape[-1])).astype(dtype)


def symmetric(shape, dtype):
    x = sample(shape, dtype)
    return x + np.swapaxes(x, -1, -2)


def close(found, expected, dtype):
    assert found.dtype.name == dtype
    assert found.shape == expected.shape
    scale = np.max(np.abs(expected), initial=1e-30)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=TOLERANCE[dtype] * scale)


def up_to_signs(found, expected, dtype, axis):
    """Vectors along `axis` whose signs are free."""
    signs = np.sign(np.sum(found.numpy() * expected, axis, keepdims=True))
    close(mt.asarray(found.numpy() * signs.astype(dtype)), expected, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SQUARES)
def test_systems(shape, dtype):
    a, b, column = spread(shape, dtype), sample((*shape[:-1], 3), dtype), sample(shape[-1], dtype)
    x, wide = mt.asarray(a), a.astype("float64")
    close(la.solve(x, mt.asarray(b)), np.linalg.solve(wide, b), dtype)
    close(la.solve(x, mt.asarray(column)), np.linalg.solve(wide, column[:, None])[..., 0], dtype)
    close(la.inv(x), np.linalg.inv(wide), dtype)
    close(la.matrix_power(x, -2), np.linalg.matrix_power(wide, -2), dtype)
    lower = np.linalg.solve(np.tril(wide), b)
    close(la.solve_triangular(x, mt.asarray(b)), lower, dtype)
    sign, log = np.linalg.slogdet(wide)
    found = la.slogdet(x)
    close(found.sign, sign, dtype)
    close(found.logabsdet, log, dtype)
    if shape[-1] < 10:
        close(la.det(x), np.linalg.det(wide), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SQUARES)
def test_symmetric(shape, dtype):
    x = symmetric(shape, dtype)
    w, v = np.linalg.eigh(x.astype("float64"))
    found = la.eigh(mt.asarray(x))
    close(found.eigenvalues, w, dtype)
    close(la.eigvalsh(mt.asarray(x)), w, dtype)
    if dtype == "float64" or shape[-1] < 10:
        up_to_signs(found.eigenvectors, v, dtype, -2)
    positive = x @ x + np.eye(shape[-1], dtype=dtype)
    lower = np.linalg.cholesky(positive.astype("float64"))
    close(la.cholesky(mt.asarray(positive)), lower, dtype)
    close(la.cholesky(mt.asarray(positive), upper=True), np.swapaxes(lower, -1, -2), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_rectangular(shape, dtype):
    x = sample(shape, dtype)
    t, wide = mt.asarray(x), x.astype("float64")
    for mode in "reduced", "complete":
        q, r = np.linalg.qr(wide, mode)
        found = la.qr(t, mode=mode)
        close(found.Q, q, dtype)
        close(found.R, r, dtype)
    u, s, vh = np.linalg.svd(wide, full_matrices=False)
    found = la.svd(t, full_matrices=False)
    close(found.S, s, dtype)
    close(la.svdvals(t), s, dtype)
    if dtype == "float64":
        up_to_signs(found.U, u, dtype, -2)
        up_to_signs(found.Vh, vh, dtype, -1)
    full = la.svd(t)
    assert full.U.shape[-1] == shape[-2] and full.Vh.shape[-2] == shape[-1]
    identity = np.broadcast_to(np.eye(shape[-2]), (*shape[:-1], shape[-2]))
    close(full.U @ full.U.mT, identity, dtype)
    if min(shape[-2:]) < 10:
        close(la.pinv(t), np.linalg.pinv(wide), dtype)
    np.testing.assert_array_equal(la.matrix_rank(t).numpy(), np.linalg.matrix_rank(x))
    for order in "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf:
        for keep in False, True:
            close(la.matrix_norm(t, ord=order, keepdims=keep),
                  np.linalg.norm(wide, order, (-2, -1), keepdims=keep), dtype)


def test_tolerances():
    x = mt.asarray(np.diag([1.0, 1e-3, 1e-6]))
    assert la.matrix_rank(x, rtol=1e-4).item() == 2
    assert la.matrix_rank(mt.stack([x, x]), rtol=mt.asarray([1e-2, 1e-8])).tolist() == [1, 3]
    np.testing.assert_allclose(np.diag(la.pinv(x, rtol=1e-4).numpy()), [1, 1e3, 0], rtol=1e-12)


def test_16_bit_floats():
    x = mt.asarray(spread((4, 4), "float32"), dtype=mt.float16)
    assert la.inv(x).dtype == mt.float16 and la.eigh(x).eigenvectors.dtype == mt.float16
    error = la.inv(x) @ x - mt.eye(4)
    assert mt.max(mt.abs(error)).item() < 1e-2


def test_gradients_at_work():
    a = mt.asarray(spread((3, 3), "float64")).requires_grad_()
    la.slogdet(a).logabsdet.backward()
    np.testing.assert_allclose(a.grad.numpy(), np.linalg.inv(a.numpy()).T, rtol=1e-12)
    hessian = mt.hessian(lambda x: la.slogdet(x).logabsdet)(a.detach())
    inverse = np.linalg.inv(a.numpy())
    np.testing.assert_allclose(hessian.numpy(), -np.einsum("li,jk->ijkl", inverse, inverse),
                               atol=1e-12)


def test_mistakes_are_named():
    singular = mt.asarray(np.stack([np.eye(2), np.ones((2, 2))]))
    with pytest.raises(ValueError, match=r"inv: matrix \[1\] of \[2,2,2\] is singular"):
        la.inv(singular)
    with pytest.raises(ValueError, match="solve: .* is singular"):
        la.solve(singular, mt.ones((2,), dtype=mt.float64))
    with pytest.raises(ValueError, match="not positive definite"):
        la.cholesky(-mt.eye(3))
    with pytest.raises(ValueError, match="NaN"):
        la.svd(mt.asarray([[float("nan")]]))
    with pytest.raises(ValueError, match="not square"):
        la.eigh(mt.ones((2, 3)))
    with pytest.raises(TypeError, match="needs floats"):
        la.det(mt.ones((2, 2), dtype=mt.int64))
    with pytest.raises(ValueError, match="mode"):
        la.qr(mt.eye(2), mode="raw")
    with pytest.raises(ValueError, match="none of fro"):
        la.matrix_norm(mt.eye(2), ord=3)


def test_a_trace_goes_through():
    step = mt.trace(lambda a, b: la.solve(a, b) + la.cholesky(a) @ b)
    for seed in 1, 2:
        x = sample((4, 4), "float32", seed)
        a, b = x @ x.T + np.eye(4, dtype="float32"), sample((4, 2), "float32", seed)
        expected = np.linalg.solve(a, b) + np.linalg.cholesky(a) @ b
        np.testing.assert_allclose(step(mt.asarray(a), mt.asarray(b)).numpy(), expected, rtol=1e-3,
                                   atol=1e-4)
    # What has no solution is not known inside a trace: nothing there is finite.
    assert not mt.any(mt.isfinite(step(mt.zeros((4, 4)), mt.ones((4, 2))))).item()
