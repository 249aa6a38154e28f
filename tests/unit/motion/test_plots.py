"""Figures, animations and data frames of trajectories."""

import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, MissingPackageError
from kinetree.motion import Trajectory, quintic, sinusoid
from motion_robots import PANDA_END, PANDA_START

PANDA = kt.robots.panda()
PLAN = quintic(PANDA_START, PANDA_END, 0.6, robot=PANDA)
PLAN2 = quintic([0.4, 0.3], [0.5, 0.1], 1.0, joint_names=("joint1", "joint2"))


@pytest.mark.parametrize("use", [PLAN.plot, PLAN.animate, PLAN.energy])
def test_what_is_no_robot_is_named(use):
    with pytest.raises(InputError, match=r"needs a robot and got 'plan\.gif'"):
        use(robot="plan.gif")


def panels_of(figure):
    return [f"{chart.title}, {chart.axes[1].words}" for chart in figure.charts]


def test_a_figure_has_panels_with_units_limits_and_a_legend(tmp_path):
    pytest.importorskip("matplotlib")
    figure = PLAN.plot(tmp_path / "plan.png").matplotlib()
    axes = {axis.get_ylabel(): axis for axis in figure.axes}
    assert list(axes) == ["position, rad", "rate, rad/s", "joint force, N m", "energy, J"]
    assert figure.axes[-1].get_xlabel() == "time, s"
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == list(PANDA.model.joint_names)
    levels = {
        line.get_ydata()[0] for line in axes["rate, rad/s"].lines if line.get_linestyle() == "--"
    }
    assert levels == {2.175, 2.61}  # those that the motion comes near to
    assert axes["joint force, N m"].patches and not axes["energy, J"].patches  # shade of violations
    assert (tmp_path / "plan.png").stat().st_size > 20_000


def test_names_with_dollar_signs_are_no_formulas(tmp_path):
    pytest.importorskip("matplotlib")
    motion = quintic([0, 0], [1, 1], 1, 0.1, joint_names=("$a$", "$\\oops$"), name="5$ a $part")
    figure = motion.plot(path=tmp_path / "plan.png").matplotlib()  # \\oops is no symbol of TeX
    texts = [figure._suptitle, *figure.legends[0].get_texts()]
    assert [text._preprocess_math(text.get_text()) for text in texts] == [
        (name, False) for name in ("5$ a $part", "$a$", "$\\oops$")
    ]


def test_figures_show_what_is_known():
    bare = sinusoid([0, 1], 1, 1, 1)
    assert panels_of(bare.plot()) == ["position, rad", "rate, rad/s"]
    assert panels_of(bare.plot(panels=["ddq"], title="x")) == ["acceleration, rad/s^2"]
    with pytest.raises(InputError, match="panel 'tau' needs a robot"):
        bare.plot(panels=["tau"])
    with pytest.raises(InputError, match="no panel 'jerk'"):
        bare.plot(panels=["jerk"])
    q = np.zeros((3, 2, 7)) + PANDA_START
    batch = Trajectory(t=[0, 1, 2], q=q, dq=0 * q, ddq=0 * q, model=PANDA.model)
    assert len(batch.plot().charts) == 3
    with pytest.raises(InputError, match="one motion, not a batch"):
        batch.plot(panels=["energy"])
    many = sinusoid(np.zeros(12), 1, 1, 1)
    assert len(many.plot().charts[0].series) == 12


def test_an_animation_is_written(tmp_path):
    image = pytest.importorskip("PIL.Image")
    PLAN.animate(path=tmp_path / "plan.gif", fps=5)
    with image.open(tmp_path / "plan.gif") as picture:
        assert picture.n_frames == 4


def test_a_viewer_gets_frames_at_its_own_rate():
    model, t, q = PLAN.animate(viewer=lambda *frames: frames, fps=50, speed=0.5)
    assert model is PANDA.model and np.allclose(np.diff(t), 0.02)
    assert t[-1] == pytest.approx(1.2) and np.allclose(q[[0, -1]], PLAN.q[[0, -1]], atol=1e-12)


def test_a_data_frame_has_times_names_and_units():
    pytest.importorskip("pandas")
    frame = PLAN.to_dataframe()
    assert frame.index.name == "t" and np.array_equal(frame.index, PLAN.t)
    assert np.array_equal(frame["dq:panda_joint2"], PLAN.dq[:, 1])
    assert frame.attrs["units"]["q"] == "rad" and frame.shape == (len(PLAN), 21)


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("matplotlib", "plot", lambda: PLAN.plot().matplotlib()),
        ("matplotlib", "plot", lambda: PLAN.animate().matplotlib()),
        ("pandas", "dataframe", lambda: PLAN.to_dataframe()),
    ],
)
def test_missing_packages_are_told_with_the_way_out(monkeypatch, package, extra, use):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"pip install 'kinetree\[{extra}\]'"):
        use()


def test_figures_have_the_title_asked_for_and_open_no_window(monkeypatch):
    pyplot, shown = pytest.importorskip("matplotlib.pyplot"), []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(True))
    robot = kt.robots.planar_2r()
    motion = quintic([0, 0], [1, 1], 1, 0.1, robot=robot, name="reach")
    assert motion.plot(robot=robot).title == "reach"
    figure = motion.plot(robot=robot, title="Fig. 3").matplotlib()
    assert figure.get_suptitle() == "Fig. 3" and not shown


def test_a_simulation_that_follows_is_drawn_beside_its_reference():
    """PD without gravity compensation sags below its goal by tau / kp at rest."""
    robot = kt.robots.planar_2r()
    goal = np.array([0.4, 0.3])
    law = kt.controllers.PD(goal, kp=4000.0, kd=800.0)
    run = robot.simulate(goal, duration=4.0, controller=law)
    charts = {chart.title: chart for chart in run.plot().charts}
    for k, line in enumerate(charts["position"].series):
        t, wanted = line.reference
        assert (t[0], t[-1]) == (0, 4) and np.array_equal(wanted, np.full(len(t), goal[k]))
    ends = [line.y[-1] for line in charts["position less reference"].series]
    np.testing.assert_allclose(ends, -robot.gravity_forces(run.q[-1]) / 4000, rtol=1e-3)
    moving = robot.simulate(goal, duration=0.2, controller=kt.controllers.PD(PLAN2, kp=9, kd=6))
    wanted = moving.meta["reference"]
    np.testing.assert_allclose(wanted["q"], PLAN2.curve(wanted["t"])[0])
    with pytest.raises(InputError, match="panel 'error' needs a simulation with a controller"):
        PLAN.plot(panels=["error"])
