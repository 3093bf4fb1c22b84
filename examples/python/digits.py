# SPDX-License-Identifier: Apache-2.0
"""Learns to read 8 x 8 handwritten digits, with a plain or with a convolutional network."""
import pathlib
import sys

import classifier
import support

import mtorch as mt
from mtorch import nn


def mlp():
    """64-100-10"""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))


def conv():
    """Two convolutions 3 x 3 that keep the size, with 16 and 32 channels; then 4 x 4 maxima."""
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                         lambda x: nn.max_pool2d(x, 2), nn.Flatten(), nn.Linear(32 * 4 * 4, 10))


def main():
    data = pathlib.Path(__file__).parents[1] / "data/digits.csv.gz"
    options = support.parse(
        __doc__, lambda options: f"digits-{options.network}", network=("conv", "mlp or conv"),
        epochs=(30, "passes over the digits"), batch=(32, "digits a step"),
        rate=(0.003, "learning rate of AdamW"), data=(str(data), "the digits"))
    networks = {"mlp": mlp, "conv": conv}
    if options.network not in networks:
        options.refuse("--network: mlp or conv")
    train, held_out = support.digits(options.data)
    return classifier.train(networks[options.network], train, held_out,
                            f"Digits: {options.network}", options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (mt.Error, OSError) as error:
        sys.exit(str(error))
