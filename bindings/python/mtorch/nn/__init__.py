# SPDX-License-Identifier: Apache-2.0
"""Neural networks: functions and losses, initialisers, and a tree of modules over the library's
layers. Names and layouts of parameters are PyTorch's."""
from typing import TYPE_CHECKING

from .. import _names, _porting_names
from . import functional, init  # noqa: F401
from .activations import (
    ELU as ELU, GELU as GELU, LeakyReLU as LeakyReLU, LogSigmoid as LogSigmoid,
    LogSoftmax as LogSoftmax, ReLU as ReLU, Sigmoid as Sigmoid, SiLU as SiLU, Softmax as Softmax,
    Softplus as Softplus, Tanh as Tanh)
from .attention import (
    MultiheadAttention as MultiheadAttention, TransformerBlock as TransformerBlock)
from .containers import (
    Flatten as Flatten, Function as Function, Identity as Identity, ModuleDict as ModuleDict,
    ModuleList as ModuleList, Sequential as Sequential)
from .convolution import (
    Conv1d as Conv1d, Conv2d as Conv2d, ConvTranspose1d as ConvTranspose1d,
    ConvTranspose2d as ConvTranspose2d)
from .functional import (
    avg_pool1d as avg_pool1d, avg_pool2d as avg_pool2d, batch_norm as batch_norm,
    bce_with_logits as bce_with_logits, conv1d as conv1d, conv2d as conv2d,
    conv_transpose1d as conv_transpose1d, conv_transpose2d as conv_transpose2d,
    cross_entropy as cross_entropy, dropout as dropout, elu as elu, embedding as embedding,
    gelu as gelu, group_norm as group_norm, huber_loss as huber_loss, l1_loss as l1_loss,
    layer_norm as layer_norm, leaky_relu as leaky_relu, linear as linear,
    log_sigmoid as log_sigmoid, log_softmax as log_softmax, max_pool1d as max_pool1d,
    max_pool2d as max_pool2d, mse_loss as mse_loss, relu as relu, resize_linear as resize_linear,
    resize_nearest as resize_nearest, rms_norm as rms_norm,
    scaled_dot_product_attention as scaled_dot_product_attention, sigmoid as sigmoid, silu as silu,
    softmax as softmax, softplus as softplus, tanh as tanh)
from .layers import (
    BatchNorm as BatchNorm, Dropout as Dropout, Embedding as Embedding, GroupNorm as GroupNorm,
    LayerNorm as LayerNorm, Linear as Linear, RMSNorm as RMSNorm)
from .losses import (
    BCEWithLogitsLoss as BCEWithLogitsLoss, CrossEntropyLoss as CrossEntropyLoss,
    HuberLoss as HuberLoss, L1Loss as L1Loss, MSELoss as MSELoss)
from .module import Module as Module, Parameter as Parameter
from .pooling import (
    AvgPool1d as AvgPool1d, AvgPool2d as AvgPool2d, MaxPool1d as MaxPool1d, MaxPool2d as MaxPool2d)
from .recurrent import GRU as GRU, LSTM as LSTM, RNN as RNN

if not TYPE_CHECKING:
    __getattr__ = _names._missing("mtorch.nn", {**_porting_names.FUNCTIONAL, **_porting_names.MODULES})
    __dir__ = _names._public(globals(), "functional", "init")
