# SPDX-License-Identifier: Apache-2.0
"""Learns to read MNIST's handwritten digits from two IDX files, with a plain network or one in the
style of LeNet (LeCun and others, 1998). The first four fifths are trained on, the rest held out."""
import sys

import classifier
import support

import mtorch as mt
from mtorch import nn


def mlp():
    """784-100-10"""
    return nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 100), nn.ReLU(), nn.Linear(100, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), lambda x: nn.max_pool2d(x, 2),  # [n, 8, 14, 14]
        nn.Conv2d(8, 16, 5), nn.ReLU(), lambda x: nn.max_pool2d(x, 2),            # [n, 16, 5, 5]
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(16 * 5 * 5, 100), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(100, 10))


def main():
    options = support.parse(
        __doc__, lambda options: f"mnist-{options.network}",
        images=(None, "IDX file of n x 28 x 28 pixels, plain or gzip"),
        labels=(None, "IDX file of n labels"), network=("lenet", "mlp or lenet"),
        epochs=(20, "passes over the images"), batch=(64, "images a step"),
        rate=(0.003, "learning rate of AdamW"))
    networks = {"mlp": mlp, "lenet": lenet}
    if options.network not in networks:
        options.refuse("--network: mlp or lenet")
    if not options.images or not options.labels:
        options.refuse("--images and --labels are needed")
    images = (mt.load(options.images).float() / 255).reshape(-1, 1, 28, 28).eval()
    labels = mt.load(options.labels).astype(mt.int64)
    most = len(images) * 4 // 5
    return classifier.train(networks[options.network], (images[:most], labels[:most]),
                            (images[most:], labels[most:]), f"MNIST: {options.network}", options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (mt.Error, OSError) as error:
        sys.exit(str(error))
