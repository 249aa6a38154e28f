"""Actuators of MJCF against MuJoCo: every kind and option, contacts off, step by step.

The step is traced nowhere: its function runs on floats, so that a hundred kinds need no compiler.
"""

import numpy as np
import pytest
from crossed import crossed
from mujoco_files import without_limits

import kinetree as kt
from kinetree.dynamics.joints.actuation import actuate
from kinetree.engine.kernels import find_quantity

mujoco = pytest.importorskip("mujoco", reason="the oracle is MuJoCo")

pytestmark = pytest.mark.filterwarnings("ignore:.*tendons are ignored")
H, STEPS = 0.002, 100
ARM = """<mujoco><compiler angle="radian"/>
<option timestep="0.002" integrator="{integrator}"><flag contact="disable"
limit="disable" eulerdamp="{damp}"/></option>
<worldbody><body name="b1"><joint name="a" axis="0 1 0" ref=".3" {joint}/>
<geom size=".05" pos=".1 0 .05"/><body name="b2" pos=".3 0 0"><joint name="b" axis="0 1 .2"
armature=".01" range="-1 1"/><geom size=".04" pos=".1 0 0"/><body name="b3" pos=".2 0 0">
<joint name="c" type="slide" axis="1 0 0"/><geom size=".04" pos=".05 .02 0"/></body></body></body>
</worldbody><tendon><fixed name="t"><joint joint="a" coef="2"/><joint joint="b" coef="-1"/></fixed>
</tendon><default><default class="stiff"><position kp="40" kv="3" forcerange="-2 2"/></default>
</default><actuator>{actuators}</actuator></mujoco>"""
AFFINE = 'gaintype="affine" gainprm="2 .5 -1.5" biastype="affine" biasprm=".3 -1 -2"'
KINDS = {
    "motor": '<motor joint="a" gear="3" ctrlrange="-1 1"/>',
    "force range": '<motor joint="a" gear="-3" forcerange="-.5 .3"/>',
    "joint in parent": '<motor jointinparent="b" gear="2"/>',
    "position": '<position joint="a" kp="30" kv="2"/>',
    "class": '<position class="stiff" joint="a"/>',
    "damping ratio": '<position joint="b" kp="30" dampratio="1" ctrlrange="-1 1"/>',
    "inherited range": '<position joint="b" kp="30" inheritrange=".5"/>',
    "lag": '<position joint="b" kp="30" kv="1" timeconst="0.05"/>',
    "velocity": '<velocity joint="b" kv="3" gear="2"/>',
    "damper": '<damper joint="b" kv="3" ctrlrange="0 1"/>',
    "integrated velocity": '<intvelocity joint="c" kp="30" kv="1" actrange="-.01 .005"/>',
    "cylinder": '<cylinder joint="c" timeconst=".1" area="3" bias="1 -2 -.5"/>',
    "general": f'<general joint="a" {AFFINE} ctrlrange="-1 1"/>',
    "filter": f'<general joint="a" dyntype="filter" dynprm=".03" {AFFINE} actrange="-.4 .4" '
    'actlimited="true"/>',
    "early filter": f'<general joint="a" dyntype="filterexact" dynprm=".03" {AFFINE} '
    'actearly="true"/>',
    "early integrator": '<general joint="a" dyntype="integrator" gainprm="20" biastype="affine" '
    'biasprm="0 -20 -1" actearly="true" actrange="-.002 .001"/>',
    "tendon": '<position tendon="t" kp="10" kv="2" gear="1.5"/>',
    "several": '<position joint="a" kp="10" kv="2"/><velocity joint="a" kv="4"/>'
    '<motor tendon="t"/><intvelocity joint="c" kp="5" actrange="-1 1"/>',
}
WAYS = {
    "semi_implicit_euler": ("Euler", "disable"),
    "implicitfast": ("implicitfast", "enable"),
}


@pytest.mark.parametrize(
    ("kind", "method", "joint"),
    [*crossed(KINDS, [*WAYS, *reversed(WAYS)], ["", 'actuatorfrcrange="-1 .5"'])],
)
def test_steps_are_those_of_mujoco(kind, method, joint):
    integrator, damp = WAYS[method]
    text = ARM.format(integrator=integrator, damp=damp, joint=joint, actuators=KINDS[kind])
    theirs, model = mujoco.MjModel.from_xml_string(text), without_limits(kt.load_string(text).model)
    data, rng = mujoco.MjData(theirs), np.random.default_rng(len(kind))
    data.qpos[:], data.qvel[:] = rng.normal(size=(2, 3)) * 0.7
    data.act[:] = rng.normal(size=theirs.na) * 0.3
    q, dq, a = data.qpos.copy(), data.qvel.copy(), data.act.copy()
    assert len(model.actuators) == theirs.nu and len(a) == len(model.activation_names)
    name = f"step_{method}_with_{'activation' if len(a) else 'controls'}"
    step = find_quantity(name).make(model, True, None)
    for k in range(STEPS):
        u = rng.normal(size=theirs.nu) * 1.5
        data.ctrl[:] = u
        mujoco.mj_forward(theirs, data)
        actuated = actuate(model, q, dq, u, a, H)
        assert np.abs(np.array(actuated.forces) - data.actuator_force).max() < 1e-8
        assert np.abs(actuated.tau - data.qfrc_actuator).max() < 1e-8
        mujoco.mj_step(theirs, data)
        q, dq, *rest = step(q, dq, np.zeros(3), H, u, *([a] if len(a) else []))
        a = rest[0] if len(a) else a
        error = max(np.abs(q - data.qpos).max(), np.abs(dq - data.qvel).max())
        error = max(error, np.abs(a - data.act).max(initial=0))
        assert error < (1e-12 if k == 0 else 1e-8)


def test_a_delay_is_that_of_mujoco():
    if not hasattr(mujoco.MjModel, "actuator_delay"):
        pytest.skip("this version of MuJoCo has no delay")
    motor = '<motor name="m" joint="a" gear="3" delay=".006" nsample="4"/>'
    text = ARM.format(integrator="Euler", damp="disable", joint="", actuators=motor)
    theirs, robot = mujoco.MjModel.from_xml_string(text), kt.load_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:] = 0.1
    u = np.random.default_rng(0).normal(size=(31, 1))
    start, found = data.qpos.copy(), []
    for k in range(30):
        data.ctrl[:] = u[k]
        mujoco.mj_step(theirs, data)
        found.append(data.qpos.copy())
    controls = kt.simulate.signal(np.arange(31) * H, u)
    run = robot.simulate(
        start,
        duration=30 * H,
        dt=H,
        method="semi_implicit_euler",
        controls=controls,
        limits="ignore",
    )
    assert np.abs(run.q[1:] - found).max() < 1e-12
