"""Threads, processes and any executor: the same bytes, also when a process is killed half-way."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import kinetree as kt
from kinetree.core.system import interrupt_held_back
from kinetree.errors import InputError
from kinetree.parallel import Normal, engines, rollouts, schedule, work

ROBOT = kt.robots.double_pendulum()
SMALL = {"q0": Normal(0, 1), "duration": 0.01, "chunk": 5}


@pytest.fixture(scope="module")
def expected():
    return rollouts(ROBOT, 20, **SMALL).table.tobytes()


@pytest.mark.parametrize("workers", [1, 3])
def test_threads_of_any_number_give_the_same_bits(expected, workers):
    found = rollouts(ROBOT, 20, executor="threads", workers=workers, **SMALL)
    assert found.table.tobytes() == expected


def test_any_executor_will_do_and_stays_open(expected):
    with ThreadPoolExecutor(2) as pool:
        assert rollouts(ROBOT, 20, executor=pool, **SMALL).table.tobytes() == expected
        assert pool.submit(int, "3").result() == 3


def test_processes_give_the_same_file_with_one_killed(tmp_path, monkeypatch):
    killing = pytest.importorskip("killing", reason="killing workers needs psutil")
    losses, mend = [], schedule._mend
    monkeypatch.setattr(schedule, "_mend", lambda e, c, x: losses.append(c) or mend(e, c, x))
    found, killer = killing.run_and_kill(
        tmp_path / "processes.npy", monkeypatch, "processes", workers=2
    )
    assert found == killing.expected()
    assert len(losses) >= 1 and killer.sockets == set()


def test_a_script_needs_no_guard_for_processes(tmp_path):
    """The script is not run again in the processes that it starts."""
    script = (
        "import kinetree as kt\n"
        "from kinetree.parallel import Normal, rollouts\n"
        "print('once')\n"
        "study = {'q0': Normal(0, 1), 'duration': 0.01, 'executor': 'processes', 'workers': 1}\n"
        "print(rollouts(kt.robots.double_pendulum(), 3, **study)['q'].shape)\n"
    )
    path = tmp_path / "script.py"
    path.write_text(script)
    command = [sys.executable, "-W", "error", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.stdout.split("\n")[:2] == ["once", "(3, 2)"], found.stderr


def test_processes_do_not_outlive_a_leader_that_was_killed():
    """Workers share the leader's output, which is closed when the last of them ends."""
    script = (
        "import os\n"
        "import kinetree as kt\n"
        "from kinetree.parallel import Normal, rollouts, run\n"
        "class Dying(run.Progress):\n"
        "    def update(self, done):\n"
        "        os._exit(9)\n"
        "run.Progress = Dying\n"
        "study = {'q0': Normal(0, 1), 'duration': 0.01, 'chunk': 1, 'workers': 2}\n"
        "rollouts(kt.robots.double_pendulum(), 99, executor='processes', **study)\n"
    )
    command = [sys.executable, "-W", "error", "-c", script]
    assert subprocess.run(command, stdout=subprocess.PIPE, timeout=120).returncode == 9


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be held back")
def test_a_worker_hears_no_interrupt_from_its_first_moment():
    engine, ask = engines.ProcessEngine(b"", 1), (signal.pthread_sigmask, signal.SIG_BLOCK, ())
    try:
        with interrupt_held_back():
            found = engine._pool.submit(*ask).result()
    finally:
        engine.close()
    assert signal.SIGINT in found and signal.SIGINT not in ask[0](*ask[1:])


def test_an_error_in_a_worker_comes_back_as_what_it_is():
    engine = engines.make_engine("processes", 1, b"9." + work.pack(dict, ROBOT.model, {}, 0, 1))
    try:
        with pytest.raises(InputError, match=r"a worker has kinetree .* comes from 9\.") as error:
            list(schedule.results(engine, 0, 5, 2))
    finally:
        engine.close()
    assert error.value.__notes__ == ["in chunk 0 (samples 0 to 1) of the study"]
