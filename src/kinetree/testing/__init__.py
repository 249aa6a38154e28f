"""Checks that users run: of their own robot, and of this installation of kinetree."""

from kinetree.engine.kernels.request import quantities
from kinetree.testing.check import check_robot
from kinetree.testing.conformance import (
    Conformance,
    Finding,
    run_conformance,
)
from kinetree.testing.report import CheckFailure, CheckLine, CheckReport

__all__ = [
    "CheckFailure",
    "CheckLine",
    "CheckReport",
    "Conformance",
    "Finding",
    "check_robot",
    "quantities",
    "run_conformance",
]
