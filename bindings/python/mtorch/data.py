# SPDX-License-Identifier: Apache-2.0
"""Data in batches: shuffled by a seed, made ready in the background, with progress."""
from __future__ import annotations

import contextlib
import hashlib
import math
import queue
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence

from . import native, random
from ._names import _explained
from .create import arange, asarray

if TYPE_CHECKING:
    from ._tensor import Tensor


class Dataset:
    """Items by index: a subclass defines __getitem__(i) and __len__().

    >>> import mtorch as mt
    >>> class Squares(mt.data.Dataset):
    ...     def __getitem__(self, index):
    ...         return mt.tensor(index * index)
    ...     def __len__(self):
    ...         return 4
    >>> [batch.tolist() for batch in mt.data.DataLoader(Squares(), batch_size=2)]
    [[0, 1], [4, 9]]
    """

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__()")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} defines no __len__()")


class TensorDataset(Dataset):
    """Items from tensors, or arrays, of the same length: item i has row i of each.

    >>> import mtorch as mt
    >>> mt.data.TensorDataset(mt.arange(4), mt.arange(4) * 10)[2]
    (tensor(2), tensor(20))
    """

    def __init__(self, *tensors: Any) -> None:
        self.tensors = [asarray(x) for x in tensors]
        lengths = sorted({len(x) for x in self.tensors})
        if len(lengths) != 1:
            raise ValueError(f"TensorDataset: tensors of the lengths {lengths}")

    def __getitem__(self, index: Any) -> Any:
        rows = tuple(x[index] for x in self.tensors)
        return rows if len(rows) > 1 else rows[0]

    def __len__(self) -> int:
        return len(self.tensors[0])


class Subset(Dataset):
    """Some items of another dataset, by their indices.

    >>> import mtorch as mt
    >>> mt.data.Subset([10, 11, 12], [2, 0])[0]
    12
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, list(indices)

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, sizes: Sequence[float], seed: int | None = None) -> list[Any]:
    """Datasets of so many items each, or of these parts of 1, drawn without repetition: by the thread's
    generator, unless a seed is given. ValueError unless they add up to the whole.

    >>> import mtorch as mt
    >>> some = mt.data.TensorDataset(mt.arange(10))
    >>> [len(part) for part in mt.data.random_split(some, [7, 3])]
    [7, 3]
    >>> [len(part) for part in mt.data.random_split(some, [0.75, 0.25])]
    [8, 2]
    """
    count, sizes = len(dataset), list(sizes)
    if any(isinstance(size, float) for size in sizes):
        if not math.isclose(sum(sizes), 1):
            raise ValueError(f"random_split: the parts {sizes} add up to {sum(sizes):g}, not to 1")
        ends = [round(count * sum(sizes[:i])) for i in range(len(sizes) + 1)]
        sizes = [end - begin for begin, end in zip(ends, ends[1:])]
    if sum(sizes) != count or min(sizes, default=0) < 0:
        raise ValueError(f"random_split: {sizes} of {count} items")
    drawing: Any = contextlib.nullcontext() if seed is None else random.Generator(seed)
    with drawing:
        parts = native.split_into(random.permutation(count), sizes, 0)
    if type(dataset) is TensorDataset:
        return [TensorDataset(*(x[part] for x in dataset.tensors)) for part in parts]
    return [Subset(dataset, part.tolist()) for part in parts]


def collate(items: Any) -> Any:
    """Items of one form, tensors, numbers, tuples or dictionaries of them, as one batch of it; texts
    become a list.

    >>> import mtorch as mt
    >>> mt.data.collate([(mt.ones(2), 3), (mt.zeros(2), 4)])
    (tensor([[1., 1.],
            [0., 0.]]), tensor([3, 4]))
    """
    first = items[0]
    if isinstance(first, (tuple, list)):
        return tuple(collate(parts) for parts in zip(*items))
    if isinstance(first, dict):
        return {key: collate([item[key] for item in items]) for key in first}
    if isinstance(first, (bool, int, float)):
        return asarray(list(items))
    if isinstance(first, (str, bytes)):
        return list(items)
    return native.stack([asarray(item) for item in items], 0)


class DataLoader:
    """The batches of a dataset, again at each iteration.

    With `shuffle` the order is drawn anew each time, from the thread's generator, which mt.seed()
    starts. With a `seed` it is a function of that and of how often it was drawn: the same epochs at
    every run, whatever else draws, and the same as in other languages. With `prefetch` so many
    batches are made ready by a thread of their own. `drop_last` leaves a smaller last batch out;
    `progress` shows a line by tqdm, when that is installed; `collate` puts items together, which a
    TensorDataset does not need: the library makes its batches, on `device` if that is given.

    What items draw, to vary pictures say, comes from a generator for each batch alone. It is decided by
    the epoch, the batch, and the `seed` or what was drawn in its place when the loader was made: other
    numbers in each epoch, and the same ones for any `prefetch`.

    >>> import mtorch as mt
    >>> loader = mt.data.DataLoader(mt.data.TensorDataset(mt.arange(5)), batch_size=2)
    >>> [batch.tolist() for batch in loader], len(loader)
    ([[0, 1], [2, 3], [4]], 3)
    """

    @_explained
    def __init__(self, dataset: Dataset, batch_size: int = 1, shuffle: bool = False, seed: int | None = None,
                 drop_last: bool = False, prefetch: int = 0, progress: bool = False,
                 collate: Callable[[list[Any]], Any] = collate, device: str | None = None) -> None:
        if batch_size < 1:
            raise ValueError(f"DataLoader: batch_size {batch_size}")
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        self.seed = None if seed == -1 else seed
        self.drop_last, self.prefetch, self.progress = drop_last, prefetch, progress
        self.collate, self.device = collate, device
        # What the items' numbers begin with; rows of tensors draw none.
        self._key = seed
        if self.seed is None and type(dataset) is not TensorDataset:
            self._key = random.integers(0, 1 << 62).item()
        self._epoch = self._first = 0  # what the next iteration begins with
        self._place = 0, 0  # of the batch after the latest

    def __len__(self) -> int:
        count = len(self.dataset)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def state_dict(self) -> dict[str, int]:
        """The place in the run: which batch of which epoch comes next; once a loop is left, that is the
        first of the next epoch. ValueError for an order that no seed decides.

        >>> import mtorch as mt
        >>> loader = mt.data.DataLoader(mt.data.TensorDataset(mt.arange(5)), batch_size=2)
        >>> for batch in loader:
        ...     print(batch.tolist(), loader.state_dict())
        [0, 1] {'epoch': 0, 'batch': 1}
        [2, 3] {'epoch': 0, 'batch': 2}
        [4] {'epoch': 1, 'batch': 0}
        """
        self._check_seed("state_dict")
        epoch, batch = self._place
        return {"epoch": epoch, "batch": batch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there: the next iteration gives what is left of that epoch. Numbers, or tensors
        of one, as they come from a file. ValueError for a place that this loader does not have."""
        self._check_seed("load_state_dict")
        if state.keys() != {"epoch", "batch"}:
            raise ValueError(f"load_state_dict: a loader keeps epoch and batch, not {sorted(state)}")
        epoch, batch = int(state["epoch"]), int(state["batch"])
        if epoch < 0 or not 0 <= batch < max(len(self), 1):
            raise ValueError(f"load_state_dict: batch {batch} of epoch {epoch}, of {len(self)} batches")
        self._epoch, self._first = self._place = epoch, batch

    def _check_seed(self, name: str) -> None:
        if self.shuffle and self.seed is None:
            raise ValueError(f"{name}: without a seed the thread's generator draws the order, so that there "
                             "is no way back to it; give a seed")

    def _rows(self, tensors: list[Tensor], prefetch: int) -> Iterator[list[Tensor]]:
        """The batches of the rows of tensors, in the order of a new epoch."""
        loader = native.new_loader(tensors, self.batch_size, self.shuffle,
                                   -1 if self.seed is None else self.seed,
                                   self.drop_last, prefetch, self.device)
        first = self._first
        native.loader_seek(loader, self._epoch, first)
        return (native.loader_batch(loader, len(tensors)) for _ in range(first, len(self)))

    def _batches(self) -> Iterator[Any]:
        if type(self.dataset) is TensorDataset:
            tensors = self.dataset.tensors
            rows = self._rows(tensors, self.prefetch)
            return map(tuple, rows) if len(tensors) > 1 else (batch for batch, in rows)
        parts, epoch = self._rows([arange(len(self.dataset))], 0), self._epoch
        batches = (self._made(part, epoch, batch)
                   for batch, part in enumerate([part.tolist() for part, in parts], self._first))
        return _in_background(batches, self.prefetch) if self.prefetch else batches

    def _made(self, part: list[int], epoch: int, batch: int) -> Any:
        place = f"{self._key} {epoch} {batch}".encode()
        seed = int.from_bytes(hashlib.blake2b(place, digest_size=7).digest(), "little")
        with random.Generator(seed):
            return self.collate([self.dataset[i] for i in part])

    def __iter__(self) -> Iterator[Any]:
        batches, epoch, first = self._batches(), self._epoch, self._first
        self._epoch, self._first = epoch + 1, 0
        batches = self._counted(batches, epoch, first)
        if self.progress:
            try:
                from tqdm import tqdm  # type: ignore
            except ImportError:
                return batches
            return iter(tqdm(batches, total=len(self), initial=first, leave=False))
        return batches

    def _counted(self, batches: Iterator[Any], epoch: int, first: int) -> Iterator[Any]:
        try:
            for i, batch in enumerate(batches, first + 1):
                self._place = (epoch, i) if i < len(self) else (epoch + 1, 0)
                yield batch
        finally:
            if self._place[0] == epoch:  # it ends early: what is left of the epoch does not come
                self._place = self._epoch, self._first


def _in_background(items: Any, most: int) -> Iterator[Any]:
    """The same items, made by another thread, which is at most so many ahead."""
    ready: queue.Queue[Any] = queue.Queue(most)
    ended = threading.Event()
    nothing = object()

    def put(item):
        while not ended.is_set():
            try:
                return ready.put(item, timeout=0.1)
            except queue.Full:
                continue

    def work():
        try:
            for item in items:
                _compute(item)
                put((item, None))
                if ended.is_set():
                    return
        except BaseException as error:  # comes out where the item would
            put((nothing, error))
        else:
            put((nothing, None))

    thread = threading.Thread(target=work, name="mtorch.data", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is nothing:
                return
            yield item
    finally:
        ended.set()
        thread.join()


def _compute(item: Any) -> None:
    """Computes the tensors of an item, so that the thread that takes it need not."""
    if isinstance(item, native.Tensor):
        native.eval(item)
    elif isinstance(item, (tuple, list)):
        for part in item:
            _compute(part)
    elif isinstance(item, dict):
        for part in item.values():
            _compute(part)
