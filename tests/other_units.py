"""The same robot described in other units: lengths in mm, masses in g, times in ms."""

from dataclasses import dataclass, replace

import numpy as np

from kinetree.friction import Friction
from kinetree.model import Frame, bounds_of


@dataclass(frozen=True)
class Units:
    """How many of the units a metre, a kilogram and a second are."""

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    def model(self, model):
        """The model, every number of which is in these units."""
        L, M = self.length, self.mass
        return model.replace(
            M_pi=np.array([self.pose(T) for T in model.M_pi]).reshape(-1, 4, 4),
            m=model.m * M,
            com=model.com * L,
            I_com=model.I_com * (M * L * L),
            gravity=model.gravity * L / self.time**2,
            joints=tuple(map(self.joint, model.joints)),
            rotors=tuple(
                replace(x, inertia=x.inertia * M * L * L, ratio=x.ratio / self.way(model, x.dof))
                for x in model.rotors
            ),
            frames={k: Frame(f.link, self.pose(f.T_if)) for k, f in model.frames.items()},
        )

    def pose(self, T):
        """T with its translation in these units."""
        T = np.array(T, float)
        T[:3, 3] *= self.length
        return T

    def joint(self, joint):
        """A joint that follows no other."""
        assert joint.follows is None
        own = self.length if joint.type == "prismatic" else 1.0
        force, rate = self.force(joint.type == "prismatic"), own / self.time
        screw = joint.screw
        if screw is not None and joint.type != "prismatic":
            screw = np.concatenate([screw[:3], screw[3:] * self.length])
        x, limits = joint.friction, joint.limits
        return replace(
            joint,
            screw=screw,
            offset=joint.offset * own,
            armature=joint.armature * force * self.time / rate,
            friction=Friction(
                tuple(c * force / rate for c in x.viscous), tuple(c * force for c in x.coulomb)
            ),
            limits=replace(
                limits,
                lower=limits.lower * own,
                upper=limits.upper * own,
                velocity=limits.velocity * rate,
                effort=limits.effort * force,
            ),
        )

    def way(self, model, dof):
        """What one of a position is."""
        return self.length if bounds_of(model).sliding[dof] else 1.0

    def force(self, sliding):
        """What one of a joint force is."""
        return self.mass * self.length / self.time**2 * (1.0 if sliding else self.length)

    def parameter(self, name):
        """What one of a parameter is, by the unit that SI gives it."""
        kg, m, s, newton = self.mass, self.length, self.time, self.force(True)
        return {
            "kg": kg, "kg m": kg * m, "kg m^2": kg * m * m, "N": newton, "N m": newton * m,
            "N s/m": newton * s / m, "N m s/rad": newton * m * s,
            "rad/s": 1 / s, "s/rad": s, "m/s": m / s, "s/m": s / m, "1": 1.0,
        }[name]  # fmt: skip

    def motion(self, model, q, dq, ddq, tau):
        """A motion of a robot without quaternions, and its joint forces."""
        slides = bounds_of(model).sliding
        way, force = np.where(slides, self.length, 1.0), [self.force(x) for x in slides]
        return q * way, dq * way / self.time, ddq * way / self.time**2, tau * np.array(force)


MM_G_MS = Units(1e3, 1e3, 1e3)
SYSTEMS = {
    "mm": Units(1e3),
    "mm, g, ms": MM_G_MS,
    "um": Units(1e6),
    "Mm, t": Units(1e-6, 1e-3),
    "hours": Units(1, 1, 1 / 3600),
}
