"""Kernels of task-space dynamics: slopes of J, Lambda and eta, for some rows of a twist."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kinetree.algorithms.configuration import random
from kinetree.algorithms.derivatives.task_space import (
    TaskSpaceDerivatives,
    check_rows,
    task_slopes,
    tree_terms,
)
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.algorithms.task_space import task_space
from kinetree.base.arrays import Array, StateLike
from kinetree.base.labels import Alignment
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.kernels.compile import check_model, kernel_type, made_kernel, port_axes
from kinetree.kernels.memo import remembered
from kinetree.kernels.stored import stored_graph
from kinetree.model import Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinate_axis, dof_axis

RESULTS = (
    ("dJ_dq", ("k", "n", "n")),
    ("dLambda_dq", ("k", "k", "n")),
    ("deta_dq", ("k", "n")),
    ("deta_dv", ("k", "n")),
)


def compile_task_derivatives(
    model: Model,
    *,
    frame: str | None = None,
    expressed: str = "body",
    rows: Sequence[int] | None = None,
    target: str = "cpu",
) -> Any:
    """The kernel of dJ/dq, dLambda/dq, deta/dq and deta/d dq; see `task_space_derivatives`.

    Its arguments are q and dq. Where J has lost rank, Lambda and its slopes are not finite.
    """
    without_constraints(model, "task_space_derivatives")
    check_model(model)
    chosen = check_rows(model, rows)
    somewhere = random(model, np.random.default_rng(0))
    # refuses frames and axes that are unknown, and tasks that are singular wherever one looks
    task_space(model, somewhere, frame=frame, expressed=expressed, rows=chosen)
    letters = ("n",) if model.nq == model.n else ("nq",)
    ports = [Port("q", (model.nq,), letters), Port("dq", (model.n,), ("n",))]
    name = "task_space_derivatives"

    lean = lean_model(model)

    def slopes(q: Array, dq: Array) -> tuple[Array, ...]:
        return task_slopes(
            model, tree_terms(lean_tree(lean, q), dq), q, dq, frame, expressed, chosen
        )

    def make() -> Graph:
        return optimise(trace(slopes, ports, RESULTS))

    graph = stored_graph(model, (name, frame, expressed, tuple(chosen)), make)
    doc = f"dJ/dq, dLambda/dq, deta/dq, deta/d dq of {frame or model.tool!r} of {model.name}"
    return made_kernel(graph, kernel_type(target), name, doc, port_axes(model, graph))


def task_space_derivatives(
    model: Model,
    q: StateLike,
    dq: StateLike,
    *,
    frame: str | None = None,
    expressed: str = "body",
    rows: Sequence[int] | None = None,
) -> TaskSpaceDerivatives:
    """Partial derivatives of J, Lambda(q) and eta(q, dq), of any leading axes, from a kernel.

    Arguments as in `algorithms.task_space_derivatives`, which looks at one state. Where J has lost
    rank, the results are not finite, or large.
    """
    chosen = check_rows(model, rows)
    request = "task_space_derivatives", frame, expressed, tuple(chosen)
    make = partial(compile_task_derivatives, model, frame=frame, expressed=expressed, rows=chosen)
    given = [(q, coordinate_axis(model), "q"), (dq, dof_axis(model), "dq")]
    return TaskSpaceDerivatives(*remembered(model, request, make)(*Alignment(given).values))
