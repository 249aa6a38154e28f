"""The running workbench without a browser: robots are replaced, late results are ignored."""

import threading

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree.views.workbench.motions import simulated
from kinetree.views.workbench.readings import torques

pytest.importorskip("viser", reason="the workbench needs viser: pip install 'kinetree[view]'")
from kinetree.views.workbench.bench import change, take, user_action
from kinetree.views.workbench.view import open_robot, view


@pytest.fixture(scope="module")
def bench():
    with view(kt.robots.planar_2r(), browser=False) as workbench:
        yield workbench.bench


def stone():
    """A robot without joints that move."""
    b = kt.Builder("stone").link("base", 2.0, (0, 0, 0.1), np.eye(3) * 0.01)
    return b.build()


def feather():
    """An arm whose last link has no mass, so that M has no inverse."""
    b = kt.Builder("feather").link("base").link("arm", 1.0, (0.2, 0, 0)).link("tip")
    b.joint("j1", "revolute", "base", "arm")
    b.joint("j2", "revolute", "arm", "tip", at=(0.4, 0, 0))
    return b.build()


def labels(bench):
    """Labels of all inputs of the page."""
    return [x.label for x in bench.server.gui._gui_input_handle_from_uuid.values()]


@pytest.mark.parametrize("make", [feather, kt.robots.cart_pole, kt.robots.planar_2r])
def test_strange_robots_can_be_shown(bench, make):
    robot = make()
    open_robot(bench, robot, None, ["a note"])
    assert bench.state.robot is robot
    for name in robot.model.coordinate_names:
        assert name in labels(bench)
    change(bench, dq=np.ones(robot.n), ddq=np.ones(robot.n))


def test_elements_of_the_old_robot_are_gone(bench):
    open_robot(bench, kt.robots.scara(), None, [])
    before = len(labels(bench))
    for _ in range(3):
        open_robot(bench, kt.robots.scara(), None, [])
    assert len(labels(bench)) == before and not bench.closers[1:]


def symbolic():
    """A robot whose mass is a symbol."""
    m = sympy.Symbol("m", positive=True)
    b = kt.Builder("symbolic").link("base").link("arm", m, (1, 0, 0))
    b.joint("j", "revolute", "base", "arm")
    return b.build()


@pytest.mark.parametrize(("make", "why"), [(stone, "no joint that moves"), (symbolic, "symbols")])
def test_a_robot_that_cannot_be_shown_leaves_the_old_one(bench, make, why):
    open_robot(bench, kt.robots.planar_2r(), None, [])
    old, shown = bench.state, labels(bench)
    with pytest.raises(kt.KinetreeError, match=why):
        open_robot(bench, make(), None, [])
    assert bench.state is old and labels(bench) == shown


def test_the_same_robot_keeps_its_state(bench):
    open_robot(bench, kt.robots.planar_2r(), None, [])
    change(bench, q=np.array([0.5, -0.4]), degrees=True)
    open_robot(bench, bench.state.robot, bench.scene, [])
    np.testing.assert_array_equal(bench.state.q, [0.5, -0.4])
    change(bench, degrees=False)


def test_a_motion_of_a_robot_that_is_gone_is_ignored(bench):
    open_robot(bench, kt.robots.planar_2r(), None, [])
    robot = bench.state.robot
    trajectory = simulated(bench.state, "fall: no forces", 0.2)
    assert take(bench, robot, trajectory) and bench.trajectory is trajectory
    open_robot(bench, kt.robots.scara(), None, [])
    assert not take(bench, robot, trajectory) and bench.trajectory is None


def test_many_changes_at_once_end_with_the_last(bench):
    open_robot(bench, kt.robots.planar_2r(), None, [])
    shown = []
    bench.refreshers.append(shown.append)
    threads = [
        threading.Thread(target=change, args=(bench,), kwargs={"q": np.full(2, k / 10)})
        for k in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.refreshers.pop()
    assert shown[-1] is bench.state and len(shown) <= 12
    torques(bench.state)


def test_errors_are_shown_to_the_user_who_caused_them():
    told = []

    class Client:
        def add_notification(self, title, body, **options):
            told.append(body)

    class Event:
        client = Client()

    def fail(event):
        raise kt.errors.InputError("what, where, why")

    user_action(fail)(Event())
    assert told == ["what, where, why"]
    Event.client = None  # set by the workbench itself: nothing is done and nothing is shown
    user_action(fail)(Event())
    assert len(told) == 1


def test_two_sliders_moved_at_once_both_count(bench):
    """Callbacks run in threads and must not overwrite the changes of others."""
    open_robot(bench, kt.robots.panda(), None, [])
    elements = bench.server.gui._gui_input_handle_from_uuid.values()
    sliders = [x for x in elements if x.label.startswith("panda_joint")][:7]

    class Event:
        client = object()

        def __init__(self, target):
            self.target = target

    wanted = bench.state.q + 0.01

    def move(k):
        sliders[k]._impl.value = float(wanted[k])
        for callback in sliders[k]._impl.update_cb:
            callback(Event(sliders[k]))

    threads = [threading.Thread(target=move, args=(k,)) for k in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(bench.state.q, wanted)
