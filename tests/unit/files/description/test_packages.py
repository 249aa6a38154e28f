"""Packages: found by package.xml, in a fixed order of places, anew for every description."""

import os

import pytest

from kinetree.errors import ParseError
from kinetree.files.description.sources import Sources

MANIFEST = "<package><name>{}</name></package>"


def package(folder, name=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.xml").write_text(MANIFEST.format(name or folder.name))
    return folder


def found(path, name="parts", folders=(), **environment):
    return Sources(path, folders, variables=environment).package(name, "x.xacro:1")


def refused(path, name="parts", folders=(), **environment):
    with pytest.raises(ParseError) as caught:
        found(path, name, folders, **environment)
    return str(caught.value)


def index(prefix, name):
    """An ament prefix that has a package."""
    marks = prefix / "share/ament_index/resource_index/packages"
    marks.mkdir(parents=True, exist_ok=True)
    (marks / name).touch()
    return package(prefix / "share" / name)


def test_the_name_is_that_of_package_xml(tmp_path):
    folder = package(tmp_path / "ws" / "parts-1.2", "parts")
    package(tmp_path / "ws" / "deep" / "er" / "parts", "others")
    assert found(tmp_path / "x.xacro", folders=[tmp_path / "ws"]) == folder
    text = refused(tmp_path / "x.xacro", "parts-1.2", folders=[tmp_path / "ws"])
    assert "'parts'" in text


def test_the_places_have_an_order(tmp_path):
    """Each place is searched only if those before have no such package."""
    file = tmp_path / "ws/src/repo/parts/urdf/x.xacro"
    environment = {
        "AMENT_PREFIX_PATH": os.pathsep.join(map(str, (tmp_path / "over", tmp_path / "under"))),
        "ROS_PACKAGE_PATH": str(tmp_path / "ros"),
    }
    places = [
        package(tmp_path / "ws/src/repo/parts"),
        package(tmp_path / "given/x/parts"),
        package(tmp_path / "ws/src/other/parts"),
        index(tmp_path / "over", "parts"),
        index(tmp_path / "under", "parts"),
        package(tmp_path / "ros/parts"),
    ]
    (tmp_path / "ws/src/repo/.git").mkdir()
    for place in places:
        assert found(file, folders=[tmp_path / "given"], **environment) == place
        (place / "package.xml").unlink()
        place.rename(place.with_name("gone"))
        mark = place.parent / "ament_index/resource_index/packages/parts"
        mark.unlink(missing_ok=True)
    assert "not found" in refused(file, folders=[tmp_path / "given"], **environment)


def test_of_two_in_one_place_the_nearer_is_taken_and_both_are_named(tmp_path):
    near, far = package(tmp_path / "a/repo/parts"), package(tmp_path / "b/repo/parts")
    packages = Sources(tmp_path / "a/repo/arm/x.xacro", [tmp_path], variables={})
    assert packages.package("parts", "") == near
    assert str(far) in packages.notes[0].text


def test_a_link_to_a_package_is_the_same_package(tmp_path):
    folder = package(tmp_path / "ws/a/parts")
    try:
        (tmp_path / "ws/b").symlink_to(tmp_path / "ws/a", target_is_directory=True)
        (tmp_path / "ws/a/loop").symlink_to(tmp_path / "ws", target_is_directory=True)
    except OSError:
        pytest.skip("this system does not let users make links")
    assert found(tmp_path / "x.xacro", folders=[tmp_path / "ws"]) == folder


@pytest.mark.parametrize("inside", ["../a", "m/../../a", r"..\a", r"m\..\..\a"])
def test_references_do_not_lead_out_of_their_package(tmp_path, inside):
    package(tmp_path / "ws/parts-1", "parts")
    packages = Sources(tmp_path / "x" / "x.xacro", [tmp_path / "ws"], variables={})
    with pytest.raises(ParseError):
        packages.locate(f"package://parts/{inside}", [tmp_path / "x"], "x:1")
