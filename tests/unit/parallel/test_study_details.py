"""Small parts of studies: defaults, sizes, and requests to clusters."""

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
from test_study_files import ROBOT

import kinetree as kt
from kinetree.errors import InputError
from kinetree.parallel import (
    Grid,
    Noise,
    Normal,
    Uniform,
    engines,
    locks,
    rollouts,
    sweep,
)


@pytest.mark.parametrize(
    ("mass", "said"),
    [
        (Normal(0.5, 0.5), "reaches -"),
        (Uniform(-0.1, 1), "reaches -0.1"),
        (Grid([[0.5, 0.5], [-1, 1]]), "reaches -1"),
        (-2.0, "reaches -2"),
    ],
)
def test_masses_below_zero_are_refused(mass, said):
    with pytest.raises(InputError, match=f"mass of the study {said}.*expected 0 or more"):
        sweep(ROBOT, "gravity_forces", {"q": 0.0}, parameters={"mass": mass})
    sweep(ROBOT, "gravity_forces", {"q": 0.0}, 2, parameters={"mass": Normal(5.0, 0.01)})


def test_quaternions_that_are_none_are_refused():
    robot = (
        kt.Builder("ball").link("base").link("arm", 1.0, (0.1, 0, 0), np.eye(3) * 0.01)
        .joint("socket", "spherical", "base", "arm").build()
    )  # fmt: skip
    good, long, wide = (1.0, 0, 0, 0), (2.0, 0, 0, 0), (1.0, 0, 0, 0.5)
    assert sweep(robot, "gravity_forces", {"q": Uniform(good, good)}).samples == 1
    with pytest.raises(InputError, match="quaternion"):
        sweep(robot, "gravity_forces", {"q": Uniform(long, long)})
    with pytest.raises(InputError, match="not drawn one by one"):
        sweep(robot, "gravity_forces", {"q": Uniform(good, wide)})


def test_noise_is_for_forces_alone():
    with pytest.raises(InputError, match="dq0 is Noise, which is for tau and F_ext"):
        rollouts(ROBOT, 1, q0=0.0, dq0=Noise(1.0, 0.1), duration=0.01)


def test_a_lock_can_be_read_and_is_no_program(tmp_path):
    with locks.locked(tmp_path / "study.npy"):
        mode = (tmp_path / "study.npy.lock").stat().st_mode
    assert mode & 0o600 == 0o600 and not mode & 0o111


class Cluster:
    """A stand-in for distributed that records the calls of a study."""

    def __init__(self, log):
        self.log = log

    def LocalCluster(self, **options):
        self.log.append(("cluster", options))
        return self

    def Client(self, cluster):
        assert cluster is self
        return Client(self.log)

    def close(self):
        self.log.append("cluster closed")


class Client:
    def __init__(self, log):
        self.log = log

    def get_executor(self, **options):
        self.log.append(("executor", options))
        return self

    def nthreads(self):
        return {"a": 2, "b": 3}

    def submit(self, *given):
        self.log.append(given[1:])
        return Future()

    def close(self):
        self.log.append("client closed")


def test_dask_is_asked_for_processes_of_its_own_here(monkeypatch):
    """Equal chunks of two studies are not the same task: pure=False."""
    log = []
    monkeypatch.setattr(engines, "need", lambda *_: Cluster(log))
    engine = engines.dask_engine(b"study", 3)
    engine.submit(5, 2)
    engine.close()
    assert log[0][0] == "cluster" and log[0][1]["processes"] is True
    assert log[0][1]["n_workers"] == 3 and log[0][1]["threads_per_worker"] == 1
    assert log[0][1]["host"] == "127.0.0.1"
    assert log[0][1]["scheduler_kwargs"]["dashboard"] is False
    assert log[1:] == [
        ("executor", {"pure": False}), (b"study", 5, 2), "client closed", "cluster closed",
    ]  # fmt: skip


def test_a_dask_client_brings_its_threads(monkeypatch):
    log = []
    engine = engines.make_engine(Client(log), None, b"study")
    assert engine.workers == 5 and log == [("executor", {"pure": False})]
    assert engines.make_engine(Client(log), 2, b"study").workers == 2
    plain = engines.make_engine(None, 1, b"study")
    assert isinstance(plain._executor, ThreadPoolExecutor)
    plain.close()
