# SPDX-License-Identifier: Apache-2.0
"""Neural networks: functions and losses, initialisers, and a tree of modules over the library's
layers. Names and layouts of parameters are PyTorch's."""
from . import native
from .dtypes import as_dtype, float32
from .native import dropout, linear  # noqa: F401

_REDUCTIONS = {"mean": native.MT_REDUCTION_MEAN, "sum": native.MT_REDUCTION_SUM,
               "none": native.MT_REDUCTION_NONE}


def _options(options, **values):
    for name, value in values.items():
        setattr(options, name, value)
    return options


def _reduction(name):
    if name not in _REDUCTIONS:
        raise ValueError(f"reduction {name!r}: mean, sum or none")
    return _REDUCTIONS[name]


# ------------------------------------------------------------------------------- Functions

def softmax(x, axis=-1):
    """e^x / sum(e^x) along `axis`."""
    return native.softmax(x, axis)


def log_softmax(x, axis=-1):
    """x - logsumexp(x) along `axis`."""
    return native.log_softmax(x, axis)


def layer_norm(x, weight=None, bias=None, axes=1, epsilon=1e-5):
    """(x - mean) / sqrt(var + epsilon) * weight + bias over the last `axes` axes."""
    return native.layer_norm(x, axes, weight, bias, epsilon)


def rms_norm(x, weight=None, axes=1, epsilon=1e-6):
    """x / sqrt(mean(x^2) + epsilon) * weight over the last `axes` axes."""
    return native.rms_norm(x, axes, weight, epsilon)


def batch_norm(x, weight=None, bias=None, running_mean=None, running_var=None, training=False,
               momentum=0.1, epsilon=1e-5):
    """Normalises each channel, axis 1; in training rebinds the running statistics."""
    options = _options(native.batch_norm_options(), training=training, momentum=momentum,
                       epsilon=epsilon)
    return native.batch_norm(x, weight, bias, running_mean, running_var, options)


def embedding(indices, weight):
    """Rows of `weight`."""
    return native.embedding(indices, weight)


def scaled_dot_product_attention(query, key, value, mask=None, causal=False, scale=0.0,
                                 dropout=0.0, training=False):
    """softmax(query key^T scale + mask) value; scale 0 means 1 / sqrt(d)."""
    options = _options(native.attention_options(), causal=causal, scale=scale, dropout=dropout,
                       training=training)
    return native.scaled_dot_product_attention(query, key, value, mask, options)


def _conv_options(stride=1, padding=0, dilation=1, output_padding=0, groups=1, bias=True):
    return _options(native.conv_options(), stride=stride, padding=padding, dilation=dilation,
                    output_padding=output_padding, groups=groups, bias=bias)


def conv1d(x, weight, bias=None, **options):
    """Cross-correlation over one axis; options: stride, padding, dilation, groups."""
    return native.conv1d(x, weight, bias, _conv_options(**options))


def conv2d(x, weight, bias=None, **options):
    """Cross-correlation over two axes; options: stride, padding, dilation, groups."""
    return native.conv2d(x, weight, bias, _conv_options(**options))


def conv_transpose1d(x, weight, bias=None, **options):
    """The transpose of conv1d(); options as there, and output_padding."""
    return native.conv_transpose1d(x, weight, bias, _conv_options(**options))


def conv_transpose2d(x, weight, bias=None, **options):
    """The transpose of conv2d(); options as there, and output_padding."""
    return native.conv_transpose2d(x, weight, bias, _conv_options(**options))


def _pool_options(stride=0, padding=0, dilation=1, exclude_padding=False):
    return _options(native.pool_options(), stride=stride, padding=padding, dilation=dilation,
                    exclude_padding=exclude_padding)


def max_pool1d(x, size, **options):
    """The largest element of each window; options: stride, padding, dilation."""
    return native.max_pool1d(x, size, _pool_options(**options))


def max_pool2d(x, size, **options):
    """The largest element of each window, `size` or (height, width)."""
    return native.max_pool2d(x, *_pair(size), _pool_options(**options))


def avg_pool1d(x, size, **options):
    """The mean of each window; options as max_pool1d(), and exclude_padding."""
    return native.avg_pool1d(x, size, _pool_options(**options))


def avg_pool2d(x, size, **options):
    """The mean of each window, `size` or (height, width)."""
    return native.avg_pool2d(x, *_pair(size), _pool_options(**options))


def _pair(size):
    return (size, size) if isinstance(size, int) else size


def cross_entropy(logits, targets, axis=-1, reduction="mean"):
    """-sum(p log_softmax(logits)) along `axis`; targets are classes or probabilities."""
    return native.cross_entropy(logits, targets, axis, _reduction(reduction))


def mse_loss(x, target, reduction="mean"):
    """(x - target)^2."""
    return native.mse_loss(x, target, _reduction(reduction))


def bce_with_logits(x, target, reduction="mean"):
    """-(t log(sigmoid(x)) + (1 - t) log(1 - sigmoid(x)))."""
    return native.bce_with_logits(x, target, _reduction(reduction))


class init:
    """Each binds a tensor to fresh random values and returns it."""

    @staticmethod
    def uniform_(x, low=0.0, high=1.0):
        return native.init_uniform(x, low, high) or x

    @staticmethod
    def normal_(x, mean=0.0, deviation=1.0):
        return native.init_normal(x, mean, deviation) or x

    @staticmethod
    def zeros_(x):
        return native.init_uniform(x, 0, 0) or x

    @staticmethod
    def xavier_uniform_(x, gain=1.0):
        return native.init_xavier_uniform(x, gain) or x

    @staticmethod
    def xavier_normal_(x, gain=1.0):
        return native.init_xavier_normal(x, gain) or x

    @staticmethod
    def kaiming_uniform_(x, slope=0.0):
        return native.init_kaiming_uniform(x, slope) or x

    @staticmethod
    def kaiming_normal_(x, slope=0.0):
        return native.init_kaiming_normal(x, slope) or x

    @staticmethod
    def orthogonal_(x, gain=1.0):
        return native.init_orthogonal(x, gain) or x


# --------------------------------------------------------------------------------- Modules

class Module:
    """A part of a network: its attributes that are modules are its children, those that are
    tensors marked with requires_grad its parameters. Subclasses define forward()."""

    training = True

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} defines no forward()")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def named_children(self):
        """Pairs of name and module, in the order they were set."""
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value
            elif isinstance(value, (list, tuple)):
                for i, item in enumerate(value):
                    if isinstance(item, Module):
                        yield f"{name}.{i}", item

    def _own_tensors(self):
        for name, value in vars(self).items():
            if isinstance(value, native.Tensor):
                yield name, value, not value.requires_grad

    def _named_tensors(self, prefix=""):
        for name, tensor, is_buffer in self._own_tensors():
            yield prefix + name, tensor, is_buffer
        for name, child in self.named_children():
            yield from child._named_tensors(f"{prefix}{name}.")

    def named_parameters(self):
        """Pairs of dotted name and parameter."""
        return [(name, tensor) for name, tensor, is_buffer in self._named_tensors() if not is_buffer]

    def parameters(self):
        """What is trained."""
        return [tensor for _, tensor in self.named_parameters()]

    def named_buffers(self):
        """Pairs of dotted name and tensor that is only saved."""
        return [(name, tensor) for name, tensor, is_buffer in self._named_tensors() if is_buffer]

    def state_dict(self):
        """Every parameter and buffer by its dotted name."""
        return {name: tensor for name, tensor, _ in self._named_tensors()}

    def load_state_dict(self, state):
        """Binds every parameter and buffer to the value of its name in `state`."""
        own = self.state_dict()
        if own.keys() != state.keys():
            raise ValueError(f"load_state_dict: missing {sorted(own.keys() - state.keys())}, "
                             f"unknown {sorted(state.keys() - own.keys())}")
        for name, tensor in own.items():
            if tuple(tensor.shape) != tuple(state[name].shape):
                raise ValueError(f"load_state_dict: {name} is {tensor.shape}, not "
                                 f"{tuple(state[name].shape)}")
        before = native.set_grad_mode(False)
        try:
            for name, tensor in own.items():
                tensor[...] = state[name]
        finally:
            native.set_grad_mode(before)

    def save(self, path):
        """Writes every parameter and buffer to a safetensors file, whole or not at all."""
        from .io import collection
        native.parameters_save(collection(self.state_dict()), str(path))

    def load(self, path):
        """Binds every parameter and buffer to the values in a safetensors file of the same names,
        shapes and types; nothing changes unless all fit."""
        from .io import collection
        native.parameters_load(collection(self.state_dict()), str(path))

    def train(self, mode=True):
        """Switches dropout and batch norm, here and below; returns the module."""
        self.training = mode
        for _, child in self.named_children():
            child.train(mode)
        return self

    def eval(self):
        """train(False)."""
        return self.train(False)

    def zero_grad(self):
        """Removes the gradients of all parameters."""
        native.zero_grad(self.parameters())

    def __repr__(self):
        children = "".join(f"  ({name}): {child!r}".replace("\n", "\n  ") + "\n"
                           for name, child in self.named_children())
        return f"{type(self).__name__}({self._describe()}" + (f"\n{children})" if children else ")")

    def _describe(self):
        return ""


class _Layer(Module):
    """A module over one layer of the library, whose tensors are its attributes."""

    def __init__(self, make, *args, dtype=None, device=None, name="layer"):
        self._parameters = native.parameters_new(float32 if dtype is None else as_dtype(dtype),
                                                 device)
        named = () if name is None else (name,)
        self._layer = make(self._parameters, *named, *args)
        self._text = ", ".join(str(arg) for arg in args if isinstance(arg, (int, float, tuple)))
        for i in range(native.parameters_count(self._parameters)):
            full = native.parameters_name(self._parameters, i)
            setattr(self, full.partition(".")[2], native.parameters_tensor(self._parameters, i))

    def forward(self, x):
        return native.apply(self._layer, x)

    def _own_tensors(self):
        for i in range(native.parameters_count(self._parameters)):
            name = native.parameters_name(self._parameters, i).partition(".")[2]
            yield (name, native.parameters_tensor(self._parameters, i),
                   native.parameters_is_buffer(self._parameters, i))

    def train(self, mode=True):
        native.parameters_set_training(self._parameters, mode)
        return super().train(mode)

    def _describe(self):
        return self._text


class Linear(_Layer):
    """x weight^T + bias."""

    def __init__(self, in_features, out_features, bias=True, **where):
        super().__init__(native.layer_linear, in_features, out_features, bias, **where)


class Conv1d(_Layer):
    """conv1d() with weights; options: stride, padding, dilation, groups, bias."""

    def __init__(self, in_channels, out_channels, kernel, dtype=None, device=None, **options):
        super().__init__(native.layer_conv1d, in_channels, out_channels, kernel,
                         _conv_options(**options), dtype=dtype, device=device)


class Conv2d(_Layer):
    """conv2d() with weights; options: stride, padding, dilation, groups, bias."""

    def __init__(self, in_channels, out_channels, kernel, dtype=None, device=None, **options):
        super().__init__(native.layer_conv2d, in_channels, out_channels, *_pair(kernel),
                         _conv_options(**options), dtype=dtype, device=device)


class LayerNorm(_Layer):
    """layer_norm() over last axes of a shape, with weight and bias."""

    def __init__(self, shape, epsilon=1e-5, **where):
        super().__init__(native.layer_layer_norm, shape, epsilon, **where)


class RMSNorm(_Layer):
    """rms_norm() over last axes of a shape, with weight."""

    def __init__(self, shape, epsilon=1e-6, **where):
        super().__init__(native.layer_rms_norm, shape, epsilon, **where)


class BatchNorm(_Layer):
    """batch_norm() with weight and bias, running_mean and running_var."""

    def __init__(self, channels, momentum=0.1, epsilon=1e-5, **where):
        super().__init__(native.layer_batch_norm, channels, momentum, epsilon, **where)


class Embedding(_Layer):
    """Rows of a weight [count, size]."""

    def __init__(self, count, size, **where):
        super().__init__(native.layer_embedding, count, size, **where)


class Dropout(_Layer):
    """In training, each element is 0 with the given probability, and the others grow."""

    def __init__(self, probability=0.5):
        super().__init__(native.layer_dropout, probability, name=None)


class MultiheadAttention(_Layer):
    """Self-attention with several heads on [..., n, width]; options: causal, dropout, bias."""

    def __init__(self, width, heads, dtype=None, device=None, **options):
        super().__init__(native.layer_attention, width, heads,
                         _options(native.attention_options(), **options), dtype=dtype,
                         device=device)


class Function(Module):
    """A function as a module: Function(mtorch.relu)."""

    def __init__(self, function):
        self.function = function

    def forward(self, *args):
        return self.function(*args)

    def _describe(self):
        return getattr(self.function, "__name__", repr(self.function))


class ReLU(Module):
    def forward(self, x):
        return native.relu(x)


class GELU(Module):
    def forward(self, x):
        return native.gelu(x)


class Tanh(Module):
    def forward(self, x):
        return native.tanh(x)


class Sigmoid(Module):
    def forward(self, x):
        return native.sigmoid(x)


class Flatten(Module):
    """All axes but the first as one."""

    def forward(self, x):
        return x.flatten(1)


class Sequential(Module):
    """Modules one after the other; its children are named 0, 1, ..."""

    def __init__(self, *modules):
        for i, module in enumerate(modules):
            setattr(self, str(i), module if isinstance(module, Module) else Function(module))

    def forward(self, x):
        for _, module in self.named_children():
            x = module(x)
        return x

    def __getitem__(self, i):
        return [module for _, module in self.named_children()][i]

    def __len__(self):
        return sum(1 for _ in self.named_children())
