"""Large kernels answer at once, and their own code takes over without a change of any bit."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine import background


@pytest.fixture(autouse=True)
def every_kernel_answers_first(monkeypatch):
    monkeypatch.setenv("KINETREE_BACKGROUND", "1")
    monkeypatch.setenv("KINETREE_CACHE", "off")
    monkeypatch.setattr(background, "LONGEST_WAIT_S", 0.0)
    yield
    idle()  # what one test has begun is not counted in the next


@pytest.fixture
def gate(monkeypatch):
    """Keeps the background waiting until it is opened."""
    opened = threading.Event()
    run = background.Job.run

    def late(job):
        assert opened.wait(120)
        run(job)

    monkeypatch.setattr(background.Job, "run", late)
    yield opened
    opened.set()


def chirp():
    """A robot with friction; its quantities contain every usual operation."""
    robot = kt.robots.planar_2r()
    friction = kt.friction.Friction(viscous=0.3, coulomb=0.2)
    return robot.with_friction(dict.fromkeys(robot.model.joint_names, friction))


def states(kernel, count=5, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count, *port.shape)) for port in kernel.graph.inputs]


def idle():
    """Wait until the background has nothing to do."""
    while background._worker is not None:
        threading.Event().wait(0.01)


def bits(found):
    parts = found if isinstance(found, tuple) else (found,)
    return [np.asarray(x).tobytes() for x in parts]


def answers(kernel):
    """Results of a batch and of a single state."""
    arrays = states(kernel)
    return bits(kernel(*arrays)), bits(kernel(*(x[2] for x in arrays)))


def test_threads_may_call_meanwhile(gate):
    kernel = chirp().compile("inverse_dynamics_derivatives")
    arrays = states(kernel, 40)
    expected, stop, wrong = bits(kernel(*arrays)), threading.Event(), []

    def call():
        while not stop.is_set():
            if bits(kernel(*arrays)) != expected:
                wrong.append(True)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for thread in callers:
        thread.start()
    gate.set()
    kernel.wait()
    for _ in range(20):
        assert bits(kernel(*arrays)) == expected
    stop.set()
    for thread in callers:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_goes_on_and_can_compile(gate):
    kernel = chirp().compile("inverse_dynamics")
    before = answers(kernel)
    child = os.fork()
    if child == 0:
        right = answers(kernel) == before
        right = right and answers(kernel.wait()) == before and not kernel._compiled.is_first
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


ENDING = """
import numpy as np
import kinetree as kt
from kinetree.engine import background
background.LONGEST_WAIT_S = 0.0
kernel = kt.robots.panda().compile("forward_dynamics_derivatives")
assert kernel._compiled.is_first
print(np.isfinite(kernel(*(np.zeros(p.shape) for p in kernel.graph.inputs))[0]).all())
"""


def test_a_program_may_end_before_the_code_is_there():
    done = subprocess.run(
        [sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True", "")
