"""Two studies never write one file; some samples are computed again and compared."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from test_study_files import ROBOT, STUDY

from kinetree.errors import InputError
from kinetree.parallel import StudyError, locks, read, rollouts, run, sinks
from kinetree.parallel.rollout_study import RolloutStudy
from kinetree.parallel.work import pack, prepare

HOLDS = """
import sys
from pathlib import Path
from kinetree.parallel.locks import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read(1)
"""
RUNS = """
import sys
import kinetree as kt
from kinetree.parallel import Normal, rollouts

study = {"q0": Normal(0, 0.5), "duration": 0.02, "every": 2}
options = {"output": sys.argv[1], "chunk": 4, "seed": int(sys.argv[2])}
rollouts(kt.robots.double_pendulum(), 400, **study, **options)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that writes tmp_path / study.npy."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path / "study.npy")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_file_that_another_process_writes_is_refused(holder, tmp_path):
    path = tmp_path / "study.npy"
    for resume in (False, True):
        with pytest.raises(
            InputError, match=rf"study.npy \(process {holder.pid}\).*another output"
        ):
            rollouts(ROBOT, 5, output=path, resume=resume, **STUDY)
    assert [x.name for x in tmp_path.iterdir()] == ["study.npy.lock"]
    assert rollouts(ROBOT, 5, output=tmp_path / "other.npy", **STUDY).samples == 5


def test_the_lock_of_a_killed_process_is_nobodys(holder, tmp_path):
    holder.kill()
    holder.wait()
    assert (tmp_path / "study.npy.lock").exists()
    assert rollouts(ROBOT, 5, output=tmp_path / "study.npy", **STUDY).samples == 5
    assert not (tmp_path / "study.npy.lock").exists()


def test_two_processes_at_once_leave_one_whole_study(tmp_path):
    path = tmp_path / "study.npy"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", RUNS, str(path), str(seed)], stderr=subprocess.PIPE, text=True
        )
        for seed in (1, 2)
    ]
    errors = [process.communicate()[1] for process in both]
    codes = [process.returncode for process in both]
    assert 0 in codes
    for code, error in zip(codes, errors, strict=True):
        assert code == 0 or "another study is writing" in error
    found = read(path)  # of the last that was let in, whole
    again = rollouts(ROBOT, 400, seed=int(found.meta["seed"]), **STUDY)
    assert np.array_equal(found["q"], again["q"])
    assert sorted(x.name for x in tmp_path.iterdir()) == ["study.npy", "study.npy.json"]


def test_two_threads_at_once_too(tmp_path):
    path, held, free = tmp_path / "study.csv", threading.Event(), threading.Event()

    def hold():
        with locks.locked(path):
            held.set()
            free.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(60)
        with pytest.raises(InputError, match=rf"another study is writing .*process {os.getpid()}"):
            rollouts(ROBOT, 2, output=path, **STUDY)
    finally:
        free.set()
        thread.join()
    assert rollouts(ROBOT, 2, output=path, **STUDY).samples == 2


def test_the_lock_is_given_back_after_an_error(tmp_path):
    path = tmp_path / "study.npy"
    with pytest.raises(InputError):
        rollouts(ROBOT, 5, output=path, executor="nobody", **STUDY)
    assert not list(tmp_path.iterdir())


def test_rows_that_belong_to_others_are_found():
    study = prepare(pack(RolloutStudy, ROBOT.model, SETTINGS, 0, 4))
    dtype = sinks.row_dtype(study.columns)
    sink = sinks.MemorySink(dtype, 4 * study.rows)
    rows = np.zeros(4 * study.rows, dtype)
    numbers = study.compute(np.arange(4)).reshape(-1, len(study.columns))
    for k, name in enumerate(study.columns):
        rows[name] = numbers[:, k]
    rows["sample"] = np.repeat(np.arange(4), study.rows)
    sink.write(rows)
    assert run.check_samples(study, sink, 4) in (1, 2)
    name = study.columns[-1]
    sink.table[name][-1] = np.nextafter(sink.table[name][-1], 9)
    with pytest.raises(StudyError, match=rf"sample 3, column {name!r}.*expected the same bits"):
        run.check_samples(study, sink, 4)
    sink.table[name][-1] = rows[name][-1]
    sink.table["sample"][-1] = 2
    with pytest.raises(
        StudyError, match=r"sample 3 of 4 has 11 rows in the output, of samples \[2"
    ):
        run.check_samples(study, sink, 4)
    sink.done -= 1
    with pytest.raises(StudyError, match="sample 3 of 4 has 10 rows"):
        run.check_samples(study, sink, 4)


SETTINGS = {
    "q0": STUDY["q0"], "dq0": 0.0, "duration": 0.02, "dt": 1e-3, "method": "rk4", "tau": None,
    "F_ext": None, "controller": None, "parameters": {}, "every": 2,
}  # fmt: skip
