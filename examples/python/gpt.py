# SPDX-License-Identifier: Apache-2.0
"""Learns to write like a text, character by character, with a small transformer of the decoder
kind (Radford and others, 2019). The last tenth of the text is held out."""
import sys
import time

import numpy as np
import support

import mtorch as mt
from mtorch import nn, optim


class Transformer(nn.Module):
    def __init__(self, symbols, context, width, heads, blocks):
        self.context = context
        self.symbol = nn.Embedding(symbols, width)
        self.place = nn.Embedding(context, width)
        self.blocks = [nn.TransformerBlock(width, heads, activation="gelu_tanh(a)", causal=True)
                       for _ in range(blocks)]
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, symbols, bias=False)
        # Small weights and no biases, so that all symbols begin about equally likely.
        for name, tensor in self.named_parameters():
            if tensor.ndim == 2:
                nn.init.normal_(tensor, 0, 0.02)
            if "bias" in name:
                nn.init.zeros_(tensor)

    def forward(self, symbols, places, kept=None):
        """Symbols [n, count] at `places` to what may follow each of them, [n, count, symbols].
        `kept`: keys and values of those before, which each block adds to; None when the symbols are
        all there is."""
        x = self.symbol(symbols) + self.place(places)
        for i, block in enumerate(self.blocks):
            x = block(x, kept=kept[i], places=places) if kept else block(x)
        return self.output(self.norm(x))

    def loss(self, text, starts):
        """Nats a character, for the stretches of text that begin at `starts`, [n, 1]."""
        places = mt.arange(self.context)
        at = starts + places
        return nn.cross_entropy(self(text[at], places), text[at + 1])


@mt.no_grad()
def evaluate(network, text, part=64):
    """Over the whole text, in stretches that follow each other, a few at a time."""
    context = network.context
    count = (len(text) - 1) // context
    total = 0.0
    for i in range(0, count, part):
        end = min(i + part, count)
        starts = mt.arange(i * context, end * context, context).reshape(-1, 1)
        total += network.loss(text, starts).item() * (end - i)
    return total / count


@mt.no_grad()
def write(network, alphabet, length, seed):
    """Continues a line break by `length` characters. Each is read once, by a trace that keeps what
    the next will look back at. When the context is full, its later half is read again, from place 0
    on."""
    numbers, context = support.random_uniform(seed), network.context
    kept = [block.kept_zeros(1, context) for block in network.blocks]

    @mt.trace
    def read_on(symbols, places):
        return network(symbols, places, kept)[0, -1]

    window, read, sample = [max(alphabet.find(b"\n"), 0)], 0, bytearray()
    for _ in range(length):
        places = mt.arange(read, len(window))
        logits = read_on(mt.asarray([window[read:]]), places).numpy().astype(np.float64)
        odds = np.cumsum(np.exp(logits - logits.max()))
        symbol = min(np.searchsorted(odds, next(numbers) * odds[-1], "right"), len(odds) - 1)
        sample.append(alphabet[symbol])
        read = len(window)
        if read == context:
            window, read = window[context - context // 2:], 0
        window.append(int(symbol))
    return sample.decode(errors="replace")


def main():
    options = support.parse(
        __doc__, lambda options: "gpt", text=(None, "the text to learn from, plain or gzip"),
        steps=(3000, "training steps"), sequences=(32, "stretches of text a step"),
        rate=(2e-3, "highest learning rate of AdamW"),
        every=(250, "steps between two looks at the held-out text"),
        blocks=(4, "attention blocks"), width=(128, "width of the network"),
        heads=(4, "heads of each attention"), context=(64, "characters that it sees"),
        length=(600, "characters of the sample"))
    if not options.text:
        options.refuse("--text is needed")
    if options.width % options.heads:
        options.refuse("--heads: must divide --width")
    symbols, alphabet = support.read_text(options.text)
    most = len(symbols) - len(symbols) // 10
    text, unseen = mt.asarray(symbols[:most]), mt.asarray(symbols[most:])
    if len(unseen) <= options.context:
        options.refuse("--text: too short")

    def make():
        return Transformer(len(alphabet), options.context, options.width, options.heads,
                           options.blocks)

    network, reloaded = make(), make()
    optimizer = optim.AdamW(network.parameters(), options.rate)

    @mt.trace  # recorded once; each replay draws new stretches
    def step():
        starts = mt.random.integers(0, most - options.context, (options.sequences, 1))
        loss = network.loss(text, starts)
        loss.backward()
        optimizer.clip_grad_norm(1)
        optimizer.step()
        optimizer.zero_grad()
        return loss

    looks, losses, last, seconds = [], [], float("nan"), 0.0
    progress = support.Progress("step", options.steps)
    for i in range(options.steps):
        start = time.perf_counter()
        optimizer.lr = optim.schedule_warmup(1, i, 100) * optim.schedule_cosine(
            options.rate, i, options.steps, options.rate / 10)
        loss = step().item()
        seconds += time.perf_counter() - start
        losses.append(loss)
        if (i + 1) % options.every == 0 or i + 1 == options.steps:
            last = evaluate(network, unseen)
            looks.append((i + 1, np.mean(losses), last))
            losses = []
        progress.show(i + 1, f"loss {loss:.3f}" + (f"  held out {last:.3f} nats" if looks else ""))
    progress.end()

    weights = f"{options.out}.safetensors"
    network.save(weights)
    reloaded.load(weights)
    same = evaluate(reloaded, unseen) == last
    print(write(reloaded, alphabet, options.length, options.seed), end="\n\n")
    print(f"held out:    {last:.4f} nats a character")
    print(f"training:    {1e3 * seconds / options.steps:.3g} ms a step")
    status = support.report_weights(weights, same)
    at, trained_on, held_out = zip(*looks)
    support.picture(f"{options.out}.svg", "A small transformer learns to write", support.curves(
        at, [("trained on", trained_on), ("held out", held_out)], "step", "nats a character"))
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (mt.Error, OSError) as error:
        sys.exit(str(error))
