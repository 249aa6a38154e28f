"""Uploads: several files together, errors with the user's names, nothing from elsewhere."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from workbench_client import packed

import kinetree.views.workbench.shelf as shelves
from kinetree.errors import InputError, KinetreeError, NameLookupError
from kinetree.views.workbench.describe import description
from kinetree.views.workbench.shelf import Shelf

LINK = (
    '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
    'iyz="0"/></inertial>{}</link>'
)
JOINT = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
PARTS = LINK.format("a", "") + LINK.format("b", "{visual}") + JOINT
URDF = f'<robot name="two">{PARTS}</robot>'.replace("{visual}", "")
XACRO = '<robot xmlns:xacro="http://ros.org/wiki/xacro" name="{name}">{body}</robot>'
STL = (
    "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
    "endfacet\nendsolid"
)


@pytest.fixture(scope="module")
def shelf():
    found = Shelf()
    yield found
    found.close()


@pytest.fixture
def upload(shelf):
    def uploaded(files, main=None):
        request = packed(files, main)
        try:
            return shelf.upload(request["files"], request.get("main"))
        finally:
            assert not list(shelf.folder.iterdir())  # the files are removed in any case

    return uploaded


def test_a_robot_with_its_meshes(upload):
    mesh = '<visual><geometry><mesh filename="package://arm/meshes/b.stl"/></geometry></visual>'
    robot = f'<robot name="two">{PARTS}</robot>'.replace("{visual}", mesh)
    found = upload({"arm/urdf/my arm.urdf": robot, "arm/meshes/b.stl": STL})
    assert found.source == "arm/urdf/my arm.urdf" and found.robot.n == 1
    assert [x.kind for x in found.stage.scene.of("visual")] == ["mesh"]
    assert found.stage.scene.remarks == ()
    alone = upload({"my arm.urdf": robot})
    assert not alone.stage.scene.of("visual")
    assert "does not exist" in description(alone)["warnings"][0]["text"]


def test_the_same_upload_is_the_same_robot(upload, shelf):
    first, second = upload({"a.urdf": URDF}), upload({"a.urdf": URDF})
    assert first is second and shelf.find(first.id) is first
    assert upload({"b.urdf": URDF}).id != first.id


@pytest.mark.parametrize(
    "name",
    [
        "../x.urdf",
        "a/../../x.urdf",
        "/x.urdf",
        "\\x.urdf",
        "a\\..\\..\\x.urdf",
        "C:\\x.urdf",
        "x.urdf\0.txt",
        "x\n.urdf",
        "..",
        "",
        "a/" * 9 + "x.urdf",
        "x" * 201 + ".urdf",
        "nul. /x.urdf",
    ],
)
def test_names_that_lead_elsewhere_are_refused(upload, name):
    with pytest.raises(InputError):
        upload({name: URDF})


WORLD = '<sdf version="1.10"><world name="w"><include><uri>{}</uri></include></world></sdf>'
CRANE = """<sdf version="1.10"><model name="crane"><link name="base"/><link name="arm"/>
<joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="lift" type="revolute"><parent>base</parent><child>arm</child>
<axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
MJCF = '<mujoco><include file="{}"/></mujoco>'


def refusal(upload, files):
    with pytest.raises(KinetreeError) as caught:
        upload(files)
    return str(caught.value)


@pytest.mark.parametrize("form", ["file://{}", "{}"])
def test_an_uploaded_model_does_not_learn_which_paths_exist(upload, tmp_path, form):
    (tmp_path / "there").write_text("")
    texts = [
        refusal(upload, {"main.sdf": WORLD.format(form.format(tmp_path / name))})
        for name in ("there", "away")
    ]
    assert texts[0].replace("there", "away") == texts[1]


@pytest.mark.parametrize(
    "files",
    [
        {"main.sdf": WORLD.format("..")},
        {"main.sdf": WORLD.format("../..")},
        {"main.sdf": WORLD.format("model://nothing")},
        {"main.xml": MJCF.format("../x.xml")},
        {"main.xml": MJCF.format("../../x.xml")},
        *(
            {"main.xacro": XACRO.format(name="x", body=f'<xacro:include filename="{x}"/>')}
            for x in ("../x", "../../x", "$(cwd)/x", "$(find nothing)/x")
        ),
        {"main.xacro": XACRO.format(name="$(cwd)", body="")},
    ],
)
def test_refused_uploads_name_no_folder_of_the_server(upload, shelf, files, monkeypatch):
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", "/gazebo")
    words = refusal(upload, files)
    for hidden in (shelf.folder, shelf.folder.parent, Path.cwd(), "RESOURCE_PATH", "AMENT"):
        assert str(hidden) not in words


def test_notes_on_an_upload_name_no_folder_of_the_server(upload, shelf):
    files = {"a/main.sdf": WORLD.format("model://crane"), "a/crane/model.sdf": CRANE}
    model = upload(files, "a/main.sdf").robot.model
    notes = [note.text for note in (*model.notes, *model.warnings)]
    assert any("'crane' is a/crane" in note for note in notes)
    assert str(shelf.folder) not in " ".join(notes)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("$(dirname)", "/upload/a"),
        ("$(eval dirname())", "/upload/a"),
        ("$(find a)", "/upload/a"),
        ("$(eval find('a'))", "/upload/a"),
        ("${xacro.abs_filename('../q')}", "/upload/q"),
    ],
)
def test_an_upload_sees_a_neutral_folder_and_reads_by_it(upload, text, seen):
    mesh = f'<visual><geometry><mesh filename="file://{text}/b.stl"/></geometry></visual>'
    place = seen.removeprefix("/upload/")
    include = f'<xacro:include filename="{text}/b.xacro"/>'
    files = {
        "a/main.xacro": XACRO.format(name=text, body=include),
        f"{place}/b.xacro": XACRO.format(name="x", body=PARTS.replace("{visual}", mesh)),
        f"{place}/b.stl": STL,
    }
    found = upload(files, "a/main.xacro")
    assert found.robot.name == seen
    assert [x.kind for x in found.stage.scene.of("visual")] == ["mesh"]


def test_an_upload_reads_nothing_from_elsewhere(upload, tmp_path, monkeypatch):
    secret = tmp_path / "secret.xacro"
    secret.write_text(XACRO.format(name="x", body=PARTS.replace("{visual}", "")))
    include = f'<xacro:include filename="{secret}"/>'
    with pytest.raises(KinetreeError, match="outside the files that were opened together"):
        upload({"main.xacro": XACRO.format(name="x", body=include)})
    monkeypatch.setenv("SECRET", "value")
    with pytest.raises(KinetreeError, match="'SECRET' is not read"):
        upload({"main.xacro": XACRO.format(name="$(env SECRET)", body=PARTS)})
    body = PARTS.replace("{visual}", "")
    named = upload({"main.xacro": XACRO.format(name="$(optenv SECRET none)", body=body)})
    assert named.robot.name == "none"
    visual = f'<visual><geometry><mesh filename="{secret}"/></geometry></visual>'
    drawn = upload({"a.urdf": f'<robot name="x">{PARTS}</robot>'.replace("{visual}", visual)})
    assert not drawn.stage.scene.of("visual")


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret.xml", "../../secret.xml"])
def test_an_mjcf_upload_includes_nothing_from_elsewhere(upload, name):
    pytest.importorskip("mujoco")
    with pytest.raises(KinetreeError):
        upload({"x.xml": f"<mujoco><include file='{name}'/></mujoco>"})


def test_a_very_large_robot_is_not_opened(upload, monkeypatch):
    monkeypatch.setattr(shelves, "MAX_SIZE", 0)
    with pytest.raises(InputError):
        upload({"large.urdf": URDF})


def numbered(k: int) -> str:
    return URDF.replace('mass value="1"', f'mass value="{k + 1}"')


def test_robots_that_were_not_used_for_longest_are_dropped_with_their_kernels(monkeypatch):
    """Memory has a bound however many robots are opened: their kernels go with them."""
    room = 4
    monkeypatch.setattr(shelves, "MAX_ROBOTS", room)
    small, kernels, models = Shelf(), weakref.WeakSet(), weakref.WeakSet()
    keys: list[str] = []
    try:
        for k in range(5 * room):
            opened = small.upload(packed({"r.urdf": numbered(k)})["files"], None)
            q = np.zeros(opened.robot.n)
            opened.robot.simulate(q, duration=0.01)
            for name in ("inverse_dynamics", "mass_matrix"):
                kernel = getattr(opened.robot, name)
                kernel(*[q] * len(kernel.graph.inputs))
                kernels.add(kernel)
            models.add(opened.robot.model)
            keys.append(opened.id)
            small.find(keys[0])  # used all the time, so it stays
            del opened, kernel
        assert len(models) <= room and len(kernels) <= 2 * room
        for key in (keys[0], *keys[1 - room :]):
            assert small.find(key).robot.model in models
        with pytest.raises(NameLookupError, match="not open here any more"):
            small.find(keys[-room])
        loads = [{"robot": keys[0], "payload": {"mass": 0.1 * k}} for k in range(3 * room)]
        variants = [small.robot(load) for load in loads]
        assert small.robot(loads[-1]) is variants[-1]
        assert small.robot(loads[0]) is not variants[0]  # dropped, and made again
    finally:
        small.close()


def code_bytes() -> int:
    """Bytes of memory that can be executed and belongs to no file."""
    total = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        places, rights, *_, last = line.split()
        if "x" in rights and last == "0":  # the number of the file, behind which no name follows
            start, end = (int(x, 16) for x in places.split("-"))
            total += end - start
    return total


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system lists no memory")
def test_machine_code_of_dropped_robots_is_unmapped(monkeypatch):
    room, sizes = 2, [code_bytes()]
    monkeypatch.setattr(shelves, "MAX_ROBOTS", room)
    small = Shelf()
    try:
        for k in range(4 * room):
            opened = small.upload(packed({"r.urdf": numbered(100 + k)})["files"], None)
            opened.robot.simulate(np.zeros(1), duration=0.01)
            for name in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
                getattr(opened.robot, name)
            del opened
            gc.collect()
            sizes.append(code_bytes())
    finally:
        small.close()
    assert sizes[0] < sizes[1] < sizes[2]  # of one robot, and of two
    assert max(sizes[room + 1 :]) <= sizes[room + 1] + sizes[2] - sizes[1]  # not of five more
