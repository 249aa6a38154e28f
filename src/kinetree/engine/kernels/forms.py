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

from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.model import Model

# operations of inverse dynamics for one generic link, which a step of a method takes for each rate
INVERSE = 165
SECOND = "second derivatives of inverse_dynamics"
OF_SECOND = (500, 170, 0)  # its operations for a link, a pair and a triple of joints
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
    counts = OF_SECOND if name == SECOND else DECLARED[name].loops if name in DECLARED else ()
    if not (forward or counts) or model.constraints is not None:
        return False
    if any(spring.points for spring in model.springs):  # a path needs the poses of its links
        return False
    # of a frame, a loop passes the links on the way from it to the base
    framed = name in DECLARED and DECLARED[name].framed and len(counts) == 1
    links = model.path(model.frame(frame).link) if framed else list(model.links)
    plain = (np.asarray(model.M_pi)[links, :3, :3] == 0).sum((1, 2)) >= ZEROS_OF_ONE_AXIS
    share = 1 - (1 - ONE_AXIS_SHARE) * float(plain.sum()) / max(1, len(plain))
    if len(counts) > 1:
        joints = len(links), related(model, 1), related(model, 2)
        return float(np.dot(counts, joints)) * share > LONGEST_MATRIX
    operations = float((counts[0] if counts else INVERSE) * len(links))
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
