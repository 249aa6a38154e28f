"""Kernels of task-space dynamics: Lambda and eta for some rows of a twist.

`task_space` gives the record of `Robot.task_space` from a kernel. The kernel of the quantity
"task_space" has the arguments q and dq; it is made in further variants where the rates follow from
a twist V, or where damping or a tolerance of the caller is one more argument.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, cast

import numpy as np

from kinetree.core.arrays import ArrayLike, StateLike
from kinetree.core.containers import label_kind
from kinetree.core.options import name, optional_name
from kinetree.dynamics.constraints.quantities import check_honoured
from kinetree.dynamics.forward_dynamics import check_inertia
from kinetree.dynamics.task_space import (
    TOLERANCE,
    TaskSpace,
    not_negative,
    task_maker,
    task_space_at_state,
)
from kinetree.engine.compiler.graph import Port
from kinetree.engine.kernels.compile import compiled, variant
from kinetree.engine.kernels.memo import remembered
from kinetree.engine.kernels.ports import argument_port
from kinetree.engine.kernels.request import Request
from kinetree.errors import InputError, SingularityError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.model.quantity import task_rows
from kinetree.present.labels import Alignment, Axis

NAME = "task_space"
Option = Literal["damping", "tolerance"] | None  # a third argument of the kernel


def task_space(
    robot: Model | HasModel,
    q: StateLike,
    dq: StateLike | None = None,
    *,
    V: ArrayLike | None = None,
    frame: str | None = None,
    expressed: str = "body",
    rows: Sequence[int] | None = None,
    damping: float = 0,
    tolerance: float = TOLERANCE,
) -> TaskSpace:
    """Dynamics of a frame: F = Lambda dV + eta, with the null space of the task.

    It is computed by a kernel, compiled at the first call for the frame, axes and rows; leading
    axes are states. `robot.compile("task_space", ...)` returns the kernel itself.

    Args:
        robot: a Robot or a Model.
        q: joint positions, shape (..., nq), rad or m.
        dq: joint rates, shape (..., n), rad/s or m/s; None: from V, or at rest.
        V: twist of the frame, shape (..., k) for k rows, rad/s and m/s, instead of dq.
        frame: name of a frame of the robot; None: the tool.
        expressed: "body", "space" or "aligned": the axes and reference point of twist and
            wrench, as in `frame_velocity`.
        rows: which of the six coordinates (three angular, three linear) make the task; None: all.
        damping: adds damping^2 to J M^-1 J^T near singularities; in the units of its square
            root.
        tolerance: J is singular if its smallest singular value is not above this; in the units
            of J.

    Returns:
        A record with J (..., k, n), dJ, Lambda (..., k, k), eta (..., k) with its parts mu and
        p, J_bar (..., n, k) and N (..., n, n). States of a batch in which J has lost rank have
        NaN in all but J and dJ.

    Raises:
        SingularityError: J has lost rank, for one state.

    Example:
        >>> robot = kt.robots.planar_2r()
        >>> robot.task_space([0.1, 0.2], rows=(3, 4)).Lambda.round(3)
        array([[295.486,  21.12 ],
               [ 21.12 ,   5.219]])
    """
    model = model_of(robot)
    if dq is not None and V is not None:
        raise InputError("give the joint rates dq or the twist V, not both.")
    option: Option = None
    usual = type(damping) is int and damping == 0 and type(tolerance) is float
    if not (usual and tolerance == TOLERANCE):
        damping, tolerance = not_negative(damping, "damping"), not_negative(tolerance, "tolerance")
        option = "damping" if damping != 0 else "tolerance" if tolerance != TOLERANCE else None
    chosen = None if rows is None else tuple(task_rows(rows))
    # looked up at every call, so the key is shorter than a Request
    key = (
        NAME, optional_name(frame, "frame"), name(expressed, "expressed"), chosen, V is not None,
        option,
    )  # fmt: skip
    motion = dq if V is None else V
    if motion is None:  # a list may stand beside tensors, an array of NumPy may not
        motion = np.zeros(model.n) if type(q) is np.ndarray else [0.0] * model.n
    if type(q) is not np.ndarray or type(motion) is not np.ndarray:
        q, motion = _plain(model, q, motion, "dq" if V is None else "V")

    def alone() -> TaskSpace:
        """The textbook names what is wrong with one state: a singular Jacobian, or NaN in q."""
        return task_space_at_state(
            model, q, None if V is not None else motion, V=V, frame=frame, expressed=expressed,
            rows=chosen, damping=damping, tolerance=tolerance,
        )  # fmt: skip

    kernel = model.memo.get(key)
    if kernel is None:
        try:
            request = Request(NAME, frame=frame, expressed=expressed, rows=chosen)
            kernel = remembered(
                model, key, partial(_compiled, model, request, V is not None, option)
            )
        except SingularityError:
            if np.ndim(cast("Any", q)) == 1:
                alone()  # the same error at the state of the caller
            raise
    more = () if option is None else (damping if option == "damping" else tolerance,)
    found = TaskSpace(*kernel(q, motion, *more))
    Lambda = found.Lambda
    if type(Lambda) is np.ndarray and Lambda.ndim == 2 and Lambda[0, 0] != Lambda[0, 0]:
        return alone()
    return found


def _plain(model: Model, q: Any, motion: Any, motion_name: str) -> tuple[Any, Any]:
    """The arguments without names: records of the task space are plain arrays."""
    if label_kind(type(q)) is None and label_kind(type(motion)) is None:
        return q, motion
    axis: Axis | None = dof_axis(model) if motion_name == "dq" else None
    plain = Alignment([(q, coordinate_axis(model), "q"), (motion, axis, motion_name)]).values
    return plain[0], plain[1]


def _compiled(model: Model, request: Request, by_twist: bool, option: Option) -> Any:
    """The kernel of a task; its arguments may be other ones than q and dq."""
    if not by_twist and option is None:
        return compiled(model, request)
    quantity, rows = request.quantity, request.choices["rows"]
    check_honoured(model, quantity)
    model.frame(request.frame)  # an unknown frame names the known ones
    motion = Port("V", (len(rows),), ("k",)) if by_twist else argument_port(model, "dq")
    ports = [argument_port(model, "q"), motion, *([] if option is None else [Port(option, ())])]

    def make() -> Any:
        check_inertia(model)
        maker = task_maker(by_twist=by_twist, option=option)
        return maker(model, True, request.frame, **request.choices)

    doc = f"{quantity.title} Frame {model.frame_name(request.frame)!r} of {model.name}"
    return variant(model, NAME, (request,), make, ports, quantity.outputs, doc, rows)
