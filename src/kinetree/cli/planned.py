"""Motions that commands make: written as CSV, plotted, shown with the loads of the joints."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinetree.cli import recordings, states, writer
from kinetree.cli.options import Options
from kinetree.core.text import counted
from kinetree.motion.limits.report import MOVING, LimitReport
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot


@dataclass(frozen=True, eq=False)
class Planned:
    """A planned motion, with the loads of the joints.

    words: on the plan, for the title; about: further entries of JSON.
    """

    robot: Robot
    motion: Trajectory
    report: LimitReport
    words: str
    about: Mapping[str, Any]

    def write(self, output: Path | None, plot: Path | None, options: Options) -> None:
        """Write the motion to the output, and a table of loads or JSON to standard output."""
        degrees, model = options.degrees, self.robot.model
        shown = recordings.in_users_units(self.motion, model, degrees)
        if plot is not None:
            self.motion.plot(plot, robot=self.robot)
        recordings.write_motion(self.motion, model, output, degrees)
        if options.json:
            loads = self.report.to_dict(degrees)["joints"]
            times = {"duration": self.motion.duration, "loads": loads}
            about = states.document(model, {}, degrees, *(x for x in shown if x != "t"))
            writer.print_json(about | dict(self.about) | times | shown)
        elif output != writer.STDOUT:
            samples = counted(len(self.motion), "sample")
            title = f"{self.robot.name}: {self.motion.duration:.4g} s, {samples}, {self.words}"
            writer.show([title, self.report.table(MOVING, degrees=degrees)])
