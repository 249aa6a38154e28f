"""Equality constraints of MuJoCo made ever harder, against exact ones at the same states.

MuJoCo minimises a cost whose solution has (A + R) f = -(J ddq_free + gamma) with A = J M^-1 J^T and
a diagonal R = (1 - d) / d times an estimate of the diagonal of A at the reference position, from
`body_invweight0` and `dof_invweight0`. The impedance d cannot exceed 0.9999. Exact constraints are
the limit R = 0. Three ways lead there:

- d = 0.9, 0.99, 0.999, 0.9999: differences shrink with R;
- a parabola in R through d = 0.9996, 0.9998 and 0.9999, extrapolated to R = 0;
- d = 0.9999 with the two estimates multiplied by 1e-2 to 1e-8, which divides R likewise.

Positions are closed and rates allowed, so that MuJoCo's springs of constraints (solref) are at
rest. Contacts, joint limits, dry friction and actuators are off. Errors below that of the trees
without constraints, which the last column has, are not errors of constraints.

    python tests/oracles/mujoco_stiffness.py FOLDER ...    # a table of all files below folders
"""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mujoco_files import compiled, mjcf_files, size, switch_off

import kinetree as kt
from kinetree import algorithms, convert
from kinetree.algorithms.stiction import without_dry_friction

IMPEDANCES = (0.9, 0.99, 0.999, 0.9999)
PARABOLA = (0.9996, 0.9998, 0.9999)
DIVISORS = (1e2, 1e4, 1e8)
CLOSED = 1e-13  # rad or m; MuJoCo's springs make an acceleration of 2,500 times the rest
MOST_DOFS = 60  # of a file, for time


class Stiffness:
    """A robot in both programs, at one closed state with random joint forces."""

    def __init__(self, robot: kt.Robot, theirs: Any, seed: int, *, moving: bool) -> None:
        import mujoco

        self.mujoco: Any = mujoco
        self.robot, self.m = robot, theirs
        self.weights = theirs.body_invweight0.copy(), theirs.dof_invweight0.copy()
        harden(mujoco, theirs)
        names = [theirs.joint(j).name or f"#j{j}" for j in range(theirs.njnt)]
        self.there = convert.to_mujoco(robot, names)
        self.back = convert.from_mujoco(robot, names)
        rng = np.random.default_rng(seed)
        self.q = closed_near(robot, self.back.q(theirs.qpos0), rng)
        dq = rng.normal(size=robot.n) if moving else np.zeros(robot.n)
        self.dq = algorithms.project_rates(robot.model, self.q, dq)
        self.tau = rng.normal(size=robot.n) * 0.1
        self.exact = robot.forward_dynamics(self.q, self.dq, self.tau)

    def forward(self, d: float = IMPEDANCES[-1], divisor: float = 1) -> Any:
        """MuJoCo's data after mj_forward, with the impedance d and R divided."""
        m = self.m
        m.eq_solimp[:] = [d, d, 0.001, 0.5, 2]
        m.body_invweight0[:], m.dof_invweight0[:] = (x / divisor for x in self.weights)
        data = self.mujoco.MjData(m)
        data.qpos[:], data.qvel[:] = self.there.q(self.q), self.there.dq(self.q, self.dq)
        data.qfrc_applied[:] = self.there.tau(self.q, self.tau)
        self.mujoco.mj_forward(m, data)
        return data

    def acceleration(self, d: float = IMPEDANCES[-1], divisor: float = 1) -> np.ndarray:
        """MuJoCo's acceleration in the order of kinetree."""
        data = self.forward(d, divisor)
        return self.back.ddq(data.qpos, data.qvel, data.qacc)

    def error(self, ddq: np.ndarray) -> float:
        """Largest difference from the exact acceleration, as a part of its largest entry."""
        return size(ddq - self.exact) / size(self.exact)

    def by_impedance(self) -> list[float]:
        """Errors at each of IMPEDANCES."""
        return [self.error(self.acceleration(d)) for d in IMPEDANCES]

    def by_divisor(self, divisors: Sequence[float] = DIVISORS) -> list[float]:
        """Errors at the largest impedance with R divided."""
        return [self.error(self.acceleration(divisor=x)) for x in divisors]

    def extrapolated(self) -> float:
        """Error of the parabola in R through PARABOLA at R = 0, which uses no other setting."""
        R = [(1 - d) / d for d in PARABOLA]
        found = np.zeros(self.robot.n)
        for k, d in enumerate(PARABOLA):
            others = [R[i] for i in range(len(R)) if i != k]
            found = found + self.acceleration(d) * np.prod([x / (x - R[k]) for x in others])
        return self.error(found)

    def tree_error(self) -> float:
        """The same for the trees without constraints, as a part of the exact acceleration."""
        data, tree = self.forward(), self.robot.unconstrained()
        free = self.back.ddq(data.qpos, data.qvel, data.qacc_smooth)
        own = tree.forward_dynamics(self.q, self.dq, self.tau)
        return size(free - own) / size(self.exact)

    def softness(self) -> float:
        """Largest R as a part of the diagonal of A, at the largest impedance."""
        self.m.opt.jacobian = self.mujoco.mjtJacobian.mjJAC_DENSE
        data, m = self.forward(), self.m
        J, M = data.efc_J.reshape(-1, m.nv), np.zeros((m.nv, m.nv))
        for line, unit in zip(M, np.eye(m.nv), strict=True):
            self.mujoco.mj_mulM(m, data, line, unit)
        A = np.einsum("ij,ji->i", J, np.linalg.solve(M, J.T))
        own = A > 1e-12 * A.max()  # a row of zeros pushes nothing
        return float((data.efc_R[own] / A[own]).max())


def harden(mujoco: Any, m: Any) -> None:
    """Switch all but the equality constraints off in MuJoCo, and make its solver exact."""
    m.opt.tolerance, m.opt.iterations = 0, 200
    flags = mujoco.mjtDisableBit
    for flag in (flags.mjDSBL_CONTACT, flags.mjDSBL_LIMIT, flags.mjDSBL_FRICTIONLOSS):
        m.opt.disableflags |= int(flag)
    m.opt.disableflags |= int(flags.mjDSBL_ACTUATION)


def closed_near(robot: kt.Robot, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A closed position a random distance from q; nearer, where none is found far away."""
    way = rng.normal(size=robot.n)
    for distance in (0.2, 0.05, 0.01):
        try:
            return robot.project(robot.integrate(q, distance * way), tolerance=CLOSED)
        except kt.KinetreeError:
            continue
    return robot.project(q, tolerance=CLOSED)


def from_file(path: Path, seed: int, *, moving: bool) -> Stiffness:
    """A file in both programs, with its dampers and springs, without dry friction."""
    import mujoco

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs: Any = compiled(mujoco, path)
        if theirs.nv > MOST_DOFS:
            raise ValueError(f"{theirs.nv} degrees of freedom; expected {MOST_DOFS} at most")
        robot = kt.Robot(without_dry_friction(kt.load(path).model))
    switch_off(theirs, [])
    return Stiffness(robot, theirs, seed, moving=moving)


def row(path: Path) -> str | None:
    """A line of the table; None if the file has no constraints."""
    name = f"{path.parent.name}/{path.name}"
    if "<equality" not in path.read_text("utf8", "replace"):
        return None
    cells, found = list[str](), None
    try:
        for moving in (False, True):
            found = from_file(path, 17, moving=moving)
            errors = [*found.by_impedance(), found.extrapolated(), *found.by_divisor()]
            errors.append(found.tree_error())
            cells.append(" | ".join(f"{x:.0e}" for x in errors))
    except (ValueError, kt.KinetreeError) as error:
        return f"{name}: {str(error).splitlines()[0][:200]}"
    assert found is not None
    mobility = found.robot.mobility
    rows = f"{len(mobility.rows)} ({len(mobility.redundant)})"
    head = f"| {name} | {found.robot.n} | {rows} | {found.softness():.0e} |"
    return f"{head} rest | {cells[0]} |\n| | | | | moving | {cells[1]} |"


def main() -> None:
    """Print the table of all files with constraints below the folders of the command line."""
    heads = ["file", "n", "rows (redundant)", "R / A", "state", *(f"d = {d}" for d in IMPEDANCES)]
    heads += ["extrapolated", *(f"R / {x:.0e}" for x in DIVISORS), "tree"]
    print(f"| {' | '.join(heads)} |")
    print(f"|---|--:|--:|--:|---|{'--:|' * (len(heads) - 5)}")
    for path in mjcf_files(Path(x) for x in sys.argv[1:]):
        line = row(path)
        if line is not None:
            print(line, flush=True)


if __name__ == "__main__":
    main()
