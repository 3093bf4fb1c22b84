# SPDX-License-Identifier: Apache-2.0
"""What PyTorch and NumPy call things that have another name here: errors say so."""
from __future__ import annotations

import functools
import opcode
import os
import re
import sys
import types
from typing import Any, Callable, TypeVar

_HERE = os.path.dirname(__file__) + os.sep
_Callable = TypeVar("_Callable", bound=Callable[..., Any])


class _Note(str):
    """What is said where there is no other name."""


_LOWER = _Note("set_matmul_precision() makes products faster; a module's to(mtorch.bfloat16) has bfloat16 all "
               "through, in its weights too, which small steps then leave as they are")
_WHOLE_STEP = _Note("trace(step) is that, of a function that does the whole step: loss, backward() and update")
_DIVERGENCE = _Note("(where(p > 0, p * log(p), 0) - p * log_q).sum(axis=-1).mean() is that of rows")
_COSINE = _Note("(a * b).sum(axis=1) / maximum(a.norm(axis=1) * b.norm(axis=1), 1e-8) is that")



def _in_place(sign: str) -> _Note:
    return _Note(f"x {sign}= y is that, of the name x alone: for a gradient, p.grad {sign}= y")


FUNCTIONS = {
    "autocast": _LOWER, "compile": _WHOLE_STEP, "is_tensor": _Note("isinstance(x, mtorch.Tensor) asks that"),
    "device": _Note('devices are text, as "cpu" and "cuda:0"'),
    "utils": "data (utils.data)", "set_num_threads": "set_threads",
    "jit": _WHOLE_STEP, "func": "grad, vjp, jvp, hessian",
    "multinomial": "random.categorical (of logarithms)",
    "distributions": _Note("random has normal(), bernoulli() and others; log_softmax() has the logarithms of "
                           "probabilities"),
    "amp": _LOWER,
    "set_grad_enabled": "no_grad or enable_grad", "is_floating_point": _Note("x.dtype.is_floating says so"),
    "numel": "Tensor.size", "movedim": "moveaxis", "unbind": "unstack", "ravel": "Tensor.flatten",
    "swapaxes": "transpose", "mv": "matmul", "ger": "linalg.outer", "bitwise_not": "bitwise_invert",
    "true_divide": "divide", "fmod": _Note("x - trunc(x / y) * y is that; remainder() has the sign of y"),
    "addmm": _Note("c + a @ b is that"), "lerp": _Note("a + (b - a) * t is that"),
    "diagonal": "linalg.diagonal", "logdet": "linalg.slogdet (the second of its results)",
    "diag_embed": _Note("x[..., None] * eye(x.shape[-1]) is that"),
    "kron": _Note('einsum("ij,kl->ikjl", a, b), reshaped, is that of matrices'),
    "cdist": _Note("norm(a[:, None] - b, axis=-1) is that of rows; of long ones sqrt(maximum(a2[:, None] + b2 - "
                   "2 * a @ b.T, 0)) is faster, with a2 and b2 the sums of their squares"),
    "dist": _Note("norm(a - b) is that"), "var_mean": "var, mean", "std_mean": "std, mean",
    "erfc": _Note("1 - erf(x) is that"), "argwhere": _Note("stack(nonzero(x), axis=1) is that"),
    "bucketize": "searchsorted (of the bounds, then the values)", "narrow": _Note("x[:, a:a + n] is that"),
    "index_add": _Note("scatter_add(x, broadcast_to(indices[:, None], values.shape), values, axis=0) is that of rows"),
    "scatter_reduce": "scatter_add (of sums)", "fft": _Note(
        "there are no complex numbers; numpy.fft takes tensors and gives arrays"),
    "vander": _Note("x[:, None] ** arange(n) is that"), "dstack": "stack (with axis=2)",
    "column_stack": "stack (with axis=1)", "fliplr": "flip (with axis=1)", "flipud": "flip (with axis=0)",
    "bernoulli": _Note("random.uniform(p.shape) < p draws by a tensor of probabilities, random.bernoulli(shape, p) "
                       "by one"), "randn_like": "random.normal(x.shape, dtype=x.dtype, device=x.device)",
    "rand_like": "random.uniform(x.shape, dtype=x.dtype, device=x.device)",
    "repeat_interleave": "repeat",
    "set_default_dtype": _Note("dtype=mtorch.float64 asks for another, and to() of a module"),
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
    "power": "pow", "profiler": "Profile", "rand": "random.uniform(shape)", "randint": "random.integers",
    "randn": "random.normal(shape)", "randperm": "random.permutation", "softmax": "nn.softmax",
    "unsqueeze": "expand_dims", "long": "int64", "double": "float64",
    "vmap": _Note("operators broadcast, and matmul() and einsum() take batches, so that most functions "
                  "do as they are; else stack([function(x) for x in xs])"),
    "vstack": "stack (of vectors) or concat",
    "half": "float16", "float": "float32", "int": "int32", "Parameter": "nn.Parameter",
    "unique": "unique_values", "cross": "linalg.cross", "sub": "subtract", "mul": "multiply",
    "div": "divide", "neg": "negative", "nll_loss": "nn.cross_entropy (of the logits)",
    "binary_cross_entropy": "nn.bce_with_logits (of the logits)", "kl_div": _DIVERGENCE,
    "set_printoptions": _Note("print(x.numpy()) follows numpy.set_printoptions()")}
for _name in """average bincount convolve corrcoef cov gradient histogram interp isin median nanmean nansum
        percentile polyfit quantile rot90""".split():
    FUNCTIONS[_name] = _Note(f"NumPy's takes tensors: numpy.{_name}(...), which gives an array")
RANDOM = {
    "rand": "uniform(shape)", "randn": "normal(shape)", "random": "uniform", "randint": "integers",
    "standard_normal": "normal", "randperm": "permutation", "default_rng": "Generator",
    "manual_seed": "seed", "shuffle": _Note("x[permutation(len(x))] has the rows in random order"),
    "choice": _Note("x[integers(0, len(x), n)] draws n rows, and x[permutation(len(x))[:n]] none twice")}
FUNCTIONAL = {
    "binary_cross_entropy": "bce_with_logits (of the logits)",
    "adaptive_avg_pool2d": _Note("x.mean(axis=(2, 3), keepdims=True) is that of size 1"),
    "interpolate": "resize_nearest or resize_linear (bilinear is linear over two axes)",
    "unfold": "mtorch.window",
    "cosine_similarity": _COSINE,
    "embedding_bag": _Note("embedding(indices, weight).mean(axis=1) is that"),
    "instance_norm": "group_norm (with as many groups as channels)", "hardtanh": "mtorch.clip",
    "relu6": "mtorch.clip (from 0 to 6)", "mish": _Note("x * tanh(softplus(x)) is that"),
    "prelu": _Note("where(x > 0, x, x * weight) is that"),
    "glu": _Note("a * sigmoid(b) of the two halves of x is that"),
    "binary_cross_entropy_with_logits": "bce_with_logits", "logsigmoid": "log_sigmoid",
    "nll_loss": "cross_entropy (of the logits)", "one_hot": "mtorch.one_hot",
    "pad": _Note("mtorch.pad(x, [(before, after), ...]) is that, with a pair for each axis, from the first on"),
    "smooth_l1_loss": _Note("huber_loss(..., delta=beta) / beta is that"), "normalize": _Note(
        "x / maximum(x.norm(axis=1, keepdims=True), 1e-12) is that"),
    "kl_div": _DIVERGENCE}
MODULES = {
    "AdaptiveAvgPool2d": _Note("a Function of x.mean(axis=(2, 3), keepdims=True) is that of size 1"),
    "Upsample": "Function (of resize_nearest or resize_linear)",
    "EmbeddingBag": _Note("Embedding()(indices).mean(axis=1) is that"),
    "InstanceNorm1d": "GroupNorm (with as many groups as channels)",
    "InstanceNorm2d": "GroupNorm (with as many groups as channels)",
    "LSTMCell": "LSTM (of sequences of one step, x[:, None])",
    "GRUCell": "GRU (of sequences of one step, x[:, None])",
    "RNNCell": "RNN (of sequences of one step, x[:, None])",
    "PReLU": _Note("where(x > 0, x, x * weight) with a Parameter of your own is that"),
    "Mish": _Note("a Function of x * tanh(softplus(x)) is that"),
    "Hardtanh": "Function (of mtorch.clip)", "ReLU6": "Function (of mtorch.clip)",
    "ParameterList": _Note("a module finds tensors in lists of its attributes"),
    "Unflatten": "Function (of mtorch.reshape)", "TransformerEncoder": "Sequential (of TransformerBlock)",
    "Dropout2d": "Dropout", "CosineSimilarity": _COSINE,
    "BatchNorm1d": "BatchNorm", "BatchNorm2d": "BatchNorm", "BatchNorm3d": "BatchNorm",
    "BCELoss": "BCEWithLogitsLoss", "NLLLoss": "CrossEntropyLoss (of the logits)",
    "SmoothL1Loss": _Note("HuberLoss(delta=beta), divided by beta, is that"), "KLDivLoss": _DIVERGENCE,
    "TransformerEncoderLayer": _Note("TransformerBlock(width, heads, 2048, 0.1, norm_first=False) is that with "
                                     "PyTorch's defaults"),
    "utils": "optim.Optimizer.clip_grad_norm (for clip_grad_norm_)", "clip_grad_norm_": "optim.Optimizer.clip_grad_norm"}
OPTIMIZERS = {
    "lr_scheduler": "StepSchedule, CosineSchedule, OneCycleSchedule or Schedule",
    "StepLR": "StepSchedule", "CosineAnnealingLR": "CosineSchedule",
    "LambdaLR": "Schedule (of rates, not factors)",
    "OneCycleLR": "OneCycleSchedule", "ExponentialLR": "StepSchedule (with every=1)",
    "MultiStepLR": "Schedule", "LinearLR": "Schedule", "ReduceLROnPlateau": _Note(
        "optimizer.lr *= 0.1 when the loss no longer falls is that"),
    "LBFGS": _Note("scipy.optimize.minimize(..., jac=True) takes a function of NumPy's arrays that returns "
                   "what mtorch.value_and_grad() gives"),
    "clip_grad_norm_": "optim.Optimizer.clip_grad_norm", "NAdam": "Adam", "RAdam": "Adam", "Adamax": "Adam"}
INITIALISERS = {
    "constant_": _Note("x[...] = value under no_grad() is that"),
    "trunc_normal_": _Note("x[...] = clip(random.normal(x.shape), -2, 2) * deviation under no_grad() is nearly "
                           "that"),
    "calculate_gain": _Note("xavier_uniform_() takes a gain, and kaiming_uniform_() the slope of leaky_relu")}
METHODS = {
    "multiply": "mul", "subtract": "sub", "divide": "div", "negative": "neg",
    **dict.fromkeys(("index_add", "index_add_"), _Note(
        "scatter_add(x, broadcast_to(indices[:, None], values.shape), values, axis=0) is that of rows")),
    "scatter_add_": "scatter_add (a function)", "masked_fill_": "where", "mv": "matmul",
    "index_put_": _Note("x[indices] = values is that"), "scatter_": _Note("mtorch.one_hot() or x[indices] = values"),
    "uniform_": _Note("x[...] = mtorch.random.uniform(x.shape) is that"),
    "normal_": _Note("x[...] = mtorch.random.normal(x.shape) is that"),
    "new_tensor": "mtorch.tensor", "new_full": "mtorch.full", "type_as": "astype", "unfold": "mtorch.window",
    "inverse": "linalg.inv", "det": "linalg.det", "cholesky": "linalg.cholesky", "svd": "linalg.svd",
    "diagonal": "linalg.diagonal", "diag": "linalg.diagonal (of a matrix)", "trace": "linalg.trace",
    "unique": "unique_values (a function)", "argwhere": _Note("mtorch.stack(mtorch.nonzero(x), axis=1) is that"),
    "median": _Note("numpy.median(x) is that"), "is_contiguous": _Note("tensors show no strides"),
    "narrow": _Note("x[:, a:a + n] is that"), "movedim": "moveaxis", "unflatten": "reshape",
    "clamp_min": "maximum", "clamp_max": "minimum", "allclose": "allclose (a function)",
    "where": "where (a function)", "equal": _Note("bool((x == y).all()) is that"),
    "logical_and": "logical_and (a function, or x & y)", "logical_or": "logical_or (a function, or x | y)",
    "detach_": "detach", "pin_memory": _Note("copies to a GPU need none"),
    "add_": _in_place("+"), "amax": "max", "amin": "min", "bmm": "matmul",
    "clamp": "clip", "clamp_": "clip",
    "contiguous": _Note("no function asks for it; copy() gives memory of its own"),
    "cumprod": "cumulative_prod", "cumsum": "cumulative_sum",
    "data": _Note("detach() gives the value; under no_grad() a parameter can be changed"),
    "div_": _in_place("/"), "dot": "matmul", "element_size": "itemsize", "eq": _Note("x == y"),
    "expand": "broadcast_to", "expand_as": "broadcast_to", "fill_": _Note("x[...] = value sets all elements"),
    "gather": "take_along_axis", "ge": _Note("x >= y"), "gt": _Note("x > y"),
    "le": _Note("x <= y"), "lt": _Note("x < y"), "ne": _Note("x != y"),
    "grad_fn": _Note("is_leaf says whether there is a history, and mtorch.Tape shows it"),
    "index_select": "take", "is_cuda": _Note("x.device names the device"),
    "is_floating_point": _Note("x.dtype.is_floating says so"), "log_softmax": "nn.log_softmax",
    "masked_fill": "where",
    "masked_select": "masked_select (a function, or x[mask])", "mm": "matmul",
    "mul_": _in_place("*"), "outer": "linalg.outer", "ravel": "flatten",
    "register_hook": _Note("mtorch.grad(loss, x) gives the gradient of any x on the way, and an "
                           "mtorch.Function of your own changes it"),
    "retain_grad": _Note("mtorch.grad(loss, x) gives the gradient of any x on the way to loss"),
    "scatter_add": "scatter_add (a function)", "softmax": "nn.softmax",
    "stride": _Note("tensors show no strides"), "sub_": _in_place("-"), "swapaxes": "transpose",
    "t": "T", "type": "dtype or astype", "unbind": "unstack",
    "new_zeros": _Note("mtorch.zeros(shape, dtype=x.dtype, device=x.device) makes them"),
    "new_ones": _Note("mtorch.ones(shape, dtype=x.dtype, device=x.device) makes them"),
    "view_as": "reshape", "zero_": _Note(
        "x[...] = 0 sets all elements; x.grad = None, or an optimizer's zero_grad(), removes a gradient")}
# Of functions that were given more positional arguments than they take.
POSITIONAL = {"repeat": "an axis goes by name; what PyTorch calls repeat() is tile() here",
              "_Activation.__init__": "nothing is chosen here, and values never change in place"}
# Of names that are here too: what else they mean, which only a whole script is told.
MEANINGS = {
    "max": "gives values alone, argmax() the indices; of two tensors it is maximum()",
    "min": "gives values alone, argmin() the indices; of two tensors it is minimum()",
    "sort": "gives values alone, argsort() the indices", "size": "x.shape has the sizes, x.size is how many elements",
    "std": "is of what is there, of a sample with correction=1",
    "var": "is of what is there, of a sample with correction=1",
    "repeat": "repeats elements; what PyTorch calls repeat() is tile() here"}
OPTIONS = {  # by the first of these words that the function has
    "alpha": "smoothing", "dropout_p": "dropout",
    "beta": _Note("huber_loss(..., delta=beta) / beta is smooth_l1_loss()"),
    "attn_mask": _Note("it is called mask here; a MultiheadAttention's True hides in PyTorch and shows here: ~mask"),
    **dict.fromkeys(("src_mask", "tgt_mask"), _Note("it is called mask here, and True shows: ~mask")),
    **dict.fromkeys(("key_padding_mask", "src_key_padding_mask"), _Note(
        "mask=~padding[:, None, None, :] is that, as True shows here")),
    "dropout": _Note("layers of their own with a Dropout between them are that"),
    "need_weights": _Note("attention gives its result alone"),
    "mode": _Note("each has a function of its own, as resize_linear(); pad() fills with a number"),
    "nonlinearity": _Note("RNN's is tanh; kaiming_uniform_() and kaiming_normal_() are relu's, or take a slope"),
    "ceil_mode": _Note("what fills no window is left out; pad() before"),
    "retain_graph": _Note("grad() forgets no history"),
    "allow_unused": _Note("gradients to what has no part are zeros"),
    "requires_grad": _Note("a tensor of which none is wanted is an attribute, or register_buffer()'s"),
    "amsgrad": _Note("there is no such rule"),
    "foreach": _Note("all parameters are updated together anyway"),
    "fused": _Note("updates are fused anyway"), "capturable": _Note("steps are traces anyway"),
    "maximize": _Note("the gradient of -loss does that"),
    "affine": _Note("layers have a weight and a bias; the function takes None for them"),
    "elementwise_affine": _Note("layers have a weight and a bias; the function takes None for them"),
    "track_running_stats": _Note("the function batch_norm() takes None for them"),
    "collate_fn": _Note("a Dataset's items are stacked by their structure"),
    "generator": _Note("a `with` block of one draws from it, and a DataLoader takes a seed"),
    "map_location": "device", "weights_only": _Note("files hold tensors and numbers alone"),
    "pos_weight": _Note('reduction="none" gives the elements, to be weighted'),
    "padding_mode": _Note("take() of the axis by mirrored or repeated indices pads so"),
    "non_blocking": _Note("copies run when their values are needed"),
    "batch_first": _Note("the batch always comes first"),
    "bidirectional": _Note("concat() of a layer's result and another's over flip(x, 1), flipped back, is that"),
    "d_model": "width", "dim": "axis",
    "diagonal": "k", "dims": "axis axes", "dim_feedforward": "hidden", "embed_dim": "width", "embedding_dim": "size",
    "end_dim": "end", "start_dim": "start",
    "eps": "epsilon", "params": "parameters",
    "eta_min": "lowest", "gamma": "factor", "hidden_size": "hidden",
    "num_workers": _Note("with `prefetch` a thread makes batches ahead"),
    "inplace": _Note("values never change in place"), "input_size": "in_features",
    "is_causal": "causal", "keepdim": "keepdims", "kernel_size": "kernel size",
    "negative_slope": "slope", "nhead": "heads", "normalized_shape": "shape",
    "num_channels": "channels", "num_classes": "classes", "num_embeddings": "count",
    "num_features": "channels", "num_groups": "groups", "num_heads": "heads",
    "num_layers": "layers", "p": "probability dropout ord",
    "padding_idx": _Note("where() of the padding's places and 0 is that"),
    "pin_memory": _Note("copies to a GPU need none"), "step_size": "every", "T_max": "steps",
    "scale_factor": "sizes", "antialias": _Note("nothing is averaged; a larger image is pooled first"),
    "std": "deviation", "total_steps": "steps", "unbiased": "correction"}


def _said(names: dict[str, str], name: str) -> str:
    here = names.get(name, "")
    return f": {here}" if isinstance(here, _Note) else here and f": it is called {here} here"


def _missing(module: str, names: dict[str, str]) -> Callable[[str], Any]:
    """What a module does when it is asked for a name that it does not have."""
    def __getattr__(name: str) -> Any:
        here = _said(names, name)
        if here and _is_import():
            raise ImportError(f"cannot import name {name!r} from {module!r}{here}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}{here}")
    return __getattr__


def _is_import() -> bool:
    """Whether the caller of the function that asks is an import statement."""
    try:
        frame = sys._getframe(2)
    except ValueError:  # it is no Python code
        return False
    return frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]


def _public(module: dict[str, Any], *modules: str) -> Callable[[], list[str]]:
    """What a module shows of itself: what it is for, and these of its modules."""
    def is_shown(name: str, value: Any) -> bool:
        if isinstance(value, types.ModuleType) or name == "TYPE_CHECKING":
            return name in modules
        ours = (getattr(value, "__module__", None) or "mtorch").startswith(("mtorch", "_native"))
        return name.startswith("__") or ours and name[0] != "_"
    return lambda: sorted(name for name, value in module.items() if is_shown(name, value))


class _Elsewhere:
    """What tensors do not have, and what to take in its place."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(f"a tensor has no attribute {self.name!r}{_said(METHODS, self.name)}")


def _explained(function: _Callable) -> _Callable:
    """The function, whose error about an option of another name says how it is called here."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if "argument" in str(error) and _is_ours(error.__traceback__.tb_next):  # type: ignore[union-attr]
                _explain(error, function, kwargs)
            raise
    return call  # type: ignore[return-value]


def _is_ours(traceback: Any) -> bool:
    """Whether none but the package's own code is there, which hands options on."""
    while traceback:
        if not traceback.tb_frame.f_code.co_filename.startswith(_HERE):
            return False
        traceback = traceback.tb_next
    return True


def _explain(error: TypeError, function: Callable[..., Any], kwargs: Any) -> None:
    import inspect
    known, said = inspect.signature(function).parameters, str(error)
    if re.search(r"takes .* positional arguments? but \d+ were given$", said):
        if note := POSITIONAL.get(function.__qualname__.removeprefix("Tensor.")):
            error.args = f"{said}: {note}",
        return
    for name in kwargs:
        here = OPTIONS.get(name, "")
        word = "" if isinstance(here, _Note) else next((w for w in here.split() if w in known), "")
        if name in known or not (word or isinstance(here, _Note)):
            continue
        if said.endswith(f"unexpected keyword argument {name!r}"):
            error.args = f"{said}: " + (f"it is called {word!r} here" if word else here),
        elif word and "required positional argument" in said and f"{word!r}" in said:
            error.args = f"{said}: so {name!r} is called here",
