"""The conformance suite: checks that this installation computes what others compute.

`python -m kinetree.testing` runs it from a terminal. It needs nothing but the package itself. Each
group of `GROUPS` runs in a process of its own, with an empty cache. A part that raises an error is
a failed check, and the other parts still run; so is a process that ends early, such as by machine
code that should not have run.
"""

import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from kinetree.engine.call.threads import cores
from kinetree.errors import NameLookupError
from kinetree.testing import calls, machine, stored
from kinetree.testing.record import Conformance, Finding, Options, broken, equal

MAX_PROCESSES = 4  # no more than there are cores
LINE_START = "finding "  # of a line that a process prints for this one
DONE = "the process of this group"


class Group(NamedTuple):
    """A group of checks: its title, and the functions of the options that carry it out."""

    title: str
    parts: tuple[Callable[[Options], Iterator[Finding]], ...]


GROUPS = {
    "machine": Group("arithmetic and files of this machine", machine.PARTS),
    "kernels": Group("laws, and kernels against the direct form", stored.KERNELS),
    "bits": Group("bits of results against the stored table", stored.BITS),
    "calls": Group("batch sizes, addresses, threads, processes", calls.PARTS),
    "cache": Group("compiled code on disk", calls.CACHE),
    "commands": Group("the command line", stored.COMMANDS),
    "cuda": Group("CUDA kernels", stored.CUDA),
}


def run_conformance(
    only: Sequence[str] | None = None,
    *,
    everything: bool = False,
    cuda: bool = False,
    progress: Callable[[Finding], None] | None = None,
) -> Conformance:
    """Check this installation of kinetree; failures are reported, not raised.

        record = kinetree.testing.run_conformance()
        print(record)
        record.raise_if_failed()

    It checks that of a result which a machine can change: arithmetic, laws, kernels against the
    direct form of the algorithms and against stored bits, ways of calling, the cache and the
    command line. It takes about a minute. Each group runs in a process of its own; where Python
    starts no processes, all run in this one.

    Args:
        only: names of groups, some of `kinetree.testing.conformance.GROUPS`; all if None.
        everything: compare all of the table of bits, which takes minutes, instead of a sample.
        cuda: also check CUDA kernels.
        progress: called with each finding as soon as its group is done.

    Returns:
        The record, which prints as one screen of text.

    Raises:
        InputError: KINETREE_TARGET names a vector width that this processor does not have.
    """
    for name in only or ():
        if name not in GROUPS:
            raise NameLookupError(
                f"there is no group {name!r} of checks; expected some of {', '.join(GROUPS)}."
            )
    chosen = {name: x.title for name, x in GROUPS.items() if only is None or name in only}
    start = time.perf_counter()
    facts = machine.facts()  # first: it raises an error if KINETREE_TARGET is wrong
    own_cache = {name: os.environ.get(name) for name in machine.CACHE_VARIABLES}
    findings: list[Finding] = []
    for group in _groups(list(chosen), Options(everything, cuda, own_cache)):
        for finding in group:
            findings.append(finding)
            if progress is not None:
                progress(finding)
    findings.sort(key=lambda x: list(chosen).index(x.group))  # checks of a group keep their order
    seconds = time.perf_counter() - start
    return Conformance(facts, chosen, tuple(findings), seconds, len(chosen) == len(GROUPS))


def perform(name: str, options: Options) -> Iterator[Finding]:
    """Carry out a group in this process; each finding has its group and its seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that kernels are interpreted
        for part in GROUPS[name].parts:
            start = time.perf_counter()
            try:
                for finding in part(options):
                    yield replace(finding, group=name, seconds=time.perf_counter() - start)
                    start = time.perf_counter()
            except Exception as error:  # a check that cannot be carried out has failed
                failure = broken(part.__name__.replace("_", " "), error)
                yield replace(failure, group=name, seconds=time.perf_counter() - start)


def _groups(names: Sequence[str], options: Options) -> Iterator[list[Finding]]:
    """Yield the findings of each group when it is done; some groups run at a time."""
    if not machine.starts_processes():
        yield from (list(perform(name, options)) for name in names)
        return
    with (
        tempfile.TemporaryDirectory(prefix="kinetree-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(min(MAX_PROCESSES, cores())) as pool,
    ):
        jobs = [pool.submit(_in_process, name, options, Path(folder)) for name in names]
        try:
            for job in as_completed(jobs):
                yield job.result()
        finally:  # also after Ctrl-C, which ends the processes that run
            for job in jobs:
                job.cancel()


def _in_process(name: str, options: Options, folder: Path) -> list[Finding]:
    """Carry out a group in another process."""
    place = folder / name
    place.mkdir()
    changes: dict[str, str | None] = dict.fromkeys(machine.CACHE_VARIABLES)
    changes |= {"KINETREE_CACHE_DIR": str(place / "cache")}
    # temporary files of the checks stay in the folder of the run, which is removed
    changes |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(place))
    code = f"from {__name__} import child; child()"
    words = ["-c", code, name, json.dumps(asdict(options))]
    ended = machine.run_python(words, place, changes, limited=False)
    lines = [x for x in ended.out.splitlines() if x.startswith(LINE_START)]
    findings = [Finding(**json.loads(x.removeprefix(LINE_START))) for x in lines]
    if findings and findings[-1].name == DONE:
        return findings[:-1]
    failure = equal(DONE, "to end after its last check", ended.how)
    return [*findings, replace(failure, group=name)]


def child() -> None:
    """Carry out the group that the words after the code name, and print its findings."""
    name, options = sys.argv[1], Options(**json.loads(sys.argv[2]))
    for finding in chain(perform(name, options), [equal(DONE, 0, 0)]):
        print(f"{LINE_START}{json.dumps(asdict(finding))}", flush=True)
