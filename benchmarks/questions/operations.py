"""Operations: how many one state takes, after folding and regrouping."""

from benchmarks.robots import QUANTITIES, load
from benchmarks.rows import Answer, Row
from benchmarks.timing import Effort
from kinetree.engine.kernels.compile import trace_quantity


def ask(robot: str, effort: Effort) -> Answer:
    """Additions, multiplications and so on of each quantity's graph; sine and cosine left out."""
    model = load(robot).model
    return Answer(
        [
            Row("operations", robot, name, "kinetree", trace_quantity(model, name).operations, "")
            for name in QUANTITIES
        ]
    )
