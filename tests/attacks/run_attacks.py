"""Run random cases of all laws until the time is over; print a small reproduction of each failure.

    python tests/attacks/run_attacks.py --minutes 30 --jobs 2        (or: make attack)
    python tests/attacks/run_attacks.py --replay simulation.split --case 123 --edits 0l,3r

Every law gets the same share of the time. Case k of a law depends only on the seed, the law and k.
Cases run in worker processes; one that exceeds the limit of its law is ended and is a failure.
"""

import argparse
import fnmatch
import json
import logging
import multiprocessing as mp
import multiprocessing.connection
import os
import secrets
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from attack_case import LIMIT, Case, Skip, all_laws

RECYCLE = 400  # cases after which a worker is replaced, so that its memory stays small
SHRINKS, SHRINK_SECONDS = 60, 90.0  # most attempts at, and time for, a smaller case
SHOWN = 2  # failures of one law that are shrunk and printed in full

Edits = Mapping[int, str]


@dataclass
class Result:
    """Outcome of one case. signature: where it failed, the same for the same defect."""

    seconds: float
    failure: str = ""
    signature: str = ""
    skipped: bool = False
    kinds: str = ""
    notes: dict[str, str] = field(default_factory=dict)


@dataclass
class Tally:
    """What happened to one law."""

    cases: int = 0
    skipped: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    failures: list[dict[str, Any]] = field(default_factory=list)


def run_case(function: Any, seed: int, edits: Edits) -> Result:
    """Run one case in this process."""
    case, start = Case(seed, edits), time.monotonic()
    result = Result(0.0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            function(case)
    except Skip:
        result.skipped = True
    except Exception as error:
        result.failure = traceback.format_exc()
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "laws_" in f.filename]
        where = f"{ours[-1].lineno}" if ours else "?"
        result.signature = f"{type(error).__name__}:{where}"
    result.seconds = time.monotonic() - start
    result.kinds, result.notes = "".join(case.log.kinds), case.log.notes
    return result


def work(pipe: Any) -> None:
    """Run cases that come through a pipe until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("kinetree").setLevel(logging.ERROR)
    laws = all_laws()
    pipe.send(None)
    while True:
        try:
            name, seed, edits = pipe.recv()
        except EOFError:
            return
        pipe.send(run_case(laws[name], seed, edits))


class Worker:
    """A process that runs one case at a time."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin with a fresh process."""
        self.pipe, theirs = mp.Pipe()
        self.process = mp.get_context("spawn").Process(target=work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.done, self.job, self.since = 0, None, time.monotonic()
        if not self.pipe.poll(300):
            raise RuntimeError("a worker did not start within 300 s")
        self.pipe.recv()

    def submit(self, name: str, seed: int, edits: Edits, limit: float) -> None:
        """Start a case."""
        if self.done >= RECYCLE:
            self.stop()
            self.start()
        self.job, self.since, self.limit = (name, seed), time.monotonic(), limit
        self.pipe.send((name, seed, edits))

    def poll(self) -> Result | None:
        """The result of the case, if there is one; a dead or late process is a failure."""
        spent = time.monotonic() - self.since
        result = None
        try:
            if self.pipe.poll():
                result = self.pipe.recv()
        except (EOFError, ConnectionError):
            code = self.process.exitcode
            result = Result(spent, f"the process died (exit code {code})", "died")
        if result is None and spent > self.limit:
            result = Result(spent, f"no result within {self.limit:g} s", "late")
        if result is not None:
            self.done += 1
            self.job = None
            if result.signature in ("died", "late"):
                self.stop()
                self.start()
        return result

    def wait(self) -> Result:
        """The result of the case."""
        while True:
            multiprocessing.connection.wait([self.pipe], 0.2)
            if (result := self.poll()) is not None:
                return result

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def case_seed(seed: int, name: str, k: int) -> int:
    """Seed of case k of a law."""
    sequence = np.random.SeedSequence([seed, zlib.crc32(name.encode()), k])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(16))


def shrink(
    worker: Worker, name: str, seed: int, first: Result, limit: float
) -> tuple[Edits, Result]:
    """Simplify draws one after another as long as the same failure remains."""
    edits: dict[int, str] = {}
    best, end, tries = first, time.monotonic() + SHRINK_SECONDS, 0

    def attempt(more: Edits) -> bool:
        nonlocal best, edits, tries
        if tries >= SHRINKS or time.monotonic() > end:
            return False
        tries += 1
        worker.submit(name, seed, edits | dict(more), limit)
        result = worker.wait()
        if result.signature != first.signature:
            return False
        best, edits = result, edits | dict(more)
        return True

    for k in range(len(best.kinds)):  # counts and choices first: they decide how much is drawn
        if k < len(best.kinds) and best.kinds[k] == "i":
            attempt({k: "l"})
    attempt({k: "r" for k, kind in enumerate(best.kinds) if kind == "f"})
    for k in range(len(best.kinds)):
        if k < len(best.kinds) and best.kinds[k] == "f":
            attempt({k: "z"}) or edits.get(k) == "r" or attempt({k: "r"})
    return {k: e for k, e in sorted(edits.items()) if k < len(best.kinds)}, best


def edits_text(edits: Edits) -> str:
    """Edits as one word, such as "0l,3r"."""
    return ",".join(f"{k}{e}" for k, e in edits.items())


def read_edits(text: str) -> Edits:
    """Edits from that word."""
    return {int(part[:-1]): part[-1] for part in text.split(",") if part}


def replay_command(name: str, seed: int, edits: Edits) -> str:
    """The command that runs one case again."""
    extra = f" --edits {edits_text(edits)}" if edits else ""
    return f"python tests/attacks/run_attacks.py --replay {name} --case {seed}{extra}"


def show_failure(name: str, seed: int, edits: Edits, result: Result) -> None:
    """Print a failed case with the commands that repeat it."""
    lines = [f"FAILED {name}", f"  case:    {replay_command(name, seed, {})}"]
    if edits:
        lines.append(f"  smaller: {replay_command(name, seed, edits)}")
    lines += [f"  {key} = {value}" for key, value in result.notes.items()]
    lines += ["  " + line for line in result.failure.rstrip().splitlines()[-12:]]
    print("\n".join(lines), flush=True)


class Attack:
    """A run over all laws."""

    def __init__(self, names: list[str], laws: Mapping[str, Any], options: Any) -> None:
        self.names, self.laws, self.options = names, laws, options
        self.tallies = {name: Tally() for name in names}
        self.started = time.monotonic()
        self.workers: list[Worker] = []

    @property
    def failures(self) -> int:
        """Failed cases so far."""
        return sum(len(tally.failures) for tally in self.tallies.values())

    def setting(self, name: str, key: str, default: float) -> float:
        """A setting of a law."""
        return getattr(self.laws[name], key, default)

    def jobs(self) -> Iterator[tuple[str, int]]:
        """The law with the least time spent, again and again."""
        numbers = dict.fromkeys(self.names, 0)
        while True:
            running = {w.job[0] for w in self.workers if w.job}
            order = sorted(
                self.names,
                key=lambda n: (
                    numbers[n] > 0,
                    n in running,
                    self.tallies[n].seconds / self.setting(n, "weight", 1.0),
                ),
            )
            name = order[0]
            numbers[name] += 1
            yield name, case_seed(self.options.seed, name, numbers[name] - 1)

    def run(self) -> None:
        """Run cases until the time is over, or a failure where that ends the run."""
        end = self.started + 60 * self.options.minutes
        jobs = self.jobs()
        self.workers = [Worker() for _ in range(self.options.jobs)]
        while True:
            stop = time.monotonic() > end or (self.options.stop and self.failures)
            stop = stop or 0 < self.options.cases <= sum(t.cases for t in self.tallies.values())
            for worker in self.workers:
                if worker.job is None and not stop:
                    name, seed = next(jobs)
                    worker.submit(name, seed, {}, self.setting(name, "limit", LIMIT))
            busy = [w for w in self.workers if w.job]
            if not busy:
                return
            multiprocessing.connection.wait([w.pipe for w in busy], 0.2)
            for worker in busy:
                job = worker.job
                if job is not None and (result := worker.poll()) is not None:
                    self.note(worker, *job, result)

    def note(self, worker: Worker, name: str, seed: int, result: Result) -> None:
        """Count a result; shrink and print a failure."""
        tally = self.tallies[name]
        tally.cases += 1
        tally.skipped += result.skipped
        tally.seconds += result.seconds
        tally.longest = max(tally.longest, result.seconds)
        if not result.failure:
            return
        edits, smallest = {}, result
        known = {failure["signature"] for failure in tally.failures}
        if len(known) < SHOWN and result.signature not in known:
            if result.signature not in ("died", "late") and not self.options.no_shrink:
                limit = self.setting(name, "limit", LIMIT)
                edits, smallest = shrink(worker, name, seed, result, limit)
            show_failure(name, seed, edits, smallest)
        tally.failures.append(
            {
                "case": seed,
                "edits": edits_text(edits),
                "signature": result.signature,
                "after_s": round(time.monotonic() - self.started, 1),
                "error": result.failure.rstrip().splitlines()[-1][:300],
            }
        )

    def close(self) -> None:
        """End the workers."""
        for worker in self.workers:
            worker.stop()

    def summary(self) -> str:
        """Cases and failures of every law."""
        lines = [f"{'law':42} {'cases':>7} {'skipped':>8} {'failed':>7} {'s':>8} {'longest':>8}"]
        for name, t in self.tallies.items():
            lines.append(
                f"{name:42} {t.cases:7} {t.skipped:8} {len(t.failures):7} "
                f"{t.seconds:8.1f} {t.longest:8.2f}"
            )
        cases = sum(t.cases for t in self.tallies.values())
        minutes = (time.monotonic() - self.started) / 60
        lines.append(
            f"seed {self.options.seed}: {cases} cases of {len(self.names)} laws "
            f"in {minutes:.1f} minutes, {self.failures} failures"
        )
        return "\n".join(lines)

    def record(self) -> dict[str, Any]:
        """The run as data."""
        sys.path.insert(0, str(Path(__file__).parents[2]))
        from benchmarks import machine

        return {
            **machine.describe(),
            "seed": self.options.seed,
            "minutes": round((time.monotonic() - self.started) / 60, 2),
            "jobs": self.options.jobs,
            "cases": sum(t.cases for t in self.tallies.values()),
            "failures": self.failures,
            "laws": {
                name: {
                    "cases": t.cases,
                    "skipped": t.skipped,
                    "seconds": round(t.seconds, 1),
                    "longest_s": round(t.longest, 2),
                    "failures": t.failures,
                }
                for name, t in self.tallies.items()
            },
        }


def read_options(words: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="of the run; a fresh one when left out")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long to run")
    parser.add_argument("--cases", type=int, default=0, help="end after so many; 0 is any number")
    parser.add_argument("--laws", default="*", help='patterns such as "events.*,*friction*"')
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--record", type=Path, help="write the run to this JSON file")
    parser.add_argument("--stop", action="store_true", help="end at the first failure")
    parser.add_argument("--no-shrink", action="store_true", help="print failures as they are")
    parser.add_argument("--list", action="store_true", help="print the names of the laws")
    parser.add_argument("--replay", metavar="LAW", help="run one case in this process")
    parser.add_argument("--case", type=int, default=0, help="seed of that case")
    parser.add_argument("--edits", default="", help="simplified draws of that case")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Run the attack; 1 where a case failed."""
    options = read_options(words)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    laws = all_laws()
    if options.replay:
        if options.replay not in laws:
            print(f"no law {options.replay!r}; the laws are: {', '.join(laws)}", file=sys.stderr)
            return 2
        result = run_case(laws[options.replay], options.case, read_edits(options.edits))
        for key, value in result.notes.items():
            print(f"{key} = {value}")
        outcome = "skipped" if result.skipped else "ok"
        print(result.failure or f"{outcome}, {result.seconds:.2f} s")
        return 1 if result.failure else 0
    patterns = options.laws.split(",")
    names = [n for n in laws if any(fnmatch.fnmatch(n, pattern) for pattern in patterns)]
    if not names:
        print(f"no law matches {options.laws!r}; the laws are: {', '.join(laws)}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(names))
        return 0
    if options.seed is None:
        options.seed = secrets.randbelow(2**31)
    print(f"seed {options.seed}, {len(names)} laws, {options.minutes:g} minutes", flush=True)
    with tempfile.TemporaryDirectory(prefix="kinetree_attack_") as cache:
        os.environ["KINETREE_CACHE_DIR"] = cache
        attack = Attack(names, laws, options)
        try:
            attack.run()
        except KeyboardInterrupt:
            print("stopped by the user", flush=True)
        finally:
            attack.close()
    print(attack.summary())
    if options.record:
        options.record.parent.mkdir(parents=True, exist_ok=True)
        options.record.write_text(json.dumps(attack.record(), indent=1) + "\n")
        print(options.record)
    return 1 if attack.failures else 0


if __name__ == "__main__":
    sys.exit(main())
