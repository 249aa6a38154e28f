"""Robot files of others read only their folders, and are refused before they take all memory."""

import warnings

import pytest

import kinetree as kt
from kinetree.errors import KinetreeError, ParseError

SECRET = "root:x:0:0:hunter2"
BODY = '<body name="b{0}"><joint name="j{0}"/><geom size=".1"/>{1}</body>'
MJCF = "<mujoco>{}<worldbody>{}</worldbody></mujoco>"
PART = f"<mujocoinclude>{BODY.format(2, '')}</mujocoinclude>"
FINGER = f'<mujoco model="finger"><worldbody>{BODY.format(3, "")}</worldbody></mujoco>'
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
GRIPPER = '<sdf version="1.9"><model name="gripper"><link name="palm"/></model></sdf>'
CONFIG = "<model><sdf>model.sdf</sdf></model>"
ARM = """<sdf version="1.9"><model name="arm"><link name="base"/><include><uri>{}</uri></include>
<joint name="hold" type="revolute"><parent>base</parent><child>gripper::palm</child>
<axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""


def load(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.errors.KinetreeWarning)
        return kt.load(path, **options)


def refused(path, **options):
    with pytest.raises(KinetreeError) as caught:
        load(path, **options)
    message = str(caught.value)
    assert "hunter2" not in message and "root:x" not in message
    return message


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.symlink_to(target)
    except OSError:
        pytest.skip("this system makes no symbolic links")


@pytest.fixture
def home(tmp_path):
    """A folder of a robot; two folders above are files that it must not read."""
    write(tmp_path, "secret.xml", SECRET)
    write(tmp_path, "part.xml", PART)
    write(tmp_path, "finger.xml", FINGER)
    write(tmp_path, "shape.obj", OBJ)
    write(tmp_path, "far/model.sdf", GRIPPER)
    write(tmp_path, "far/model.config", CONFIG)
    (tmp_path / "own/home/sub").mkdir(parents=True)
    return tmp_path / "own/home"


NAMES = ["../../{}", "sub/../../../{}", "{outside}/{}", "linked_{}"]
USES = {  # a file: what stands beside the world and in it
    "part.xml": ("", '<include file="{}"/>'),
    "finger.xml": ('<asset><model name="m" file="{}"/></asset>',
                   '<attach model="m" body="b3" prefix="a_"/>'),
    "shape.obj": ('<asset><mesh name="s" file="{}"/></asset>', '<geom type="mesh" mesh="s"/>'),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("file", USES)
def test_an_mjcf_reads_no_file_outside_its_folder(file, name, home):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    link(home / f"linked_{file}", home.parents[1] / file)
    place = name.format(file, outside=home.parents[1])
    top, inside = (x.format(place) for x in USES[file])
    body = BODY.format(1, inside) if file != "shape.obj" else f"<body><joint/>{inside}</body>"
    path = write(home, "robot.xml", MJCF.format(top, body))
    assert "outside" in refused(path)
    assert load(path, folders=[home.parents[1]]).n > 0


@pytest.mark.parametrize("name", ["../../secret.xml", "{outside}/secret.xml"])
def test_a_refused_file_is_not_shown_and_not_told_from_one_that_is_absent(name, home):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    messages = set()
    for file in ("secret.xml", "absent.xml"):
        place = name.format(outside=home.parents[1]).replace("secret.xml", file)
        text = MJCF.format("", BODY.format(1, f'<include file="{place}"/>'))
        messages.add(refused(write(home, "robot.xml", text)).replace(file, "NAME"))
    assert len(messages) == 1
    write(home, "notes.xml", SECRET)
    text = MJCF.format("", BODY.format(1, '<include file="notes.xml"/>'))
    assert "notes.xml" in refused(write(home, "robot.xml", text))


@pytest.mark.parametrize("scheme", ["", "model://", "package://"])
@pytest.mark.parametrize("name", ["link.sdf", "folder", "folder/model.sdf", "file", "config"])
def test_an_sdf_follows_no_link_out_of_its_folder(scheme, name, home):
    """A link as the file, as its folder, as the model.sdf of a folder, and as its model.config."""
    far = home.parents[1] / "far"
    write(home, "config/model.sdf", GRIPPER)
    link(home / "folder", far)
    link(home / "file/model.sdf", far / "model.sdf")
    link(home / "config/model.config", far / "model.config")
    link(home / "link.sdf", far / "model.sdf")
    refused(write(home, "arm.sdf", ARM.format(f"{scheme}{name}")))


URIS = ["../../far/model.sdf", "model://../../far", "model://", "http://x.org/hand", "secret.txt",
        "model://hand/secret.txt", "missing.sdf"]  # fmt: skip


@pytest.mark.parametrize("uri", URIS)
def test_an_sdf_includes_no_other_file(uri, home):
    write(home, "secret.txt", SECRET)
    write(home, "hand/secret.txt", SECRET)
    path = write(home, "arm.sdf", ARM.format(uri))
    refused(path)
    refused(path, folders=[home])
    write(home, "gripper/model.sdf", GRIPPER)
    assert load(write(home, "arm.sdf", ARM.format("model://gripper"))).n == 1


def test_a_text_reads_no_file_without_folders(home):
    for text in (ARM.format("model://gripper"), ARM.format("gripper/model.sdf")):
        with pytest.raises(KinetreeError):
            kt.load_string(text)


def test_document_types_are_refused():
    entity = '[<!ENTITY e SYSTEM "file:///etc/passwd">]'
    for doctype in ("", ' SYSTEM "file:///etc/passwd"', entity):
        for text in ("<robot name='r'><link name='a'/></robot>", MJCF.format("", ""), GRIPPER):
            with pytest.raises(ParseError):
                kt.load_string(f"<!DOCTYPE robot {doctype}>{text}")


BOUNDS = {
    "depth": "<a>" * 300 + "</a>" * 300,
    "elements": "<a/>" * 500_001,
    "attributes": "<a " + " ".join(f'x{k}=""' for k in range(201)) + "/>",
    "characters of an attribute": f'<a x="{"1" * 65_537}"/>',
    "characters of a text": f"<a>{'1' * 65_537}</a>",
    "size": f"<!--{'1' * 67_108_864}-->",
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_sizes_of_a_file_are_bounded(bound):
    with pytest.raises(ParseError):
        kt.load_string(f"<robot name='r'><link name='b'/>{BOUNDS[bound]}</robot>")


def model(name, *inside, assets=""):
    return (
        f'<mujoco model="{name}"><asset>{assets}</asset><worldbody>{"".join(inside)}</worldbody>'
        "</mujoco>"
    )


def next_model(k, name):
    return f'<model name="{name}" file="m{k + 1}.xml"/>'


def attach(k):
    return "".join(f'<attach model="m{k + 1}" prefix="{x}"/>' for x in "abcdefghij")


LEVELS = {  # models that contain models: how deep, and each level
    "copies": (7, lambda k: model(f"m{k}", attach(k), assets=next_model(k, f"m{k + 1}"))),
    "depth": (30, lambda k: model(f"m{k}", assets=next_model(k, "x"))),
    "files": (12, lambda k: model(f"m{k}", assets=next_model(k, "x") + next_model(k, "y"))),
}  # fmt: skip


@pytest.mark.parametrize("kind", LEVELS)
def test_models_of_an_mjcf_that_multiply_are_refused(kind, tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    depth, text = LEVELS[kind]
    for k in range(depth):
        write(tmp_path, f"m{k}.xml", text(k))
    write(tmp_path, f"m{depth}.xml", model(f"m{depth}", BODY.format(1, "")))
    assert "more than" in refused(tmp_path / "m0.xml")


def test_copies_of_an_mjcf_in_one_file_are_bounded(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    bodies = BODY.format(0, "") + "".join(
        f'<body name="b{k}"><geom size=".1"/><attach body="b{k - 1}" prefix="x{k}"/>'
        f'<attach body="b{k - 1}" prefix="y{k}"/></body>'
        for k in range(1, 40)
    )
    assert "more than" in refused(write(tmp_path, "a.xml", MJCF.format("", bodies)))
    many = f'<replicate count="1000000">{BODY.format(0, "")}</replicate>'
    assert "1000000" in refused(write(tmp_path, "a.xml", MJCF.format("", many)))


def test_includes_of_an_sdf_that_multiply_are_refused(tmp_path):
    """Each of ten files includes the next one ten times; that would be 10^10 models."""
    for k in range(10):
        inside = "".join(
            f"<include><uri>model://m{k + 1}</uri><name>n{i}</name></include>" for i in range(10)
        )
        inside = inside if k < 9 else ""
        text = f'<sdf version="1.9"><model name="m"><link name="l"/>{inside}</model></sdf>'
        write(tmp_path, f"m{k}/model.sdf", text)
    assert "more than" in refused(tmp_path / "m0/model.sdf", folders=[tmp_path])
