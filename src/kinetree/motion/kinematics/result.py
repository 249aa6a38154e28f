"""What inverse kinematics return."""

from dataclasses import dataclass

from kinetree.core.arrays import Array


@dataclass(frozen=True, eq=False)
class IKResult:
    """Joint positions that reach targets, or come nearest to them; arrays over the batch.

    Args:
        q: joint positions within the limits, shape (..., nq), rad or m.
        reached: whether all errors are at most the tolerance, shape (...).
        position_error: largest distance of a frame from its target, or gap of a closed loop,
            shape (...), m.
        rotation_error: largest angle between a frame and its target, shape (...), rad; 0 where
            targets are positions.
        restarts: further starts that were tried, shape (...), dimensionless.
        rotation_defect: largest |R^T R - 1| of the targets, which were replaced by the nearest
            rotations; 0 if it was rounding, dimensionless.
    """

    q: Array
    reached: Array
    position_error: Array
    rotation_error: Array
    restarts: Array
    rotation_defect: float = 0.0

    def __repr__(self) -> str:
        total = self.reached.size
        both = (self.position_error, self.rotation_error)
        far, turned = (float(x.max()) if total else 0.0 for x in both)
        errors = f"errors up to {far:.2g} m and {turned:.2g} rad"
        return f"IKResult({int(self.reached.sum())} of {total} reached, {errors})"
