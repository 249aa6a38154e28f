"""What rotors add to C: the terms of `algorithms.coriolis_matrix`, walked from carrier to base."""

from typing import Any

from kinetree.algorithms.lean.model import LeanModel
from kinetree.algorithms.lean.motion import Step, subspace
from kinetree.base.arrays import Array
from kinetree.model import WORLD, JointRotor
from kinetree.spatial import cross


def add_rotors(
    lean: LeanModel, steps: list[Step], omega: dict[int, Array], dq: Array, C: list[list[Any]]
) -> list[list[Any]]:
    """C with the rotors' part: w (e db^T + (y e^T - e y^T - dq_e J^T [s] J) / 2)."""
    for rotor in lean.rotors:
        if rotor.link != WORLD:
            _add_rotor(lean, steps, omega, dq, C, rotor)
    return C


def _add_rotor(
    lean: LeanModel,
    steps: list[Step],
    omega: dict[int, Array],
    dq: Array,
    C: list[list[Any]],
    rotor: JointRotor,
) -> None:
    e, k = rotor.dof, rotor.link
    weight = rotor.inertia * rotor.ratio
    s, gyro, j = rotor.s * weight, cross(omega[k], rotor.s * weight), k
    inside: list[tuple[int, Array]] = []  # (degree of freedom, s x w) of the links passed so far
    while j != WORLD:
        link = lean.links[j]
        A = subspace(link)
        for a, d in enumerate(link.joint.dofs):
            w = A[:3, a]
            y = w @ gyro / 2
            C[e][d] = C[e][d] + w @ (cross(s, omega[j]) + gyro) - y
            C[d][e] = C[d][e] + y
            for b, turned in [*inside, *((x, cross(s, A[:3, m])) for m, x in _own(link, a))]:
                entry = w @ turned * dq[e] / 2
                C[d][b] = C[d][b] - entry
                C[b][d] = C[b][d] + entry
        inside += [(d, cross(s, A[:3, a])) for a, d in enumerate(link.joint.dofs)]
        inside = [(d, steps[j].inward(x)) for d, x in inside]
        s, gyro, j = steps[j].inward(s), steps[j].inward(gyro), link.parent


def _own(link: Any, a: int) -> list[tuple[int, int]]:
    """The joint's own degrees of freedom before number a, as (number, degree of freedom)."""
    return [(m, d) for m, d in enumerate(link.joint.dofs) if m < a]
