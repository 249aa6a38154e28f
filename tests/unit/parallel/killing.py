"""A study in which a worker is killed half-way, for every engine that has workers to kill."""

import functools
import hashlib
import tempfile
from pathlib import Path

import numpy as np
import psutil

import kinetree as kt
from kinetree.parallel import Anywhere, Spread, rollouts, run

ROBOT = kt.robots.panda()
SAMPLES = 64
STUDY = {
    # long enough that the workers are at it when one of them is killed
    "q0": Anywhere(), "parameters": {"mass": Spread(0.1)}, "duration": 12.0, "every": 1200,
    "chunk": 8,
}  # fmt: skip


class Killer(run.Progress):
    """Records the listening sockets, and kills one busy worker half-way."""

    killed: list[int]
    sockets: set[str]

    def update(self, done):
        if not self.sockets:
            self.sockets.update(listening())
        if done >= SAMPLES // 2 and not self.killed:
            self.killed.extend(kill_worker())


def kill_worker():
    """Kill one worker that computes; return its id in a list, which is empty if all were idle."""
    for process in psutil.Process().children(recursive=True):
        try:
            if is_at_work(process):
                process.suspend()  # it may have come to an end meanwhile: look again
                at_work = is_at_work(process)
                (process.kill if at_work else process.resume)()
                if at_work:
                    return [process.pid]
        except psutil.Error:
            continue
    return []


def is_at_work(process):
    """True for a worker of Ray that runs a chunk, and for every process of a pool."""
    name = process.name()
    return name.startswith("ray::run_chunk") or any("spawn_main" in x for x in process.cmdline())


def listening():
    """Addresses on which this process and its children listen."""
    found = set()
    for process in [own := psutil.Process(), *own.children(recursive=True)]:
        try:
            sockets = process.net_connections("inet")
        except psutil.Error:
            continue
        found |= {x.laddr.ip for x in sockets if x.status == psutil.CONN_LISTEN}
    return found


@functools.cache
def expected():
    """The hash of the file that threads write."""
    with tempfile.TemporaryDirectory() as folder:
        return digest(rollouts(ROBOT, SAMPLES, output=Path(folder) / "study.npy", **STUDY).path)


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def run_and_kill(path, monkeypatch, executor, **options):
    """The hash of the study's file, and the Killer."""
    killer = type("Killing", (Killer,), {"killed": [], "sockets": set()})
    with monkeypatch.context() as patch:
        patch.setattr(run, "Progress", killer)
        found = rollouts(ROBOT, SAMPLES, output=path, executor=executor, **STUDY, **options)
    assert len(killer.killed) == 1 and np.isfinite(found["q"]).all()
    return digest(path), killer
