"""The peers: each module has `batch` and `single`, which give jobs by label or raise Absent."""

import importlib
from collections.abc import Mapping

import numpy as np

from benchmarks.robots import Arrays, Case
from benchmarks.timing import Job

# in the order of the table; modules of this package
PEERS = ("kinetree", "pinocchio", "casadi_c", "mujoco", "frax")
TOLERANCE = 1e-9


class Absent(Exception):
    """A peer is not installed here, or has no such quantity; the text says which."""


def batch_jobs(
    case: Case, quantity: str, states: Arrays, threads: int, names: tuple[str, ...] = PEERS
) -> tuple[dict[str, Job], list[str]]:
    """Jobs of all peers for one batch, and notes on those that take no part."""
    return _gather("batch", names, case, quantity, states, threads)


def single_jobs(
    case: Case, quantity: str, state: Arrays, names: tuple[str, ...] = PEERS
) -> tuple[dict[str, Job], list[str]]:
    """Jobs of all peers for one state, and notes on those that take no part."""
    return _gather("single", names, case, quantity, state)


def _gather(kind: str, names: tuple[str, ...], case: Case, quantity: str, *rest) -> tuple:
    jobs: dict[str, Job] = {}
    notes: list[str] = []
    for name in names:
        try:
            made = getattr(importlib.import_module(f"benchmarks.peers.{name}"), kind)
            jobs |= made(case, quantity, *rest)
        except ImportError as problem:
            notes.append(f"{name}: not installed ({problem.name or problem})")
        except Absent as reason:
            notes.append(f"{name}: {reason}")
        except Exception as problem:  # a peer that breaks is a note, never the end of the record
            text = f"{type(problem).__name__}: {str(problem)[:200]}"
            notes.append(f"{name}, {quantity} of {case.key}: {text}")
    agreed, wrong = check(jobs)
    return agreed, notes + [f"{quantity} of {case.key}, {note}" for note in wrong]


def check(jobs: Mapping[str, Job]) -> tuple[dict[str, Job], list[str]]:
    """The jobs that give what the first gives, to 1e-9 of its norm; notes on the others."""
    agreed: dict[str, Job] = {}
    notes: list[str] = []
    expected = None
    for label, job in jobs.items():
        exec(compile(job.statement, label, "exec"), dict(job.names))
        found = np.array(job.result(), float)
        expected = found if expected is None else expected
        error = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
        if error <= TOLERANCE:
            agreed[label] = job
        else:
            notes.append(f"{label}: differs by {error:.1e} of the norm, so it is not timed")
    return agreed, notes
