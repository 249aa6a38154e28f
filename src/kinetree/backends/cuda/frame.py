"""Where the numbers of a rollout lie while it runs: in the thread's registers or in shared memory.

The state of a small robot stays in registers. That of a large one would leave too few of them to
compute with; like parameters and rates it lies in shared memory, the numbers of 32 rollouts side by
side, so that thread and bank go together, whatever the size. What does not fit there either is the
compiler's to place.
"""

from dataclasses import dataclass

from kinetree.backends.cuda.layout import STATE_BYTES, WARP
from kinetree.compiler.stepping import Stepping

FEW = 32  # numbers of a state that stay in registers; measured with 14 and with 88


@dataclass(frozen=True, slots=True)
class Part:
    """Numbers of one kind; `start` is None for an array of the thread's own."""

    name: str
    size: int
    start: int | None

    def at(self, element: int | str) -> str:
        """C++ for one of the numbers."""
        if self.start is None:
            return f"{self.name}[{element}]"
        return f"mine[({element} + {self.start}) * KT_WARP]"

    def declared(self) -> str:
        """The array of the thread's own, if it needs one."""
        return f"real {self.name}[{self.size}];" if self.start is None and self.size else ""


@dataclass(frozen=True, slots=True)
class Frame:
    """The parts of a rollout.

    x: the state that a step begins with; begun: the one that a stage begins with, the same part
    where there is one stage; p: what stays; rates: those of all stages, where there are several.
    pitch: distance of the rows in which results are put together, `staging` where these begin.
    """

    x: Part
    begun: Part
    p: Part
    rates: Part
    staging: int
    pitch: int

    @property
    def tile(self) -> int:
        """Numbers of shared memory for a warp."""
        return self.staging + self.pitch * WARP


def make_frame(stepping: Stepping, itemsize: int, budget: int = STATE_BYTES) -> Frame:
    """The places of all parts, with at most about `budget` bytes of shared memory for a rollout."""
    n, stages = stepping.sizes, len(stepping.stages)
    several = stages > 1
    widest = max((field.size for field in stepping.fields), default=1)
    pitch = widest | 1  # odd, so that rows of threads begin in different banks
    left = budget // itemsize - pitch
    parts: dict[str, Part] = {}
    used = 0
    sizes = {"x": n["x"], "begun": n["x"] * several, "p": n["p"]}
    sizes["rates"] = n["k"] * stages * several
    for name, size in sizes.items():
        kept = name in ("x", "begun") and n["x"] <= FEW
        start = used if size and not kept and used + size <= left else None
        used += 0 if start is None else size
        parts[name] = Part(name, size, start)
    if not several:
        parts["begun"] = parts["x"]
    return Frame(**parts, staging=used * WARP, pitch=pitch)
