# SPDX-License-Identifier: Apache-2.0
"""Neural networks: functions and losses, initialisers, and a tree of modules over the library's
layers. Names and layouts of parameters are PyTorch's."""
from typing import TYPE_CHECKING

from .. import _names
from . import functional, init  # noqa: F401
from .activations import (  # noqa: F401
    ELU, GELU, LeakyReLU, LogSigmoid, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Softplus, Tanh)
from .attention import MultiheadAttention, TransformerBlock  # noqa: F401
from .containers import (  # noqa: F401
    Flatten, Function, Identity, ModuleDict, ModuleList, Sequential)
from .convolution import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d  # noqa: F401
from .functional import *  # noqa: F401,F403
from .layers import (  # noqa: F401
    BatchNorm, Dropout, Embedding, GroupNorm, LayerNorm, Linear, RMSNorm)
from .losses import BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, L1Loss, MSELoss  # noqa: F401
from .module import Module, Parameter  # noqa: F401
from .pooling import AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d  # noqa: F401
from .recurrent import GRU, LSTM, RNN  # noqa: F401

if not TYPE_CHECKING:
    __getattr__ = _names._missing("mtorch.nn", _names.MODULES)
    __dir__ = _names._public(globals(), "functional", "init")
