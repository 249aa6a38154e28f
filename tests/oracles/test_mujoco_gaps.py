"""Gaps of contacts, read from MJCF, against the distances that MuJoCo's collisions find."""

import numpy as np
import pytest
from shared_models import ROOT

import kinetree as kt

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

SIZES = {"sphere": "0.1", "capsule": "0.05 0.2", "box": "0.1 0.2 0.05", "cylinder": "0.15 0.04"}
BODIES = "".join(
    f'<body name="{kind}"><freejoint/><geom name="{kind}" type="{kind}" size="{size}" margin="9"/>'
    "</body>"
    for kind, size in SIZES.items()
)
SLOPE = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" euler="20 10 0"
pos="0.1 0.2 0.3"/>{BODIES}</worldbody></mujoco>"""


def lowest(model, data):
    """Least distance of every geom from the floor, by name."""
    found = {}
    for contact in list(data.contact)[: data.ncon]:
        names = [model.geom(int(g)).name for g in contact.geom]
        if "floor" in names:
            name = names[1 - names.index("floor")]
            found[name] = min(found.get(name, np.inf), float(contact.dist))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_shapes_are_as_far_from_a_slope_as_in_mujoco(seed):
    robot = kt.load_string(SLOPE).with_contacts(list(SIZES))
    q = np.array(robot.random(rng=np.random.default_rng(seed)), float)
    model = mujoco.MjModel.from_xml_string(SLOPE)
    data = mujoco.MjData(model)
    for k in range(len(SIZES)):
        data.qpos[7 * k : 7 * k + 3] = q[7 * k + 4 : 7 * k + 7]
        data.qpos[7 * k + 3 : 7 * k + 7] = q[7 * k : 7 * k + 4]
    mujoco.mj_forward(model, data)
    names = robot.model.contacts.names
    gaps = np.asarray(robot.compile("contact_points")(q)[1])
    theirs = lowest(model, data)
    for kind in SIZES:
        ours = min(g for name, g in zip(names, gaps, strict=True) if name.startswith(kind))
        assert ours == pytest.approx(theirs[kind], abs=1e-12), kind


FEET = {
    "mj_go2/go2.xml": (["FL", "FR", "RL", "RR"], 4, 0.8),
    "mj_anymal_c/anymal_c.xml": ([f"{leg}_SHANK 4" for leg in ("LF", "RF", "LH", "RH")], 4, 0.8),
    "mj_cassie/cassie.xml": (["left-foot", "right-foot"], 4, 1.0),
    "dm_humanoid/humanoid.xml": (["right_foot", "left_foot"], 8, 1.0),
}


@pytest.mark.parametrize("file", FEET)
def test_public_robots_stand_on_their_feet(file):
    path = ROOT / "mjcf" / file
    if not path.exists():
        pytest.skip(f"no {path.name} at {path.parent}")
    feet, count, friction = FEET[file]
    robot = kt.load(path).with_contacts(feet)
    contacts = robot.model.contacts
    assert len(contacts.points) == count and set(contacts.frictions) == {friction}
    gaps = np.asarray(robot.compile("contact_points")(kt.dynamics.start_position(robot))[1])
    assert abs(gaps.min()) < 1e-11
