"""The kernel of `Robot.linearize`: A and B of small deviations, made of one graph.

The derivatives of forward dynamics are blocks of A and B. Joining them in NumPy takes ten times as
long as computing them, so for robots with few joints the blocks are joined in the graph: its
results are placed in A and B, beside ones, zeros and the brackets of joints that turn. For larger
robots the time to compile a second kernel of that size would not pay.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from kinetree.core.arrays import ArrayLike, StateLike
from kinetree.dynamics.derivatives.forward_dynamics import Linearization, turning
from kinetree.engine.compiler.graph import Graph, Node, Port
from kinetree.engine.compiler.stepping import Composition
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.compile import trace_quantity
from kinetree.engine.kernels.memo import remembered
from kinetree.model import Model
from kinetree.model.contacts import check_no_contacts

JOINED_DOFS = 12  # degrees of freedom up to which the kernel is made
DQ = 1  # the place of dq among the arguments
DOUBLE = np.dtype(np.float64)
REQUEST = "linear system"

System = Callable[[StateLike, StateLike, StateLike, ArrayLike | None], Linearization | None]


def linear_system(model: Model) -> System:
    """Return a function of q, dq, tau and F_ext that returns A and B.

    It returns None for arguments other than float64 arrays, and for larger robots. The memo of the
    model has it under REQUEST, where `Robot.linearize` looks before it imports this module.
    """
    check_no_contacts(model, "linearize")
    kernels = list[Kernel]()

    def system(
        q: StateLike, dq: StateLike, tau: StateLike, F_ext: ArrayLike | None
    ) -> Linearization | None:
        if not (type(q) is np.ndarray and type(dq) is np.ndarray and type(tau) is np.ndarray):
            return None
        if not (q.dtype is DOUBLE and dq.dtype is DOUBLE and tau.dtype is DOUBLE):
            return None
        if not kernels:
            kernels.append(make_linear_kernel(model))
        return Linearization(*kernels[0](q, dq, tau, F_ext))

    return remembered(model, REQUEST, lambda: system if model.n <= JOINED_DOFS else _nothing)


def _nothing(q: StateLike, dq: StateLike, tau: StateLike, F_ext: ArrayLike | None) -> None:
    return None


def make_linear_kernel(model: Model, *, wrenches: bool = False) -> Kernel:
    """Compile the kernel, with F_ext as an argument or as one that makes a second kernel."""
    graph = trace_quantity(model, "forward_dynamics_derivatives", wrenches=wrenches)
    larger: Callable[[], Kernel] = partial(make_linear_kernel, model, wrenches=True)
    more = None if wrenches else ("F_ext", larger)
    return Kernel(linear_graph(model, graph), "linearize", dtypes=("float64",), more=more)


def linear_graph(model: Model, graph: Graph) -> Graph:
    """Return the graph of A (2n, 2n) and B (2n, n) from that of d ddq/d(q, dq, tau).

    A = [-ad(dq), 1; d ddq/d q, d ddq/d dq] and B = [0; d ddq/d tau].
    """
    n = model.n
    whole = Composition(graph.inputs)
    slopes = whole.place(graph, *(whole.places[port.name] for port in graph.inputs))
    by_q, by_dq, by_tau = (np.reshape(result, (n, n)) for result in slopes)
    brackets = trace(lambda dq: -turning(model, dq), [Port("dq", (n,))], [("ad", ())])
    turned = np.reshape(whole.place(brackets, whole.places["dq"])[0], (n, n))
    zero, one = (whole.add(Node("const", value=x)) for x in (0.0, 1.0))
    zeros, ones = np.full((n, n), zero), np.where(np.eye(n, dtype=bool), one, zero)
    A, B = np.block([[turned, ones], [by_q, by_dq]]), np.block([[zeros], [by_tau]])
    outputs = Port("A", (2 * n, 2 * n)), Port("B", (2 * n, n))
    return whole.graph(outputs, [x.ravel().tolist() for x in (A, B)])
