# SPDX-License-Identifier: Apache-2.0
"""mtorch: tensors, automatic differentiation and kernels that fuse by themselves."""
from typing import TYPE_CHECKING

from . import _names, _porting_names, native
# "as" tells type checkers that a name is this module's, too.
from .autograd import (
    enable_grad as enable_grad, grad as grad, hessian as hessian,
    is_grad_enabled as is_grad_enabled, jacobian as jacobian, jvp as jvp, no_grad as no_grad,
    value_and_grad as value_and_grad, vjp as vjp)
from .create import (
    arange as arange, asarray as asarray, astype as astype, empty as empty,
    empty_like as empty_like, eye as eye, from_dlpack as from_dlpack, full as full,
    full_like as full_like, linspace as linspace, one_hot as one_hot, ones as ones,
    ones_like as ones_like, tensor as tensor, zeros as zeros, zeros_like as zeros_like)
from .custom import (
    Context as Context, Function as Function, checkpoint as checkpoint, gradcheck as gradcheck)
from .dtypes import (
    DType as DType, bfloat16 as bfloat16, bool_ as bool_, can_cast as can_cast,
    complex64 as complex64, complex128 as complex128, finfo as finfo, float16 as float16,
    float32 as float32, float64 as float64, iinfo as iinfo, int8 as int8, int16 as int16,
    int32 as int32, int64 as int64, isdtype as isdtype, promote_types as promote_types,
    result_type as result_type, uint8 as uint8, uint16 as uint16, uint32 as uint32, uint64 as uint64)
from .elementwise import (
    abs as abs, acos as acos, acosh as acosh, add as add, allclose as allclose, asin as asin,
    asinh as asinh, atan as atan, atan2 as atan2, atanh as atanh, bitwise_and as bitwise_and,
    bitwise_invert as bitwise_invert, bitwise_left_shift as bitwise_left_shift,
    bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor, ceil as ceil, clip as clip, conj as conj, copysign as copysign,
    cos as cos, cosh as cosh, detach as detach, divide as divide, elu as elu, equal as equal,
    erf as erf, exp as exp, exp2 as exp2, expm1 as expm1, expression as expression, floor as floor,
    floor_divide as floor_divide, gelu as gelu, gelu_tanh as gelu_tanh, greater as greater,
    greater_equal as greater_equal, hypot as hypot, imag as imag, isclose as isclose,
    isfinite as isfinite, isinf as isinf, isnan as isnan, leaky_relu as leaky_relu, less as less,
    less_equal as less_equal, log as log, log10 as log10, log1p as log1p, log2 as log2,
    log_sigmoid as log_sigmoid, logaddexp as logaddexp, logical_and as logical_and,
    logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor,
    maximum as maximum, minimum as minimum, multiply as multiply, nan_to_num as nan_to_num,
    negative as negative,
    nextafter as nextafter, not_equal as not_equal, positive as positive, pow as pow, real as real,
    reciprocal as reciprocal, relu as relu, remainder as remainder, round as round, rsqrt as rsqrt,
    sigmoid as sigmoid, sign as sign, signbit as signbit, silu as silu, sin as sin, sinh as sinh,
    softplus as softplus, sqrt as sqrt, square as square, subtract as subtract, tan as tan,
    tanh as tanh, trunc as trunc, where as where)
from .info import (
    __array_namespace_info__ as __array_namespace_info__, devices as devices, Memory as Memory,
    memory as memory, release_cached_memory as release_cached_memory,
    reset_peak_memory as reset_peak_memory, set_memory_limit as set_memory_limit)
from .io import load as load, save as save
from .kernel import Cell as Cell, Kernel as Kernel
from .native import (
    Error as Error, default_device as default_device, set_default_device as set_default_device,
    set_threads as set_threads, threads as threads)
from .precision import (
    get_matmul_precision as get_matmul_precision, matmul_precision as matmul_precision,
    matmul_precision_available as matmul_precision_available,
    set_matmul_precision as set_matmul_precision)
from .products import (
    einsum as einsum, matmul as matmul, matrix_transpose as matrix_transpose,
    tensordot as tensordot, vecdot as vecdot)
from .profile import Profile as Profile
from .reductions import (
    all as all, any as any, argmax as argmax, argmin as argmin, count_nonzero as count_nonzero,
    cumulative_prod as cumulative_prod, cumulative_sum as cumulative_sum, diff as diff,
    logsumexp as logsumexp, max as max, mean as mean, min as min, norm as norm, prod as prod,
    std as std, sum as sum, var as var)
from .searching import (
    argsort as argsort, masked_select as masked_select, nonzero as nonzero,
    searchsorted as searchsorted, sort as sort, TopK as TopK, topk as topk,
    unique_all as unique_all, unique_counts as unique_counts, unique_inverse as unique_inverse,
    unique_values as unique_values, UniqueAll as UniqueAll, UniqueCounts as UniqueCounts,
    UniqueInverse as UniqueInverse)
from .shapes import (
    broadcast_arrays as broadcast_arrays, broadcast_to as broadcast_to, chunk as chunk,
    concat as concat,
    expand_dims as expand_dims, flip as flip, meshgrid as meshgrid, moveaxis as moveaxis,
    pad as pad, permute_dims as permute_dims, repeat as repeat, reshape as reshape, roll as roll,
    scatter_add as scatter_add, split as split, squeeze as squeeze, stack as stack, take as take,
    take_along_axis as take_along_axis, tile as tile, transpose as transpose, tril as tril,
    triu as triu, unstack as unstack, window as window)
from .tape import Node as Node, Tape as Tape
from ._tensor import Tensor as Tensor
from .tracing import (
    Explanation as Explanation, Trace as Trace, eval as eval, explain as explain, trace as trace)
from . import autograd, data, linalg, nn, optim, random  # noqa: F401,E402
from .random import seed as seed

__version__ = native.version_text()
__array_api_version__ = "2024.12"
bool = bool_  # the Array API's name
if not TYPE_CHECKING:
    __getattr__ = _names._missing("mtorch", _porting_names.FUNCTIONS)
    __dir__ = _names._public(globals(), "autograd", "data", "dtypes", "linalg", "nn", "optim", "random")
e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793
