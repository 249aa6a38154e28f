"""From a traced graph to the graph that backends compile."""

from kinetree.compiler.collection import no_collection
from kinetree.compiler.factor import factor
from kinetree.compiler.fuse import fuse
from kinetree.compiler.graph import Graph
from kinetree.compiler.prune import prune
from kinetree.compiler.reciprocals import reciprocals
from kinetree.compiler.schedule import schedule
from kinetree.compiler.signs import resolve_signs
from kinetree.compiler.verify import verify

PASSES = (prune, factor, reciprocals, resolve_signs, fuse, schedule)


@no_collection()
def optimise(graph: Graph) -> Graph:
    """The same values in exact arithmetic, with fewer operations, fused and well ordered.

    The graph is verified before the first pass and after each. Equal graphs give equal results.
    """
    verify(graph)
    for step in PASSES:
        graph = step(graph)
        verify(graph, after=step.__name__)
    return graph
