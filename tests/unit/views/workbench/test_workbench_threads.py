"""Callbacks run in many threads, in any order and with a delay; no action of a user is lost.

Every test is one such order, made by hand: what the viewer does when a message comes, and what its
threads do later.
"""

import inspect
import threading

import numpy as np
import pytest

import kinetree as kt

pytest.importorskip("viser", reason="the workbench needs viser: pip install 'kinetree[view]'")
from kinetree.views.workbench import motion as motion_panel
from kinetree.views.workbench.bench import change, in_turn, show, take, user_action
from kinetree.views.workbench.motion import NAME, Player
from kinetree.views.workbench.motions import simulated
from kinetree.views.workbench.push import dropped_on, first_push, point_in_space
from kinetree.views.workbench.view import open_robot, view


@pytest.fixture(scope="module")
def running():
    with view(kt.robots.planar_2r(), browser=False) as workbench:
        yield workbench.bench


@pytest.fixture
def bench(running):
    open_robot(running, kt.robots.planar_2r(), None, [])
    return running


class Event:
    """Argument of a callback."""

    client = object()

    def __init__(self, target, phase=None):
        self.target, self.phase = target, phase


def element(bench, label):
    """The element of the page with a label."""
    found = bench.server.gui._gui_input_handle_from_uuid.values()
    return next(x for x in found if x.label == label)


def step_elements(bench):
    """The slider and the buttons of the recursion."""
    found = bench.server.gui._gui_input_handle_from_uuid.values()
    step = [x for x in found if x.label == "Step"]
    return sorted(step, key=lambda x: isinstance(x.value, str))


def message(handle, value):
    """A browser sets a value; returns the callbacks that a thread has yet to run."""
    handle._impl.value = value
    return later(handle._impl.update_cb, Event(handle))


def later(callbacks, event):
    """Run coroutines at once, as the viewer does; return a function that runs the rest."""
    waiting = []
    for callback in list(callbacks):
        if inspect.iscoroutinefunction(callback):
            with pytest.raises(StopIteration):  # runs to its end
                callback(event).send(None)
        else:
            waiting.append(callback)
    return lambda: [callback(event) for callback in waiting]


def test_of_two_callbacks_in_the_wrong_order_the_newer_value_counts(bench):
    slider = element(bench, "joint1")
    first, last = message(slider, 0.25), message(slider, 0.5)
    last()
    first()
    assert bench.state.q[0] == 0.5 and slider.value == 0.5


def test_a_slider_is_not_pulled_back_by_a_state_that_does_not_know_of_it(bench):
    slider = element(bench, "joint1")
    message(slider, 0.25)()
    act = message(slider, 0.5)
    change(bench, dq=np.array([0.1, 0.2]))
    assert slider.value == 0.5
    act()
    assert bench.state.q[0] == 0.5
    change(bench, q=np.array([0.75, 0.0]))
    assert slider.value == 0.75


def test_every_panel_is_shown_the_same_state(bench):
    seen, other = [], bench.state.replace(dq=np.ones(2))

    def interrupts(state):
        seen.append(state)
        bench.state = other

    bench.refreshers[:0] = [interrupts]
    bench.refreshers.append(seen.append)
    before = bench.state
    show(bench)
    del bench.refreshers[0], bench.refreshers[-1]
    assert seen == [before, before]


def test_a_panel_does_not_follow_a_state_that_is_old(bench):
    slider = element(bench, "joint1")
    old = bench.state
    change(bench, q=np.array([0.5, 0.0]))
    for refresh in bench.refreshers:
        refresh(old)
    assert slider.value == 0.5


def test_buttons_act_in_the_order_of_the_presses():
    class Group:
        value = ""

    done, callbacks, group = [], [], Group()
    in_turn(callbacks.append, done.append)
    waiting = []
    for group.value in ("next", "next", "back"):
        waiting.append(later(callbacks, Event(group)))
    for act in reversed(waiting):
        act()
    assert done == ["next", "next", "back"]


def test_presses_of_the_recursion_that_come_at_once_all_count(bench):
    slider, buttons = step_elements(bench)
    waiting = [message(buttons, press) for press in ("next ▶", "next ▶", "next ▶", "◀ back")]
    for act in reversed(waiting):
        act()
    assert slider.value == 2


def test_robots_that_are_chosen_at_once_end_with_the_last(bench):
    choice = element(bench, "Robot")
    waiting = [message(choice, name) for name in ("scara", "cart_pole")]
    for act in reversed(waiting):
        act()
    assert bench.state.robot.name == kt.robots.cart_pole().name


def test_a_push_that_is_switched_on_is_not_switched_off_by_a_panel(bench):
    box = element(bench, "push the robot")
    act = message(box, True)
    show(bench)
    act()
    assert box.value and bench.state.push is not None
    off = message(box, False)
    change(bench, q=np.array([0.3, 0.2]))
    off()
    assert not box.value and bench.state.push is None


def test_a_force_is_set_without_touching_the_rest_of_the_push(bench):
    change(bench, push=first_push(bench.state))
    force, link = element(bench, "Force in {s}, N"), element(bench, "Link")
    act = message(force, (1.0, 2.0, 3.0))
    message(link, "link1")()
    act()
    push = bench.state.push
    assert bench.state.robot.model.link_names[push.link] == "link1" == link.value
    np.testing.assert_array_equal(push.force, [1, 2, 3])
    message(force, (np.inf, 0.0, 0.0))()
    np.testing.assert_array_equal(bench.state.push.force, [1, 2, 3])
    assert force.value == (1.0, 2.0, 3.0)


def test_a_link_that_was_chosen_before_the_push_is_corrected_by_it(bench):
    link = element(bench, "Link")
    message(link, "link2" if link.value == "link1" else "link1")()
    change(bench, push=first_push(bench.state))
    assert link.value == bench.state.robot.model.link_names[bench.state.push.link]


def test_a_drag_that_has_ended_stays_ended(bench):
    """The thread of the last movement of a drag may run after that of its end."""
    change(bench, push=first_push(bench.state))
    foot = bench.server.scene.get_handle_by_name(bench.node("push/foot"))
    callbacks = foot._impl_aux.update_cb
    start = later(callbacks, Event(foot, "start"))
    start()
    foot._impl.position = np.array([0.5, 0.2, 0.0])
    middle = later(callbacks, Event(foot, "update"))
    middle()
    np.testing.assert_allclose(point(bench), [0.5, 0.2, 0.0], atol=1e-12)  # held, off the link
    end = later(callbacks, Event(foot, "end"))
    wanted = dropped_on(bench.state, bench.state.push, np.array([0.5, 0.2, 0.0]))
    end()
    middle()
    np.testing.assert_allclose(point(bench), point_in_space(bench.state, wanted), atol=1e-12)
    change(bench, q=np.array([0.4, 0.0]))
    np.testing.assert_allclose(foot.position, point(bench), atol=1e-12)  # not held


def point(bench):
    return point_in_space(bench.state, bench.state.push)


def test_the_frame_of_a_step_is_placed_before_it_is_seen(bench):
    frame = bench.server.scene.get_handle_by_name(bench.node("recursion/link"))
    change(bench, q=np.array([0.7, -0.4]))
    seen = []
    queue = bench.server._websock_server.queue_message

    def watch(sent):
        if getattr(sent, "name", "") == frame.name and getattr(sent, "visible", False):
            seen.append(np.array(frame.position))
        queue(sent)

    bench.server._websock_server.queue_message = watch
    try:
        message(step_elements(bench)[0], 2)()
    finally:
        bench.server._websock_server.queue_message = queue
    np.testing.assert_allclose(seen, [bench.state.robot.link_poses(bench.state.q)[1, :3, 3]])


def test_a_hand_on_the_time_of_a_motion_wins_over_the_player(bench):
    take(bench, bench.state.robot, simulated(bench.state, "fall: no forces", 1.0))
    slider = element(bench, "Time, s")
    act = message(slider, 0.5)
    slider._impl.value = 0.9  # the player's next frame, before the callback ran
    act()
    k = int(np.argmin(np.abs(bench.trajectory.t - 0.5)))
    assert slider.value == 0.5
    np.testing.assert_array_equal(bench.state.q, bench.trajectory.q[k])


def test_a_frame_of_a_robot_that_is_gone_moves_nothing(bench):
    take(bench, bench.state.robot, simulated(bench.state, "fall: no forces", 1.0))
    act = message(element(bench, "Time, s"), 0.5)
    old, scara = bench.trajectory, kt.robots.scara()
    open_robot(bench, scara, None, [])
    bench.trajectory = old  # a thread may have read it just before
    act()
    assert bench.state.q.shape == (4,)


def test_many_calls_of_play_leave_one_player_and_one_stop_ends_it():
    player = Player(lambda now: None, lambda: None)
    threads = [threading.Thread(target=player.play, args=(0.0, 1e6, 1.0)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert player.playing and len(clocks()) == 1
    player.stop()
    assert not player.playing and not clocks()


def clocks():
    """Threads of players."""
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def test_a_robot_that_goes_while_it_is_simulated_is_no_fault(bench, monkeypatch):
    trajectory = simulated(bench.state, "fall: no forces", 0.2)

    def slow(*_):
        open_robot(bench, kt.robots.scara(), None, [])
        return trajectory

    monkeypatch.setattr(motion_panel, "simulated", slow)
    message(element(bench, "Simulate from here"), True)()
    assert bench.state.robot.n == 4 and bench.trajectory is None


def test_other_faults_of_callbacks_are_not_hidden(bench):
    def fail(_):
        raise RuntimeError("a fault of ours")

    with pytest.raises(RuntimeError, match="of ours"):
        user_action(fail)(Event(element(bench, "joint1")))
