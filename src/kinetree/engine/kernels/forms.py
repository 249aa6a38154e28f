"""The form of a kernel's code: straight-line, or loops over the links of a long robot.

Straight-line code contains the numbers of the robot as constants. It runs fastest, but the longer
it is, the longer it takes to compile. A loop runs the same few pieces of code for every link and
reads the numbers of the robot from tables. It compiles in about the same time for ten joints and
for a thousand, and for long robots it runs as fast. The last bits of the two forms differ.
Therefore the form depends only on the robot and the quantity, and never changes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.engine.compiler.graph import Graph, Port
from kinetree.model import Model

# quantities that consist of one pass over the links outward and one inward: operations for one
# generic link; the last takes 450, and is given 300 so that humanoids keep straight-line code
INVERSE = 165
RECURSIONS = {
    **dict.fromkeys(
        ("inverse_dynamics", "bias_forces", "gravity_forces", "coriolis_forces"), INVERSE
    ),
    "kinetic_energy": 115,
    "momentum": 125,
    "centroidal_momentum": 280,
    "center_of_mass_jacobian": 70,
    "centroidal_momentum_matrix": 190,
    "centroidal_momentum_matrix_rate": 300,
}
# quantities of a frame, one pass over the links on the way from the frame to the base
WALKS = {
    "pose": 60,
    "body_jacobian": 66,
    "space_jacobian": 115,
    "body_jacobian_rate": 108,
    "space_jacobian_rate": 168,
    "frame_velocity": 78,
    "frame_acceleration": 131,
}
# matrices, which have an entry for every joint and ancestor: operations for a link, for a pair, and
# for a joint and two of its ancestors. Mass matrices count more than there are, by a quarter and
# twice: their loops lose least
SECOND = "second derivatives of inverse_dynamics"
MATRICES = {
    "mass_matrix": (200, 38, 0),
    "inverse_mass_matrix": (160, 30, 10),
    "coriolis_matrix": (400, 84, 0),
    "mass_matrix_rate": (400, 84, 0),
    "inverse_dynamics_derivatives": (650, 135, 0),
    "bias_forces_rate": (650, 140, 0),
    "task_space": (600, 60, 2),
    SECOND: (500, 170, 0),
}
FORWARD = "forward_dynamics"
STEP = "step_"  # before the names of methods

ZEROS_OF_ONE_AXIS = 4  # zeros in the matrix of a turn about one axis
ONE_AXIS_SHARE = (
    0.65  # of these operations, for a link turned about one axis of its parent, or none
)
LONGEST_STRAIGHT = 15_000  # estimated operations up to which code is straight-line
LONGEST_MATRIX = 110_000  # the same for matrices, whose loops take 1.2 to 1.7 times as long


def is_looped(model: Model, name: str, frame: str | None = None) -> bool:
    """Return True if a quantity of a robot is compiled as loops over its links.

    frame: of a quantity of a frame; the tool when None.
    """
    forward = name == FORWARD or _is_explicit_step(name)
    if not forward and name not in (*MATRICES, *RECURSIONS, *WALKS):
        return False
    if model.constraints is not None:
        return False
    if any(spring.points for spring in model.springs):  # a path needs the poses of its links
        return False
    links = model.path(model.frame(frame).link) if name in WALKS else list(model.links)
    plain = (np.asarray(model.M_pi)[links, :3, :3] == 0).sum((1, 2)) >= ZEROS_OF_ONE_AXIS
    share = 1 - (1 - ONE_AXIS_SHARE) * float(plain.sum()) / max(1, len(plain))
    if name in MATRICES:
        counts = len(links), related(model, 1), related(model, 2)
        return float(np.dot(MATRICES[name], counts)) * share > LONGEST_MATRIX
    operations = float((RECURSIONS | WALKS).get(name, INVERSE) * len(links))
    if forward and operations * share <= LONGEST_STRAIGHT:
        from kinetree.dynamics.grouping import estimated

        operations += estimated(model)[1]
    return operations * share > LONGEST_STRAIGHT


def related(model: Model, count: int) -> int:
    """How many choices of a degree of freedom and `count` of it and those before it there are."""
    before: list[int] = []  # degrees of freedom up to each link
    for link, parent in enumerate(model.parent):
        own = len(model.joints[link].dofs)
        before.append(own + (before[parent] if parent >= 0 else 0))
    return sum(n**count * len(joint.dofs) for n, joint in zip(before, model.joints, strict=True))


def _is_explicit_step(name: str) -> bool:
    if not name.startswith(STEP):
        return False
    from kinetree.dynamics.steps import METHODS  # not needed by most robots

    method = METHODS.get(name.removeprefix(STEP))
    return method is not None and not method.implicit


def computation(
    function: Callable[..., Any],
    inputs: Sequence[Port],
    outputs: Sequence[tuple[str, tuple[str, ...]]],
    *,
    looped: bool,
) -> Graph:
    """Return the optimised graph of a function, or its program, which takes the place of one.

    Arguments as in `trace`; looped: loop over the pieces of the function.
    """
    # the compiler is not imported for code that is stored on disk
    if looped:
        from kinetree.engine.compiler.recorder import recorded

        return recorded(function, inputs, outputs)
    from kinetree.engine.compiler.optimise import optimise
    from kinetree.engine.compiler.trace import trace

    return optimise(trace(function, inputs, outputs))
