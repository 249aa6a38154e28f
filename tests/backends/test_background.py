"""Large kernels answer at once, and their own code takes over without a change of any bit."""

import gc
import itertools
import logging
import os
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import kinetree as kt
from kinetree import scalars as s
from kinetree.engine import Kernel, Port, background, interpret, optimise, trace
from kinetree.engine.kernels import forms
from kinetree.engine.llvm import engine
from kinetree.errors import CompileError
from kinetree.model.samples import random_model
from sweeps import nested_graph, pairs, problems, solve_graph, starts, two_graph

RUN = background.Job.run
QUANTITIES = [
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "coriolis_matrix",
    "kinetic_energy",
    "link_poses",
    "body_jacobian",
    "friction_forces",
    "inverse_dynamics_derivatives",
    "regressor",
]


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
    friction = kt.Friction(viscous=0.3, coulomb=0.2)
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
    """Results on every path: a batch, single states, lists, `out=`."""
    arrays = states(kernel)
    batch = kernel(*arrays)
    found = [bits(batch), bits(kernel(*(x[2] for x in arrays)))]
    found.append(bits(kernel(*(x.tolist() for x in arrays))))
    outs = tuple(np.empty_like(x) for x in (batch if isinstance(batch, tuple) else (batch,)))
    found.append(bits(kernel(*arrays, out=outs if len(outs) > 1 else outs[0])))
    found.append(bits(kernel(*(x[:, ::1][::-1] for x in arrays))))
    return found


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_no_bit_changes_when_the_code_takes_over(quantity, gate):
    kernel = chirp().compile(quantity)
    assert kernel._compiled.is_first
    before = answers(kernel)
    gate.set()
    assert kernel.wait() is kernel and not kernel._compiled.is_first
    assert answers(kernel) == before


@pytest.mark.parametrize(
    ("make", "given"), [(solve_graph, problems), (two_graph, pairs), (nested_graph, starts)]
)
def test_graphs_with_loops_answer_first_too(make, given, gate):
    kernel = Kernel(make())
    assert kernel._compiled.is_first
    arrays = given(13)

    def found():
        turned = [np.asfortranarray(x)[::2] for x in arrays]
        return bits(kernel(*arrays)), bits(kernel(*(x[5] for x in arrays))), bits(kernel(*turned))

    before = found()
    assert before[0] == bits(interpret(kernel.graph, *arrays))
    gate.set()
    kernel.wait()
    assert found() == before


@pytest.mark.parametrize("quantity", ["forward_dynamics", "inverse_mass_matrix", "step_rk4"])
def test_loops_over_the_links_answer_first_too(quantity, gate, monkeypatch):
    for name in ("LONGEST_STRAIGHT", "LONGEST_MATRIX"):
        monkeypatch.setattr(forms, name, -1)
    robot = kt.Robot(random_model(5, 9, types=("revolute", "spherical", "free")))
    kernel = robot.compile(quantity)
    assert kernel._compiled.is_first and kernel.notes.form == "looped"
    arrays = [np.random.default_rng(2).uniform(0.1, 1, (11, *p.shape)) for p in kernel.graph.inputs]
    before = bits(kernel(*arrays)), bits(kernel(*(x[3] for x in arrays)))
    gate.set()
    kernel.wait()
    assert (bits(kernel(*arrays)), bits(kernel(*(x[3] for x in arrays)))) == before


def test_a_batch_that_would_take_longer_than_compiling_waits(gate, monkeypatch):
    kernel = chirp().compile("inverse_dynamics")
    many = states(kernel, kernel._dispatch.large)
    before = bits(kernel(*many))
    assert kernel._compiled.is_first
    gate.set()
    monkeypatch.setattr(background, "WALK_S_PER_STEP", 1.0)
    assert bits(kernel(*many)) == before and not kernel._compiled.is_first


def test_a_thread_that_waits_helps_to_compile(monkeypatch):
    helped, here, assemble = threading.Event(), threading.current_thread(), engine.assemble_module

    def module(text, target, effort):
        if threading.current_thread() is here:
            helped.set()
        elif "kernel_one_part0" in text or "kernel_block" in text:
            helped.wait(60)
        return assemble(text, target, effort)

    kernel = kt.robots.panda().compile("forward_dynamics_derivatives")
    assert kernel._compiled.is_first
    monkeypatch.setattr(engine, "assemble_module", module)
    kernel.wait()
    assert helped.is_set() and not kernel._compiled.is_first


def test_the_code_takes_over_without_being_waited_for(gate):
    kernel = chirp().compile("forward_dynamics")
    entry = kernel._compiled.entry()
    before = answers(kernel)
    gate.set()
    idle()
    assert kernel._compiled.entry() != entry
    assert answers(kernel) == before


def test_special_values_keep_their_bits(gate):
    def function(x, y):
        found = [s.sin(x[0]), s.cos(x[0]), s.sin(x[0] * y), s.exp(x[1]), s.log(x[1]), s.tanh(x[2])]
        found += [s.atan2(x[0], y), s.minimum(x[0], x[1]), s.maximum(y, x[2]), s.sign(x[0])]
        found += [s.where(x[0], x[1], y), abs(x[2]), s.sqrt(x[1]), x[0] / y, -x[1], x[0] * y - 3]
        return np.array([*found, x[0], 2.5])

    graph = optimise(trace(function, [Port("x", (3,)), Port("y", ())]))
    values = [0.0, -0.0, 1e-310, 1e300, -1e5, 4e5, np.inf, -np.inf, np.nan, 0.7]
    grid = np.array(list(itertools.product(values, repeat=3)))
    y = np.resize(values[::-1], len(grid))
    kernel = Kernel(graph)
    assert kernel._compiled.is_first

    def results():
        singles = zip(grid[::7], y[::7], strict=True)
        return bits(kernel(grid, y)), [bits(kernel(*state)) for state in singles]

    before = results()
    gate.set()
    kernel.wait()
    assert results() == before


def test_a_kernel_behind_a_door_stays_behind_it(gate):
    robot = chirp()
    q, dq, tau = np.array([0.3, -0.2]), np.array([0.5, 0.1]), np.array([1.0, 2.0])
    before = bits(robot.step(q, dq, tau, 0.01))
    gate.set()
    idle()
    assert bits(robot.step(q, dq, tau, 0.01)) == before
    with pytest.raises(kt.errors.InputError, match="dt"):
        robot.step(q, dq, tau, -0.01)


def test_equal_graphs_are_compiled_once(gate, compiled):
    graph = chirp().compile("inverse_dynamics").graph
    others = [Kernel(graph) for _ in range(3)]
    gate.set()
    found = [answers(kernel.wait()) for kernel in others]
    straight = [text for text in compiled if "@kernel_block" in text]
    assert len(straight) == 1 and found[0] == found[1] == found[2]


def test_a_kernel_whose_turn_has_not_come_is_compiled_where_it_is_needed(gate, monkeypatch):
    first = chirp().compile("inverse_dynamics")
    second = chirp().compile("mass_matrix")
    assert first._compiled.is_first
    monkeypatch.setattr(background.Job, "run", RUN)
    second.wait()  # while the first is kept waiting in the background
    assert not second._compiled.is_first and first._compiled.is_first


def test_nothing_is_compiled_for_kernels_that_no_longer_exist(gate, compiled):
    first = chirp().compile("inverse_dynamics")
    kernels = [chirp().compile("mass_matrix"), kt.robots.panda().compile("mass_matrix")]
    robots = [weakref.ref(x) for kernel in kernels for x in (kernel, kernel._compiled)]
    del kernels
    gc.collect()
    assert [x() for x in robots] == [None] * 4  # while they wait for their turn
    gate.set()
    idle()
    assert not first._compiled.is_first
    assert len([text for text in compiled if "@kernel_block" in text]) == 1
    again = chirp().compile("mass_matrix")
    assert answers(again.wait()) == answers(chirp().compile("mass_matrix"))


def test_an_error_is_logged_and_raised_where_the_code_is_needed(gate, monkeypatch, caplog):
    kernel = chirp().compile("mass_matrix")
    before = answers(kernel)

    def broken(text, target, effort):
        raise CompileError("a defect of LLVM")

    monkeypatch.setattr(engine, "assemble", broken)
    with caplog.at_level(logging.WARNING):
        gate.set()
        idle()
    with pytest.raises(CompileError, match="a defect of LLVM"):
        kernel.wait()
    assert "could not compile in the background: a defect of LLVM" in caplog.text
    assert answers(kernel) == before


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


def test_a_kernel_can_be_pickled_before_its_code_is_there(gate):
    kernel = chirp().compile("mass_matrix")
    copied = pickle.loads(pickle.dumps(kernel))
    assert answers(copied) == answers(kernel)


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


def test_stored_code_is_used_at_once(folder, monkeypatch):
    monkeypatch.delenv("KINETREE_CACHE")
    chirp().compile("mass_matrix", wait=True)
    again = chirp().compile("mass_matrix")
    assert not again._compiled.is_first
    assert [stage.name for stage in again.notes.stages] == ["graph", "machine code", "load"]


def test_the_environment_switches_the_background_off(monkeypatch):
    monkeypatch.setenv("KINETREE_BACKGROUND", "off")
    assert not chirp().compile("mass_matrix")._compiled.is_first


def test_small_kernels_are_compiled_at_once(monkeypatch):
    monkeypatch.setattr(background, "LONGEST_WAIT_S", 0.4)
    assert not chirp().compile("forward_dynamics")._compiled.is_first


def test_float32_is_compiled_when_it_is_needed(gate):
    kernel = chirp().compile("mass_matrix")
    found = kernel(np.zeros(2, np.float32))
    assert found.dtype == np.float32 and kernel._compiled.is_first


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


STORING = """
import kinetree as kt
kernel = kt.robots.panda().compile("forward_dynamics")
print(kernel._compiled.is_first, kernel.notes.stages[-1].name)
"""


def test_a_short_program_leaves_its_code_for_the_next(tmp_path):
    environment = os.environ | {"KINETREE_CACHE": "1", "KINETREE_THREADS": "1"}
    environment["KINETREE_CACHE_DIR"] = str(tmp_path)
    for expected in ("True first code", "False load"):
        done = subprocess.run(
            [sys.executable, "-c", STORING],
            capture_output=True, text=True, timeout=120, env=environment,
        )  # fmt: skip
        assert (done.stdout.strip(), done.stderr) == (expected, "")


SHARED = """
import numpy as np
import kinetree as kt
from kinetree.engine import background
from kinetree.engine.call import vectorcall
from kinetree.engine.call.fastcall import ROWS
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.walk import walker
efforts, assemble = {"enter": [], "walk": []}, engine.assemble_module
def noted(text, target, effort):
    for name, found in efforts.items():
        if f"define {'void' if name == 'walk' else 'ptr'} @{name}(" in text:
            found.append(effort)
    return assemble(text, target, effort)
engine.assemble_module = noted
background.LONGEST_WAIT_S = 0.0
kernel = kt.robots.panda().forward_dynamics
assert kernel._compiled.is_first
row = ROWS.index("enter")
lists = np.random.default_rng(0).normal(size=(3, kernel.graph.inputs[0].size)).tolist()
before = kernel(*lists)
kernel.wait()
assert vectorcall.table()[row] == vectorcall.shared_code().address("enter")
assert vectorcall.shared.early() is vectorcall.shared_code() and walker.early() is walker.final()
assert (kernel(*lists) == before).all()
print(efforts)
"""


def test_code_that_kernels_share_answers_before_it_is_compiled_with_effort(tmp_path):
    environment = os.environ | {"KINETREE_CACHE": "1", "KINETREE_CACHE_DIR": str(tmp_path / "c")}
    script = SHARED
    for expected in ("{'enter': [0, 2], 'walk': [0, 1]}", "{'enter': [], 'walk': []}"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True, text=True, timeout=120, env=environment,
        )  # fmt: skip
        assert (done.stdout.strip(), done.stderr) == (expected, "")
        script = script.replace("panda()", "ur5e()")  # another kernel: the code is on disk


def test_effort_on_shared_code_waits_for_the_first_kernel(monkeypatch):
    from kinetree.engine.call import vectorcall
    from kinetree.engine.llvm.walk import walker

    done, made = threading.Event(), []
    monkeypatch.setattr(background, "_traced", traced := threading.Event())
    monkeypatch.setattr(background, "LONGEST_DELAY_S", 120)
    monkeypatch.setattr(vectorcall, "use_shared_code", lambda: made.append("calls"))
    monkeypatch.setattr(type(walker), "final", lambda self: (made.append("walker"), done.set()))
    monkeypatch.setattr(background, "_preparing", None)
    background.prepare()
    assert not done.wait(0.3) and not made
    traced.set()
    background._preparing.join()
    assert made == ["calls", "walker"]
