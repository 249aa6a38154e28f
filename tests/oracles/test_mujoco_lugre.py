"""LuGre friction of MuJoCo's <dcmotor>: the same accelerations, and the same motion."""

import numpy as np
import pytest

import kinetree as kt

mujoco = pytest.importorskip("mujoco")
TEXT = """<mujoco><option timestep="1e-5" gravity="0 0 0"/>
<worldbody><body><joint name="a" type="slide"/><geom size=".1" mass="1"/></body></worldbody>
<actuator><dcmotor joint="a" motorconst="1" resistance="1" lugre="1e4 100 1 1.5 .01"/></actuator>
</mujoco>"""


@pytest.fixture
def pair():
    """The block of MuJoCo, whose motor adds a viscous friction K^2/R of 1, and that of kinetree."""
    try:
        model = mujoco.MjModel.from_xml_string(TEXT)
    except ValueError:
        pytest.skip("MuJoCo without <dcmotor>")
    law = kt.Friction(1, 1, stribeck=kt.Stribeck(1.5, 0.01), presliding=kt.LuGre(1e4, 100))
    made = kt.Builder("block", gravity=(0, 0, 0)).link("base").link("block", m=1)
    made.joint("a", "prismatic", "base", "block", axis=(0, 0, 1), friction=law)
    return model, mujoco.MjData(model), made.build()


def test_accelerations_agree_at_states(pair):
    model, data, robot = pair
    rng = np.random.default_rng(0)
    for v, z, u in rng.normal(size=(20, 3)) * [0.02, 1e-4, 2]:
        data.qvel[:], data.act[:], data.ctrl[:] = v, z, u
        mujoco.mj_forward(model, data)
        options = {"tau": [u], "friction_state": [z], "method": "rk4", "duration": 1e-5, "dt": 1e-5}
        own = robot.simulate([0], [v], **options)
        assert own.ddq[0] == pytest.approx(data.qacc, rel=1e-10)
        rate = np.diff(own.meta["friction_state"]["a"])[0] / 1e-5
        assert rate == pytest.approx(data.act_dot[0], abs=0.02 * (abs(v) + 1e-2))


def test_motions_agree_through_breakaway(pair):
    model, data, robot = pair
    data.ctrl[:] = 1.8
    while data.time < 0.2 - 1e-9:
        mujoco.mj_step(model, data)
    own = robot.simulate([0], duration=0.2, tau=[1.8])
    assert own.q[-1] == pytest.approx(data.qpos, rel=1e-3)
    assert own.dq[-1] == pytest.approx(data.qvel, rel=1e-3)
    assert own.meta["friction_state"]["a"][-1] == pytest.approx(data.act[0], rel=1e-3)
