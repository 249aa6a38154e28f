"""Controllers by name, with what they lead to and their gains as they are typed."""

from dataclasses import dataclass
from typing import Any

from kinetree import controllers
from kinetree.cli.trajectories import read_trajectory
from kinetree.cli.vectors import vector
from kinetree.errors import InputError
from kinetree.robot import Robot

GAINS = {"pd": ("kp", "kd"), "pd-gravity": ("kp", "kd"), "pid": ("kp", "kd", "ki")}


@dataclass(frozen=True)
class Control:
    """A controller as typed: its name, what it leads to, its gains."""

    name: str
    to: list[str] | None
    reference: str | None
    kp: float | None
    kd: float | None
    ki: float | None

    def make(self, robot: Robot, degrees: bool) -> Any:
        """The controller, or None."""
        if self.name == "none":
            self._refuse("to", "reference", "kp", "kd", "ki")
            return None
        if self.name == "gravity":
            self._refuse("to", "reference", "kp", "ki")
            return controllers.GravityCompensation(kd=self.kd or 0)
        goal = self._goal(robot, degrees)
        if self.name == "computed-torque":
            self._refuse("ki")
            kp = 100.0 if self.kp is None else self.kp
            return controllers.ComputedTorque(goal, kp, 20.0 if self.kd is None else self.kd)
        missing = [x for x in GAINS[self.name] if getattr(self, x) is None]
        if missing:
            raise InputError(
                f"--controller {self.name} needs --{' and --'.join(missing)}: gains in N m/rad and "
                "N m s/rad depend on the robot. computed-torque has gains of its own."
            )
        if self.name == "pid":
            return controllers.PID(goal, self.kp, self.kd, self.ki, gravity=True)
        self._refuse("ki")
        return controllers.PD(goal, self.kp, self.kd, gravity=self.name == "pd-gravity")

    def _goal(self, robot: Robot, degrees: bool) -> Any:
        if self.reference is not None and self.to:
            raise InputError("--to and --reference both say where to go; expected one of them.")
        if self.reference is not None:
            return read_trajectory(self.reference, robot, degrees)
        return vector(robot.model, "q", self.to, degrees)

    def _refuse(self, *options: str) -> None:
        given = [f"--{x}" for x in options if getattr(self, x) is not None]
        if given:
            raise InputError(
                f"--controller {self.name} has no use for {', '.join(given)}; leave it out."
            )
