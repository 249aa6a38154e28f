"""Spatial tendons of random trees against MuJoCo: springs, dampers and actuators on paths."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.joints.actuation import actuate
from kinetree.engine.kernels import find_quantity

mujoco = pytest.importorskip("mujoco", reason="the oracle is MuJoCo")
H = 0.002
JOINTS = ('type="hinge"', 'type="slide"', 'type="ball"', 'type="hinge" armature=".01"')
TENDONS = ("", 'stiffness="40" springlength=".3"', 'stiffness="30" springlength=".2 .5"',
           'stiffness="20" springlength="-1" damping="2"', 'damping="3"')  # fmt: skip
ACTUATORS = (
    '<motor tendon="{}" gear="-3" ctrlrange="-1 1"/>',
    '<position tendon="{}" kp="30" kv="2" gear="2" forcerange="-4 9"/>',
    '<velocity tendon="{}" kv="3" gear="-.5" forcerange="-1 2"/>',
    '<intvelocity tendon="{}" kp="30" kv="1" actrange="-.1 .5"/>',
    '<cylinder tendon="{}" timeconst=".1" area="3" bias="1 -2 -.5"/>',
    '<general tendon="{}" gear="-2" gaintype="affine" gainprm="2 .5 -1.5" biastype="affine" '
    'biasprm=".3 -1 -2" dyntype="filterexact" dynprm=".03" actearly="true"/>',
)


def tree(seed, integrator):
    """An MJCF text: a random tree of four bodies, three paths through their sites, actuators."""
    rng = np.random.default_rng(seed)

    def vector():
        return " ".join(f"{x:.4f}" for x in rng.uniform(-0.3, 0.3, 3))

    inside = [""] * 5
    parents = [0, *(int(rng.integers(k)) for k in range(1, 5))]
    for k in range(4, 0, -1):
        joint = JOINTS[int(rng.integers(len(JOINTS)))]
        inside[parents[k]] += (
            f'<body pos="{vector()}"><joint axis="{vector()}" damping=".3" {joint}/>'
            f'<geom size=".05" pos="{vector()}" mass="1"/>'
            f'<site name="{k}a" pos="{vector()}"/><site name="{k}b" pos="{vector()}"/>'
            f"{inside[k]}</body>"
        )
    tendons, actuators = "", ""
    # implicitfast of MuJoCo leaves out slopes of dampers between branches, which are kept here
    laws = TENDONS if integrator == "Euler" else TENDONS[:3]
    for t in range(3):
        ends = [
            f"{k}{rng.choice(list('ab'))}" for k in rng.permutation(5)[: int(rng.integers(2, 5))]
        ]
        sites = "".join(f'<site site="{x}"/>' for x in ends)
        law = laws[int(rng.integers(len(laws)))]
        tendons += f'<spatial name="t{t}" {law}>{sites}</spatial>'
        actuators += ACTUATORS[int(rng.integers(len(ACTUATORS)))].format(f"t{t}")
    damp = "disable" if integrator == "Euler" else "enable"
    return f"""<mujoco><compiler angle="radian"/><option timestep="{H}" integrator="{integrator}">
<flag contact="disable" eulerdamp="{damp}"/></option><worldbody><site name="0a" pos="{vector()}"/>
<site name="0b" pos="{vector()}"/>{inside[0]}</worldbody><tendon>{tendons}</tendon>
<actuator>{actuators}</actuator></mujoco>"""


@pytest.mark.parametrize("seed", range(20))
def test_steps_of_trees_with_paths_are_those_of_mujoco(seed):
    text = tree(seed, ("Euler", "implicitfast")[seed % 2])
    method = ("semi_implicit_euler", "implicitfast")[seed % 2]
    theirs, robot = mujoco.MjModel.from_xml_string(text), kt.load_string(text)
    again = kt.load_string(kt.convert.to_mjcf(robot))
    assert len(robot.model.actuators) == len(again.model.actuators) == theirs.nu == 3
    data, rng = mujoco.MjData(theirs), np.random.default_rng(seed)
    data.qvel[:] = rng.normal(size=theirs.nv)
    mujoco.mj_integratePos(theirs, data.qpos, data.qvel, 0.3)
    data.act[:] = rng.uniform(0, 0.1, theirs.na)
    q, dq, a = data.qpos.copy(), data.qvel.copy(), data.act.copy()
    name = f"step_{method}_with_{'activation' if len(a) else 'controls'}"
    steps = [find_quantity(name).make(x.model, True, None) for x in (robot, again)]
    for k in range(10):
        data.ctrl[:] = rng.normal(size=3)
        mujoco.mj_forward(theirs, data)
        tau = actuate(robot.model, q, dq, data.ctrl, a, H).tau
        assert np.abs(tau - data.qfrc_actuator).max() < 1e-9
        (q, dq, *after), twin = (
            step(q, dq, np.zeros(theirs.nv), H, data.ctrl.copy(), *([a] if len(a) else []))
            for step in steps
        )
        assert np.abs(dq - twin[1]).max() < 1e-11
        a = after[0] if len(a) else a
        mujoco.mj_step(theirs, data)
        assert np.abs(q - data.qpos).max() < (1e-12 if k == 0 else 1e-9)
        assert np.abs(dq - data.qvel).max() < (1e-11 if k == 0 else 1e-8)
        assert np.abs(a - data.act).max(initial=0) < 1e-9
