"""A study in which a worker is killed half-way, for every engine that has workers to kill."""

import hashlib
from pathlib import Path

import numpy as np
import psutil

import kinetree as kt
from kinetree.parallel import Anywhere, Spread, rollouts, run

ROBOT = kt.robots.panda()
SAMPLES = 64
STUDY = {
    # long enough that the workers are at it when one of them is killed
    "q0": Anywhere(), "parameters": {"mass": Spread(0.1)}, "duration": 30.0, "every": 3000,
    "chunk": 8,
}  # fmt: skip


class Killer(run.Progress):
    """Kills one worker that is at work, half-way, and looks who listens before."""

    killed: list[int]
    sockets: set[str]

    def update(self, done):
        if not self.sockets:
            self.sockets.update(listening())
        if done >= SAMPLES // 2 and not self.killed:
            self.killed.extend(kill_worker())


def kill_worker():
    """The number of a process that computed chunks, and does so no more; none if all rest."""
    for process in psutil.Process().children(recursive=True):
        try:
            words = [process.name(), *process.cmdline()]
        except psutil.Error:
            continue
        if words[0].startswith("ray::run_chunk") or any("spawn_main" in x for x in words):
            process.kill()
            return [process.pid]
    return []


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


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def run_and_kill(path, monkeypatch, executor, **options):
    """The file of the study, and the Killer that was there."""
    killer = type("Killing", (Killer,), {"killed": [], "sockets": set()})
    with monkeypatch.context() as patch:
        patch.setattr(run, "Progress", killer)
        found = rollouts(ROBOT, SAMPLES, output=path, executor=executor, **STUDY, **options)
    assert len(killer.killed) == 1 and np.isfinite(found["q"]).all()
    return digest(path), killer
