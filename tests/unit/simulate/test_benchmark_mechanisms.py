"""Mechanisms of IFToMM's benchmark against their references, with each kind of method.

The mechanisms are those of examples/iftomm; tests/oracles/test_iftomm.py computes the references.
"""

import runpy
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from spacing import by

FOLDER = Path(__file__).parents[3] / "examples" / "iftomm"


@cache
def mechanism(name: str):
    """Data of the example, and its robot."""
    data = runpy.run_path(str(FOLDER / f"{name}.py"))
    return data, data["build"]()


@pytest.mark.parametrize(
    ("name", "method", "dt", "error"),
    [
        ("a01_pendulum", "Radau", 0.01, 1e-8),
        ("a01_pendulum", "rk4", 1e-3, 1e-10),
        ("a02_four_bars", "rk4", 1e-3, 2e-10),
        ("a02_four_bars", "DOP853", 0.1, 2e-6),
        ("a03_squeezer", "DOP853", 1e-3, 3e-8),
        ("a03_squeezer", "LSODA", 1e-3, 5e-7),
        ("a03_squeezer", "Radau", 1e-3, 1e-8),
        ("a03_squeezer", "rk4", 1e-5, 5e-9),
        ("a04_bricard", "Radau", 0.01, 1e-9),
        ("a04_bricard", "rk4", 1e-3, 1e-12),
        ("a05_governor", "rk4", 5e-5, 2e-10),
        ("a05_governor", "Radau", 0.1, 2e-10),
        ("a05_governor", "implicit", 1e-3, 3e-3),
    ],
)
def test_the_reference_is_reached(name: str, method: str, dt: float, error: float) -> None:
    data, robot = mechanism(name)
    run = robot.simulate(
        data["START"], data["RATES"], duration=data["SECONDS"], **by(method, dt),
        tau=data["TAU"], limits="ignore",
    )  # fmt: skip
    assert np.abs(data["measured"](robot, run)[-1] - data["END"]).max() < error
