"""Friction laws with shapes: curves, choices, and what recordings say of the shapes."""

import dataclasses

import numpy as np
import pytest
from identified_robots import ARM, exists
from identified_robots import BARE as DESCRIBED

import kinetree as kt
from kinetree.errors import InputError, NameLookupError
from kinetree.identify import (
    identify,
    make_recording,
    plot_parameters,
    simulated_recording,
    unknowns,
)
from kinetree.identify.solve import solve
from kinetree.motion import excitation
from other_units import MM_G_MS

MOTION = excitation(ARM, 12, 0.02, harmonics=5, seed=1)
STATE = MOTION.q, MOTION.dq, MOTION.ddq
LAWS = {
    "stribeck": {
        "turn": kt.Friction(1.0, 2.0, stribeck=kt.Stribeck(3.5, 0.3)),
        "lift": kt.Friction(0.7, 1.2, stribeck=kt.Stribeck(2.4, 0.25)),
        "bend": kt.Friction(0.4, 0.8, stribeck=kt.Stribeck(1.6, 0.25)),
    },
    "sigmoid": {
        "turn": kt.Friction(0.3, sigmoid=kt.Sigmoid(3, 4, 0.05)),
        "lift": kt.Friction(0.2, sigmoid=kt.Sigmoid(2, 6, -0.05)),
        "bend": kt.Friction(0.2, sigmoid=kt.Sigmoid(1.5, 8, 0.02)),
    },
    "load": {
        "turn": kt.Friction(1.0, 2.0, load=0.1),
        "lift": kt.Friction(0.7, 1.2, load=0.2),
        "bend": kt.Friction(0.4, 0.8, load=0.15),
    },
}
MIXED = {"turn": "stribeck", "lift": "sigmoid", "bend": "load"}
TRUE = {kind: ARM.with_friction(friction) for kind, friction in LAWS.items()}
TRUE["mixed"] = ARM.with_friction({joint: LAWS[kind][joint] for joint, kind in MIXED.items()})


@pytest.fixture(scope="module")
def forces():
    """Exact joint forces of every law."""
    return {kind: robot.inverse_dynamics(*STATE) for kind, robot in TRUE.items()}


def recorded(tau, noise=0.0, seed=0, state=STATE, robot=DESCRIBED):
    noise = noise * np.random.default_rng(seed).normal(size=tau.shape)
    return make_recording(robot, MOTION.t, state[0], tau + noise, *state[1:])


def truths(solved, robot):
    return solved.base.K @ solved.sought.values(robot.model)


def test_forces_of_the_true_values_are_those_of_the_robot():
    """Mimic and sliding joints, a drive with losses, and a load law that is kept."""
    build = kt.Builder("gripper").link("base")
    for name, mass in (("hand", 2.0), ("left", 0.5), ("right", 0.5)):
        build.link(name, mass, (0.1, 0.02, 0), np.diag([0.01, 0.02, 0.02]))
    build.joint("wrist", "revolute", "base", "hand", axis=(0, 1, 0))
    build.joint("slide", "prismatic", "hand", "left", at=(0.2, 0, 0), axis=(0, 0, 1))
    build.joint("follow", "prismatic", "hand", "right", at=(0.2, 0, 0), axis=(0, 0, 1),
                mimic=kt.Mimic("slide", -1.5, 0.01))  # fmt: skip
    described = build.build().with_drives({"wrist": kt.Drive(efficiency=0.8)})
    robot = described.with_friction(
        {
            "wrist": kt.Friction(0.5, 1.0),
            "slide": kt.Friction(2.0, 3.0, stribeck=kt.Stribeck(5.0, 0.4, 1)),
            "follow": kt.Friction(1.0, sigmoid=kt.Sigmoid(4.0, 3.0, 0.1)),
        }
    )
    choice = {"slide": "stribeck", "follow": "sigmoid"}
    sought = unknowns(robot, choice)
    assert sought.units[-3:] == ("m/s", "s/m", "m/s")
    x = sought.values(robot.model)
    state = np.random.default_rng(3).normal(size=(3, 40, robot.n))
    expected = robot.inverse_dynamics(*state)
    sought = sought.at(x[sought.p :])
    np.testing.assert_allclose(sought.forces(*state, x), expected, rtol=1e-12, atol=1e-12)
    again = kt.Robot(sought.model(x)).inverse_dynamics(*state)
    np.testing.assert_allclose(again, expected, rtol=1e-12, atol=1e-12)
    loaded = unknowns(robot, {"wrist": "load"})
    found = loaded.at(np.array([0.3])).model(loaded.values(robot.model)).joint("wrist")
    assert found.friction.load == (0.3, 0.3) and found.drive.efficiency == 1
    with pytest.raises(InputError, match="'follow' is 'load', but it follows 'slide'"):
        unknowns(robot, {"follow": "load"})
    assert [law.joint for law in unknowns(robot, "load").laws] == ["wrist", "slide"]


@pytest.mark.parametrize("kind", [*LAWS, "mixed"])
def test_exact_data_give_the_true_law(forces, kind):
    choice = MIXED if kind == "mixed" else kind
    solved = solve(unknowns(DESCRIBED, choice), recorded(forces[kind]))
    assert not solved.doubts
    np.testing.assert_allclose(solved.fit.beta, truths(solved, TRUE[kind]), rtol=1e-5, atol=1e-6)
    if kind == "mixed":
        names = ("speed[turn]", "steepness[lift]", "offset[lift]", "load[bend]")
        assert solved.sought.names[-4:] == names
        assert solved.sought.units[-4:] == ("rad/s", "s/rad", "rad/s", "1")
        assert "coulomb[turn]" in solved.sought.names and "coulomb[lift]" not in solved.sought.names


@pytest.mark.parametrize(
    ("kind", "method"), [("stribeck", "robust"), ("sigmoid", "weighted"), ("load", "ordinary")]
)
def test_the_robot_found_has_the_law_and_predicts_like_the_true_one(forces, kind, method):
    data = recorded(forces[kind], 0.02, seed=1)  # of 12 seeds, 0 fails the twins of its intervals
    if method == "robust":
        data.tau[::29, 1] += 30
    found = identify(DESCRIBED, data, friction=kind, method=method, folds=2)
    assert not any(x.kind == "check" for x in found.warnings)
    state = found.test.q, found.test.dq, found.test.ddq
    np.testing.assert_allclose(
        found.predict(found.test), found.sought.forces(*state, found.estimate.x), atol=1e-9
    )
    off = found.predict(found.test) - TRUE[kind].inverse_dynamics(*state)
    assert np.sqrt((off**2).mean(axis=0)).max() < 0.02
    assert exists(found.robot.model)
    for joint, true in LAWS[kind].items():
        own = found.friction[joint]
        assert own.viscous == pytest.approx(true.viscous, abs=0.05)
        if kind == "stribeck":
            assert own.stribeck.speed == pytest.approx(true.stribeck.speed, rel=0.05)
            assert own.stribeck.static == pytest.approx(true.stribeck.static, rel=0.05)
            assert own.stribeck.static >= own.coulomb
        elif kind == "sigmoid":
            assert own.sigmoid.steepness == pytest.approx(true.sigmoid.steepness, rel=0.05)
            assert own.sigmoid.offset == pytest.approx(true.sigmoid.offset, abs=0.005)
            assert own.coulomb == 0
        else:
            assert own.load == pytest.approx(true.load, abs=0.01)
    text = found.summary()
    for name, unit in zip(found.sought.names[-3:], found.sought.units[-3:], strict=True):
        own = [x for x in text.replace("\\", "").split("\n") if name in x]
        assert any(" to " in x and unit in x for x in own), own  # with its interval


def test_pages_plots_and_bootstraps_have_the_shapes(forces):
    found = identify(DESCRIBED, recorded(forces["mixed"], 0.05), friction=MIXED, folds=2)
    page = kt.views.identification_page(found)
    names = found.sought.names[-4:]
    assert all(page.count(name) >= 3 for name in names)  # two tables and a picture
    assert "nan" not in page and "nan" not in found.summary()
    pytest.importorskip("matplotlib")
    labels = [x.get_text() for x in plot_parameters(found).axes[0].get_yticklabels()]
    assert set(names) <= set(labels)
    results = kt.parallel.bootstrap(found, 200, seed=1, workers=1)
    low, high = results.quantiles("beta", (0.025, 0.975))
    assert low.shape == found.fit.beta.shape
    middle, width = (low + high) / 2, (high - low) / (2 * 1.96)
    error = found.fit.standard_error
    assert np.abs((middle - found.fit.beta) / error).max() < 1
    ratio = (width / error)[-4:]  # of the shapes
    assert np.all((ratio > 0.6) & (ratio < 1.6))


def test_intervals_contain_the_truth_at_their_rate(forces, experiments):
    """Of 18 fits three standard deviations of a binomial rate are 3.4 %."""
    held, count = [], experiments(1, 6)
    for kind in LAWS:
        sought = unknowns(DESCRIBED, kind)
        for seed in range(count):
            solved = solve(sought, recorded(forces[kind], 0.1, seed))
            assert not solved.doubts
            off = np.abs(solved.fit.beta - truths(solved, TRUE[kind]))
            held += (off < 1.96 * solved.fit.standard_error).tolist()
    assert len(held) > 75 * count
    assert (0.91 if count > 1 else 0.86) < np.mean(held)


def test_residuals_of_load_friction_are_those_of_the_values_found(forces):
    """Loads close to zero change their direction in every round."""
    data = recorded(forces["load"], 0.3, 103)
    solved = solve(unknowns(DESCRIBED, "load"), data)
    state = data.q, data.dq, data.ddq
    expected = data.tau - solved.sought.forces(*state, solved.fit.beta, solved.base.kept)
    np.testing.assert_allclose(solved.fit.residual, expected, atol=1e-11)


def test_choices_that_do_not_exist_are_refused():
    with pytest.raises(
        InputError, match="friction is 'rough'; expected one of auto, symmetric, direc"
    ):
        unknowns(ARM, "rough")
    with pytest.raises(InputError, match="friction of 'lift' is 'rough'"):
        unknowns(ARM, {"lift": "rough"})
    with pytest.raises(NameLookupError, match="names the joint 'elbow'; 'spatial arm' has"):
        unknowns(ARM, {"elbow": "load"})


def test_a_law_that_the_data_do_not_show_is_left_out_with_a_note(forces):
    plain = {name: kt.Friction(0.5, 1.0) for name in ARM.joint_names}
    tau = ARM.with_friction(plain).inverse_dynamics(*STATE)
    found = identify(DESCRIBED, recorded(tau, 0.05, 3), friction="stribeck", folds=2)
    own = [note for note in found.notes if "Stribeck" in note]
    assert len(own) == 3 and all(x.endswith("It gets viscous and Coulomb friction") for x in own)
    assert all(x.friction.stribeck is None for x in found.robot.model.joints)
    assert {f"speed[{x}]" for x in ARM.joint_names} <= set(found.untold)
    assert "This recording does not determine speed[turn]" in found.summary().replace("\\", "")


def test_load_friction_within_the_noise_is_left_out_with_a_note():
    plain = {name: kt.Friction(0.5, 1.0) for name in ARM.joint_names}
    tau = ARM.with_friction(plain).inverse_dynamics(*STATE)
    for seed in range(2):
        found = identify(DESCRIBED, recorded(tau, 0.05, seed), friction={"lift": "load"}, folds=2)
        note = next(x for x in found.notes if "load friction" in x)
        assert "shows no load friction at 'lift'" in note and "within the noise" in note
        assert "load[lift]" in found.untold
        assert all(joint.friction.load == (0, 0) for joint in found.robot.model.joints)


def test_a_joint_that_never_reverses_does_not_determine_its_stribeck_speed():
    t = MOTION.t
    q = np.stack([1.2 * t + 0.3 * np.sin(2 * t), np.sin(1.3 * t), 1.2 * np.sin(1.9 * t)], axis=1)
    dq = np.stack(
        [1.2 + 0.6 * np.cos(2 * t), 1.3 * np.cos(1.3 * t), 2.28 * np.cos(1.9 * t)], axis=1
    )
    ddq = [-1.2, -1.69, -4.332] * np.sin(np.outer(t, [2, 1.3, 1.9]))
    free = [dataclasses.replace(x, limits=kt.Limits()) for x in ARM.model.joints]
    arm = kt.Robot(ARM.model.replace(joints=tuple(free)))
    tau = arm.with_friction(LAWS["stribeck"]).inverse_dynamics(q, dq, ddq)
    solved = solve(unknowns(arm, "stribeck"), recorded(tau, 0.05, 0, (q, dq, ddq), arm))
    assert [law.joint for law, _ in solved.doubts] == ["turn"]
    assert "'turn': the joint never reverses" in solved.doubts[0][1]


def test_what_is_not_sought_or_not_shown_stays_as_described_and_is_named():
    robot, moves = TRUE["mixed"], np.array([1, 0, 1])
    state = tuple(x * moves for x in STATE)
    data = recorded(robot.inverse_dynamics(*state), 0.05, 2, state, robot)
    choice = {"lift": "sigmoid", "bend": "symmetric"}
    found = identify(robot, data, friction=choice, folds=2)
    notes = "; ".join(found.notes)
    assert "friction of 'lift': the joint stands still" in notes
    for text in ("Stribeck effect of 'turn'", "sigmoid friction of 'lift'", "load friction of 'b"):
        assert f"the {text}" in notes and "is kept as described" in notes
    assert found.friction["lift"].sigmoid == LAWS["sigmoid"]["lift"].sigmoid
    assert found.friction["bend"].load == LAWS["load"]["bend"].load
    bend, true = found.friction["turn"], LAWS["stribeck"]["turn"]
    assert bend.stribeck.static - bend.coulomb == pytest.approx(1.5)
    assert bend.coulomb == pytest.approx(true.coulomb, abs=0.05)
    assert {"steepness[lift]", "offset[lift]"} <= set(found.untold)
    assert found.error().max() < 0.06


def test_other_units_and_times_give_the_same_result(forces):
    data = recorded(forces["mixed"], 0.05)
    found = solve(unknowns(DESCRIBED, MIXED), data, "robust")
    motion = MM_G_MS.motion(ARM.model, data.q, data.dq, data.ddq, data.tau)
    other = kt.Robot(MM_G_MS.model(DESCRIBED.model))
    times = 1e3 * (data.t + 1000)
    moved = make_recording(other, times, motion[0], motion[3], *motion[1:3])
    again = solve(unknowns(other, MIXED), moved, "robust")
    unit = np.array([MM_G_MS.parameter(found.sought.units[k]) for k in found.base.kept])
    assert again.base.kept == found.base.kept
    error = again.fit.standard_error
    assert np.abs((found.fit.beta * unit - again.fit.beta) / error).max() < 1e-5
    np.testing.assert_allclose(found.fit.standard_error * unit, error, rtol=1e-5)


def twins(order):
    """Two arms of two joints on one base, built in one order or the other."""
    build = kt.Builder("twins").link("base")
    for side in order:
        far = {"left": 0.3, "right": -0.4}[side]
        build.link(f"{side} arm", 2.0, (0.2, 0.01, far / 10), np.diag([0.01, 0.03, 0.03]))
        build.link(f"{side} hand", 1.0, (0.1, 0.02, 0), np.diag([0.003, 0.01, 0.01]))
        build.joint(f"{side} lift", "revolute", "base", f"{side} arm", at=(0, far, 0),
                    axis=(0, 1, 0))  # fmt: skip
        build.joint(f"{side} slide", "prismatic", f"{side} arm", f"{side} hand", at=(0.4, 0, 0),
                    axis=(1, 0, 0))  # fmt: skip
    return build.build()


def test_another_order_of_joints_gives_the_same_result():
    one, two = twins(["left", "right"]), twins(["right", "left"])
    friction = {"left lift": kt.Friction(0.5, 1.0, stribeck=kt.Stribeck(2, 0.3)),
                "left slide": kt.Friction(3.0, sigmoid=kt.Sigmoid(8, 12, 0.01)),
                "right lift": kt.Friction(0.5, 1.0, load=0.2)}  # fmt: skip
    choice = {"left lift": "stribeck", "left slide": "sigmoid", "right lift": "load"}
    motion = excitation(one, 12, 0.03, harmonics=5, seed=2, reach=0.5)
    state = motion.q, motion.dq, motion.ddq
    tau = one.with_friction(friction).inverse_dynamics(*state)
    tau = tau + 0.02 * np.random.default_rng(0).normal(size=tau.shape)
    order = [one.joint_names.index(x) for x in two.joint_names]
    results = []
    for robot, at in ((one, slice(None)), (two, order)):
        q, dq, ddq, y = (x[:, at] for x in (*state, tau))
        solved = solve(unknowns(robot, choice), make_recording(robot, motion.t, q, y, dq, ddq))
        assert not solved.doubts
        count = len(solved.sought.shapes)
        error = solved.fit.standard_error
        values = zip(solved.fit.beta[-count:], error[-count:], strict=True)
        results.append(dict(zip(solved.sought.names[-count:], values, strict=True)))
    assert results[0].keys() == results[1].keys()
    for name, (value, error) in results[0].items():
        assert results[1][name] == pytest.approx((value, error), rel=1e-5)
    assert results[0]["speed[left lift]"][0] == pytest.approx(0.3, rel=0.05)
    assert results[0]["steepness[left slide]"][0] == pytest.approx(12, rel=0.1)


def test_described_shapes_are_a_start_and_low_passed_forces_give_them_as_well(forces):
    wrong = {name: kt.Friction(1, 1, stribeck=kt.Stribeck(9, 5.0)) for name in ARM.joint_names}
    data = recorded(forces["stribeck"], 0.02)
    plain = solve(unknowns(DESCRIBED, "stribeck"), data).sought.shapes
    other = unknowns(DESCRIBED.with_friction(wrong), "stribeck")
    np.testing.assert_allclose(solve(other, data).sought.shapes, plain, rtol=1e-6)
    soft = solve(unknowns(DESCRIBED, "stribeck"), data, cutoff=6.0)
    np.testing.assert_allclose(soft.sought.shapes, [0.3, 0.25, 0.25], rtol=0.1)
    assert not soft.doubts and len(soft.fit.residual) < len(data)


@pytest.mark.many
def test_the_panda_with_its_published_friction_is_found_again():
    """Sizes, steepnesses and offsets of Gaz and others, RA-L 2019."""
    size = [0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489]
    steepness = [5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336]
    offset = [0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526]
    panda = kt.robots.panda()
    rows = zip(panda.joint_names, size, steepness, offset, strict=True)
    true = panda.with_friction({x: kt.Friction(sigmoid=kt.Sigmoid(*y)) for x, *y in rows})
    motion = excitation(panda, 15, 0.02, harmonics=8, seed=3)
    data = simulated_recording(true, motion, encoder_noise=2e-5, torque_noise=0.02)
    solved = solve(unknowns(panda, "sigmoid"), data)
    assert not solved.doubts
    truth, error = truths(solved, true), solved.fit.standard_error
    assert np.mean(np.abs(solved.fit.beta - truth) < 1.96 * error) > 0.88
    found = dict(zip(solved.sought.names[-14:], solved.sought.shapes.tolist(), strict=True))
    for x, k, d in zip(panda.joint_names, steepness, offset, strict=True):
        assert found[f"steepness[{x}]"] == pytest.approx(k, rel=0.1)
        assert found[f"offset[{x}]"] == pytest.approx(d, abs=0.004)
