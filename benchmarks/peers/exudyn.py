"""Exudyn: the bodies, joints, loops and springs of a mechanism in redundant coordinates.

Bodies have Euler parameters. The trapezoidal rule with index 2 keeps energies as well as Exudyn's
others do. Loops have the equations that kinetree finds independent. A body without inertia about
its centre is a mass on a bar.
"""

from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.peers import Absent
from kinetree.model import WORLD
from kinetree.model.constraints import Closure

AXES = [f"{kind}_{axis}" for kind in ("linear", "angular") for axis in "xyz"]


class Mechanism:
    """A robot in Exudyn, at a state, under constant joint forces of its base."""

    def __init__(self, robot: kt.Robot, q: Any, dq: Any, tau: Any) -> None:
        try:
            import exudyn
            from exudyn.utilities import RigidBodyInertia
        except ImportError:
            raise Absent("exudyn is not installed") from None
        self.exudyn, self.robot, model = exudyn, robot, robot.model
        self.system = exudyn.SystemContainer().AddSystem()
        ground = self.system.CreateGround()
        q, dq = np.array(q, float), np.array(dq, float)
        self.bodies: list[Any] = []
        for i, name in enumerate(model.link_names):
            T, V = robot.pose(q, name), robot.frame_velocity(q, dq, name, expressed="aligned")
            com = T[:3, :3] @ np.array(model.com[i], float)
            mass, inertia = float(model.m[i]), np.array(model.I_com[i], float)
            place = {
                "referencePosition": T[:3, 3] + com,
                "initialVelocity": V[3:] + np.cross(V[:3], com),
                "gravity": np.array(model.gravity[3:], float),
            }
            if not inertia.any():
                body = self.system.CreateMassPoint(mass=mass, **place)
            else:
                body = self.system.CreateRigidBody(
                    inertia=RigidBodyInertia(mass, inertia, [0, 0, 0]),
                    referenceRotationMatrix=T[:3, :3],
                    initialAngularVelocity=V[:3],
                    **place,
                )
            self.bodies.append(body)
            p, A = model.parent[i], T[:3, :3] @ np.array(model.A[i], float).reshape(2, 3).T
            ends = [ground if p == WORLD else self.bodies[p], body]
            if not inertia.any():
                self.system.CreateDistanceConstraint(itemNumbers=ends, localPosition0=T[:3, 3])
            elif A[:, 0].any():
                self.system.CreateRevoluteJoint(itemNumbers=ends, position=T[:3, 3], axis=A[:, 0])
            else:
                self.system.CreatePrismaticJoint(itemNumbers=ends, position=T[:3, 3], axis=A[:, 1])
            if p == WORLD and tau is not None and tau[i]:
                self.system.CreateTorque(itemNumber=body, loadVector=A[:, 0] * tau[i])
        constraints = model.constraints
        independent = [constraints.row_names[k] for k in constraints.basis] if constraints else []
        for item in constraints.items if constraints else ():
            assert isinstance(item, Closure) and item.kind == "axis"
            a, b = item.link_a, item.link_b
            on, T_i, other = (a, item.T_a, b) if a != WORLD else (b, item.T_b, a)
            T = robot.pose(q, model.link_names[on]) @ np.array(T_i, float)
            ends = [self.bodies[on], ground if other == WORLD else self.bodies[other]]
            self.system.CreateGenericJoint(
                itemNumbers=ends, position=T[:3, 3], rotationMatrixAxes=T[:3, :3],
                constrainedAxes=[f"{item.name}.{x}" in independent for x in AXES],
            )  # fmt: skip
        for spring in model.springs:
            first, last = spring.points
            at = [
                np.array(x.at, float)
                - (0 if x.link == WORLD else np.array(model.com[x.link], float))
                for x in (first, last)
            ]
            ends = [ground if x.link == WORLD else self.bodies[x.link] for x in (first, last)]
            self.system.CreateSpringDamper(
                itemNumbers=ends, localPosition0=at[0], localPosition1=at[1],
                referenceLength=float(spring.rest), stiffness=float(spring.stiffness),
                damping=float(spring.damping),
            )  # fmt: skip
        self.system.Assemble()

    def run(self, seconds: float, steps: int) -> None:
        """Simulate from the start."""
        settings = self.exudyn.SimulationSettings()
        settings.timeIntegration.endTime = seconds
        settings.timeIntegration.numberOfSteps = steps
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        settings.linearSolverType = self.exudyn.LinearSolverType.EigenDense
        self.system.SolveDynamic(
            settings, solverType=self.exudyn.DynamicSolverType.TrapezoidalIndex2
        )

    def centres(self) -> np.ndarray:
        """Centres of mass at the end of the run, (links, 3), m."""
        position = self.exudyn.OutputVariableType.Position
        return np.array([self.system.GetObjectOutputBody(x, position) for x in self.bodies])
