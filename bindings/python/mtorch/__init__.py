# SPDX-License-Identifier: Apache-2.0
"""mtorch: tensors, automatic differentiation and kernels that fuse by themselves."""
from typing import TYPE_CHECKING

from . import _names, native
from .autograd import (  # noqa: F401
    enable_grad, grad, hessian, is_grad_enabled, jacobian, jvp, no_grad, value_and_grad, vjp)
from .create import (  # noqa: F401
    arange, asarray, astype, empty, empty_like, eye, from_dlpack, full, full_like, linspace,
    one_hot, ones, ones_like, tensor, zeros, zeros_like)
from .custom import Context, Function, checkpoint, gradcheck  # noqa: F401
from .dtypes import (  # noqa: F401
    DType, bfloat16, bool_, can_cast, complex64, complex128, finfo, float16, float32, float64,
    iinfo, int8, int16, int32, int64, isdtype, promote_types, result_type, uint8, uint16, uint32,
    uint64)
from .elementwise import (  # noqa: F401
    abs, acos, acosh, add, allclose, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert,
    bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, ceil, clip, conj,
    copysign, cos, cosh, detach, divide, elu, equal, erf, exp, exp2, expm1, expression, floor,
    floor_divide, gelu, gelu_tanh, greater, greater_equal, hypot, imag, isclose, isfinite, isinf, isnan,
    leaky_relu, less, less_equal, log, log10, log1p, log2, log_sigmoid, logaddexp, logical_and,
    logical_not, logical_or, logical_xor, maximum, minimum, multiply, negative, nextafter,
    not_equal, positive, pow, real, reciprocal, relu, remainder, round, rsqrt, sigmoid, sign,
    signbit, silu, sin, sinh, softplus, sqrt, square, subtract, tan, tanh, trunc, where)
from .info import __array_namespace_info__, devices  # noqa: F401
from .io import load, save  # noqa: F401
from .kernel import Cell, Kernel  # noqa: F401
from .native import (  # noqa: F401
    Error, default_device, set_default_device, set_threads, threads)
from .precision import (  # noqa: F401
    get_matmul_precision, matmul_precision, matmul_precision_available, set_matmul_precision)
from .products import einsum, matmul, matrix_transpose, tensordot, vecdot  # noqa: F401
from .profile import Profile  # noqa: F401
from .reductions import (  # noqa: F401
    all, any, argmax, argmin, count_nonzero, cumulative_prod, cumulative_sum, diff, logsumexp,
    max, mean, min, norm, prod, std, sum, var)
from .searching import (  # noqa: F401
    argsort, masked_select, nonzero, searchsorted, sort, TopK, topk, unique_all, unique_counts,
    unique_inverse, unique_values, UniqueAll, UniqueCounts, UniqueInverse)
from .shapes import (  # noqa: F401
    broadcast_arrays, broadcast_to, concat, expand_dims, flip, meshgrid, moveaxis, pad,
    permute_dims, repeat, reshape, roll, scatter_add, split, squeeze, stack, take,
    take_along_axis, tile, transpose, tril, triu, unstack, window)
from .tape import Node, Tape  # noqa: F401
from ._tensor import Tensor  # noqa: F401
from .tracing import Explanation, Trace, eval, explain, trace  # noqa: F401
from . import autograd, data, linalg, nn, optim, random  # noqa: F401,E402
from .random import seed  # noqa: F401

__version__ = native.version_text()
__array_api_version__ = "2024.12"
bool = bool_  # the Array API's name
if not TYPE_CHECKING:
    __getattr__ = _names._missing("mtorch", _names.FUNCTIONS)
    __dir__ = _names._public(globals(), "autograd", "data", "dtypes", "linalg", "nn", "optim", "random")
e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793
