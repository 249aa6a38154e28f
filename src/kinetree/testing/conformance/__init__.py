"""The conformance suite: checks that this installation computes what others compute.

`python -m kinetree.testing` runs it from a terminal. It needs nothing but the package itself. Each
batch of groups runs in a process of its own, with an empty cache. A part that raises an error is a
failed check, and the other parts still run; so is a process that ends early, such as by code that
should not have run.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kinetree.engine.call.threads import cores
from kinetree.errors import NameLookupError
from kinetree.testing.conformance import (
    cache,
    calls,
    commands,
    kernels,
    machine,
    numbers,
    processes,
)
from kinetree.testing.conformance.record import (
    REPORT,
    Choice,
    Conformance,
    ConformanceFailure,
    Finding,
    Part,
    broken,
    compared,
)

__all__ = ["GROUPS", "Conformance", "ConformanceFailure", "Finding", "run_conformance"]

MAX_PROCESSES = 4  # no more than there are cores
TICK = 0.2  # s until Ctrl-C is noticed
Progress = Callable[[Finding], None]


@dataclass(frozen=True)
class Group:
    """A group of checks: its title, and the functions that carry it out."""

    title: str
    parts: tuple[Part, ...]


GROUPS = {
    "machine": Group("arithmetic, versions and files of this machine", machine.PARTS),
    "numbers": Group("published numbers, to all printed digits", numbers.PRINTED),
    "kernels": Group("laws, and kernels against the direct form", kernels.LAWS),
    "bits": Group("bits of results against the stored table", kernels.BITS),
    "calls": Group("batch sizes, memory layouts and out=", calls.CALLS),
    "threads": Group("numbers of threads, concurrent calls", calls.THREADS),
    "processes": Group("new and forked processes", calls.PROCESSES),
    "cache": Group("compiled code on disk", cache.PARTS),
    "commands": Group("the command line", commands.PARTS),
    "motions": Group("final states of simulations", numbers.MOTIONS),
    "export": Group("exported code", numbers.EXPORT),
    "symbols": Group("formulas of SymPy", numbers.SYMBOLS),
    "cuda": Group("CUDA kernels", kernels.CUDA),
}
ALONE = ("bits", "commands", "kernels", "cache")  # groups that take long, each in its own process


def run_conformance(
    only: Sequence[str] | None = None,
    *,
    everything: bool = False,
    cuda: bool = False,
    progress: Progress | None = None,
) -> Conformance:
    """Check this installation of kinetree; failures are reported, not raised.

        record = kinetree.testing.run_conformance()
        print(record)
        record.raise_if_failed()

    Published numbers, kernels against the direct form of the algorithms, bits against a stored
    table, ways of calling, threads, processes, the cache, the command line, simulations and
    exported code. It takes about a minute. Each batch of groups runs in a process of its own, with
    an empty cache; where Python starts no processes, all run in this one.

    Args:
        only: names of groups, some of `kinetree.testing.conformance.GROUPS`; all if None.
        everything: compare all of the table of bits, which takes minutes, instead of a sample.
        cuda: also check CUDA kernels.
        progress: called with each finding as soon as it is there.

    Returns:
        The record, which prints as one screen of text.

    Raises:
        InputError: KINETREE_TARGET names a vector width that this processor does not have.
    """
    chosen = list(GROUPS) if only is None else list(only)
    for name in chosen:
        if name not in GROUPS:
            raise NameLookupError(
                f"there is no group {name!r} of checks; expected some of {', '.join(GROUPS)}."
            )
    start = time.perf_counter()
    facts = machine.facts()  # first: it raises an error if KINETREE_TARGET is wrong
    own_cache = {name: os.environ.get(name) for name in machine.CACHE_VARIABLES}
    findings: list[Finding] = []
    with closing(_performed(chosen, Choice(everything, cuda, own_cache))) as performed:
        for finding in performed:
            findings.append(finding)
            if progress is not None:
                progress(finding)
    order = list(GROUPS)
    findings.sort(key=lambda x: order.index(x.group))  # stable: checks of a group keep their order
    groups = {name: GROUPS[name].title for name in order if name in chosen}
    seconds = time.perf_counter() - start
    return Conformance(facts, groups, tuple(findings), seconds, len(groups) == len(GROUPS))


def perform(name: str, choice: Choice) -> Iterator[Finding]:
    """Carry out a group in this process; each finding has its group and its seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that kernels are interpreted
        for part in GROUPS[name].parts:
            start = time.perf_counter()
            try:
                for finding in part(choice):
                    yield replace(finding, group=name, seconds=time.perf_counter() - start)
                    start = time.perf_counter()
            except Exception as error:  # a check that cannot be carried out has failed
                title = part.__name__.replace("_", " ")
                yield replace(broken(title, error), group=name, seconds=time.perf_counter() - start)


def _performed(names: Sequence[str], choice: Choice) -> Generator[Finding]:
    """Carry out groups, some at a time; findings come as soon as they are there."""
    if not processes.available():
        for name in names:
            yield from perform(name, choice)
        return
    batches = [[name] for name in ALONE if name in names]
    batches += [[name for name in GROUPS if name in names and name not in ALONE]]
    findings: queue.Queue[Finding] = queue.Queue()
    running: set[subprocess.Popen[bytes]] = set()
    with (
        tempfile.TemporaryDirectory(prefix="kinetree-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(min(MAX_PROCESSES, cores())) as pool,
    ):
        jobs = [
            pool.submit(_run_batch, batch, choice, Path(folder), findings.put, running)
            for batch in batches
            if batch
        ]
        try:
            while not all(job.done() for job in jobs) or not findings.empty():
                try:
                    yield findings.get(timeout=TICK)
                except queue.Empty:
                    continue
            for job in jobs:
                job.result()  # raises an error of its thread
        finally:  # also after Ctrl-C: no process outlives the run
            for job in jobs:
                job.cancel()
            for process in list(running):
                process.kill()


def _run_batch(
    names: Sequence[str],
    choice: Choice,
    folder: Path,
    report: Progress,
    running: set["subprocess.Popen[bytes]"],
) -> None:
    """Carry out groups in another process and report each finding."""
    place = folder / names[0]
    place.mkdir()
    # temporary files of the checks stay in the folder of the run, which is removed
    changes: dict[str, str | None] = dict.fromkeys(machine.CACHE_VARIABLES)
    changes |= {"KINETREE_CACHE_DIR": str(place / "cache")}
    changes |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(place))
    code = f"from {__name__} import child; child()"
    words = [json.dumps(names), json.dumps(asdict(choice)), processes.ROOT]
    unfinished = list(names)
    with open(place / "errors.txt", "w+b") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *words], cwd=place, env=processes.environment(changes),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip
        running.add(process)
        assert process.stdout is not None
        with process.stdout as lines:
            for data in lines:
                text = data.decode("utf-8", "replace")
                if text.startswith(processes.LINE_START):
                    values = json.loads(text.removeprefix(processes.LINE_START))
                    if isinstance(values, str):
                        unfinished.remove(values)
                    else:
                        report(Finding(**values))
        process.wait()
        running.discard(process)
        errors.seek(0)
        ended = processes.Ended(process.returncode, "", errors.read().decode("utf-8", "replace"))
    for name in unfinished:
        finding = compared(
            "the process of this group", False, "to end after its last check", ended.how, REPORT
        )
        report(replace(finding, group=name))


def child() -> None:
    """Carry out the groups that the words after the code name, and print their findings."""
    names, choice, root = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
    if os.path.realpath(processes.ROOT) != os.path.realpath(root):
        sys.exit(
            f"found another kinetree in {processes.ROOT} instead of the one in {root}; start "
            "Python in another folder"
        )
    for name in names:
        for finding in perform(name, Choice(**choice)):
            processes.send(asdict(finding))
        processes.send(name)
