"""The kernel of `Robot.linearize`: A and B of small deviations, made of one graph.

The derivatives of forward dynamics are blocks of A and B. Joining them in NumPy takes ten times as
long as computing them, so the blocks are joined in the graph: its results are placed in A and B,
beside ones, zeros and the brackets of joints that turn.
"""

from functools import partial

import numpy as np

from kinetree.dynamics.derivatives.forward_dynamics import turning
from kinetree.engine.compiler.graph import Graph, Node, Port
from kinetree.engine.compiler.stepping import Composition
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.compile import trace_quantity
from kinetree.engine.kernels.memo import remembered
from kinetree.model import Model
from kinetree.model.contacts import check_no_contacts

NAME = "linearize"


def linear_kernel(model: Model, *, wrenches: bool = False) -> Kernel:
    """Return the kernel of A and B; F_ext is an argument, or makes a second kernel."""

    def make() -> Kernel:
        check_no_contacts(model, NAME)
        slopes = trace_quantity(model, "forward_dynamics_derivatives", wrenches=wrenches)
        graph = linear_graph(model, slopes)
        more = None if wrenches else ("F_ext", partial(linear_kernel, model, wrenches=True))
        return Kernel(graph, NAME, more=more)

    return remembered(model, (NAME, wrenches), make)


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
