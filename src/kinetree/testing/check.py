"""check_robot: all laws and agreements on random states of one robot."""

from collections.abc import Sequence
from numbers import Real

import numpy as np

from kinetree.core.arrays import is_numeric
from kinetree.core.records import named_numbers
from kinetree.errors import InputError, NameLookupError
from kinetree.model.constrain import without_constraints
from kinetree.robot import Robot
from kinetree.testing.laws import (
    AGREEMENT,
    CHECKS,
    KERNEL_GROUP,
    KERNELS,
    LAWS,
    carry_out,
    kernel_checks,
    random_cases,
)
from kinetree.testing.report import SKIPPED, CheckLine, CheckReport

GROUPS = (LAWS, AGREEMENT, KERNEL_GROUP)


def check_robot(
    robot: Robot,
    *,
    states: int = 4,
    seed: int = 0,
    tolerance: float = 1.0,
    kernel_names: Sequence[str] | None = None,
) -> CheckReport:
    """Check a robot as kinetree's own tests do; failures are reported, not raised.

        report = kinetree.testing.check_robot(robot)
        print(report)
        report.raise_if_failed()

    There are three groups of checks: the laws of mechanics (M symmetric and positive definite,
    dM/dt - 2 C skew, g the gradient of U, the balance of power and others); the agreement of the
    four formulations and of the algorithms for M and ddq; and the compiled kernels against the
    direct evaluation. Checks that do not apply to the robot are skipped, with the reason.

    Args:
        robot: the robot, with numbers for all its data.
        states: number of random states, drawn within the joint limits.
        seed: of the random numbers; the same seed gives the same states.
        tolerance: factor on all limits, dimensionless.
        kernel_names: kernels to compile and compare, some of the names in
            `kinetree.testing.laws.KERNELS`; all of them when None. Compiling all of them for
            a humanoid takes half a minute.
    """
    if not isinstance(robot, Robot):
        raise InputError(
            f"check_robot was given a {type(robot).__name__}; expected a Robot. Write "
            "check_robot(Robot(model)) for a model, check_robot(kinetree.load(path)) for a file."
        )
    without_constraints(robot.model, "check_robot")
    if not all(is_numeric(np.asarray(x)) for _, x in named_numbers(robot.model)):
        raise InputError(
            f"{robot.name!r} has symbols or other objects instead of numbers; expected floats. "
            "Replace them first, e.g. with model.astype(float)."
        )
    if not isinstance(states, int) or states < 1:
        raise InputError(f"states is {states!r}; expected a whole number, 1 or more.")
    if not isinstance(tolerance, Real) or not tolerance > 0:
        raise InputError(f"tolerance is {tolerance!r}; expected a number above 0.")
    names = tuple(KERNELS) if kernel_names is None else tuple(kernel_names)
    for name in names:
        if name not in KERNELS:
            raise NameLookupError(
                f"there is no kernel {name!r} to check; expected some of {', '.join(KERNELS)}."
            )
    if (
        robot.model.tool is None and robot.n
    ):  # several tips: their Jacobians are like the first one's
        robot = robot.with_tool("checked tip", np.eye(4), frame=robot.model.tips[0])
    cases = random_cases(robot, states, seed)
    checks = [*CHECKS, *kernel_checks(robot, cases, names)]
    if robot.n == 0:
        lines = [CheckLine(x.group, x.law, SKIPPED, reason="no joint moves") for x in checks]
    else:
        lines = [carry_out(check, cases, tolerance) for check in checks]
    return CheckReport(robot.name, robot.n, states, seed, tuple(lines))
