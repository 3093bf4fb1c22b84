# SPDX-License-Identifier: Apache-2.0
"""Training that several tests do."""
import mtorch as mt


def step_of(network, optimizer, traced=False):
    """A step of regression on an input, as a function of it, perhaps traced."""
    def step(x):
        loss = ((network(x) - mt.sin(x)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return mt.trace(step) if traced else step
