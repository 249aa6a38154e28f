"""Groups of checks, and how a group is carried out: part by part, here or in its own process.

A part that raises an error is a failed check, and the other parts still run. A process that ends
early, such as by code that should not have run, is a failed check of its group.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from kinetree.testing.conformance import (
    cache,
    calls,
    commands,
    fused,
    kernels,
    machine,
    numbers,
    processes,
    results,
)
from kinetree.testing.conformance.record import REPORT, Finding, broken, compared

Part = Callable[[], Iterator[Finding]]
CHILD = "from kinetree.testing.conformance.groups import child; child()"


@dataclass(frozen=True)
class Choice:
    """What a run is asked to do.

    everything: compare all of the table of bits. cuda: also check CUDA kernels. own_cache:
    variables of the environment that choose the user's cache.
    """

    everything: bool = False
    cuda: bool = False
    own_cache: Mapping[str, str | None] = field(default_factory=dict[str, str | None])


@dataclass(frozen=True)
class Group:
    """A group of checks: its title, and its parts for a choice."""

    title: str
    parts: Callable[[Choice], Mapping[str, Part]]


def fixed(parts: Mapping[str, Part]) -> Callable[[Choice], Mapping[str, Part]]:
    """Return the same parts for every choice."""
    return lambda choice: parts


def bit_parts(choice: Choice) -> Mapping[str, Part]:
    """Return the parts that compare bits with the stored table."""
    return {
        "table": kernels.table,
        "float64": lambda: kernels.bits(choice.everything),
        "float32": lambda: kernels.narrow_bits(choice.everything),
    }


def cache_parts(choice: Choice) -> Mapping[str, Part]:
    """Return the parts about the cache; the user's own cache comes last."""
    return {**cache.PARTS, "your own cache": lambda: cache.own_cache(choice.own_cache)}


def cuda_parts(choice: Choice) -> Mapping[str, Part]:
    """Return the part about CUDA."""
    return {"CUDA": lambda: results.cuda(choice.cuda, choice.everything)}


MACHINE_PARTS: dict[str, Part] = {**machine.PARTS, **fused.PARTS}
GROUPS: dict[str, Group] = {
    "machine": Group("arithmetic, versions and files of this machine", fixed(MACHINE_PARTS)),
    "numbers": Group("published numbers, to all printed digits", fixed(numbers.PARTS)),
    "kernels": Group("laws, and kernels against the direct form", fixed(kernels.KERNEL_PARTS)),
    "bits": Group("bits of results against the stored table", bit_parts),
    "calls": Group("batch sizes, memory layouts and out=", fixed(calls.CALL_PARTS)),
    "threads": Group("numbers of threads, concurrent calls", fixed(calls.THREAD_PARTS)),
    "processes": Group("new and forked processes", fixed(results.PROCESS_PARTS)),
    "cache": Group("compiled code on disk", cache_parts),
    "commands": Group("the command line", fixed(commands.PARTS)),
    "motions": Group("final states of simulations", fixed(results.SIMULATION_PARTS)),
    "export": Group("exported code", fixed(results.EXPORT_PARTS)),
    "symbols": Group("formulas of SymPy", fixed(results.SYMBOL_PARTS)),
    "cuda": Group("CUDA kernels", cuda_parts),
}
# groups that share a process, those that take longest first; a process costs a second of its own
TOGETHER = (
    ("bits",),
    ("commands",),
    ("kernels",),
    ("cache",),
    ("calls", "threads", "processes"),
    ("machine", "numbers", "motions", "export", "symbols", "cuda"),
)


def perform(name: str, choice: Choice) -> Iterator[Finding]:
    """Carry out a group in this process; each finding has its group and its seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that kernels are interpreted
        for title, part in GROUPS[name].parts(choice).items():
            start = time.perf_counter()
            try:
                for finding in part():
                    yield replace(finding, group=name, seconds=time.perf_counter() - start)
                    start = time.perf_counter()
            except Exception as error:  # a check that cannot be carried out has failed
                yield replace(broken(title, error), group=name, seconds=time.perf_counter() - start)


def child() -> None:
    """Carry out the groups that the words after the code name, and print their findings."""
    names, choice, root = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
    if os.path.realpath(processes.ROOT) != os.path.realpath(root):
        processes.send({"other": processes.ROOT})
        return
    for name in names:
        for finding in perform(name, Choice(**choice)):
            processes.send(asdict(finding))
        processes.send({"done": name})


class Performance:
    """Groups that are carried out one after the other in a process of their own."""

    def __init__(self, names: Sequence[str], choice: Choice, folder: Path) -> None:
        self._left = list(names)
        own = folder / names[0]
        own.mkdir()
        words = ["-c", CHILD, json.dumps(self._left), json.dumps(asdict(choice)), processes.ROOT]
        changes: dict[str, str | None] = dict.fromkeys(machine.CACHE)
        env = processes.environment(**{**changes, "KINETREE_CACHE_DIR": str(own / "cache")})
        # temporary files of the checks stay in the folder of the run, which is removed
        env |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(own))
        self._lines = processes.Lines(words, own, env)

    def __iter__(self) -> Iterator[Finding]:
        expected, other = "to end after its last check", None
        for values in self._lines:
            if "done" in values:
                self._left.remove(values["done"])
            elif "other" in values:
                other = f"to find the kinetree in {processes.ROOT}", values["other"]
            else:
                yield Finding(**values)
        ended = self._lines.end()
        for name in self._left:
            title, advice = "the process of this group", REPORT
            if other is not None:
                advice = "Other processes find another kinetree; start Python in another folder."
            wanted, found = (expected, ended.how) if other is None else other
            yield replace(compared(title, False, wanted, found, advice), group=name)

    def stop(self) -> None:
        """End the process now."""
        self._lines.stop()
