"""Sweeps: any quantity of a robot over random or systematic arguments and data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.kernels.compile import compile_kernel
from kinetree.kernels.free import free_ports
from kinetree.kernels.quantities import find_quantity
from kinetree.model import Model
from kinetree.parallel.columns import result_columns
from kinetree.parallel.sampling import Arguments


class SweepStudy:
    """One row a sample: what was drawn, and the quantity there."""

    rows = 1

    def __init__(self, model: Model, seed: int, repeats: int, settings: Mapping[str, Any]) -> None:
        name, given, parameters = (settings[k] for k in ("quantity", "arguments", "parameters"))
        find_quantity(name)  # an unknown one is named before anything is compiled
        free = [port.name for port in free_ports(model, tuple(parameters))]
        self.kernel = compile_kernel(
            model, name, frame=settings["frame"], wrenches="F_ext" in given, free=free
        )
        ports = self.kernel.graph.inputs
        self.names = [port.name for port in ports]
        _check_names(name, given, [x for x in self.names if x not in free])
        shapes = {port.name: port.shape for port in ports}
        self.arguments = Arguments(model, seed, repeats, given, shapes, parameters)
        found = []
        for port in self.kernel.graph.outputs:
            found += result_columns(model, port.name, port.dims, port.shape)
        self.columns = (*self.arguments.columns, *found)
        self.seconds = 1e-7 * len(self.columns)  # more for what is drawn than for the kernel
        self.size = 8 * (2 * len(self.columns) + sum(port.size for port in ports))

    def warm(self) -> None:
        """Compile with one sample."""
        self.compute(np.arange(1))

    def compute(self, samples: Array) -> Array:
        """Rows of the samples, (S, 1, columns)."""
        S = len(samples)
        values = {name: self.arguments(name, samples) for name in self.names}
        found = self.kernel(*values.values())
        results = found if isinstance(found, tuple) else (found,)
        drawn = [values[name].reshape(S, -1) for name in self.arguments.drawn]
        return np.concatenate([*drawn, *(x.reshape(S, -1) for x in results)], -1)[:, None]


def _check_names(quantity: str, given: Mapping[str, Any], expected: list[str]) -> None:
    if set(given) != set(expected):
        raise InputError(
            f"{quantity} was given {', '.join(given) or 'nothing'}; expected {', '.join(expected)}."
        )
