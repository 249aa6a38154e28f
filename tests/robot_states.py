"""Random robots with everything on them, and random states with every argument given."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.model import Model
from random_robots import ALL_TYPES, random_model

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class State:
    """A motion and all that acts on the robot."""

    q: Any
    dq: Any
    ddq: Any
    F_ext: Any
    F_tip: Any
    V_base: Any
    dV_base: Any

    @property
    def motion(self) -> tuple[Any, Any, Any]:
        return self.q, self.dq, self.ddq

    @property
    def wrenches(self) -> dict[str, Any]:
        return {"F_ext": self.F_ext, "F_tip": self.F_tip}

    @property
    def all(self) -> dict[str, Any]:
        return self.wrenches | {"V_base": self.V_base, "dV_base": self.dV_base}


@cache
def any_robot(seed: int, most: int = 30) -> Model:
    """1 to `most` joints of any type with full drives; every second a chain, every third mimics."""
    n = 1 + seed % most
    return random_model(seed, n, types=ALL_TYPES, chain=seed % 2 == 0, mimic=seed % 3 == 0)


def random_state(model: Model, seed: int) -> State:
    """A wrench on every link and at the tool, and a base that turns and accelerates."""
    rng = np.random.default_rng(seed)
    return State(
        dynamics.random(model, rng),
        *rng.normal(size=(2, model.n)),
        rng.normal(size=(len(model.links), 6)) * 5,
        *rng.normal(size=(3, 6)),
    )


def relative(found: Any, expected: Any) -> float:
    """Norm of the difference over the norm of what is expected."""
    found, expected = np.asarray(found), np.asarray(expected)
    return size(found - expected) / max(size(expected), 1e-300)


def size(x: Any) -> float:
    """Norm of all entries of any array of numbers, mpmath included."""
    return float(sum(v * v for v in np.ravel(x)) ** 0.5)
