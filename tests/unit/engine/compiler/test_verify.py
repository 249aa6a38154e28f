"""Each kind of illegal graph is refused, with the place named."""

from dataclasses import replace

import pytest

from kinetree.engine import Graph, Node, Port
from kinetree.engine.compiler.verify import verify
from kinetree.errors import GraphError

X = Port("x", (2,), ("n",))
LEGAL = Graph(
    nodes=(
        Node("input", value=(0, 0)),
        Node("input", value=(0, 1)),
        Node("const", value=2.0),
        Node("mul", (0, 2)),
        Node("fma", (0, 1, 3)),
    ),
    inputs=(X,),
    outputs=(Port("y", (2,), ("n",)),),
    results=((3, 4),),
)


def with_node(i, node):
    nodes = list(LEGAL.nodes)
    nodes[i] = node
    return replace(LEGAL, nodes=tuple(nodes))


def test_a_legal_graph_passes():
    verify(LEGAL)
    verify(Graph((), (), (), ()))
    both_zeros = (Node("const", value=0.0), Node("const", value=-0.0))
    verify(replace(LEGAL, nodes=(*LEGAL.nodes, *both_zeros)))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (with_node(3, Node("pow", (0, 2))), r"node 3 \(pow\) is not an operation"),
        (with_node(3, Node("mul", (0,))), r"node 3 \(mul\) has 1 arguments, 2 expected"),
        (with_node(3, Node("mul", (0, 4))), r"node 3 \(mul\) has node 4 as argument 1"),
        (with_node(3, Node("mul", (3, 0))), r"node 3 \(mul\) has node 3 as argument 0"),
        (with_node(3, Node("mul", (0, -1))), r"node 3 \(mul\) has node -1 as argument 1"),
        (with_node(3, Node("mul", (0, 2), 1.0)), r"node 3 \(mul\) has the value 1.0; None"),
        (with_node(2, Node("const", value=float("nan"))), r"node 2 \(const\) has the value nan"),
        (with_node(2, Node("const")), r"node 2 \(const\) has the value None; a finite float"),
        (with_node(2, Node("const", value=(0, 1))), r"node 2 .* a finite float is expected"),
        (with_node(1, Node("input", value=1.0)), r"node 1 \(input\) has the value 1.0"),
        (with_node(1, Node("input", value=(1, 0))), "reads input 1; the graph has 1 inputs"),
        (with_node(1, Node("input", value=(0, 2))), "element 2 of 'x', which has 2 elements"),
        (with_node(1, Node("input", value=(0, 0))), r"node 1 \(input\) repeats node 0"),
        (replace(LEGAL, results=((3,),)), "output 'y' has 1 nodes, 2 expected"),
        (replace(LEGAL, results=((3, 5),)), "element 1 of output 'y' is node 5"),
        (replace(LEGAL, results=()), "0 results for 1 outputs"),
        (replace(LEGAL, outputs=(Port("x", (2,)),)), "port 'x' occurs twice"),
        (replace(LEGAL, outputs=(Port("y", (2,), ("n", "m")),)), "2 dimension letters"),
        (replace(LEGAL, outputs=(Port("y", (-2,)),)), "lengths are whole numbers"),
        (
            replace(LEGAL, outputs=(Port("y", (3,), ("n",)),)),
            "dimension 'n' is 2 long in 'x' and 3 long in 'y'",
        ),
    ],
)
def test_an_illegal_graph_is_named(graph, message):
    with pytest.raises(GraphError, match=message):
        verify(graph)


def test_the_pass_is_named():
    with pytest.raises(GraphError, match=r"after the pass 'fuse': node 3 \(pow\)"):
        verify(with_node(3, Node("pow", (0, 2))), after="fuse")
