"""Verdicts: worse than the description, errors unlike noise, intervals withheld."""

import re
from dataclasses import replace

import numpy as np
import pytest
from identified_robots import ARM, DESCRIBED, TRUE, arm_motion, misjudged

import kinetree as kt
from kinetree.identify import identify, make_recording
from kinetree.identify.notes import check_readings
from kinetree.identify.verdict import compared, influenced

MOTION = arm_motion(TRUE, 16.0)
NOISE = 0.2


def noise(seed=0, size=NOISE, shape=MOTION.q.shape):
    return size * np.random.default_rng(seed).normal(size=shape)


def recorded(tau, motion=MOTION):
    return make_recording(DESCRIBED, motion.t, motion.q, tau, motion.dq, motion.ddq)


def forces(robot=TRUE, motion=MOTION):
    return robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)


def found(tau, robot=DESCRIBED, **options):
    return identify(robot, recorded(tau), folds=2, **options)


def kinds(identification):
    return {x.kind for x in identification.warnings}


def test_a_wrong_description_is_beaten_and_all_intervals_are_given(sound):
    assert sound.verdict.word == "usable" and not sound.withheld
    assert kinds(sound) <= {"excitation"}
    assert np.isfinite(sound.interval()).all() and np.isfinite(sound.margin()).all()
    assert np.all(sound.error() < sound.described_error())


def test_white_noise_seldom_fails_a_test(experiments):
    """Twins and intervals allow 1 % each: two alarms or more in 12 have a probability of 2 %."""
    seeds = range(1, experiments(4, 13))
    results = [found(forces() + noise(seed), friction="symmetric") for seed in seeds]
    assert sum(not kinds(x) <= {"excitation"} for x in results) <= 1


def test_a_turned_sign_is_the_first_reason():
    turned = found(forces() * [1, -1, 1] + noise(), friction="symmetric")
    assert turned.verdict.word == "not usable"
    first = turned.verdict.reasons[0]
    assert first.kind == "reading" and first.joints == ("lift",)


def test_a_fit_that_explains_the_recording_refutes_another_sign():
    """A last body described on the other side of its axis is a wrong description."""
    com = TRUE.model.com * [[1], [1], [-1]]
    mirrored = kt.Robot(DESCRIBED.model.replace(com=com))
    data = recorded(forces() + noise(11))
    assert [x.joints for x in check_readings(mirrored, data)]
    own = identify(mirrored, data, folds=2, friction="symmetric")
    assert own.verdict.word == "usable" and not own.withheld


def test_an_offset_that_a_motion_hides_is_undecided():
    """Near one position an offset of the force is the weight of a body."""
    motion = [0.1 * x for x in (MOTION.q, MOTION.dq, MOTION.ddq)]
    tau = TRUE.inverse_dynamics(*motion) + noise(12)
    data = make_recording(DESCRIBED, MOTION.t, motion[0], tau, *motion[1:])
    own = identify(DESCRIBED, data, folds=2, friction="symmetric")
    hidden = [x for x in own.verdict.undecided if x.kind == "offset"]
    assert hidden and "lift" in hidden[0].joints


def test_an_exact_description_is_not_beaten():
    own = identify(TRUE, recorded(forces() + noise(7)), folds=2, friction="symmetric")
    assert own.verdict.word == "usable" and "worse" not in kinds(own)


def test_errors_of_single_joints_decide(sound):
    """A robot that is worse at one joint is worse, whatever the others are."""
    heavy = misjudged(TRUE, seed=3).with_payload(3.0, (0.2, 0, 0))
    (worse,) = compared(replace(sound, robot=heavy))
    assert worse.kind == "worse" and "lift" in worse.joints and not compared(sound)
    joint = TRUE.with_friction({"bend": kt.Friction(9.0, 9.0)})
    (worse,) = compared(replace(sound, robot=joint))
    assert worse.joints == ("bend",)
    assert "worse than the description at 'bend': errors of" in worse.text


def test_coloured_errors_are_named_with_their_frequency():
    rng, u = np.random.default_rng(2), np.zeros(MOTION.q.shape)
    e = rng.normal(size=u.shape)
    for k in range(1, len(u)):
        u[k] = 0.9 * u[k - 1] + e[k]
    warnings = found(forces() + NOISE * u / u.std(axis=0), friction="symmetric").warnings
    own = next(x for x in warnings if x.kind == "coloured")
    assert set(own.joints) == {"turn", "lift", "bend"} and "Intervals take this into" in own.text
    # half of the power of an autoregression of 0.9 is below 0.8 Hz at 50 Hz
    assert 0.4 < float(own.text.split("below ")[1].split()[0]) < 1.6
    tone = NOISE * np.sin(2 * np.pi * 6 * MOTION.t)[:, None] * [1, 0, 0]
    warnings = found(forces() + tone + noise(3, 0.02), friction="symmetric").warnings
    own = next(x for x in warnings if x.kind == "coloured")
    assert own.joints == ("turn",) and "strongest at 6 Hz" in own.text


def test_noise_that_grows_withholds_the_intervals_that_it_touches():
    late = noise(4) * np.where(MOTION.t > 5, 5.0, 1.0)[:, None] ** [0, 0, 1]
    own = found(forces() + late, friction="symmetric")
    warning = next(x for x in own.warnings if x.kind == "unsteady")
    assert warning.joints == ("bend",)
    names = [own.sought.names[k] for k in own.base.kept]
    interval = own.interval()
    assert np.isnan(interval[names.index("coulomb[bend]")]).all()
    assert np.isfinite(interval[names.index("coulomb[turn]")]).all()
    assert np.isnan(own.margin()[own.sought.names.index("viscous[bend]")])
    assert influenced(own, {"bend"}) == list(own.withheld) and not influenced(own, set())


def test_friction_of_another_shape_is_a_pattern_of_speed():
    sticky = TRUE.with_friction({"lift": kt.Friction(0.5, 1.0, stribeck=kt.Stribeck(4.0, 0.3))})
    own = found(forces(sticky) + noise(5, 0.05), friction="symmetric")
    pattern = next(x for x in own.warnings if x.kind == "pattern")
    assert "lift" in pattern.joints and "depend on speed" in pattern.text
    assert set(own.withheld) and own.verdict.word == "usable for"


def test_corrections_are_warnings_with_numbers():
    shifted = forces() + noise(8, 0.05) + [0, 0, 1.5]
    late = np.roll(shifted, 2, axis=0)
    late[:2] = shifted[:1]
    own = found(late)
    texts = {x.kind: x.text for x in own.warnings}
    assert "ms (+- " in texts["lag"] and "later than the motion" in texts["lag"]
    assert abs(float(texts["lag"].split("are ")[1].split()[0]) - 40) < 2
    assert "bend 1.5" in texts["offset"] or "bend 1.4" in texts["offset"]


def test_an_offset_and_friction_that_differs_by_direction_are_two_readings():
    """0.7 more for dq > 0 is the same as 0.35 more in both directions and an offset of 0.35."""
    tau = forces() + 0.7 * (MOTION.dq > 0) * [0, 0, 1] + noise(13, 0.05)
    own = found(tau)
    reason = next(x for x in own.verdict.reasons if x.kind == "offset")
    assert own.verdict.word == "usable for" and reason.joints == ("bend",)
    assert "bend" in next(x for x in own.verdict.undecided if x.kind == "offset").joints
    numbers = [float(x) for x in re.findall(r"\d\.\d+", reason.text)]
    np.testing.assert_allclose(numbers, [1.05, 0.35, 1.4, 0.7], atol=0.1)
    touched = {x for x in own.withheld_names if x.endswith("[bend]")}
    assert touched and touched == set(own.withheld_names)
    assert not any(x.startswith("viscous") for x in touched)
    chosen = found(tau, friction="directional")  # by the user, who sees the other reading
    assert chosen.verdict.word == "usable" and "or 1.4 for dq > 0" in str(chosen.verdict)


def test_a_sigmoid_that_is_not_odd_has_two_readings_as_well():
    bent = np.tanh(4 * (MOTION.dq[:, 2] + 0.1)) - np.tanh(0.4)  # size 2: 0.62 up, 1.38 down
    own = found(forces(ARM) + bent[:, None] * [0, 0, 1] + noise(14, 0.02), friction="sigmoid")
    reason = next(x for x in own.verdict.undecided if x.kind == "offset")
    text = reason.text.split("'bend', or")[1]
    up, down = (float(x) for x in re.findall(r"\d\.\d+", text)[:2])
    assert abs(up - 0.62) < 0.1 and abs(down - 1.38) < 0.1


@pytest.mark.parametrize("offsets", [True, False, {"bend": True}])
def test_a_statement_on_offsets_decides(offsets):
    own = found(forces() + 0.7 * (MOTION.dq > 0) * [0, 0, 1] + noise(13, 0.05), offsets=offsets)
    assert own.verdict.word == "usable" and not own.withheld
    assert "bend" not in {y for x in own.verdict.undecided if x.kind == "offset" for y in x.joints}
    names = [own.sought.names[k] for k in own.base.kept]
    assert ("coulomb+[bend]" in names) == (offsets is False)


def test_without_held_out_motion_there_is_no_test():
    assert "not tested" in kinds(found(forces() + noise(9), hold_out=0, friction="symmetric"))


def test_friction_that_a_description_lacks_swaps_no_joints():
    """Joints whose forces are friction alone look alike; that is not another order."""
    rubbing = TRUE.with_friction({"turn": kt.Friction(2.0, 6.0), "bend": kt.Friction(2.0, 6.0)})
    data = recorded(forces(rubbing) + noise(10))
    assert check_readings(ARM, data) == []
    order = [2, 1, 0]
    swapped = recorded((forces(rubbing) + noise(10))[:, order])
    assert [x.joints for x in check_readings(ARM, swapped)] == [("turn", "bend")]
