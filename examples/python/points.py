# SPDX-License-Identifier: Apache-2.0
"""Learns to part two kinds of points in the plane, with a network 2-100-100-1."""
import sys
import time

import numpy as np
import support

import mtorch as mt
from mtorch import nn, optim


class Network(nn.Module):
    """Weights as He and others (2015) suggest for relu. Biases are 0, but where the data winds the
    first layer's are spread over the plane, so that it begins with folds everywhere."""

    def __init__(self, hidden, spread=False):
        self.first = nn.Linear(2, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, 1)
        for name, tensor in self.named_parameters():
            nn.init.zeros_(tensor) if name.endswith("bias") else nn.init.kaiming_uniform_(tensor)
        if spread:
            nn.init.uniform_(self.first.bias, -1.5, 1.5)

    def forward(self, x):
        return self.last(mt.relu(self.second(mt.relu(self.first(x)))))


@mt.no_grad()
def evaluate(network, x, y):
    z = network(x)
    right = mt.mean(((z > 0) == (y > 0.5)).astype(mt.float64))
    return nn.bce_with_logits(z, y).item(), 100 * right.item()


def main():
    options = support.parse(
        __doc__, lambda options: f"points-{options.dataset}",
        dataset=("spiral", "simple, diag, split, xor, circle or spiral"),
        points=(50, "points to train on"), hidden=(100, "width of the two hidden layers"),
        batch=(10, "points a step"), epochs=(500, "passes over the points"),
        rate=(0.0, "learning rate; 0: 0.5 for SGD, 0.005 for Adam (spiral)"))
    options.dataset = options.dataset.lower()
    spiral = options.dataset == "spiral"
    if not spiral and options.dataset not in support.INSIDE:
        options.refuse("--dataset: simple, diag, split, xor, circle or spiral")
    x, y = support.points(options.dataset, options.points, options.seed)
    unseen = support.points(options.dataset, 1000, ~options.seed)
    network = Network(options.hidden, spread=spiral)
    if spiral:
        optimizer = optim.Adam(network.parameters(), options.rate or 0.005)
    else:
        optimizer = optim.SGD(network.parameters(), options.rate or 0.5)

    @mt.trace  # recorded once for each batch size, replayed after that
    def step(x, y):
        nn.bce_with_logits(network(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()

    history = support.History()
    progress = support.Progress("epoch", options.epochs)
    for epoch in range(1, options.epochs + 1):
        start = time.perf_counter()
        order = mt.random.permutation(options.points)
        for i in range(0, options.points, options.batch):
            rows = order[i:i + options.batch]
            step(x[rows], y[rows])
        mt.eval()
        history.seconds += time.perf_counter() - start
        history.trained_on.append(evaluate(network, x, y))
        history.held_out.append(evaluate(network, *unseen))
        loss, right = history.trained_on[-1]
        progress.show(epoch, f"loss {loss:.4f}  accuracy {right:.1f} %  "
                             f"held out {history.held_out[-1][1]:.1f} %")
    progress.end()

    history.report()
    weights = f"{options.out}.safetensors"
    network.save(weights)
    reloaded = Network(options.hidden)
    reloaded.load(weights)
    status = support.report_weights(
        weights, evaluate(reloaded, *unseen) == evaluate(network, *unseen))

    low, high = (-0.15, 1.15) if spiral else (0.0, 1.0)

    def boundary(axes):
        side = mt.linspace(low, high, 96)
        plane = mt.stack([grid.reshape(-1) for grid in mt.meshgrid(side, side)], axis=1)
        with mt.no_grad():
            belief = mt.sigmoid(network(plane)).reshape(96, 96).numpy()
        axes.imshow(belief, origin="lower", extent=(low, high, low, high), cmap="RdBu", vmin=0,
                    vmax=1)
        where, kind = x.numpy(), y.numpy()[:, 0] > 0.5
        for chosen, marker in (~kind, "o"), (kind, "s"):
            axes.scatter(*np.array(where[chosen]).T, marker=marker, c="white", edgecolors="black")
        axes.set_title("what the network believes")

    support.picture(f"{options.out}.svg", f"Points: {options.dataset}", boundary,
                    *support.history_curves(history))
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (mt.Error, OSError) as error:
        sys.exit(str(error))
