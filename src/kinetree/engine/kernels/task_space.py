"""Kernels of task-space dynamics: Lambda and eta for some rows of a twist.

`task_space` gives the record of `Robot.task_space` from a kernel. The kernel of the quantity
"task_space" has the arguments q and dq; it is made in further variants where damping or a tolerance
of the caller is one more argument. Rates follow from a twist V by J_bar at rest.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, cast

import numpy as np

from kinetree.core.arrays import ArrayLike, StateLike
from kinetree.core.options import name, optional_name
from kinetree.dynamics.constraints.quantities import check_honoured
from kinetree.dynamics.forward_dynamics import check_inertia
from kinetree.dynamics.task_space import (
    TOLERANCE,
    TaskSpace,
    not_negative,
    rates_of_twist,
    task_maker,
    task_space_at_state,
)
from kinetree.engine.compiler.graph import Port
from kinetree.engine.kernels.compile import compiled, variant
from kinetree.engine.kernels.memo import remembered
from kinetree.engine.kernels.ports import argument_port
from kinetree.engine.kernels.request import Request
from kinetree.errors import SingularityError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.model.quantity import task_rows
from kinetree.present.labels import Alignment

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
    if V is not None:
        choices: dict[str, Any] = {"frame": frame, "expressed": expressed, "rows": rows}
        choices |= {"damping": damping, "tolerance": tolerance}
        moved = rates_of_twist(task_space(model, q, **choices).J_bar, V, dq)
        return task_space(model, q, moved, **choices)
    option: Option = None
    usual = type(damping) is int and damping == 0 and type(tolerance) is float
    if not (usual and tolerance == TOLERANCE):
        damping, tolerance = not_negative(damping, "damping"), not_negative(tolerance, "tolerance")
        option = "damping" if damping != 0 else "tolerance" if tolerance != TOLERANCE else None
    chosen = None if rows is None else tuple(task_rows(rows))
    # looked up at every call, so the key is shorter than a Request
    key = NAME, optional_name(frame, "frame"), name(expressed, "expressed"), chosen, option
    if dq is None:  # a list may stand beside tensors, an array of NumPy may not
        dq = np.zeros(model.n) if type(q) is np.ndarray else [0.0] * model.n
    if type(q) is not np.ndarray or type(dq) is not np.ndarray:  # the record has plain arrays
        q, dq = Alignment([(q, coordinate_axis(model), "q"), (dq, dof_axis(model), "dq")]).values

    def alone() -> TaskSpace:
        """The textbook names what is wrong with one state: a singular Jacobian, or NaN in q."""
        limits = {"damping": damping, "tolerance": tolerance}
        return task_space_at_state(
            model, q, dq, frame=frame, expressed=expressed, rows=chosen, **limits
        )

    kernel = model.memo.get(key)
    if kernel is None:
        try:
            request = Request(NAME, frame=frame, expressed=expressed, rows=chosen)
            kernel = remembered(model, key, partial(_compiled, model, request, option))
        except SingularityError:
            if np.ndim(cast("Any", q)) == 1:
                alone()  # the same error at the state of the caller
            raise
    more = () if option is None else (damping if option == "damping" else tolerance,)
    found = TaskSpace(*kernel(q, dq, *more))
    Lambda = found.Lambda
    if type(Lambda) is np.ndarray and Lambda.ndim == 2 and Lambda[0, 0] != Lambda[0, 0]:
        return alone()
    return found


def _compiled(model: Model, request: Request, option: Option) -> Any:
    """The kernel of a task; an option is its third argument."""
    if option is None:
        return compiled(model, request)
    quantity, rows = request.quantity, request.choices["rows"]
    check_honoured(model, quantity)
    model.frame(request.frame)  # an unknown frame names the known ones
    ports = [argument_port(model, "q"), argument_port(model, "dq"), Port(option, ())]

    def make() -> Any:
        check_inertia(model)
        return task_maker(option)(model, True, request.frame, **request.choices)

    doc = f"{quantity.title} Frame {model.frame_name(request.frame)!r} of {model.name}"
    return variant(model, NAME, (request,), make, ports, quantity.outputs, doc, rows)
