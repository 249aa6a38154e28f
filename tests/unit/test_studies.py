"""Studies: rollouts are those of `simulate`, with the same bits in any parts on any executor."""

import json
import os
import subprocess
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.errors import InputError, NameLookupError, ShapeError
from kinetree.simulate import signal
from kinetree.studies import (
    Anywhere,
    Choice,
    Grid,
    Noise,
    Normal,
    Spread,
    Uniform,
    envelope,
    read,
    rollouts,
)

PANDA, ARM = kt.robots.panda(), kt.robots.double_pendulum()
HOME = np.array([0, -0.3, 0, -2.0, 0, 1.8, 0.5])
PLAN = kt.motion.quintic(HOME, HOME + 0.2, duration=0.05, dt=0.01, robot=PANDA)
STUDY = {"q0": Normal(0, 0.5), "duration": 0.02, "every": 2, "part": 7}
CASES = {
    "falls": {"q0": Anywhere(), "dq0": Normal(0, 0.2)},
    "other robots": {"q0": HOME, "parameters": {"mass": Spread(0.2), "gravity": Spread(0.1)}},
    "friction": {
        "q0": Normal(HOME, 0.1),
        "parameters": {"friction": Uniform(0, np.tile([1.0, 1, 3, 3], (7, 1)))},
    },
    "held": {
        "q0": Choice([HOME, HOME + 0.1]),
        "controller": kt.controllers.PD(HOME, 100.0, 10.0, gravity=True),
        "tau": Noise(2.0, 0.01),
    },
    "pushed": {"q0": HOME, "F_ext": Noise(1.0, 0.02), "tau": Uniform(-1, 1)},
    "follows": {
        "q0": Normal(HOME, 0.01),
        "controller": kt.controllers.ComputedTorque(PLAN, 400.0, 40.0, model=PANDA),
        "parameters": {"mass": Spread(0.2)},
    },
    "euler": {"q0": Anywhere(), "method": "semi_implicit_euler"},
}


def same(found, expected):
    assert found.columns == expected.columns
    for name in expected.columns:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


@pytest.mark.filterwarnings("ignore:the motion of")  # steps of 2 ms are unstable for these gains
@pytest.mark.parametrize("case", CASES)
def test_parts_change_no_bit(case):
    study = {"duration": 0.05, "every": 1, **CASES[case]}
    expected = rollouts(PANDA, 70, part=70, **study)
    assert np.isfinite(expected["q"]).all()
    for part in (9, 64):
        same(rollouts(PANDA, 70, part=part, **study), expected)
    same(rollouts(PANDA, 70, **study), expected)


def test_a_larger_study_begins_with_the_smaller_one():
    small, large = (rollouts(ARM, n, **STUDY) for n in (5, 100))
    np.testing.assert_array_equal(large["q"][:5], small["q"])
    assert not np.array_equal(rollouts(ARM, 5, **STUDY, seed=1)["q"], small["q"])


def test_quaternions_too():
    robot = kt.robots.quadruped()
    study = {"dq0": Normal(0, 1), "duration": 0.02}
    for q0 in (Normal(robot.neutral(), 0.1), Anywhere()):
        expected = rollouts(robot, 19, q0=q0, **study)
        same(rollouts(robot, 19, q0=q0, part=4, **study), expected)
        assert np.allclose(np.linalg.norm(expected["q"][:, :4], axis=1), 1, atol=1e-14)


def test_a_study_is_a_batch_of_simulations():
    found = rollouts(
        PANDA, 30, q0=Normal(HOME, 0.1), dq0=Uniform(-1, 1), tau=Uniform(-5, 5),
        parameters={"mass": Spread(0.1)}, duration=0.03,
    )  # fmt: skip
    motion = PANDA.simulate(
        found["q0"], found["dq0"], tau=found["tau"], parameters={"mass": found["mass"]},
        duration=0.03, method="rk4", limits="ignore",
    )  # fmt: skip
    assert np.array_equal(found["q"], motion.q[-1])
    assert np.array_equal(found["dq"], motion.dq[-1])
    assert np.array_equal(found["peak_dq"], abs(motion.dq).max(axis=0))
    assert np.array_equal(found["peak_tau"], abs(motion.tau).max(axis=0))


def test_draws_have_the_moments_that_they_are_named_after():
    count = 4000
    found = rollouts(ARM, count, q0=Normal([1.0, 2.0], [0.1, 0.3]), dq0=Uniform(-1, [1, 3]),
                     parameters={"mass": Spread(0.2)}, duration=0.001)  # fmt: skip
    error = 5 / np.sqrt(count)
    assert np.abs((found["q0"].mean(0) - [1, 2]) / [0.1, 0.3]).max() < error
    assert np.allclose(found["q0"].std(0), [0.1, 0.3], rtol=error)
    assert (found["dq0"] >= -1).all() and (found["dq0"] <= [1, 3]).all()
    assert np.abs(found["dq0"].mean(0) - [0, 1]).max() < 2 * error
    factors = found["mass"] / ARM.model.m
    assert abs(factors - 1).max() <= 0.2 and abs(factors - 1).max() > 0.19
    assert (
        abs(np.corrcoef(np.hstack([found["q0"], found["dq0"], factors]).T) - np.eye(6)).max()
        < error
    )


def test_recorded_steps_are_rows():
    study = {"q0": Normal(HOME, 0.1), "duration": 0.02, "dt": 0.002}
    steps, last = rollouts(PANDA, 5, every=3, **study), rollouts(PANDA, 5, **study)
    assert steps["q"].shape == (5, 5, 7)  # 0, 6, 12, 18 ms and the last
    assert np.allclose(steps["t"], [0, 0.006, 0.012, 0.018, 0.02], atol=1e-15)
    assert np.array_equal(steps["q"][:, -1], last["q"])
    assert np.array_equal(steps["q"][:, 0], last["q0"])
    assert np.array_equal(steps["sample"], np.repeat(np.arange(5), 5).reshape(5, 5))


def test_grids_are_combined():
    found = rollouts(ARM, 2, q0=Grid([[0.0, 0], [1, 1]]), dq0=Grid([0.0, 1, 2]), duration=0.001)
    assert found.samples == 12
    assert found["q0"][:, 0].tolist() == [0] * 6 + [1] * 6
    assert found["dq0"][:, 0].tolist() == [0, 0, 1, 1, 2, 2] * 2


@pytest.mark.filterwarnings("ignore:the motion of")  # forces jump every 5 steps
def test_noise_is_held_and_normal():
    study = {"duration": 0.1, "dt": 0.002}
    found = rollouts(ARM, 200, q0=[0.0, 0.0], tau=Noise([1.0, 3.0], 0.01), every=1, **study)
    held = found["tau"][:, :-1].reshape(200, 10, 5, 2)
    assert np.array_equal(held, np.repeat(held[:, :, :1], 5, axis=2))
    values = held[:, :, 0].reshape(-1, 2)
    # 2000 numbers: five standard errors of a standard deviation
    assert np.allclose(values.std(axis=0), [1, 3], rtol=5 / np.sqrt(2 * 2000))
    # and it is what simulate makes of the same signal
    one = signal(np.arange(10) * 0.01, held[7, :, 0])
    motion = ARM.simulate([0.0, 0.0], tau=one, method="rk4", **study)
    assert np.array_equal(found["q"][7], motion.q)


@pytest.mark.filterwarnings("ignore:the energy of")  # the second rollout is meant to be lost
def test_limits_and_lost_numbers_are_noted():
    beyond = HOME.copy()
    beyond[3] = PANDA.model.joints[3].limits.upper + 0.1
    found = rollouts(PANDA, 1, q0=Grid([HOME, beyond]), duration=0.002)
    assert np.isnan(found["violated_at"][0]) and found["violated_at"][1] == 0
    assert np.isnan(found["lost_at"]).all()
    study = {"q0": HOME, "dq0": Grid([0.0, 1e100]), "duration": 0.02, "method": "euler"}
    wild, noted = rollouts(PANDA, 1, every=1, **study), rollouts(PANDA, 1, **study)
    assert np.isnan(noted["lost_at"][0]) and noted["lost_at"][1] >= 0
    ended = wild["t"][1] > noted["lost_at"][1] - 1.5e-3  # accelerations go one step before
    for name in ("q", "dq", "tau"):  # no numbers where there was no motion any more
        assert np.isfinite(wild[name][0]).all()
        assert np.array_equal(np.isnan(wild[name][1]).all(axis=-1), ended)
    for name in ("q", "dq", "peak_dq", "peak_tau"):
        assert np.isfinite(noted[name][0]).all() and np.isnan(noted[name][1]).all()
    assert wild.lost().tolist() == noted.lost().tolist() == [1]


@pytest.mark.parametrize("parameters", [{}, {"mass": Spread(0.1), "gravity": Spread(0.05)}])
def test_an_envelope_is_where_a_limit_is_met(parameters):
    """At the payload one drive gives all it can; any push of `force` stays within the limits."""
    found = envelope(PANDA, 40, parameters=parameters)
    effort = np.array([joint.limits.effort for joint in PANDA.model.joints])
    rng = np.random.default_rng(0)
    for k in range(10):
        q, model = found["q"][k], PANDA.model
        if parameters:
            model = model.replace(m=found["mass"][k])
            model = kt.Robot(model).with_gravity(found["gravity"][k]).model
        np.testing.assert_allclose(found["p"][k], PANDA.pose(q)[:3, 3], rtol=0, atol=1e-15)
        g = dynamics.gravity_forces(model, q)
        assert np.isclose(found["holding"][k], max(abs(g) / effort), rtol=1e-12)
        loaded = dynamics.gravity_forces(kt.Robot.with_payload(model, found["payload"][k]), q)
        assert np.isclose(max(abs(loaded) / effort), 1, rtol=1e-9)
        J = PANDA.body_jacobian(q)[3:]
        f = rng.normal(size=(200, 3))
        along = J.T[np.linalg.norm(J, axis=0) > 1e-12]
        f = np.concatenate([f, along, -along])
        f *= found["force"][k] / np.linalg.norm(f, axis=1, keepdims=True)
        used = (abs(g + f @ J) / effort).max(axis=1)
        assert used.max() == pytest.approx(1, rel=1e-9)  # met along one of the columns of J


WRONG = {
    "std below 0": ({"q0": Normal(0, -1)}, InputError, "std of q0"),
    "low above high": ({"q0": Uniform(1, 0)}, InputError, "low of q0"),
    "shape": ({"q0": np.zeros(3)}, ShapeError, r"q0 of the study has shape \(3,\)"),
    "rates anywhere": ({"q0": 0, "dq0": Anywhere()}, InputError, "for positions"),
    "spread of a state": ({"q0": Spread(0.1)}, InputError, "for data of the robot"),
    "noise of a state": ({"q0": Noise(1, 1)}, InputError, "for tau and F_ext"),
    "unknown option": ({"q0": 0, "workers": 3}, InputError, "no option workers"),
    "method": ({"q0": 0, "method": "best"}, InputError, "choose one of"),
    "mass": ({"q0": 0, "parameters": {"mass": Grid([-1.0])}}, InputError, "mass"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(case):
    given, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        rollouts(ARM, 3, **{"duration": 0.01, **given})


# executors and files


def test_any_executor_will_do_and_stays_open():
    with ThreadPoolExecutor(2) as pool:
        same(rollouts(ARM, 50, executor=pool, **STUDY), rollouts(ARM, 50, **STUDY))
        assert pool.submit(int, "3").result() == 3
        with pytest.raises(InputError, match=r"cannot be sent.*kinetree\.simulate\.law"):
            rollouts(ARM, 5, executor=pool, controller=lambda t, q, dq: -q, **STUDY)


def test_processes_give_the_same_bits():
    study = {**CASES["follows"], "duration": 0.02, "part": 9}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        same(rollouts(PANDA, 20, executor=pool, **study), rollouts(PANDA, 20, **study))


def test_a_dask_cluster_gives_the_same_bits():
    distributed = pytest.importorskip("distributed", reason="this test needs Dask's distributed")
    local = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "n_workers": 2}
    with (
        distributed.LocalCluster(threads_per_worker=1, **local) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = rollouts(ARM, 50, executor=client.get_executor(pure=False), **STUDY)
    same(found, rollouts(ARM, 50, **STUDY))


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_ray_gives_the_same_bits():
    ray = pytest.importorskip("ray", reason="this test needs Ray")

    class RayExecutor(Executor):
        def submit(self, function, *args):
            return ray.remote(function).remote(*args).future()

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        same(rollouts(ARM, 50, executor=RayExecutor(), **STUDY), rollouts(ARM, 50, **STUDY))
    finally:
        ray.shutdown()


DIES = """
import os, sys
import kinetree as kt
from kinetree import studies
from kinetree.studies import study as running

class Dying(running.Progress):
    def update(self, done):
        if done >= 20:
            os._exit(9)  # as a kill does: no buffer is written, nothing is closed

running.Progress = Dying
study = {"q0": studies.Normal(0, 0.5), "duration": 0.02, "every": 2, "part": 7}
studies.rollouts(kt.robots.double_pendulum(), 50, output=sys.argv[1], **study)
"""


def test_a_killed_study_goes_on_with_the_parts_that_are_missing(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    folder = tmp_path / "study"
    command = [sys.executable, "-W", "error", "-c", DIES, str(folder)]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert killed.returncode == 9, killed.stderr
    there = {x: x.stat().st_mtime_ns for x in folder.glob("part-*.parquet")}
    assert len(there) == 3
    with pytest.raises(InputError, match="3 of 8 parts"):
        read(folder)
    found = rollouts(ARM, 50, output=folder, **{**STUDY, "part": None})
    assert {x: x.stat().st_mtime_ns for x in there} == there
    assert sorted(x.name for x in folder.iterdir() if x.suffix != ".parquet") == ["study.json"]
    same(found, rollouts(ARM, 50, **STUDY))
    same(read(folder), found)


def test_another_study_is_not_gone_on_with(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    rollouts(ARM, 20, output=tmp_path / "study", **STUDY)
    again = {"output": tmp_path / "study"}
    with pytest.raises(InputError):
        rollouts(ARM, 20, seed=1, **again, **STUDY)
    with pytest.raises(InputError):
        rollouts(ARM.with_gravity((0, 0, -1)), 20, **again, **STUDY)
    with pytest.raises(InputError):
        rollouts(ARM, 20, **again, **STUDY, controller=kt.controllers.PD([0, 0], 1.0, 1.0))
    with pytest.raises(InputError):
        rollouts(ARM, 20, output=tmp_path, **STUDY)


def test_folders_that_are_no_studies_are_refused(tmp_path):
    for text in (None, "{", "[]", '{"columns": [1], "samples": 1, "rows": 1, "part": 1}'):
        if text is not None:
            (tmp_path / "study.json").write_text(text)
        with pytest.raises(InputError, match="is not the folder of a study"):
            read(tmp_path)
    about = {"columns": ["sample"], "samples": 1 << 60, "rows": 1, "part": 1}
    (tmp_path / "study.json").write_text(json.dumps(about))
    os.mkdir(tmp_path / "part-000000.parquet")
    with pytest.raises(InputError):
        read(Path(tmp_path))


def test_groups_of_columns_and_quantiles():
    found = rollouts(ARM, 50, **STUDY)
    assert found["tau"].shape == (50, 11, 2) and found["t"].shape == (50, 11)
    low, middle, high = found.quantiles("q:elbow")
    assert low.shape == (11,) and (low <= middle).all() and (middle <= high).all()
    assert found.quantiles("q", 0.5).shape == (11, 2)
    with pytest.raises(NameLookupError, match=r"no column 'mass'; it has sample, t, q, dq, tau"):
        found["mass"]
    with pytest.raises(InputError, match="shares between 0 and 1"):
        found.quantiles("q", 5)
