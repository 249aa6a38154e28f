"""Feed: the numbers that a loop is given from outside, constant or over time, for each rollout."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.simulate.gpu_values import is_on_gpu

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Sampled:
    """A function of time that is evaluated outside the loop.

    at(times, ends), both (K,), gives one array (K, *batch, *shape) for each part; `batch` is that
    of the rollouts or (). `ends` marks times that end a step: what jumps there has its value from
    before. `breaks` are times at which it may jump or bend.
    """

    at: Callable[[Array, Array], Sequence[Array]]
    shapes: Shapes
    batch: tuple[int, ...] = ()
    breaks: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Feed:
    """Constants, each (*batch, *shape) with the shape named apart, and functions of time."""

    constants: Mapping[str, tuple[Array, tuple[int, ...]]] = field(default_factory=dict)
    sampled: Mapping[str, Sampled] = field(default_factory=dict)

    @property
    def batches(self) -> list[tuple[int, ...]]:
        """The leading shapes of everything that is fed."""
        found = [x.shape[: x.ndim - len(shape)] for x, shape in self.constants.values()]
        return found + [source.batch for source in self.sampled.values()]

    @property
    def params_size(self) -> int:
        """Numbers a rollout; at least one, since no array of a kernel is empty."""
        return max(1, sum(math.prod(shape) for _, shape in self.constants.values()))

    @property
    def table_size(self) -> int:
        """Numbers a rollout and time; at least one."""
        parts = [shape for source in self.sampled.values() for shape in source.shapes]
        return max(1, sum(math.prod(shape) for shape in parts))

    def params(self, batch: tuple[int, ...]) -> Array:
        """All constants, (B or 1, p)."""
        items = [(x, x.shape[: x.ndim - len(s)], s) for x, s in self.constants.values()]
        return _stacked((), batch, items, self.params_size)

    def table(self, times: Array, ends: Array, batch: tuple[int, ...]) -> Array:
        """What the functions of time give at `times`, (K,), as (K, B or 1, s)."""
        items = []
        for name, source in self.sampled.items():
            parts = zip(source.at(times, ends), source.shapes, strict=True)
            items += [(_numbers(x, name), source.batch, shape) for x, shape in parts]
        return _stacked(times.shape, batch, items, self.table_size)

    def given(self, p: Array, s: Array) -> dict[str, tuple[Array, ...]]:
        """Everything by name, as tuples of parts, out of one rollout's p and s."""
        found, at = {}, 0
        for name, (_, shape) in self.constants.items():
            size = math.prod(shape)
            found[name] = (p[at : at + size].reshape(shape),)
            at += size
        at = 0
        for name, source in self.sampled.items():
            parts = []
            for shape in source.shapes:
                size = math.prod(shape)
                parts.append(s[at : at + size].reshape(shape))
                at += size
            found[name] = tuple(parts)
        return found


def _numbers(x: Any, name: str) -> Array:
    if is_on_gpu(x):
        raise InputError(
            f"values of {name} over time are on the GPU, and the simulation is the CPU's; expected "
            "target='cuda', or values in the CPU's memory: cupy.asnumpy(values)."
        )
    return np.asarray(x, float)


def _stacked(
    lead: tuple[int, ...],
    batch: tuple[int, ...],
    items: Sequence[tuple[Array, tuple[int, ...], tuple[int, ...]]],
    size: int,
) -> Array:
    """Arrays (*lead, *own, *shape) side by side as (*lead, B or 1, size): 1 where none has more."""
    wide = batch if any(own for _, own, _ in items) else ()
    total = np.zeros((*lead, math.prod(wide), size))
    at = 0
    for x, own, shape in items:
        spread = (1,) * (len(wide) - len(own))
        x = x.reshape((*lead, *spread, *own, math.prod(shape)))
        x = np.broadcast_to(x, (*lead, *wide, math.prod(shape)))
        end = at + math.prod(shape)
        total[..., at:end] = x.reshape((*lead, math.prod(wide), math.prod(shape)))
        at = end
    return total
