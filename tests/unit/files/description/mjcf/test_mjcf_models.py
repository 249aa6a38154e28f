"""Given robots: the records agree with the tables of bodies and joints that come with them."""

import numpy as np
import pytest
from mjcf_files_given import given_models, meta_of

from kinetree.errors import ParseError
from kinetree.files.description import FREE, PRISMATIC, REVOLUTE, SPHERICAL
from kinetree.files.description.mjcf import read_mjcf
from kinetree.spatial import from_quaternion, screw_parts

pytest.importorskip("mujoco", reason="MJCF needs mujoco")

TYPES = {"hinge": REVOLUTE, "slide": PRISMATIC, "ball": SPHERICAL, "free": FREE}


def close(found, expected, tolerance=1e-12):
    assert np.abs(np.asarray(found) - np.asarray(expected)).max() <= tolerance


def body_inertia(body):
    """mass, centre and inertia of one row of the table."""
    return body["mass"], body["com"], body["inertia_com_body_axes"]


@pytest.mark.parametrize("folder", given_models())
def test_outcome_is_as_stated(folder):
    meta = meta_of(folder)
    if meta["expected"] == "error_without_meshes":
        with pytest.raises(ParseError, match=r"body '.*silicone_pad' .* mesh 'silicone_pad'"):
            read_mjcf(folder / meta["file"])
        return
    robot = read_mjcf(folder / meta["file"])
    text = " ".join(note.text for note in robot.warnings)
    pulled = any(len(x.joints) > 1 for x in robot.actuators.values())  # a tendon that is read
    for word in ("equality", "tendon", "gravcomp"):
        read = {"tendon": pulled, "equality": robot.constrained is not None}.get(word, False)
        assert (word in meta["oddities"]) == (word in text or read)
    assert ("static body" in meta["expected_detail"]) == ("static body" in text)
    text = (folder / meta["file"]).read_text(encoding="utf8")
    is_off = 'gravity="disable"' in text
    assert list(robot.gravity) == ([0, 0, 0] if is_off else meta["file_gravity"])


@pytest.mark.parametrize("folder", given_models())
def test_links_carry_the_masses_of_the_table(folder):
    meta = meta_of(folder)
    if meta["expected"].startswith("error"):
        pytest.skip("the file is refused")
    robot = read_mjcf(folder / meta["file"])
    links = {link.name: link for link in robot.links}
    assert set(links) >= {body["name"] for body in meta["bodies"]}
    for body in meta["bodies"]:
        m, com, I_com = body_inertia(body)
        if m is None:
            assert links[body["name"]].bodies == ()
            continue
        (found,) = links[body["name"]].bodies
        close(found.m, m)
        close(found.com, com)
        close(found.I_com, I_com)
    massless = [link for link in robot.links if not link.bodies and link.name != "world"]
    unknown = [body for body in meta["bodies"] if body["mass"] is None]
    assert all("/" in link.name for link in massless if link.name not in
               {body["name"] for body in unknown})  # fmt: skip


@pytest.mark.parametrize("folder", given_models())
def test_joints_are_those_of_the_table(folder):
    meta = meta_of(folder)
    if meta["expected"].startswith("error"):
        pytest.skip("the file is refused")
    robot = read_mjcf(folder / meta["file"])
    moving = [joint for joint in robot.joints if joint.type != "fixed"]
    assert [joint.name for joint in moving] == [row["name"] for row in meta["joints"]]
    for joint, row in zip(moving, meta["joints"], strict=True):
        assert joint.type == TYPES[row["type"]]
        assert joint.child == row["body"] or joint.child == f"{row['body']}/{row['name']}"
        close(joint.armature, row["armature"])
        close([joint.friction.viscous, joint.friction.coulomb],
              [row["damping"], row["frictionloss"]])  # fmt: skip
        if joint.A is None:
            continue
        close(joint.offset, -row["ref"])
        lower, upper = row["range"] or (-np.inf, np.inf)
        assert (joint.limits.lower, joint.limits.upper) == (lower, upper)
        point, axis, _ = screw_parts(joint.A)
        close(axis, row["axis"])
        if joint.type == REVOLUTE:
            close(np.cross(point - row["pos"], axis), 0)


@pytest.mark.parametrize("folder", given_models())
def test_bodies_hang_where_the_table_says(folder):
    meta = meta_of(folder)
    if meta["expected"].startswith("error"):
        pytest.skip("the file is refused")
    robot = read_mjcf(folder / meta["file"])
    above = {joint.child: joint for joint in robot.joints}
    names = {body["name"] for body in meta["bodies"]} | {"world"}
    for body in meta["bodies"]:
        T, link, is_free = np.eye(4), body["name"], False
        while True:
            joint = above[link]
            T, link, is_free = joint.M_pc @ T, joint.parent, joint.type == FREE
            if link in names:
                break
        assert link == body["parent"]
        x, y, z, w = body["quat_xyzw"]
        if is_free:
            close(T, np.eye(4))
        else:
            close(T[:3, 3], body["pos"])
            close(T[:3, :3], from_quaternion([w, x, y, z]))
