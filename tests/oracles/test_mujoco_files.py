"""MuJoCo takes the same steps on real files with their springs, dampers and servos.

The files are those of gymnasium and of the shared models, where they are present. Further folders
are given by the environment variable KINETREE_MJCF_FILES, separated as in PATH: all MJCF files in
them that both programs read are compared,

    KINETREE_MJCF_FILES=mujoco_menagerie pytest tests/oracles/test_mujoco_files.py

`mujoco_files.py` describes the comparison.
"""

import importlib.util
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from crossed import crossed
from mujoco_files import WAYS, Twins, Way, mjcf_files
from shared_models import ROOT

import kinetree as kt

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

ONE, ALL = 1e-10, 1e-6  # error of one step, and over a hundred
FOLDERS = [Path(x) for x in os.environ.get("KINETREE_MJCF_FILES", "").split(os.pathsep) if x]
GYMNASIUM = ("half_cheetah", "hopper", "walker2d", "swimmer", "ant")
SHARED = ("mj_panda", "mj_ur5e", "mj_iiwa14", "mj_leap_right", "dm_manipulator")


def files() -> list[Path]:
    """The files to compare; a name that is absent stays in the list, and its test is skipped."""
    found = importlib.util.find_spec("gymnasium")
    assets = Path(found.origin or "").parent if found else Path("gymnasium")
    own = [assets / "envs" / "mujoco" / "assets" / f"{name}.xml" for name in GYMNASIUM]
    for name in SHARED:
        folder = ROOT / "mjcf" / name
        own += sorted(folder.glob("*.xml"))[:1] or [folder / f"{name}.xml"]
    return own + list(mjcf_files(FOLDERS))


@cache
def twins(path: Path) -> Twins:
    return Twins(path)


def compared(path: Path) -> Twins:
    """The file in both programs; skips where it is absent or one of them does not read it."""
    if not path.exists():
        pytest.skip(f"no {path.name} at {path.parent}")
    try:
        found = twins(path)
    except (ValueError, kt.errors.KinetreeError) as error:
        if path not in LISTED:
            pytest.skip(str(error).splitlines()[0])
        raise
    if found.theirs.nv == 0:
        pytest.skip("no joints")
    return found


LISTED = files()[: len(GYMNASIUM) + len(SHARED)]


def named(case: Path | Way) -> str:
    if isinstance(case, Way):
        return case.name.replace(" ", "_")
    return f"{case.parent.name}/{case.stem}"


@pytest.mark.parametrize(("path", "way"), [*crossed(files(), WAYS, name=named)])
def test_files_take_the_same_steps(path: Path, way: Way) -> None:
    both = compared(path)
    assert not both.unnamed  # nothing is left out without a word
    errors = both.run(way, seed=0)
    assert errors.first < ONE
    assert errors.all is not None and errors.all < ALL
    if path in LISTED and way.controls and way.method == "implicitfast":
        assert errors.finer == 1  # stable with the time step of the file


def test_the_servos_of_panda_hold_it_in_both_for_two_seconds() -> None:
    """2 ms with the gains of the file, where explicit methods diverge; goals move every 0.5 s."""
    both = compared(ROOT / "mjcf" / "mj_panda" / "panda.xml")
    assert both.theirs.opt.timestep == 0.002 and len(both.actuators) == 8
    both.start(3)
    both.choose(WAYS[0])
    rng, state = np.random.default_rng(3), both.state()
    low, high = both.theirs.actuator_ctrlrange.T
    worst = 0.0
    for k in range(1000):
        if k % 250 == 0:
            both.data.ctrl[:] = rng.uniform(low, high)
        state = both.step(WAYS[0], *state)
        mujoco.mj_step(both.theirs, both.data)
        worst = max(
            worst, *(np.abs(x - y).max(initial=0) for x, y in zip(state, both.state(), strict=True))
        )
    assert worst < 1e-6
    assert np.abs(state[1]).max() < 10


TOY = """<mujoco><compiler angle="radian"/><option timestep="0.001953125"/>
<worldbody><body><joint name="a" axis="0 1 0" damping=".3" stiffness="4" springref=".2"
actuatorfrcrange="-6 6"/><geom type="capsule" size=".04" fromto="0 0 0 .3 .1 0" mass="1"/>
<body pos=".3 0 0"><joint name="b" axis="0 0 1" armature=".01" damping="1"/>
<geom type="capsule" size=".04" fromto="0 0 0 .3 .1 0" mass="1"/></body>
<body pos=".1 0 0"><joint name="c" type="slide" axis="1 0 0" damping="2"/>
<geom size=".05" mass=".3"/></body></body></worldbody>
<tendon><fixed name="t" stiffness="3"><joint joint="b" coef="1"/><joint joint="c" coef="-2"/>
</fixed></tendon>
<actuator><position name="servo" joint="a" kp="200" kv="20" ctrlrange="-1 1"/>
<general name="lag" tendon="t" dyntype="filter" dynprm=".05" gainprm="8" biastype="affine"
biasprm="0 -8 -3" forcerange="-4 4"/>
<intvelocity name="goal" joint="c" kp="50" kv="4" actrange="-.2 .2" ctrlrange="-1 1"/>
<damper name="brake" joint="b" kv="3" ctrlrange="0 1"/>
<general name="early" joint="b" dyntype="filterexact" dynprm=".02" actearly="true" gainprm="2"/>
</actuator></mujoco>"""  # the tendon joins two branches; dt is 1/512 s


@pytest.mark.parametrize("way", WAYS[:2], ids=lambda way: way.name)
def test_simulate_takes_the_steps_of_step_and_of_mujoco(tmp_path: Path, way: Way) -> None:
    path = tmp_path / "toy.xml"
    path.write_text(TOY)
    both, dt, steps = Twins(path), 2**-9, 200
    both.start(1)
    both.choose(way)
    state = start = both.state()
    u = both.data.ctrl.copy()
    path_q, forces, goals = [start[0]], list[np.ndarray](), [start[2]]
    for _ in range(steps):
        state = both.step(way, *state)
        mujoco.mj_forward(both.theirs, both.data)
        forces.append(both.data.qfrc_actuator.copy())
        mujoco.mj_step(both.theirs, both.data)
        path_q.append(state[0])
        goals.append(state[2])
    motion = both.robot.simulate(
        start[0], start[1], duration=steps * dt, dt=dt, method=way.method, controls=u,
        activation=start[2], limits="ignore",
    )  # fmt: skip
    np.testing.assert_allclose(motion.q, path_q, rtol=0, atol=1e-12)
    assert np.abs(motion.q[-1] - both.state()[0]).max() < 1e-12
    assert np.abs(motion.tau[:-1] - forces).max() < 1e-11
    names = both.robot.model.activation_names
    found = np.stack([motion.meta["activation"][name] for name in names], -1)
    assert np.abs(found - goals).max() < 1e-14
    by_name = dict(zip(reversed(both.robot.model.actuator_names), reversed(u), strict=True))
    again = both.robot.simulate(
        start[0], start[1], duration=steps * dt, dt=dt, method=way.method, controls=by_name,
        activation=start[2], limits="ignore",
    )  # fmt: skip
    assert np.array_equal(again.q, motion.q)
