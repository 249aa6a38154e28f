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
    ("graph", "place"),
    [
        (with_node(3, Node("pow", (0, 2))), r"node 3 \(pow\)"),
        (with_node(3, Node("mul", (0,))), r"node 3 \(mul\) has 1 arguments"),
        (with_node(3, Node("mul", (0, 4))), r"node 3 \(mul\) has the arguments"),
        (with_node(3, Node("mul", (3, 0))), r"node 3 \(mul\) has the arguments"),
        (with_node(3, Node("mul", (0, -1))), r"node 3 \(mul\) has the arguments"),
        (with_node(3, Node("mul", (0, 2), 1.0)), r"node 3 \(mul\) .* the value 1.0"),
        (with_node(2, Node("const", value=float("nan"))), r"node 2 \(const\) .* the value nan"),
        (with_node(2, Node("const")), r"node 2 \(const\)"),
        (with_node(2, Node("const", value=(0, 1))), r"node 2 \(const\)"),
        (with_node(1, Node("input", value=1.0)), r"node 1 \(input\)"),
        (with_node(1, Node("input", value=(1, 0))), r"node 1 \(input\)"),
        (with_node(1, Node("input", value=(0, 2))), r"node 1 \(input\)"),
        (with_node(1, Node("input", value=(0, 0))), r"node 1 \(input\) repeats"),
        (with_node(3, Node("carried", (0,), (0, 0))), r"node 3 \(carried\)"),
        (with_node(3, Node("repeat", (0,))), r"node 3 \(repeat\)"),
        (replace(LEGAL, results=((3,),)), "lengths of the results"),
        (replace(LEGAL, results=((3, 5),)), "a result is no node"),
        (replace(LEGAL, results=()), "lengths of the results"),
        (replace(LEGAL, outputs=(Port("x", (2,)),)), "port 'x' occurs twice"),
        (replace(LEGAL, outputs=(Port("y", (2,), ("n", "m")),)), "port 'y' has letters"),
        (replace(LEGAL, outputs=(Port("y", (-2,)),)), "lengths are whole numbers"),
        (replace(LEGAL, outputs=(Port("y", (3,), ("n",)),)), "dimension 'n' is 2 long"),
    ],
)
def test_an_illegal_graph_is_named(graph, place):
    with pytest.raises(GraphError, match=place):
        verify(graph)


def test_the_pass_is_named():
    with pytest.raises(GraphError, match=r"after the pass 'fuse': node 3 \(pow\)"):
        verify(with_node(3, Node("pow", (0, 2))), after="fuse")
