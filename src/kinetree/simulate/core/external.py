"""ExternalInputs: the numbers that a compiled loop receives, constant or over time.

The loop reads them from two arrays: p with the constants of each rollout, and s with the values of
the functions of time at each stage of each step. Here they are laid side by side in these arrays,
and taken apart again by name inside the traced function.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError
from kinetree.simulate.core.laws import Parts
from kinetree.simulate.core.signals import TimeSource, is_on_gpu

NamedParts = Mapping[str, Parts]


@dataclass(frozen=True, eq=False)
class ExternalInputs:
    """Constants, each (*batch, *shape) with its shape, and functions of time, by name."""

    constants: Mapping[str, tuple[Array, tuple[int, ...]]] = field(default_factory=dict)
    sampled: Mapping[str, TimeSource] = field(default_factory=dict)

    @property
    def code_key(self) -> tuple[Hashable, Hashable]:
        """Names and shapes of constants and of functions: what compiled code depends on."""
        constants = tuple((name, shape) for name, (_, shape) in self.constants.items())
        return constants, tuple((name, source.shapes) for name, source in self.sampled.items())

    def with_constant(self, name: str, value: Array) -> "ExternalInputs":
        """The inputs with another constant, (..., size), as the last."""
        return replace(self, constants={**self.constants, name: (value, value.shape[-1:])})

    @property
    def batches(self) -> list[tuple[int, ...]]:
        """Leading shapes of all constants and functions."""
        batches = [x.shape[: x.ndim - len(shape)] for x, shape in self.constants.values()]
        return batches + [source.batch for source in self.sampled.values()]

    @property
    def on_gpu(self) -> bool:
        """True if any of the numbers lie on a GPU."""
        start = np.zeros(1), np.zeros(1, bool)
        values = [x for source in self.sampled.values() for x in source.at(*start)]
        return any(map(is_on_gpu, [*values, *(x for x, _ in self.constants.values())]))

    @property
    def params_size(self) -> int:
        """Constants of one rollout; at least one, since no array of a kernel is empty."""
        return max(1, sum(math.prod(shape) for _, shape in self.constants.values()))

    @property
    def table_size(self) -> int:
        """Numbers of one rollout at one time; at least one."""
        parts = [shape for source in self.sampled.values() for shape in source.shapes]
        return max(1, sum(math.prod(shape) for shape in parts))

    def table_rows(self, batch: tuple[int, ...]) -> int:
        """Rows of the table at one time: 1 if the rollouts of the batch share all functions."""
        return math.prod(batch) if any(source.batch for source in self.sampled.values()) else 1

    def params(self, batch: tuple[int, ...], xp: ModuleType = np, dtype: str = "float64") -> Array:
        """Return all constants as p, (B or 1, p), an array of the module xp (NumPy or CuPy)."""
        items = [(x, x.shape[: x.ndim - len(s)], s) for x, s in self.constants.values()]
        return _stacked((), batch, items, self.params_size, xp, dtype)

    def table(
        self,
        times: Array,
        ends: Array,
        batch: tuple[int, ...],
        xp: ModuleType = np,
        dtype: str = "float64",
    ) -> Array:
        """Return the values of the functions at `times`, (K,), as s, (K, B or 1, s)."""
        items: list[tuple[Array, tuple[int, ...], tuple[int, ...]]] = []
        for name, source in self.sampled.items():
            values = source.at(times, ends)
            if xp is np and any(map(is_on_gpu, values)):
                raise InputError(
                    f"values of {name} over time are on the GPU, but the simulation runs on the "
                    "CPU. Pass target='cuda', or copy the values: cupy.asnumpy(values)."
                )
            items += [(x, source.batch, s) for x, s in zip(values, source.shapes, strict=True)]
        return _stacked(times.shape, batch, items, self.table_size, xp, dtype)

    @property
    def places(self) -> dict[str, slice]:
        """Places of constants in p, and of functions of time in s, by name."""
        constants = _places({name: [shape] for name, (_, shape) in self.constants.items()})
        return constants | _places({name: x.shapes for name, x in self.sampled.items()})

    def named(self, p: Array, s: Array) -> dict[str, Parts]:
        """Take apart the constants p, (p,), and samples s, (s,), of one rollout, by name."""
        places, named = self.places, dict[str, Parts]()
        for name, (_, shape) in self.constants.items():
            named[name] = (p[places[name]].reshape(shape),)
        for name, source in self.sampled.items():
            ends = np.cumsum([math.prod(shape) for shape in source.shapes])[:-1]
            parts = zip(np.split(s[places[name]], ends), source.shapes, strict=True)
            named[name] = tuple(x.reshape(shape) for x, shape in parts)
        return named


def _places(shapes: Mapping[str, Sequence[tuple[int, ...]]]) -> dict[str, slice]:
    """The place of each name in an array of all numbers, one after the other."""
    places: dict[str, slice] = {}
    start = 0
    for name, parts in shapes.items():
        places[name] = slice(start, start + sum(map(math.prod, parts)))
        start = places[name].stop
    return places


def _stacked(
    lead: tuple[int, ...],
    batch: tuple[int, ...],
    items: Sequence[tuple[Array, tuple[int, ...], tuple[int, ...]]],
    size: int,
    xp: Any,
    dtype: str,
) -> Array:
    """Put arrays (*lead, *own, *shape) side by side as (*lead, B, size).

    B is 1 if no array has axes of a batch of its own.
    """
    wide = batch if any(axes for _, axes, _ in items) else ()
    total = xp.zeros((*lead, *wide, size), dtype)
    at = 0
    for x, axes, shape in items:
        end = at + math.prod(shape)
        spread = (1,) * (len(wide) - len(axes))
        x = xp.asarray(x, dtype).reshape((*lead, *spread, *axes, math.prod(shape)))
        total[..., at:end] = x
        at = end
    return total.reshape((*lead, math.prod(wide), size))
