"""Targets: the processor that code is emitted for, and how many states it handles at a time.

The processor at hand decides, unless the environment variable KINETREE_TARGET names one of its
narrower families: "sse2", "avx2", "avx512", "neon" or "generic". Results have the same bits in all
of them. A processor without fused multiply-add (and sse2, and generic on x86) is served too: its
code calls `fma` and `fmaf` of the C library, which take longer and must round once, as IEEE 754
demands. The conformance suite checks that in its group "machine" (testing/conformance.py).

The linker finds both functions among those of the process: on Linux and macOS Python itself is
linked with the mathematical library, on Windows they are exported by ucrtbase.dll, which every
Python loads.
"""

from dataclasses import dataclass

from kinetree.core.environment import setting
from kinetree.errors import InputError

# name of a family, features that a processor needs for it, lanes of float64
FAMILIES: tuple[tuple[str, frozenset[str], int], ...] = (
    ("avx512", frozenset({"avx512f", "avx512dq", "avx512vl"}), 8),
    ("avx2", frozenset({"avx2", "fma"}), 4),
    ("neon", frozenset({"neon"}), 2),
    ("sse2", frozenset({"sse2"}), 2),
)
GENERIC, GENERIC_LANES = "generic", 2  # RISC-V, POWER and others: LLVM splits what does not fit

# family -> the least processor of it, in LLVM's words; "" is the default of the architecture
LEAST = {"avx512": "x86-64-v4", "avx2": "x86-64-v3", "sse2": "x86-64", "neon": "", GENERIC: ""}
VARIABLE = "KINETREE_TARGET"


@dataclass(frozen=True)
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

    def lanes(self, dtype: str) -> int:
        """States that go through together for a dtype, "float64" or "float32"."""
        return {"float64": self.lanes64, "float32": self.lanes32}[dtype]


def families(features: frozenset[str]) -> list[tuple[str, int]]:
    """Names and float64 lanes of all families that a processor can run, the widest first."""
    there = [(name, lanes) for name, needed, lanes in FAMILIES if needed <= features]
    return [*there, (GENERIC, GENERIC_LANES)]


def host_target(name: str | None = None) -> Target:
    """The machine at hand, as LLVM sees it. Needs llvmlite.

    Args:
        name: a family to use instead of the widest: "sse2", "avx2", "avx512", "neon" or "generic";
            None: the one that the environment variable KINETREE_TARGET names, if it is set.

    Raises:
        InputError: the family is unknown, or this processor cannot run it.
    """
    import llvmlite.binding as llvm

    cpu_features = llvm.get_host_cpu_features()
    present = frozenset(feature for feature, there in cpu_features.items() if there)
    triple = llvm.get_process_triple()
    if triple.startswith(("aarch64", "arm64")):
        present |= {"neon"}  # every 64-bit ARM has it, though some systems do not list it
    asked = setting(VARIABLE) if name is None else name
    if asked:
        return _asked_target(asked, VARIABLE if name is None else "name", present, triple)
    name, lanes = families(present)[0]
    return Target(
        name=name,
        lanes64=lanes,
        lanes32=2 * lanes,
        cpu=llvm.get_host_cpu_name(),
        features=cpu_features.flatten(),
        triple=triple,
    )


def _asked_target(asked: str, source: str, present: frozenset[str], triple: str) -> Target:
    """The least processor of a family, which is known and can be run here."""
    able = dict(families(present))
    if asked not in LEAST:
        raise InputError(
            f"{source} is {asked!r}; expected one of {', '.join(able)} on this processor, or "
            "nothing for the widest."
        )
    if asked not in able:
        raise InputError(
            f"{source} is {asked!r}, which this processor ({triple.partition('-')[0]}) cannot run; "
            f"it can run {', '.join(able)}. Leave {source} empty for the widest of them."
        )
    cpu = LEAST[asked]
    if asked == GENERIC and triple.startswith("x86_64"):
        cpu = LEAST["sse2"]
    lanes = able[asked]
    return Target(asked, lanes, 2 * lanes, cpu, "", triple)
