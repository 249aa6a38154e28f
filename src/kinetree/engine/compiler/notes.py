"""Notes on how a kernel was made: its stages in their order, and the seconds that each took.

Code that works on a kernel marks its stages (`with stage("trace"):`). They are noted where somebody
collects them (`with collecting() as stages:`), in the thread that collects, and cost nothing
elsewhere. A stage inside of another is a part of it and is not noted itself.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter

_noted: ContextVar["list[Stage] | None"] = ContextVar("kinetree_stages", default=None)


@dataclass(frozen=True)
class Stage:
    """A stage: its name, and its seconds; None where the result came from the cache."""

    name: str
    seconds: float | None

    def __str__(self) -> str:
        text = "from the cache" if self.seconds is None else f"{self.seconds:.3f} s"
        return f"{self.name}: {text}"


@dataclass(frozen=True)
class Notes:
    """How a kernel was made. `str` gives a line for each stage.

    Attributes:
        name: of the kernel.
        form: "compiled" or "interpreted".
        operations: floating-point operations for one state.
        stages: in the order in which they were done.
    """

    name: str
    form: str
    operations: int
    stages: tuple[Stage, ...]

    @property
    def seconds(self) -> float:
        """Seconds of all stages together."""
        return sum(stage.seconds or 0.0 for stage in self.stages)

    def __str__(self) -> str:
        head = f"{self.name}: {self.form}, {self.operations} operations, {self.seconds:.3f} s"
        return "\n".join([head, *(f"  {stage}" for stage in self.stages)])


@contextmanager
def collecting() -> Generator[list[Stage]]:
    """Collect the stages that are done inside of the block, by this thread."""
    stages: list[Stage] = []
    token = _noted.set(stages)
    try:
        yield stages
    finally:
        _noted.reset(token)


@contextmanager
def stage(name: str) -> Generator[None]:
    """Note the block as a stage."""
    stages = _noted.get()
    if stages is None:
        yield
        return
    token = _noted.set(None)
    start = perf_counter()
    try:
        yield
    finally:
        stages.append(Stage(name, perf_counter() - start))
        _noted.reset(token)


def note(*stages: Stage) -> None:
    """Note stages that were measured elsewhere."""
    noted = _noted.get()
    if noted is not None:
        noted.extend(stages)
