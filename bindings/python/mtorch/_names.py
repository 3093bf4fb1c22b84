# SPDX-License-Identifier: Apache-2.0
"""What PyTorch and NumPy call things that have another name here: errors say so."""
from __future__ import annotations

from typing import Any, Callable

FUNCTIONS = {
    "absolute": "abs", "amax": "max", "amin": "min", "arccos": "acos", "arcsin": "asin",
    "arctan": "atan", "arctan2": "atan2", "array": "asarray", "as_tensor": "asarray",
    "bmm": "matmul", "cat": "concat", "clamp": "clip", "clone": "Tensor.copy",
    "concatenate": "concat", "cumprod": "cumulative_prod", "cumsum": "cumulative_sum",
    "cuda": "devices", "det": "linalg.det", "diag": "linalg.diagonal (of a matrix)",
    "dot": "matmul",
    "dtype": "DType", "eq": "equal", "expand": "broadcast_to", "flatten": "Tensor.flatten",
    "from_numpy": "asarray", "ge": "greater_equal", "gather": "take_along_axis", "gt": "greater",
    "hstack": "concat (of matrices with axis=1)", "index_select": "take",
    "inference_mode": "no_grad", "inv": "linalg.inv",
    "invert": "bitwise_invert", "le": "less_equal", "log_softmax": "nn.log_softmax",
    "lt": "less", "manual_seed": "seed", "masked_fill": "where", "mm": "matmul", "ne": "not_equal",
    "normal": "random.normal", "outer": "linalg.outer", "permute": "permute_dims",
    "power": "pow", "rand": "random.uniform(shape)", "randint": "random.integers",
    "randn": "random.normal(shape)", "randperm": "random.permutation", "softmax": "nn.softmax",
    "unsqueeze": "expand_dims", "long": "int64", "double": "float64",
    "vstack": "stack (of vectors) or concat",
    "half": "float16", "float": "float32", "int": "int32", "Parameter": "nn.Parameter",
    "unique": "unique_values"}
MODULES = {
    "BatchNorm1d": "BatchNorm", "BatchNorm2d": "BatchNorm", "BatchNorm3d": "BatchNorm",
    "utils": "optim.Optimizer.clip_grad_norm", "clip_grad_norm_": "optim.Optimizer.clip_grad_norm"}
OPTIMIZERS = {
    "lr_scheduler": "StepSchedule, CosineSchedule, OneCycleSchedule or Schedule",
    "StepLR": "StepSchedule", "CosineAnnealingLR": "CosineSchedule",
    "LambdaLR": "Schedule (of rates, not factors)",
    "OneCycleLR": "OneCycleSchedule"}


def _missing(module: str, names: dict[str, str]) -> Callable[[str], Any]:
    """What a module does when it is asked for a name that it does not have."""
    def __getattr__(name: str) -> Any:
        here = f": it is called {names[name]} here" if name in names else ""
        raise AttributeError(f"module {module!r} has no attribute {name!r}{here}")
    return __getattr__
