"""Mechanisms identified from their motors alone, and recordings of them that are refused."""

import motor_mechanisms
import numpy as np
import pytest
from motor_mechanisms import excavator, gripper, heavier, motor_motion, motors_of, recorded

import kinetree as kt
from kinetree.errors import InputError, ModelError, ParseError, SingularityError
from kinetree.identify import identify, make_recording, read_recording

CASES = {  # size of the motion, noise of the forces
    "slider_crank": (0.5, 0.02),
    "four_bar": (0.5, 0.02),
    "five_bar": (0.15, 0.02),  # larger motions come near dead centres
    "gripper": (0.5, 0.01),
    "excavator": (0.1, 1.0),
}
FIVE_BAR = kt.robots.five_bar()


def made(name):
    return getattr(motor_mechanisms if name in ("gripper", "excavator") else kt.robots, name)()


def test_parameters_are_found_again_and_predict_another_motion():
    inside = []
    for seed, (name, (size, noise)) in enumerate(CASES.items()):
        robot = made(name)
        true = heavier(robot, seed)
        result = identify(robot, recorded(true, seed, noise, size))
        assert result.verdict.word == "usable", (name, result.verdict)
        beta = result.base.K @ result.sought.values(true.model)
        inside += (np.abs(beta - result.fit.beta) < 1.96 * result.fit.standard_error).tolist()
        other = recorded(true, seed + 100, 0.0, size)
        motion, motors = (other.q, other.dq, other.ddq), motors_of(robot)
        off = (result.robot.inverse_dynamics(*motion) - other.tau)[:, motors]
        before = (robot.inverse_dynamics(*motion) - other.tau)[:, motors]
        assert np.sqrt((off**2).mean(axis=0)).max() < noise, name
        assert np.sqrt((before**2).mean(axis=0)).max() > 5 * noise, name
        for body in zip(result.robot.model.m, result.robot.model.I_com, strict=True):
            assert body[0] > 0 and np.linalg.eigvalsh(body[1])[0] > 0
    assert 0.9 <= np.mean(inside)


def test_positions_of_noisy_encoders_are_closed_after_the_filter():
    robot, noise = made("five_bar"), 0.02
    true = heavier(robot, 1)
    data = recorded(true, 1, noise, 0.25, encoder=2e-5)
    assert data.cutoff is not None
    assert np.abs(robot.constraint_errors(data.q)).max() < 1e-9
    J = robot.constraint_jacobian(data.q)
    assert np.abs(np.einsum("tij,tj->ti", J, data.dq)).max() < 1e-9
    result = identify(robot, data)
    assert result.error()[motors_of(robot)].max() < 1.3 * noise
    assert "left_elbow" not in [row.split("|")[1].strip() for row in
                                result.summary().split("## Choices")[0].split("\n")
                                if row.startswith("|")]  # fmt: skip


def test_friction_of_joints_without_motors_is_found_through_the_motors():
    robot = gripper()
    true = heavier(robot, 3).with_friction({"right": kt.Friction(viscous=0.08, coulomb=0.1)})
    result = identify(robot, recorded(true, 3, 0.002), friction="symmetric")
    # both fingers turn at the same speed: their friction is one base parameter each of two kinds
    row = result.base.kept.index(result.sought.names.index("viscous[left]"))
    assert "viscous[right]" in result.base.formula(row)
    assert result.fit.beta[row] == pytest.approx(0.06 + 0.08, abs=0.005)


def test_a_file_of_the_motors_and_one_of_all_positions_are_the_same_recording(tmp_path):
    data = recorded(FIVE_BAR, 0, 0.02)
    names, motors = FIVE_BAR.dof_names, motors_of(FIVE_BAR)
    tau = {f"tau:{names[k]}": data.tau[:, k] for k in motors}
    found = []
    for dofs in (motors, range(4)):
        columns = {"t": data.t} | {f"q:{names[k]}": data.q[:, k] for k in dofs} | tau
        path = tmp_path / f"{len(dofs)}.csv"
        np.savetxt(path, np.column_stack(list(columns.values())), delimiter=",",
                   header=",".join(columns), comments="", fmt="%.17g")  # fmt: skip
        found.append(read_recording(path, FIVE_BAR))
    for key in ("q", "dq", "ddq", "tau"):
        np.testing.assert_allclose(getattr(found[0], key), getattr(found[1], key), atol=1e-8)
    path.write_text("t,q:left,tau:left,tau:right\n" + "0,0,0,0\n0.1,0,0,0\n")
    with pytest.raises(ParseError, match="q of right is missing"):
        read_recording(path, FIVE_BAR)


def test_more_motors_than_degrees_of_freedom_share_a_force_without_effect():
    single = kt.robots.four_bar()
    data = recorded(single, 0, 0.0)
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


T, MOTION = motor_motion(FIVE_BAR, 0)
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
        make_recording(FIVE_BAR, T, q, tau)


def test_samples_that_cannot_be_closed_are_named_by_their_time():
    robot = excavator()
    q = robot.neutral()[2] + np.where(T > 4, 0.4 * (T - 4), 0)[:, None]
    with pytest.raises(InputError, match=r"at t = [5-9]\.\d+ s the loops of 'excavator'.*'loop'"):
        make_recording(robot, T, q, FORCES[:, :1])
    tree = robot.unconstrained()
    x = np.sin(T)[:, None] * [0.1, 0.2, 0.1]
    data = make_recording(tree, T, x, x, np.cos(T)[:, None] * [0.1, 0.2, 0.1], -x)
    with pytest.raises(InputError, match=r"at t = .* cannot be closed"):
        identify(robot, data)


def test_mechanisms_whose_motors_do_not_move_or_do_not_determine_it_are_refused():
    still = np.repeat(MOTION[0][:1], len(T), axis=0)
    with pytest.raises(SingularityError, match="no joint moves"):
        identify(FIVE_BAR, make_recording(FIVE_BAR, T, still, FORCES, 0 * still, 0 * still))
    one = FIVE_BAR.constrained({}, actuated=["left"])
    with pytest.raises(ModelError, match="cannot make every motion"):
        make_recording(one, T, MOTION[0][:, :1], FORCES[:, :1])
    data = make_recording(FIVE_BAR, T, MOTION[0], FORCES)
    with pytest.raises(InputError, match="'left_elbow' is 'stribeck'"):
        identify(FIVE_BAR, data, friction="stribeck")
    with pytest.raises(InputError, match=r"'load'.*without loops"):
        identify(FIVE_BAR, data, friction={"left": "load"})


def test_a_mechanism_whose_motors_never_move_is_refused():
    t = np.arange(0, 5, 0.01)
    q = np.tile(FIVE_BAR.neutral(), (len(t), 1))
    tau = np.zeros(q.shape)
    tau[:, motors_of(FIVE_BAR)] = 0.1
    for noise in (0.0, 1e-5):
        moved = q + noise * np.sin(t)[:, None]
        with pytest.raises(
            SingularityError, match=r"no joint .*motion of the motors 'left', 'right'"
        ):
            identify(FIVE_BAR, make_recording(FIVE_BAR, t=t, q=moved, tau=tau))
