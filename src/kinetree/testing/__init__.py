"""Checks of mechanics and of compiled kernels that users run on their own robot."""

from kinetree.testing.battery import check_robot
from kinetree.testing.report import CheckFailure, CheckLine, CheckReport

__all__ = ["CheckFailure", "CheckLine", "CheckReport", "check_robot"]
