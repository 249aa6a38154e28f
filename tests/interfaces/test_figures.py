"""Figures of motions and results: their lines are the numbers, in every format."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import kinetree as kt

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def run():
    robot = kt.robots.planar_2r()
    return robot.simulate([0.4, 0.3], duration=0.5)


def test_lines_are_the_numbers_of_the_motion(run):
    figure = run.plot()
    charts = {chart.title: chart for chart in figure.charts}
    for title, values in (("position", run.q), ("rate", run.dq), ("joint force", run.tau)):
        for k, line in enumerate(charts[title].series):
            np.testing.assert_array_equal(line.x, run.t)
            np.testing.assert_array_equal(line.y, values[:, k])
    (energy,) = (x for x in charts if "energy" in x)
    total = [line.y for line in charts[energy].series if "total" in line.name]
    if total:
        np.testing.assert_allclose(total[0], total[0][0], atol=1e-6)


def test_limits_and_their_violations_are_shown():
    robot = kt.robots.panda()
    start = robot.start_position()
    plan = kt.motion.quintic(start, start + 0.4, 0.2, robot=robot)
    rate = next(x for x in plan.plot().charts if x.title == "rate")
    assert {line.limits[1] for line in rate.series} == {2.175, 2.61}
    assert plan.plot(panels=["dq"]).charts[0].beyond


def test_a_batch_is_its_median_and_range():
    q = np.random.default_rng(0).normal(size=(20, 9, 2))
    model = kt.robots.planar_2r().model
    batch = kt.motion.Trajectory(t=np.arange(20.0), q=q, dq=0 * q, ddq=0 * q, model=model)
    line = batch.plot(panels=["q"]).charts[0].series[1]
    np.testing.assert_array_equal(line.y, np.median(q[:, :, 1], axis=1))
    np.testing.assert_array_equal(line.band[0], q[:, :, 1].min(axis=1))
    np.testing.assert_array_equal(line.band[1], q[:, :, 1].max(axis=1))


def test_an_svg_is_an_affine_image_of_the_data():
    t = np.sort(np.random.default_rng(1).uniform(0, 3, 60))
    q = np.random.default_rng(2).normal(size=(60, 2))
    motion = kt.motion.Trajectory(t=t, q=q, joint_names=(HOSTILE, "a & b"))
    text = motion.plot(panels=["q"]).svg()
    ElementTree.fromstring(text)
    assert "<script" not in text
    drawn = re.findall(r'class="track c\d d\d" d="M([^"h]*)"', text)
    assert len(drawn) == 2
    scales = []
    for k, path in enumerate(drawn):
        x, y = np.array([[float(v) for v in p.split()] for p in path.split("L")]).T
        slope, offset = np.polyfit(t, x, 1)
        np.testing.assert_allclose(slope * t + offset, x, atol=0.1)
        scales.append(np.polyfit(q[:, k], y, 1))
        np.testing.assert_allclose(np.polyval(scales[k], q[:, k]), y, atol=0.1)
    np.testing.assert_allclose(scales[0], scales[1], rtol=2e-3)
    assert scales[0][0] < 0 < slope  # up is larger, right is later


def test_files_of_every_format_are_written(run, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    for ending in ("svg", "html", "png", "pdf"):
        path = tmp_path / f"run.{ending}"
        run.plot(path)
        assert path.stat().st_size > 5000
    axes = run.plot().matplotlib().axes
    drawn = {axis.get_ylabel(): axis for axis in axes}
    np.testing.assert_array_equal(drawn["position, rad"].lines[0].get_ydata(), run.q[:, 0])
    with pytest.raises(kt.errors.KinetreeError):
        run.plot(tmp_path / "run.txt")
    with pytest.raises(kt.errors.KinetreeError, match="jerk"):
        run.plot(panels=["jerk"])


def test_results_have_figures():
    """Of identification, and animations."""
    pytest.importorskip("matplotlib").use("agg")
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
