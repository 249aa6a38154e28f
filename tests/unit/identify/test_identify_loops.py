"""Mechanisms identified from their motors alone, and recordings of them that are refused."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

from random_mechanisms import FAMILIES, Mechanism, motor_motion, random_mechanism, rank

import kinetree as kt
from kinetree.errors import InputError, ModelError, ParseError, SingularityError
from kinetree.identify import (
    excite,
    find_base,
    identify,
    identify_payload,
    make_recording,
    read_recording,
    unknowns,
)

FIVE_BAR = Mechanism(kt.robots.five_bar(), kt.robots.five_bar(), 0.15)  # not at dead centres
FIVE_BAR_MOTION = motor_motion(np.random.default_rng(0), FIVE_BAR)


def recorded(machine, motion, noise=0.0, encoder=0.0):
    """The motors of a mechanism for 10 s; their rates are recorded if the encoders are exact."""
    t, rng = np.arange(0, 10, 0.005), np.random.default_rng(0)
    x = motion.at(t)
    tau = machine.forces(t, x)
    tau = tau + noise * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    rates = () if encoder else x[1:]
    return make_recording(machine.bare, t, x[0] + encoder * rng.normal(size=tau.shape), tau, *rates)


@pytest.mark.parametrize("family", ["gripper", "excavator", "parallelogram", "mimic"])
def test_parameters_are_found_again_and_predict_another_motion(family):
    rng = np.random.default_rng(4)
    machine, motion = random_mechanism(rng, family)
    machine = replace(machine, bare=machine.robot(rng.uniform(0.7, 1.4, 4), drives=False))
    data = recorded(machine, motion, 0.01)
    result = identify(machine.bare, data)
    assert result.verdict.word == "usable", result.verdict
    beta = result.base.K @ result.sought.values(machine.true.model)
    inside = np.abs(beta - result.fit.beta) < 1.96 * result.fit.standard_error
    assert inside.mean() >= 0.84  # 13 to 60 intervals of 95 %
    t, motors = np.arange(0, 10, 0.02), machine.motors
    other = motor_motion(rng, machine).at(t)
    tau, state = machine.forces(t, other), machine.closed(t, other)
    noise = 0.01 * np.sqrt((data.tau[:, motors] ** 2).mean(axis=0))
    off, before = (
        x.inverse_dynamics(*state)[:, motors] - tau for x in (result.robot, machine.bare)
    )
    assert (np.sqrt((off**2).mean(axis=0)) < noise).all()
    assert (np.sqrt((before**2).mean(axis=0)) > 5 * noise).any()
    for m, I_com in zip(result.robot.model.m, result.robot.model.I_com, strict=True):
        assert m > 0 and np.linalg.eigvalsh(I_com)[0] > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_base_parameters_are_as_many_as_the_rank_of_many_states(family):
    """A parallelogram is assembled at its `near` position; the zero one is another mechanism."""
    machine, _ = random_mechanism(np.random.default_rng(0), family)
    sought = unknowns(machine.bare, "symmetric")
    assert find_base(sought).r == rank(sought, machine)


def test_positions_of_noisy_encoders_are_closed_after_the_filter():
    machine, motion = random_mechanism(np.random.default_rng(1), "parallelogram")
    robot, data = machine.bare, recorded(machine, motion, 0.01, encoder=2e-5)
    assert data.cutoff is not None
    assert np.abs(robot.constraint_errors(data.q)).max() < 1e-9
    J = robot.constraint_jacobian(data.q)
    assert np.abs(np.einsum("tij,tj->ti", J, data.dq)).max() < 1e-9
    result = identify(robot, data)
    size = np.sqrt((data.tau**2).mean(axis=0))
    assert (result.error() <= 0.013 * size).all()  # the noise has 0.01
    lines = result.summary().split("## Choices")[0].split("\n")
    shown = {row.split("|")[1].strip() for row in lines if row.startswith("|")}
    assert {"turn", "lower", "crank"} <= shown and not {"rod", "upper"} & shown


def test_friction_of_joints_without_motors_is_found_through_the_motors():
    machine, motion = random_mechanism(np.random.default_rng(3), "gripper")
    robot, found = machine.bare, identify(
        machine.bare, recorded(machine, motion, 0.002), friction="symmetric"
    )  # fmt: skip
    # the fingers turn at rates of a fixed ratio: their friction is one base parameter of each kind
    row = found.base.kept.index(found.sought.names.index("viscous[left]"))
    assert "viscous[right]" in found.base.formula(row)
    left, right = (machine.true.model.joint(x).friction.viscous[0] for x in ("left", "right"))
    ratio = robot.constraint_jacobian(robot.neutral())[0]
    ratio = ratio[robot.dof_names.index("left")] / ratio[robot.dof_names.index("right")]
    assert found.fit.beta[row] == pytest.approx(left + ratio**2 * right, rel=0.03)


def test_a_file_of_the_motors_and_one_of_all_positions_are_the_same_recording(tmp_path):
    robot, data = FIVE_BAR.bare, recorded(FIVE_BAR, FIVE_BAR_MOTION, 0.02)
    names = robot.dof_names
    tau = {f"tau:{names[k]}": data.tau[:, k] for k in FIVE_BAR.motors}
    found = []
    for dofs in (FIVE_BAR.motors, range(4)):
        columns = {"t": data.t} | {f"q:{names[k]}": data.q[:, k] for k in dofs} | tau
        path = tmp_path / f"{len(dofs)}.csv"
        np.savetxt(path, np.column_stack(list(columns.values())), delimiter=",",
                   header=",".join(columns), comments="", fmt="%.17g")  # fmt: skip
        found.append(read_recording(path, robot))
    for key in ("q", "dq", "ddq", "tau"):
        np.testing.assert_allclose(getattr(found[0], key), getattr(found[1], key), atol=1e-8)
    path.write_text("t,q:left,tau:left,tau:right\n" + "0,0,0,0\n0.1,0,0,0\n")
    with pytest.raises(ParseError, match="q of right is missing"):
        read_recording(path, robot)


def test_more_motors_than_degrees_of_freedom_share_a_force_without_effect():
    single = kt.robots.four_bar()
    machine = Mechanism(single, single, 0.5)
    data = recorded(machine, motor_motion(np.random.default_rng(0), machine))
    motion = data.q, data.dq, data.ddq
    robot = single.constrained({}, actuated=["crank", "rocker"])
    tau = robot.inverse_dynamics(*motion)
    strain = np.zeros(tau.shape)  # does no work: tau dq is zero
    strain[:, 0], strain[:, 2] = data.dq[:, 2], -data.dq[:, 0]
    q, dq, ddq, measured = (x[:, [0, 2]] for x in (*motion, tau + strain))
    found = make_recording(robot, data.t, q, measured, dq, ddq)
    assert any("strain" in note for note in found.notes)
    np.testing.assert_allclose(found.tau, tau, atol=1e-9)
    np.testing.assert_allclose(found.q, data.q, atol=1e-9)


T = np.arange(0, 10, 0.005)
MOTION = FIVE_BAR_MOTION.at(T)
FORCES = np.sin(T)[:, None] * [1.0, 2.0]


@pytest.mark.parametrize(
    ("q", "tau", "kind", "text"),
    [
        ({"left": MOTION[0][:, 0]}, FORCES, InputError, "lacks q of 'right'.*every motor"),
        (MOTION[0], {"left": FORCES[:, 0]}, InputError, "lacks tau of 'right'"),
        (MOTION[0][:, :1], FORCES, InputError, r"q has the shape \(2000, 1\)"),
        (MOTION[0], np.ones((len(T), 4)), InputError, "'left_elbow' is not zero.*no motor there"),
    ],
)
def test_recordings_that_lack_a_motor_are_refused(q, tau, kind, text):
    with pytest.raises(kind, match=text):
        make_recording(FIVE_BAR.bare, T, q, tau)


def test_samples_that_cannot_be_closed_are_named_by_their_time():
    machine, _ = random_mechanism(np.random.default_rng(0), "excavator")
    robot = machine.bare
    q = robot.neutral()[machine.motors] + np.where(T > 4, 0.4 * (T - 4), 0)[:, None]
    with pytest.raises(InputError, match=r"at t = [4-9]\.\d+ s the loops of 'excavator'.*'crowd'"):
        make_recording(robot, T, q, FORCES)
    tree = robot.unconstrained()
    size = 0.1 * np.arange(1, robot.n + 1)
    x = np.sin(T)[:, None] * size
    data = make_recording(tree, T, x, x, np.cos(T)[:, None] * size, -x)
    with pytest.raises(InputError, match=r"at t = .* cannot be closed"):
        identify(robot, data)


def test_mechanisms_whose_motors_do_not_move_or_do_not_determine_it_are_refused():
    robot, still = FIVE_BAR.bare, np.repeat(MOTION[0][:1], len(T), axis=0)
    with pytest.raises(SingularityError, match="no joint moves"):
        identify(robot, make_recording(robot, T, still, FORCES, 0 * still, 0 * still))
    one = robot.constrained({}, actuated=["left"])
    with pytest.raises(ModelError, match="cannot make every motion"):
        make_recording(one, T, MOTION[0][:, :1], FORCES[:, :1])
    data = make_recording(robot, T, MOTION[0], FORCES)
    with pytest.raises(InputError, match="'left_elbow' is 'stribeck'"):
        identify(robot, data, friction="stribeck")
    with pytest.raises(InputError, match=r"'load'.*without loops"):
        identify(robot, data, friction={"left": "load"})


def test_a_mechanism_is_excited_by_its_motors_on_its_loops():
    machine, _ = random_mechanism(np.random.default_rng(5), "parallelogram")
    limits = {"lower": kt.Limits(0.9, 1.6, 1.0), "upper": kt.Limits(-2.2, -1)}
    joints = [replace(x, limits=limits.get(x.name, x.limits)) for x in machine.bare.model.joints]
    robot = kt.Robot(machine.bare.model.replace(joints=tuple(joints)))
    plan = excite(robot, 8, 0.02, rounds=15)
    assert plan.condition < 0.9 * plan.before
    q, dq, ddq = plan.motion.q, plan.motion.dq, plan.motion.ddq
    assert np.abs(robot.constraint_errors(q)).max() < 1e-9
    assert np.abs((q[2:] - q[:-2]) / (plan.motion.t[2:] - plan.motion.t[:-2])[:, None]
                  - dq[1:-1]).max() < 0.02  # fmt: skip
    at = {name: k for k, name in enumerate(robot.dof_names)}
    assert 0.9 <= q[:, at["lower"]].min() and q[:, at["lower"]].max() <= 1.6
    assert -2.2 <= q[:, at["upper"]].min() and q[:, at["upper"]].max() <= -1
    assert np.ptp(q[:, at["turn"]]) > 0.5 and np.abs(ddq[[0, -1]]).max() < 1e-9
    moved = excite(robot, 8, 0.02, rounds=1, center=robot.neutral() + 0.1).motion
    assert moved.q[0, at["crank"]] == pytest.approx(robot.neutral()[at["crank"]] + 0.1)
    flat = robot.neutral()
    flat[at["crank"]] += q[0, at["lower"]] - q[0, at["crank"]]  # beside the lower arm
    with pytest.raises(InputError, match="cannot move about the center: its loops"):
        excite(robot, 8, 0.02, rounds=1, center=flat)


def test_the_payload_of_a_mechanism_is_found_from_its_motors():
    machine, motion = random_mechanism(np.random.default_rng(5), "parallelogram")
    body = 3.0, np.array([0.1, 0.02, 0.03]), np.diag([0.03, 0.036, 0.024])
    loaded = replace(machine, true=machine.true.with_payload(*body, "upper"), bare=machine.true)
    payload = identify_payload(machine.true, recorded(loaded, motion), "upper")
    assert payload.m == pytest.approx(3.0, rel=1e-9) and not payload.untold
    np.testing.assert_allclose(payload.com, body[1], atol=1e-8)
    payload = identify_payload(machine.true, recorded(loaded, motion, 0.01), "upper")
    assert abs(payload.m - 3.0) < 4 * payload.standard_error[0] < 0.05


def test_a_mechanism_whose_motors_never_move_is_refused():
    t = np.arange(0, 5, 0.01)
    q = np.tile(FIVE_BAR.bare.neutral(), (len(t), 1))
    tau = np.zeros(q.shape)
    tau[:, [FIVE_BAR.bare.dof_names.index(x) for x in ("left", "right")]] = 0.1
    for noise in (0.0, 1e-5):
        moved = q + noise * np.sin(t)[:, None]
        with pytest.raises(
            SingularityError, match=r"no joint .*motion of the motors 'left', 'right'"
        ):
            identify(FIVE_BAR.bare, make_recording(FIVE_BAR.bare, t=t, q=moved, tau=tau))
