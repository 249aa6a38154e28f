"""The answer to a question: rows of numbers with their spread, and notes."""

from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.timing import Timing

UNDISTURBED = 0.95  # of a repeat


@dataclass(frozen=True)
class Row:
    """One measured number. Timings have every repeat behind them, counts have not."""

    question: str
    robot: str
    quantity: str
    who: str
    value: float
    unit: str
    spread: float = 1.0  # median over best
    repeats: int = 1
    ratio: float | None = None  # this over kinetree's; above 1 kinetree is faster
    n: int | None = None  # states in a call
    cpu: float | None = None  # the same in time on the processor
    share: float | None = None  # part of the best repeat during which it had the processor


def disturbed(share: float | None) -> bool:
    """True if even the best repeat shared its core."""
    return share is not None and share < UNDISTURBED


def over(peer: Timing, ours: Timing) -> float:
    """How many times as long a peer takes: of work on the processor where a core was shared."""
    if peer.best_cpu and ours.best_cpu and (disturbed(peer.share) or disturbed(ours.share)):
        return peer.best_cpu / ours.best_cpu
    return peer.best / ours.best


@dataclass
class Answer:
    """All rows of one question about one robot, and what a reader should know."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """For the way between processes and for the record."""
        return {"rows": [asdict(row) for row in self.rows], "notes": self.notes}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Answer":
        """Back from `to_json`."""
        return cls([Row(**row) for row in data["rows"]], list(data["notes"]))


def timing_rows(
    question: str, robot: str, quantity: str, timings: dict[str, Timing], n: int | None = None
) -> list[Row]:
    """Rows in ns; the ratio is of the best repeats, both from the same run."""
    ours = timings["kinetree"]
    return [
        Row(
            question=question,
            robot=robot,
            quantity=quantity,
            who=who,
            value=timing.best * 1e9,
            unit="ns",
            spread=timing.spread,
            repeats=len(timing.seconds),
            ratio=over(timing, ours),
            n=n,
            cpu=None if timing.best_cpu is None else timing.best_cpu * 1e9,
            share=timing.share,
        )
        for who, timing in timings.items()
    ]
