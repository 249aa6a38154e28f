"""Targets: the processor that code is emitted for, and how many states it handles at a time."""

from dataclasses import dataclass, replace

from kinetree.errors import InputError

LANES = (1, 2, 4, 8, 16)

# name of a family, features that a processor needs for it, lanes of float64
FAMILIES: tuple[tuple[str, frozenset[str], int], ...] = (
    ("avx512", frozenset({"avx512f", "avx512dq", "avx512vl"}), 8),
    ("avx2", frozenset({"avx2", "fma"}), 4),
    ("neon", frozenset({"neon"}), 2),
    ("sse2", frozenset({"sse2"}), 2),
)


@dataclass(frozen=True, slots=True)
class Target:
    """A processor: `lanes64` states in float64 or `lanes32` in float32 go through it together.

    `cpu`, `features` and `triple` are in LLVM's words and may be empty, which means its defaults.
    Results do not depend on the lanes; any of 1, 2, 4, 8 and 16 works on any processor.
    """

    name: str
    lanes64: int
    lanes32: int
    cpu: str = ""
    features: str = ""
    triple: str = ""

    def __post_init__(self) -> None:
        for field in ("lanes64", "lanes32"):
            if getattr(self, field) not in LANES:
                raise InputError(
                    f"target {self.name!r} has {field} = {getattr(self, field)!r}, "
                    f"expected one of {', '.join(map(str, LANES))}. "
                    "kinetree.backends.llvm.target.host_target() chooses what fits this machine."
                )

    def lanes(self, dtype: str) -> int:
        """States that go through together for a dtype, "float64" or "float32"."""
        return {"float64": self.lanes64, "float32": self.lanes32}[dtype]

    def with_lanes(self, lanes64: int, lanes32: int | None = None) -> "Target":
        """The same processor with other lanes; twice as many of float32 unless they are given."""
        if lanes32 is None:
            lanes32 = min(2 * lanes64, max(LANES))
        name = f"{self.name}x{lanes64}"
        return replace(self, name=name, lanes64=lanes64, lanes32=lanes32)


def family(features: frozenset[str]) -> tuple[str, int]:
    """Name and float64 lanes of the widest family whose features are all there."""
    for name, needed, lanes in FAMILIES:
        if needed <= features:
            return name, lanes
    return "scalar", 1


def host_target() -> Target:
    """The machine at hand, as LLVM sees it. Needs llvmlite."""
    import llvmlite.binding as llvm

    found = llvm.get_host_cpu_features()
    present = frozenset(feature for feature, there in found.items() if there)
    triple = llvm.get_process_triple()
    if triple.startswith(("aarch64", "arm64")):
        present |= {"neon"}  # every 64-bit ARM has it, though some systems do not list it
    name, lanes = family(present)
    return Target(
        name=name,
        lanes64=lanes,
        lanes32=1 if lanes == 1 else 2 * lanes,
        cpu=llvm.get_host_cpu_name(),
        features=found.flatten(),
        triple=triple,
    )
