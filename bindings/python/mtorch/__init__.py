# SPDX-License-Identifier: Apache-2.0
"""mtorch: tensors, automatic differentiation and kernels that fuse by themselves."""
from . import native
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
from .functions import *  # noqa: F401,F403
from .info import __array_namespace_info__, devices  # noqa: F401
from .io import load, save  # noqa: F401
from .native import (  # noqa: F401
    Error, default_device, set_default_device, set_threads, threads)
from .precision import (  # noqa: F401
    get_matmul_precision, matmul_precision, matmul_precision_available, set_matmul_precision)
from .tape import Node, Tape  # noqa: F401
from ._tensor import Tensor  # noqa: F401
from .tracing import Explanation, Trace, explain, trace  # noqa: F401
from . import autograd, data, linalg, nn, optim, random  # noqa: F401,E402
from .random import seed  # noqa: F401

__version__ = native.version_text()
__array_api_version__ = "2024.12"
bool = bool_  # the Array API's name
e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793
