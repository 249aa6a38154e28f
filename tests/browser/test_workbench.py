"""The workbench in a real browser: user actions change the state, and the numbers are right."""

import numpy as np
import pytest
from workbench_page import WorkbenchPage

import kinetree as kt

pytest.importorskip("viser", reason="the workbench needs viser: pip install 'kinetree[view]'")


@pytest.fixture(scope="module")
def one_page(chromium):
    """One page for all tests, since loading takes longest; at the end no error was logged."""
    from kinetree.views.workbench import view

    with view(kt.robots.panda(), browser=False) as workbench:
        page = WorkbenchPage(chromium, workbench)
        yield page
        page.close()
        assert not page.faults


@pytest.fixture
def page(one_page):
    """The Panda in its position of rest."""
    one_page.put(kt.robots.panda())
    return one_page


def shown_tau(page, n):
    values = page.values("tau")
    return np.array([values.get(str(i), np.nan) for i in range(n)])


def test_a_slider_moves_the_robot_and_tau_follows(page, screenshots):
    robot = page.bench.state.robot
    q = page.bench.state.q.copy()
    before = shown_tau(page, robot.n)
    page.set_slider("panda_joint2", 0.7)
    q[1] = 0.7
    assert page.until(lambda: abs(page.bench.state.q[1] - 0.7) < 1e-3)
    assert page.until(page.shows_tau)
    np.testing.assert_allclose(page.bench.state.q, q, atol=2e-3)  # sliders have steps
    assert np.abs(shown_tau(page, 7) - before).max() > 5
    page.tab("dq, rad/s")
    page.set_slider("panda_joint1", 1.5)
    page.tab("ddq, rad/s²")
    page.set_slider("panda_joint4", -4)
    assert page.until(lambda: page.bench.state.ddq[3] < -3.9)
    assert page.until(page.shows_tau)
    page.shot(screenshots / "workbench_panda_forces.png")


def test_the_mass_matrix_follows(page, screenshots):
    page.tab("M")
    page.set_slider("panda_joint4", -2.0)
    assert page.until(lambda: abs(page.bench.state.q[3] + 2) < 2e-3)

    def agrees():
        M = page.bench.state.robot.mass_matrix(page.bench.state.q)
        shown = page.values("m")
        return shown == {f"{i},{j}": M[i, j] for i in range(7) for j in range(7)}

    assert page.until(agrees)
    page.shot(screenshots / "workbench_panda_mass.png")


def test_a_push_loads_the_joints(page, screenshots):
    page.tab("Push")
    free = shown_tau(page, 7)
    page.page.get_by_role("checkbox", name="push the robot").click()
    assert page.until(lambda: page.bench.state.push is not None)
    assert page.until(page.shows_tau)
    assert np.abs(shown_tau(page, 7) - free).max() > 5
    page.shot(screenshots / "workbench_panda_push.png")


def test_a_handle_is_dragged_and_dropped_on_a_link(page):
    """The viewer's own gizmo: its messages, as the mouse makes them, move the point of attack."""
    from kinetree.views.workbench.bench import change
    from kinetree.views.workbench.push import first_push, point_in_space

    state = page.bench.state
    change(page.bench, push=first_push(state))
    foot = point_in_space(page.bench.state, page.bench.state.push)

    def moved():
        return not np.allclose(point_in_space(page.bench.state, page.bench.state.push), foot)

    for _ in range(8):  # a handle that is not drawn yet is missed, and the view turned instead
        x, y = on_screen(page, foot)
        page.page.mouse.move(x, y - 24)  # the arrow of z
        page.page.mouse.down()
        page.page.mouse.move(x, y - 60, steps=4)
        page.page.mouse.up()
        if page.until(moved, seconds=3):
            break
    assert moved()
    assert page.until(page.shows_tau)


def on_screen(page, p):
    """Pixel position of a point of {s}, for the camera that the page reported."""
    client = next(iter(page.bench.server.get_clients().values()))
    camera = client.camera
    w, x, y, z = camera.wxyz
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    local = R.T @ (np.asarray(p) - camera.position)
    box = page.page.locator("canvas").first.bounding_box()
    scale = box["height"] / 2 / np.tan(camera.fov / 2)
    return (
        box["x"] + box["width"] / 2 + scale * local[0] / local[2],
        box["y"] + box["height"] / 2 + scale * local[1] / local[2],
    )


def test_a_simulation_plays_with_its_plots(page, screenshots):
    page.tab("Motion")
    page.tab("Plots")
    page.press("Simulate from here")
    assert page.until(lambda: page.bench.trajectory is not None)
    assert page.until(lambda: page.page.locator("svg polyline").count() >= 21)
    end = page.bench.trajectory.q[-1]
    assert page.until(lambda: np.array_equal(page.bench.state.q, end))
    page.page.get_by_role("button", name="Play", exact=True).wait_for()
    page.tab("Forces")  # a fall needs no joint forces: all parts cancel
    assert page.until(lambda: np.abs(shown_tau(page, 7)).max() < 1e-9)
    page.tab("Plots")
    page.shot(screenshots / "workbench_panda_plots.png")


def test_what_a_hand_does_is_recorded(page):
    page.tab("Motion")
    page.press("Record slider motion")
    page.page.get_by_role("button", name="Finish recording", exact=True).wait_for()
    page.tab("Joints")
    page.set_slider("panda_joint1", 0.8)
    assert page.until(lambda: abs(page.bench.state.q[0] - 0.8) < 2e-3)
    moved = page.bench.state.q
    page.tab("Motion")
    page.press("Finish recording")
    assert page.until(lambda: page.bench.trajectory is not None)
    q = page.bench.trajectory.q
    np.testing.assert_allclose(q[-1], moved, atol=1e-12)
    assert abs(q[0, 0]) < 1e-12 and np.abs(q[:, 1:] - moved[1:]).max() < 1e-9


def test_a_free_base_is_recorded_as_well(page, screenshots):
    """Its attitude is a quaternion, averaged as a rotation."""
    page.put(kt.robots.quadruped())
    page.tab("Motion")
    page.press("Record slider motion")
    page.page.get_by_role("button", name="Finish recording", exact=True).wait_for()
    page.tab("Joints")
    base = page.bench.state.robot.model.joint_names[0]
    page.set_slider(f"{base}.yaw", 1.0)
    assert page.until(lambda: page.bench.state.q[3] > 0.4)
    moved = page.bench.state.q
    page.tab("Motion")
    page.press("Finish recording")
    assert page.until(lambda: page.bench.trajectory is not None)
    motion = page.bench.trajectory
    np.testing.assert_allclose(motion.q[-1], moved, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(motion.q[:, :4], axis=1), 1, rtol=1e-15)
    page.tab("Plots")
    page.shot(screenshots / "workbench_quadruped_recording.png")


def test_ellipsoids_are_drawn_at_the_hand(page, screenshots):
    page.tab("Hand")
    page.page.get_by_role("checkbox", name="draw mass").click()
    node = page.bench.server.scene.get_handle_by_name(page.bench.node("hand/mass"))
    assert page.until(lambda: node.visible)  # placed before it is visible
    tool = page.bench.state.robot.pose(page.bench.state.q)[:3, 3]
    np.testing.assert_allclose(node.position, tool, atol=1e-12)
    lengths = page.bench.state.robot.mass_ellipsoid(page.bench.state.q).lengths
    np.testing.assert_allclose(np.array(node.scale) / max(node.scale), lengths / lengths.max())
    page.shot(screenshots / "workbench_panda_hand.png")


def test_stepping_through_the_recursion(page, screenshots):
    page.tab("dq, rad/s")
    page.set_slider("panda_joint2", 1.0)
    assert page.until(lambda: page.bench.state.dq[1] > 0.9)
    page.tab("Recursion")
    state = page.bench.state
    record = state.robot.newton_euler(state.q, state.dq, state.ddq)
    for i in range(3):
        page.press("next ▶")
        page.page.get_by_text(f"Step {i + 1} of 14: outward").wait_for()
        shown = page.values("step")
        np.testing.assert_allclose([shown[f"V,{r}"] for r in range(6)], record.V[i], atol=1e-12)
    page.press("◀ back")
    page.page.get_by_text("Step 2 of 14: outward").wait_for()
    for _ in range(7):
        page.press("next ▶")
    page.page.get_by_text("Step 9 of 14: inward").wait_for()
    shown = page.values("step")
    np.testing.assert_allclose([shown[f"F,{r}"] for r in range(6)], record.F[5], atol=1e-11)
    assert shown["tau,0"] == pytest.approx(record.tau[5], rel=1e-12)
    page.shot(screenshots / "workbench_panda_recursion.png")
    page.press("off")
    page.page.get_by_text("to go outward").wait_for()


def test_the_picture_of_the_readme(page, screenshots):
    """Panda on the move with a weight at its hand; docs/pictures/workbench.png is this one."""
    from kinetree.views.workbench.bench import change
    from kinetree.views.workbench.push import first_push

    q = np.array([0.3, 0.25, 0, -1.9, 0, 2.1, 0.8])
    dq = np.array([0.6, -0.8, 0.4, 1.0, 0.5, -0.3, 0.2])
    ddq = np.array([3.0, 4.0, -2.0, -5.0, 2.0, 3.0, 1.0])
    change(page.bench, q=q, dq=dq, ddq=ddq)
    change(page.bench, push=first_push(page.bench.state))
    assert page.until(page.shows_tau)
    path = screenshots / "workbench.png"
    page.shot(path)
    assert path.stat().st_size < 300_000
