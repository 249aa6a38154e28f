"""Springs against MuJoCo: forces, energy, inverse dynamics and accelerations, contacts off."""

import warnings

import numpy as np
import pytest
from crossed import crossed
from shared_models import ROOT

import kinetree as kt
from kinetree import convert

mujoco = pytest.importorskip("mujoco", reason="the oracle is MuJoCo")

TOLERANCE = 1e-10
BODY = '<geom type="capsule" size=".04" fromto="0 0 0 .3 0 0" mass="1"/>'
CASES = {
    "springref in degrees": '<joint name="a" axis="0 1 0" stiffness="12" springref="25"/>',
    "springref in radians": '<joint name="a" axis="0 1 0" stiffness="12" springref=".4"/>',
    "ref": '<joint name="a" axis="0 1 0" stiffness="12" springref="25" ref="-40"/>',
    "ref without springref": '<joint name="a" axis="0 1 0" stiffness="12" ref="30"/>',
    "slide": '<joint name="a" type="slide" axis="0 1 0" stiffness="300" springref=".05"/>',
    "default class": '<joint name="a" class="soft" axis="0 1 0"/>',
    "two joints of a body": '<joint name="a" axis="0 1 0" stiffness="12"/>'
    '<joint name="c" axis="0 0 1" stiffness="5" springref="10"/>',
}
TENDONS = {
    "none": "",
    "rest as drawn": '<fixed name="t" stiffness="7">{}</fixed>',
    "springlength": '<fixed name="t" stiffness="7" springlength=".3">{}</fixed>',
    "dead band": '<fixed name="t" stiffness="7" springlength="-.5 .75">{}</fixed>',
    "named as a joint": '<fixed name="a" stiffness="7" springlength=".3">{}</fixed>',
    "damped": '<fixed name="t" stiffness="7" damping="1">{}</fixed>',
    "two": '<fixed stiffness="7" springlength="-.3">{}</fixed><fixed stiffness="2">{}</fixed>',
}
ENDS = '<joint joint="a" coef="2"/><joint joint="b" coef="-1.5"/>'


def text(joint, tendon, unit):
    return f"""<mujoco><compiler angle="{unit}"/>
<default><default class="soft"><joint stiffness="9" springref="15"/></default></default>
<worldbody><body>{joint}{BODY}
<body pos=".3 0 0"><joint name="b" axis="0 1 0" stiffness="3" ref="8"/>{BODY}</body></body>
</worldbody><tendon>{tendon.replace("{}", ENDS)}</tendon></mujoco>"""


def load(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot, model = kt.load(path, constraints="none"), mujoco.MjModel.from_xml_path(str(path))
    for flag in ("CONSTRAINT", "ACTUATION"):
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
    model.opt.density = model.opt.viscosity = 0  # the medium is named as left out
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    names = [joint.name for joint in robot.model.joints]
    dry = {name: kt.Friction(robot.model.joint(name).friction.viscous) for name in names}
    return robot.with_friction(dry), model


def compare(robot, model, states=4):
    """Everything in which springs take part, at random states."""
    names = [model.joint(j).name or f"#j{j}" for j in range(model.njnt)]
    there = convert.to_mujoco(robot.model, names)
    back = convert.from_mujoco(robot.model, names)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(states):
        q = robot.random(rng=rng)
        dq, ddq = rng.normal(size=(2, robot.n))
        data.qpos[:], data.qvel[:] = there.q(q), 0
        mujoco.mj_forward(model, data)
        place = data.qpos.copy()
        springs = -back.tau(place, data.qfrc_spring.copy())
        size = max(1.0, np.abs(springs).max())
        assert np.abs(robot.spring_forces(q) - springs).max() <= TOLERANCE * size
        energy = float(data.energy[0])
        assert abs(robot.potential_energy(q) - energy) <= TOLERANCE * max(1.0, abs(energy))
        data.qvel[:] = there.dq(q, dq)
        data.qacc[:] = there.ddq(q, dq, ddq)
        mujoco.mj_inverse(model, data)
        tau = back.tau(place, data.qfrc_inverse.copy())
        size = max(1.0, np.abs(tau).max())
        assert np.abs(robot.inverse_dynamics(q, dq, ddq) - tau).max() <= TOLERANCE * size
        data.qfrc_applied[:] = data.qfrc_inverse
        mujoco.mj_forward(model, data)
        found = back.ddq(place, data.qvel.copy(), data.qacc.copy())
        own = robot.forward_dynamics(q, dq, tau)
        assert np.abs(own - found).max() <= 1e-9 * max(1.0, np.abs(found).max())
        data.qfrc_applied[:] = 0


@pytest.mark.parametrize(("joint", "tendon"), [*crossed(CASES, TENDONS)])
def test_springs_of_a_file_are_those_of_mujoco(tmp_path, joint, tendon):
    unit = "radian" if "radians" in joint else "degree"
    path = tmp_path / "toy.xml"
    path.write_text(text(CASES[joint], TENDONS[tendon], unit))
    robot, model = load(path)
    count = 2 + ("two joints" in joint) + {"none": 0, "two": 2}.get(tendon, 1)
    assert len(robot.model.springs) == count and not robot.model.warnings
    compare(robot, model)
    written = tmp_path / "written.xml"
    written.write_text(robot.to_mjcf(losses="allow"))
    again, other = load(written)
    compare(again, other, states=1)
    q = robot.random(rng=1)
    assert np.array_equal(again.spring_forces(q), robot.spring_forces(q))


@pytest.mark.parametrize(
    ("tendon", "words"),
    [
        (
            '<fixed name="t" stiffness="7" damping="1" springlength=".3 .4">{}</fixed>',
            "linear springs and motors are kept",
        ),
    ],
)
def test_what_is_not_a_linear_spring_is_named(tmp_path, tendon, words):
    path = tmp_path / "toy.xml"
    path.write_text(text(CASES["slide"], tendon, "degree"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (warning,) = kt.load(path).model.warnings
    assert words in warning.text and "'t'" in warning.text


def test_a_negative_stiffness_is_refused(tmp_path):
    path = tmp_path / "toy.xml"
    path.write_text(text('<joint name="a" axis="0 1 0" stiffness="-2"/>', "", "degree"))
    with pytest.raises(kt.KinetreeError, match=r"toy.xml: joint 'a' has stiffness -2"):
        kt.load(path)


GIVEN = ("gym_half_cheetah", "gym_hopper", "dm_cheetah", "dm_manipulator", "dm_fish", "dm_humanoid")


@pytest.mark.parametrize("name", GIVEN)
def test_given_robots_with_springs(name):
    files = sorted((ROOT / "mjcf" / name).glob("*.xml"))
    if not files:
        pytest.skip(f"no {name} at {ROOT}")
    compare(*load(files[0]))
