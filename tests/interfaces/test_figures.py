"""Figures of motions and results: their lines are the numbers, in every format."""

from xml.etree import ElementTree

import numpy as np
import pytest

import kinetree as kt

pytest.importorskip("matplotlib").use("agg")
HOSTILE = "<script>alert(1)</script> $x_{2}$"


@pytest.fixture(scope="module")
def run():
    robot = kt.robots.planar_2r()
    return robot.simulate([0.4, 0.3], duration=0.5)


def panels(figure):
    """Panels of a figure by title and unit; small ones by the joint and the words of their row."""
    found, row = {}, ""
    for axes in figure.axes:
        row = axes.get_ylabel() or row
        found[axes.get_title(loc="left"), row] = axes
    return found


def test_lines_are_the_numbers_of_the_motion(run):
    drawn = panels(run.plot())
    for title, unit, values in (
        ("position", "rad", run.q),
        ("rate", "rad/s", run.dq),
        ("joint force", "N m", run.tau),
    ):
        for k, line in enumerate(drawn[title, unit].lines):
            np.testing.assert_array_equal(line.get_xdata(), run.t)
            np.testing.assert_array_equal(line.get_ydata(), values[:, k])
            low, high = drawn[title, unit].get_ylim()
            assert low < values.min() and values.max() < high
    energy = {line.get_label(): line.get_ydata() for line in drawn["energy", "J"].lines}
    balance = run.energy()
    np.testing.assert_array_equal(energy["kinetic"], balance.kinetic)
    fallen = balance.potential - balance.potential[0]
    np.testing.assert_array_equal(energy["potential, since start"], fallen)


def test_angles_and_lengths_have_axes_of_their_own():
    robot = kt.robots.rp()
    motion = kt.motion.quintic([0.1, 0.2], [0.4, 0.3], 1.0, robot=robot)
    drawn = panels(motion.plot(panels=["q", "tau"]))
    assert list(drawn) == [
        ("position, joint1", "rad"), ("position, joint2", "m"),
        ("joint force, joint1", "N m"), ("joint force, joint2", "N"),
    ]  # fmt: skip
    (line,) = drawn["position, joint2", "m"].lines
    np.testing.assert_array_equal(line.get_ydata(), motion.q[:, 1])


def test_more_than_four_joints_become_small_panels_with_one_time_axis():
    robot = kt.robots.panda()
    start = kt.dynamics.start_position(robot)
    motion = kt.motion.quintic(start, start + 0.4, 0.2, robot=robot)
    figure = motion.plot(panels=["q", "energy"])
    drawn = panels(figure)
    assert len(figure.axes) == robot.n + 1
    for k, name in enumerate(robot.joint_names):
        lines = drawn[name, "position, rad"].lines
        np.testing.assert_array_equal(lines[0].get_ydata(), motion.q[:, k])
    edges = {tuple(axes.get_xlim()) for axes in figure.axes}
    assert len(edges) == 1
    left = [axes.get_position().x0 for axes in figure.axes]
    assert left[0] == left[4] == left[-1]
    joints = {line.get_color() for axes in figure.axes[:-1] for line in axes.lines}
    assert joints.isdisjoint(line.get_color() for line in figure.axes[-1].lines)


def test_limits_and_their_violations_are_shown():
    robot = kt.robots.panda()
    start = kt.dynamics.start_position(robot)
    plan = kt.motion.quintic(start, start + 0.4, 0.2, robot=robot)
    drawn = panels(plan.plot(panels=["dq"]))
    for k, axes in enumerate(drawn.values()):
        limit = 2.175 if k < 4 else 2.61
        assert [line.get_ydata()[0] for line in axes.lines[1:]] == [limit]
        assert axes.get_title(loc="right") == f"±{limit:.3g}"
        assert axes.patches  # the time at which it is exceeded
    slow = kt.motion.quintic(start, start + 0.4, 2.0, robot=robot).plot(panels=["dq"])
    assert not any(axes.patches for axes in slow.axes)
    assert all(len(axes.lines) == 1 for axes in slow.axes)  # limits that are far


def test_a_batch_is_its_median_and_range():
    q = np.random.default_rng(0).normal(size=(20, 9, 2))
    model = kt.robots.planar_2r().model
    batch = kt.motion.Trajectory(t=np.arange(20.0), q=q, dq=0 * q, ddq=0 * q, model=model)
    (axes,) = batch.plot(panels=["q"]).axes
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), np.median(q[:, :, 1], axis=1))
    shaded = axes.collections[1].get_paths()[0].vertices
    assert shaded[:, 1].min() == q[:, :, 1].min() and shaded[:, 1].max() == q[:, :, 1].max()


def test_files_of_every_format_are_written(run, tmp_path):
    for ending in ("svg", "png", "pdf"):
        path = tmp_path / f"run.{ending}"
        run.plot(path)
        assert path.stat().st_size > 5000
    ElementTree.parse(tmp_path / "run.svg")
    assert run.plot()._repr_png_().startswith(b"\x89PNG")
    for wrong in ("run.txt", "run.html", "nowhere/run.png"):
        with pytest.raises(kt.errors.InputError):
            run.plot(tmp_path / wrong)
    with pytest.raises(kt.errors.InputError, match="jerk"):
        run.plot(panels=["jerk"])


def test_names_are_text(tmp_path):
    t = np.linspace(0, 1, 5)
    motion = kt.motion.Trajectory(t=t, q=np.zeros((5, 2)), joint_names=(HOSTILE, "a & b"))
    figure = motion.plot(tmp_path / "names.svg", panels=["q"])
    ElementTree.parse(tmp_path / "names.svg")
    assert "<script" not in (tmp_path / "names.svg").read_text("utf-8")
    assert figure.axes[0].lines[0].get_label() == HOSTILE.replace("$", r"\$")


def test_without_matplotlib_the_error_names_the_extra(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(kt.errors.MissingPackageError, match=r"kinetree\[plot\]"):
        run.plot()


def test_results_have_figures():
    """Of identification, and animations."""
    robot = kt.robots.rp()
    data = kt.identify.simulated_recording(
        robot, kt.motion.excitation(robot, 5, 0.02, reach=0.8), torque_noise=0.1
    )
    found = kt.identify.identify(robot, data)
    for draw in (kt.identify.plot_forces, kt.identify.plot_parameters):
        axes = draw(found).axes
        assert axes and any(x.lines or x.collections or x.patches for x in axes)
    animation = kt.motion.quintic([0, 0], [1, 1], 0.4, 0.1, robot=robot).animate(fps=5)
    assert "canvas" in animation._repr_html_()
