# SPDX-License-Identifier: Apache-2.0
"""What digits and mnist share: training a network that sorts images into ten classes, from the
first epoch to the picture at the end."""
import time

import numpy as np
import support

import mtorch as mt
from mtorch import data, nn, optim


def start(network):
    """Weights as He and others (2015) suggest for relu, biases 0."""
    for _, tensor in network.named_parameters():
        nn.init.kaiming_uniform_(tensor) if tensor.ndim > 1 else nn.init.zeros_(tensor)
    return network


def train_epoch(network, optimizer, loader):
    """One pass in random order; the score is of each batch as it was met."""
    network.train()
    count, loss_sum, right = 0, mt.zeros(()), mt.zeros((), dtype=mt.int64)
    for images, expected in loader:
        z = network(images)
        loss = nn.cross_entropy(z, expected)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss_sum += loss.detach() * len(images)
        count += len(images)
        right += mt.sum(mt.argmax(z, axis=1) == expected)
    return loss_sum.item() / count, 100 * right.item() / count


@mt.no_grad()
def evaluate(network, images, labels, part=500):
    """The score, and what each image is taken for; a part at a time, so that memory does not grow
    with the set."""
    network.eval()
    count, loss, predicted = len(images), 0.0, []
    for i in range(0, count, part):
        z = network(images[i:i + part])
        loss += nn.cross_entropy(z, labels[i:i + part], reduction="sum").item() / count
        predicted.append(mt.argmax(z, axis=1))
    predicted = mt.concat(predicted)
    return (loss, 100 * mt.sum(predicted == labels).item() / count), predicted.numpy()


def train(make, train_set, held_out, title, options):
    """Trains make() and returns what main() should."""
    network, reloaded = start(make()), start(make())
    optimizer = optim.AdamW(network.parameters(), options.rate)
    loader = data.DataLoader(data.TensorDataset(*train_set), options.batch, shuffle=True)
    history = support.History()
    progress = support.Progress("epoch", options.epochs)
    for epoch in range(1, options.epochs + 1):
        begin = time.perf_counter()
        history.trained_on.append(train_epoch(network, optimizer, loader))
        history.seconds += time.perf_counter() - begin
        score, predicted = evaluate(network, *held_out)
        history.held_out.append(score)
        loss, right = history.trained_on[-1]
        progress.show(epoch, f"loss {loss:.4f}  accuracy {right:.1f} %  held out {score[1]:.2f} %")
    progress.end()

    history.report()
    weights = f"{options.out}.safetensors"
    network.save(weights)
    reloaded.load(weights)
    status = support.report_weights(weights, evaluate(reloaded, *held_out)[0] == score)

    images, labels = (np.asarray(x) for x in held_out)
    mistaken = np.flatnonzero(predicted != labels)[:16]

    def mistakes(axes):
        height, width = images.shape[2:]
        high, wide = height * 3 // 2, width * 5 // 4  # of a cell: room for a line of text
        sheet = np.zeros((4 * high, 4 * wide))
        for i, which in enumerate(mistaken):
            top, left = i // 4 * high, i % 4 * wide
            sheet[top + high - height:top + high, left:left + width] = images[which, 0]
            axes.text(left + width / 2, top + (high - height) * 0.8,
                      f"{labels[which]} as {predicted[which]}", fontsize=7, ha="center")
        axes.imshow(sheet, cmap="Greys")
        axes.set_axis_off()
        axes.set_title("mistaken")

    support.picture(f"{options.out}.svg", title, *support.history_curves(history),
                    support.confusion(labels, predicted), mistakes)
    return status
