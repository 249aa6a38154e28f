"""Recordings that are wrong in known ways: the verdict names the cause, or the joint."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from identified_robots import DESCRIBED, TRUE, arm_motion, covered, with_drives

import kinetree as kt
from kinetree.identify import Verdict, identify, make_recording
from kinetree.identify.hypotheses import comparison_rows
from kinetree.identify.twins import examine

MOTION = arm_motion(TRUE, 16.0)
FORCES = TRUE.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq)
RUBBING = np.asarray(TRUE.friction_forces(MOTION.dq))
NOISE = 0.05 * np.random.default_rng(2).normal(size=FORCES.shape)
ENCODER = 1e-5 * np.random.default_rng(1).normal(size=FORCES.shape)
AGE = (MOTION.t / MOTION.t[-1])[:, None]
LIFT = np.array([0, 1, 0])


def found(tau=FORCES, q=MOTION.q, t=MOTION.t):
    """The result of positions and joint forces with noise."""
    data = make_recording(DESCRIBED, t, q + ENCODER, tau + NOISE)
    return identify(DESCRIBED, data, folds=2)


def kinds(verdict, count=2):
    return [x.kind for x in verdict.reasons[:count]]


def heavier():
    loaded = TRUE.with_payload(0.4, (0.2, 0.0, 0.05))
    return loaded.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq)


def late(seconds):
    """Forces of 'lift' that are recorded some time after the motion."""
    return np.stack(
        [
            np.interp(MOTION.t - seconds * x, MOTION.t, y)
            for x, y in zip(LIFT, FORCES.T, strict=True)
        ],
        axis=1,
    )


def tilted(angle):
    """Forces of the robot on a base that is turned about x, rad."""
    g = 9.81 * np.array([0, -np.sin(angle), -np.cos(angle)])
    return TRUE.with_gravity(g).inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq)


def pulled(force):
    """Forces of the robot with a constant force on the end of its last link, N, in {s}."""
    J = np.array([TRUE.space_jacobian(q, "lower")[3:] for q in MOTION.q])
    twist = np.array([TRUE.space_jacobian(q, "lower")[:3] for q in MOTION.q])
    x = np.array([(TRUE.pose(q, "lower") @ [0.3, 0, 0, 1])[:3] for q in MOTION.q])
    return FORCES - np.einsum("tan,ta->tn", twist, np.cross(x, force)) - force @ J


GRAVITY = TRUE.inverse_dynamics(MOTION.q, 0 * MOTION.q, 0 * MOTION.q)
CASES = {  # arguments of `found`, cause, joint
    "clock 10 % slow": ({"t": 0.9 * MOTION.t}, "time-scale", None),
    "clock 1000 for 1024": ({"t": MOTION.t * 1000 / 1024}, "time-scale", None),
    "encoder zero": ({"q": MOTION.q + 0.1 * LIFT}, "encoder-zero", "lift"),
    "compensated gravity": ({"tau": FORCES - GRAVITY}, "gravity-compensated", None),
    "overcompensated friction": (
        {"tau": FORCES - 1.4 * LIFT * RUBBING},
        "friction-compensated",
        "lift",
    ),
    "gear": ({"tau": FORCES * (1 + 0.3 * LIFT)}, "gear-ratio", "lift"),
    "exchanged": ({"tau": FORCES[:, [0, 2, 1]]}, "swapped-channels", "lift"),
    "exchanged positions": ({"q": MOTION.q[:, [0, 2, 1]]}, "swapped-channels", "lift"),
    "payload": ({"tau": np.where(AGE < 0.5, FORCES, heavier())}, "payload-change", None),
    "drift": ({"tau": FORCES - 0.5 * AGE * RUBBING}, "drift", None),
    "one joint late": ({"tau": late(0.03)}, "lag", "lift"),
    "tilted base": ({"tau": tilted(0.03)}, "gravity-direction", None),
    "cable": ({"tau": pulled(np.array([0.0, 8.0, 3.0]))}, "external-force", None),
}


@pytest.fixture(scope="module")
def plain():
    return found()


@cache
def wrong(case):
    """The result of a recording that is wrong in one way."""
    return found(**CASES[case][0])


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_recording_is_not_usable_and_its_cause_is_named(case):
    _, cause, joint = CASES[case]
    result = wrong(case)
    verdict = result.verdict
    assert verdict.word != "usable" and cause in kinds(verdict), str(verdict)
    reason = next(x for x in verdict.reasons if x.kind == cause)
    assert joint is None or joint in reason.joints
    assert result.withheld and np.isnan(result.interval()[list(result.withheld)]).all()
    assert str(verdict).startswith(verdict.word) and reason.text in str(verdict)
    assert len(result.withheld_names) == len(result.withheld)


def test_a_sound_recording_is_usable_and_its_intervals_hold(plain):
    assert plain.verdict.word == "usable" and not plain.verdict.reasons and not plain.withheld
    assert str(plain.verdict).startswith("usable, but this recording cannot show")
    assert np.mean(covered(plain, TRUE)) > 0.85


def test_the_size_of_a_fault_is_in_its_sentence():
    clock = wrong("clock 10 % slow").verdict.reasons[0].text
    assert abs(float(clock.split("runs ")[1].split("%")[0]) - 10) < 1 and "slow" in clock
    assert "lengths or axes of the description look the same" in clock
    lag = wrong("one joint late").verdict
    assert any("later than that of the other joints, or is smoothed" in str(x) for x in lag.reasons)
    zero = wrong("encoder zero").verdict.reasons[0].text
    assert abs(float(zero.split("off: ")[1].split()[0]) + 0.1) < 0.01


def test_positions_of_one_joint_that_are_late_are_named():
    q = MOTION.q.copy()
    q[:, 1] = np.interp(MOTION.t - 0.03, MOTION.t, q[:, 1])
    verdict = found(q=q).verdict
    assert verdict.word != "usable" and "q of another joint is later" in str(verdict), str(verdict)


def test_a_scale_of_time_that_no_clock_has_is_a_misfit_without_a_cause():
    verdict = found(tau=FORCES - 0.6 * GRAVITY).verdict
    assert verdict.word != "usable" and "time-scale" not in kinds(verdict)
    assert verdict.reasons[0].kind in ("misfit", "external-force")  # an upward force lifts as much


def test_zeros_that_no_force_depends_on_are_undecided(plain):
    """A first joint about the vertical has no zero, that of a last joint turns its link's frame."""
    zeros = next(x for x in plain.verdict.undecided if x.kind == "encoder-zero")
    assert zeros.joints == ("turn", "bend")
    turned = found(q=MOTION.q + np.array([0.3, 0, 0]))
    assert turned.verdict.word == "usable"


def test_intervals_allow_for_a_clock_that_no_force_shows():
    """Of a pendulum, weight and inertia are unknowns of their own: any clock fits."""
    built = kt.Builder("pendulum").link("base").link("bob", 1.0, (0.1, 0.02, 0.3))
    built.joint("swing", "revolute", "base", "bob", axis=(0, 1, 0))
    pendulum = with_drives(built.build())
    motion = arm_motion(pendulum, 12.0)
    tau = pendulum.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    rng = np.random.default_rng(3)
    tau = tau + 0.01 * np.std(tau) * rng.normal(size=tau.shape)
    q = motion.q + 1e-5 * rng.normal(size=motion.q.shape)
    for scale in (1.0, 1000 / 1024):
        data = make_recording(pendulum, scale * motion.t, q, tau)
        result = identify(pendulum, data, folds=2, friction="symmetric")
        assert result.verdict.word == "usable"
        assert "time-scale" in [x.kind for x in result.verdict.undecided]
        assert np.all(covered(result, pendulum) == 1)
        assert np.all(np.ptp(result.interval(), axis=1) < 2 * np.abs(result.fit.beta))


def test_a_joint_that_never_moves_and_has_errors_sticks():
    q, dq, ddq = (x * np.array([1, 1, 0]) for x in (MOTION.q, MOTION.dq, MOTION.ddq))
    tau = TRUE.inverse_dynamics(q, dq, ddq)
    assert "sticking" not in kinds(found(tau, q).verdict)
    held = tau + np.array([0, 0, 1]) * np.sin(3 * MOTION.t)[:, None]
    reason = found(held, q).verdict.reasons[0]
    assert (reason.kind, reason.joints) == ("sticking", ("bend",))


def test_a_saturated_sensor_withholds_the_intervals_of_its_joint():
    level = np.quantile(np.abs(FORCES[:, 1]), 0.9)
    data = make_recording(
        DESCRIBED, MOTION.t, MOTION.q + ENCODER, np.clip(FORCES + NOISE, -level, level)
    )
    assert [x.kind for x in data.findings] == ["saturation"]
    result = identify(DESCRIBED, data, folds=2)
    assert kinds(result.verdict, 1) == ["saturation"] and "lift" in result.verdict.reasons[0].joints


def test_a_joint_that_sticks_has_no_interval_of_its_friction():
    """It rests in half of the recording with any friction up to its largest one."""
    rests = (MOTION.t > 5) & (MOTION.t < 12)
    first = int(np.argmax(rests))
    q, dq, ddq = (x.copy() for x in (MOTION.q, MOTION.dq, MOTION.ddq))
    q[rests, 2], dq[rests, 2], ddq[rests, 2] = q[first, 2], 0, 0
    q[MOTION.t >= 12, 2] += q[first, 2] - q[np.flatnonzero(rests)[-1] + 1, 2]
    tau = TRUE.inverse_dynamics(q, dq, ddq)
    tau[rests, 2] += 0.6 * np.sin(3 * MOTION.t[rests])
    result = found(tau, q)
    reason = result.verdict.reasons[0]
    assert (reason.kind, reason.joints) == ("sticking", ("bend",))
    assert {"coulomb[bend]", "viscous[bend]"} <= set(result.withheld_names)


@pytest.mark.parametrize("jitter", [0.0, 0.003])
def test_jitter_of_the_clock_is_seen_in_all_positions_at_once(jitter):
    late = jitter * np.random.default_rng(3).normal(size=(len(MOTION.t), 1))
    data = make_recording(DESCRIBED, MOTION.t, MOTION.q + late * MOTION.dq + ENCODER, FORCES)
    assert [x.kind for x in data.findings] == ["clock-jitter"] * bool(jitter)


def test_a_robot_that_cannot_exist_is_not_offered(plain):
    """Friction that pushes fits the data, but is no friction: the base parameters remain."""
    result = wrong("overcompensated friction")
    ratio = result.error() / result.error(physical=False)
    reason = next(x for x in result.verdict.reasons if x.kind == "unphysical")
    assert ratio[1] > 2 and "lift" in reason.joints
    assert "not the robot" in result.verdict.use
    assert np.all(plain.error() < 1.1 * plain.error(physical=False))


def test_gains_of_hypotheses_on_pure_noise_are_chi_squared(plain, experiments):
    """As many twins as stated exceed the limit, also with noise that the limit has not seen."""
    rows = comparison_rows(plain)
    beta, sigma = rows.solution
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(experiments(4, 12)):
        y = rows.W @ beta + sigma * rng.normal(size=rows.y.shape)
        alarms += bool(examine(dataclasses.replace(rows, y=y)).explanations)
    assert alarms <= 1


def test_of_three_causes_the_first_two_are_named():
    tau = FORCES * (1 + 0.3 * LIFT) - 0.5 * AGE * RUBBING * [1, 0, 0]
    assert len(examine(comparison_rows(found(tau, MOTION.q + 0.1 * LIFT))).explanations) == 2


def test_a_verdict_is_a_sentence():
    reason = kt.identify.Finding("drift", ("a",), "friction of 'a' changes")
    assert str(Verdict("not usable", "", (reason,))) == "not usable because friction of 'a' changes"
    partly = Verdict("usable for", "3 of 5 base parameters", (reason,))
    assert str(partly) == "usable for 3 of 5 base parameters, because friction of 'a' changes"
    zero = kt.identify.Finding("encoder-zero", ("b",), "no force shows the zero of 'b'")
    besides = dataclasses.replace(partly, undecided=(reason, zero))
    assert str(besides) == f"{partly}. Besides, no force shows the zero of 'b'"
