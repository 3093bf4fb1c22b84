# SPDX-License-Identifier: Apache-2.0
"""What layers are made with: unknown options are refused."""
import pytest

import mtorch as mt
from mtorch import nn


@pytest.mark.parametrize("call, said", [
    (lambda: nn.MultiheadAttention(4, 2, caussal=True), "unexpected keyword argument 'caussal'$"),
    (lambda: nn.MultiheadAttention(4, 2, is_causal=True), "'is_causal': it is called 'causal' here"),
    (lambda: nn.MultiheadAttention(4, 2, batch_first=True), "'batch_first': the batch always comes first"),
    (lambda: nn.TransformerBlock(4, 2, caussal=True), "unexpected keyword argument 'caussal'$")])
def test_unknown_options_are_refused(call, said):
    with pytest.raises(TypeError, match=said):
        call()


def test_structs_of_options_refuse_what_they_lack():
    for name in dir(mt.native):
        if name.endswith("_options"):
            with pytest.raises(AttributeError):
                getattr(mt.native, name)().nonsense = 1


def test_options_of_attention():
    attention = nn.MultiheadAttention(4, 2, causal=True, bias=False, dtype=mt.float64)
    assert list(attention.state_dict()) == ["in_proj_weight", "out_proj.weight"]
    x = mt.random.normal((5, 4), dtype=mt.float64)
    assert bool(mt.allclose(attention(x)[:3], attention(x[:3])))
