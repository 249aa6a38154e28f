import pytest

from kinetree.description.urdf_meshes import find_mesh


@pytest.fixture
def tree(tmp_path):
    """A package with a description and a mesh in it, and another package elsewhere."""
    for name in ("ws/arm/meshes/a.stl", "other/hand/h.stl", "secret.stl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    (tmp_path / "ws/arm/urdf").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("../meshes/a.stl", "ws/arm/meshes/a.stl"),
        ("package://arm/meshes/a.stl", "ws/arm/meshes/a.stl"),
        ("package://hand/h.stl", "other/hand/h.stl"),
        ("package://hand/../../secret.stl", None),
        ("package://nope/a.stl", None),
        ("package://", None),
        ("missing.stl", None),
        ("http://example.org/a.stl", None),
        ("a\0b", None),
    ],
)
def test_paths_are_resolved_beside_the_file_above_it_and_in_packages(tree, path, found):
    expected = None if found is None else (tree / found).resolve()
    result = find_mesh(path, tree / "ws/arm/urdf", [tree / "other"])
    assert (None if result is None else result.resolve()) == expected


def test_a_package_path_may_be_the_package_itself(tree):
    assert find_mesh("package://hand/h.stl", tree, [tree / "other/hand"]) is not None


def test_a_file_url_is_a_path(tree):
    path = tree / "secret.stl"
    assert find_mesh(f"file://{path}", tree / "ws") == path


def test_a_package_is_also_found_by_the_name_in_its_package_xml(tree):
    manifest = tree / "other/hand/package.xml"
    manifest.write_text("<package><name>big_hand</name></package>")
    found = find_mesh("package://big_hand/h.stl", tree / "ws/arm/urdf", [tree / "other"])
    assert found == tree / "other/hand/h.stl"
    assert find_mesh("package://big_hand/none.stl", tree / "ws", [tree / "other"]) is None
