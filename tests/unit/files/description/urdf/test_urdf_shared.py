"""The given files: malformed ones with their expected outcome, real ones with their tables."""

import sys

import numpy as np
import pytest
from urdf_texts import NO_SHARED, SHARED, bad_files, model_files, said

from kinetree.errors import KinetreeError
from kinetree.files.description import Limits
from kinetree.files.description.urdf import read_urdf
from kinetree.spatial import rpy

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason=NO_SHARED)
LATER = {  # seen only when masses and inertias are put together to a model
    "inertial_zero_mass_leaf",
    "inertial_not_psd",
    "inertial_triangle_violation",
}
OURS = {"revolute": "revolute", "continuous": "revolute", "floating": "free"}


@pytest.mark.parametrize("row", bad_files(), ids=lambda row: row["id"])
def test_malformed_files_end_as_the_manifest_says(row):
    expected = set(row["expected"].split("|"))
    try:
        robot = read_urdf(SHARED / "bad_inputs" / row["file"])
        found, text = ("WARN" if robot.warnings else "OK"), said(robot.warnings)
    except KinetreeError as error:
        found, text = "ERROR", str(error)
        assert text.startswith(row["file"])
    if row["id"] in LATER:
        assert found == "OK"
        return
    allowed = expected | ({"WARN"} if "OK" in expected else set())
    assert found in allowed, text
    if found != "OK":
        for word in filter(None, row["must_mention"].split(";")):
            assert word.lower() in text.lower()
    assert "root:" not in text


def test_no_other_file_is_opened():
    files = [SHARED / "bad_inputs" / row["file"] for row in bad_files()]
    opened: list[str] = []
    watching = True

    def watch(event, arguments):
        if watching and event == "open":
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)  # stays for the life of the process, hence the switch
    for file in files:
        try:
            read_urdf(file)
        except KinetreeError:
            pass
    watching = False
    assert {name for name in opened if not name.endswith((".py", ".pyc"))} == set(map(str, files))


@pytest.mark.parametrize(("path", "meta"), model_files(), ids=lambda x: getattr(x, "stem", ""))
def test_real_files_are_read_as_their_tables_say(path, meta):
    if meta["expected"] == "error":
        with pytest.raises(KinetreeError, match=r"imu_joint.*xyz.*xacro"):
            read_urdf(path)
        return
    robot = read_urdf(path)
    assert robot.name == meta["robot_name"]
    names = [link["name"] for link in meta["links"]]
    assert [link.name for link in robot.links if link.name != "world" or "world" in names] == names
    links = {link.name: link for link in robot.links}
    for expected in meta["links"]:
        check_link(links[expected["name"]], expected["inertial"])
    assert len(robot.joints) == len(meta["joints"])
    for joint, expected in zip(robot.joints, meta["joints"], strict=True):
        check_joint(joint, expected)
    told = ("non-unit", "world", "mimic", "xacro", "blank lines")
    if any(word in meta["expected_detail"] for word in told):
        assert robot.warnings


def check_link(link, inertial):
    if inertial is None:
        assert link.bodies == ()
        return
    (body,) = link.bodies
    assert body.m == inertial["mass"]
    np.testing.assert_array_equal(body.com, inertial["com_xyz"])
    xx, xy, xz, yy, yz, zz = (inertial["inertia"][f"i{k}"] for k in "xx xy xz yy yz zz".split())
    R = rpy(*inertial["com_rpy"])
    expected = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    np.testing.assert_allclose(body.I_com, expected, atol=1e-15 * max(abs(xx), abs(yy), abs(zz)))


def check_joint(joint, expected):
    kind = OURS.get(expected["type"], expected["type"])
    assert (joint.name, joint.type) == (expected["name"], kind)
    assert (joint.parent, joint.child) == (expected["parent"], expected["child"])
    np.testing.assert_array_equal(joint.M_pc[:3, 3], expected["origin_xyz"])
    np.testing.assert_allclose(joint.M_pc[:3, :3], rpy(*expected["origin_rpy"]), atol=1e-15)
    if joint.A is not None:
        axis = joint.A[3:] if kind == "prismatic" else joint.A[:3]
        given = np.array(expected["axis"], float)
        np.testing.assert_allclose(axis, given / np.linalg.norm(given), atol=1e-15)
        assert joint.friction.viscous == expected.get("damping", 0)
        assert joint.friction.coulomb == expected.get("friction", 0)
    unfilled = joint.limits == Limits() and expected.get("lower") == expected.get("upper") == 0
    if expected["type"] in ("revolute", "prismatic") and "lower" in expected and not unfilled:
        assert (joint.limits.lower, joint.limits.upper) == (expected["lower"], expected["upper"])
    mimic = None if kind == "fixed" else expected.get("mimic")
    assert (joint.mimic is None) == (mimic is None)
    if joint.mimic is not None and mimic is not None:
        assert vars(joint.mimic) == mimic
