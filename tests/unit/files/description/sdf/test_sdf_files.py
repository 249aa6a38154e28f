"""Models that an SDF file includes: found in stated places, bounded, and placed by the include."""

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeError
from kinetree.files.description.sdf import read_sdf, read_sdf_text
from kinetree.model import build_model

GRIPPER = """<sdf version="1.9"><model name="gripper"><pose>9 9 9 0 0 0</pose>
<link name="palm"><pose>0 0 0.1 0 0 0</pose></link>
<link name="finger"><pose>0 0 0.2 0 0 0</pose></link>
<frame name="mount"><pose>0 0 -0.3 0 0 0</pose></frame>
<joint name="close" type="prismatic"><parent>palm</parent><child>finger</child>
<axis><xyz expressed_in="__model__">1 0 0</xyz></axis></joint></model></sdf>"""
CONFIG = """<model><name>Gripper</name><sdf version="1.0">old.sdf</sdf>
<sdf version="1.9">new.sdf</sdf></model>"""
ARM = """<sdf version="1.9"><model name="arm"><link name="base"/>{}
<joint name="hold" type="revolute"><parent>base</parent><child>{}palm</child>
<axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
INCLUDE = "<include{}><uri>{}</uri>{}</include>"


@pytest.fixture
def models(tmp_path):
    """A folder models/ with a gripper, which has a model.config, and a hand, which has none."""
    folder = tmp_path / "models"
    (folder / "gripper").mkdir(parents=True)
    (folder / "gripper/new.sdf").write_text(GRIPPER)
    (folder / "gripper/old.sdf").write_text("<sdf version='1.0'/>")
    (folder / "gripper/model.config").write_text(CONFIG)
    (folder / "hand").mkdir()
    (folder / "hand/model.sdf").write_text(GRIPPER)
    return folder


def arm(uri="model://gripper", prefix="gripper::", attributes="", more=""):
    return ARM.format(INCLUDE.format(attributes, uri, more), prefix)


def test_a_model_is_found_in_the_folders_and_beside_the_file(models, tmp_path):
    for folders in ([models], [tmp_path]):
        found = read_sdf_text(arm(), folders=folders)
        assert [x.name for x in found.joints if x.type != "fixed"] == ["gripper::close", "hold"]
        assert any("model 'gripper' is" in x.text for x in found.notes)
    assert len(read_sdf_text(arm("gripper"), folders=[models]).links) == 4
    (models / "arm").mkdir()
    (models / "arm/model.sdf").write_text(arm())
    assert len(read_sdf(models / "arm/model.sdf").links) == 4


def test_a_model_is_found_by_the_environment_of_gazebo(models, monkeypatch):
    with pytest.raises(KinetreeError, match=r"model 'gripper' is not found.*folders="):
        read_sdf_text(arm())
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(models))
    assert len(read_sdf_text(arm()).links) == 4


def test_name_pose_and_placement_are_those_of_the_include(models):
    more = "<name>g</name><pose>1 0 0 0 0 0</pose><placement_frame>mount</placement_frame>"
    found = read_sdf_text(arm(prefix="g::", more=more), folders=[models])
    hold = next(x for x in found.joints if x.name == "hold")
    np.testing.assert_allclose(hold.M_pc[:3, 3], [1, 0, 0.4])  # mount at 1 0 0, palm 0.4 above it
    assert "g::mount" in {x.name for x in found.frames}


def test_a_merged_model_belongs_to_the_model_around_it(models):
    text = arm(prefix="", attributes=' merge="true"', more="<pose>1 0 0 0 0 1</pose>")
    found = read_sdf_text(text, folders=[models])
    assert {x.name for x in found.links} == {"world", "base", "palm", "finger"}
    plain = read_sdf_text(arm(more="<pose>1 0 0 0 0 1</pose>"), folders=[models])
    q = [0.2, 0.3]
    M = [kt.algorithms.mass_matrix(build_model(x), q) for x in (found, plain)]
    np.testing.assert_array_equal(*M)
    with pytest.raises(KinetreeError, match="are both called 'palm'"):
        read_sdf_text(text.replace('name="base"', 'name="palm"'), folders=[models])


def test_files_are_opened_in_the_folder_of_the_file_or_in_those_given(models, tmp_path):
    path = tmp_path / "arm.sdf"
    for uri in ("models/hand/model.sdf", "file://models/hand/model.sdf", "models/hand"):
        path.write_text(arm(uri))
        assert len(read_sdf(path).links) == 4
    inner = models / "arm.sdf"
    inner.write_text(arm("../outside/model.sdf"))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/model.sdf").write_text(GRIPPER)
    with pytest.raises(KinetreeError, match=r"outside the folder of the file.*trusted.*folders="):
        read_sdf(inner)
    assert len(read_sdf(inner, folders=[tmp_path]).links) == 4
    with pytest.raises(KinetreeError, match="a text has no folder of its own"):
        read_sdf_text(arm("models/hand/model.sdf"))


@pytest.mark.parametrize("scheme", ["", "model://", "package://"])
@pytest.mark.parametrize("name", ["link.sdf", "folder", "folder/model.sdf", "file", "config"])
def test_links_that_lead_out_of_the_folder_are_not_followed(tmp_path, scheme, name):
    """A link as the file, as its folder, as the model.sdf of a folder, and as its model.config."""
    own, far = tmp_path / "workspace/own", tmp_path / "far"
    for folder in (own / "file", own / "config", far):
        folder.mkdir(parents=True)
    (far / "model.sdf").write_text(GRIPPER)
    (far / "model.config").write_text("<model><sdf>model.sdf</sdf></model>")
    (own / "folder").symlink_to(far)
    (own / "config/model.sdf").write_text(GRIPPER)
    for link in ("file/model.sdf", "config/model.config"):
        (own / link).symlink_to(far / Path(link).name)
    (own / "link.sdf").symlink_to(far / "model.sdf")
    (own / "arm.sdf").write_text(arm(f"{scheme}{name}"))
    with pytest.raises(KinetreeError, match=r"outside the folder|leads out of|is not found"):
        read_sdf(own / "arm.sdf")
    if scheme == "model://" and name != "link.sdf":
        assert len(read_sdf(own / "arm.sdf", folders=[own, far]).links) == 4


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("model://../hand", "is not the name of a model"),
        ("model://", "is not the name of a model"),
        ("model://gripper/old.sdf", "cannot be read: old.sdf:1:1: this is SDF 1.0"),
        ("http://x.org/hand", "Nothing is downloaded"),
        ("missing.sdf", "is not found"),
        ("secret.txt", "is no SDF file; expected .sdf or .world"),
        ("model://hand/secret.txt", "is no SDF file; expected .sdf or .world"),
        ("model://hand/link.sdf", "is a link that leads out of"),
    ],
)
def test_a_model_that_cannot_be_included_is_refused(models, uri, words):
    for folder in (models, models / "hand"):
        (folder / "secret.txt").write_text("password")
    (models.parent / "new.sdf").write_text(GRIPPER)
    (models / "hand/link.sdf").symlink_to(models.parent / "new.sdf")
    with pytest.raises(KinetreeError) as caught:
        read_sdf_text(arm(uri), folders=[models])
    assert words in str(caught.value) and "password" not in str(caught.value)


def test_a_file_that_includes_itself_is_refused(models):
    text = GRIPPER.replace(
        "</model></sdf>", f"{INCLUDE.format('', 'model://hand', '')}</model></sdf>"
    )
    (models / "hand/model.sdf").write_text(text)
    with pytest.raises(KinetreeError, match="includes the file that it stands in"):
        read_sdf_text(arm("model://hand", "gripper::"), folders=[models])


def test_includes_that_multiply_are_refused(models):
    """Each of ten files includes the next one ten times; that would be 10^10 models."""
    for k in range(10):
        (models / f"m{k}").mkdir()
        body = "".join(
            INCLUDE.format("", f"model://m{k + 1}", f"<name>n{i}</name>") for i in range(10)
        )
        inside = f'<link name="l"/>{body if k < 9 else ""}'
        (models / f"m{k}/model.sdf").write_text(
            f'<sdf version="1.9"><model name="m">{inside}</model></sdf>'
        )
    with pytest.raises(KinetreeError, match="more than 256 files"):
        read_sdf_text(arm("model://m0", "m::"), folders=[models])


def test_models_of_a_world_that_are_not_found_are_left_out_with_a_warning():
    robot = '<model name="arm"><link name="a"/></model>'
    text = f"""<sdf version="1.9"><world name="w">
    <include><uri>model://ground_plane</uri></include>{robot}</world></sdf>"""
    description = read_sdf_text(text)
    assert description.name == "arm"
    assert any("a model is left out" in x.text for x in description.warnings)


FUEL = "<include>{}<uri>https://fuel.gazebosim.org/1.0/org/models/Panda</uri></include>"
FIXED_MODEL = '<model name="ground"><static>1</static><link name="l"/></model>'
MOVING_MODEL = '<model name="arm"><link name="a"/></model>'


def of_world(*models):
    return f'<sdf version="1.9"><world name="w">{"".join(models)}</world></sdf>'


def test_a_world_is_read_without_the_models_of_the_network():
    text = of_world(FUEL.format(""), FIXED_MODEL, MOVING_MODEL)
    description = read_sdf_text(text)
    assert description.name == "arm"
    (warned,) = [x.text for x in description.warnings if "is left out" in x.text]
    assert "models/Panda' is not read. Nothing is downloaded" in warned


@pytest.mark.parametrize(
    ("models", "name", "words"),
    [
        ((FUEL.format(""), FIXED_MODEL), None, "no model that can move, beside 'Panda'"),
        ((FUEL.format("<name>it</name>"),), None, "no model that can move, beside 'it'"),
        ((FUEL.format(""), MOVING_MODEL), "Panda", "model 'Panda' cannot be read"),
    ],
)
def test_a_robot_of_the_network_is_refused(models, name, words):
    with pytest.raises(KinetreeError, match=words) as caught:
        read_sdf_text(of_world(*models), model=name)
    assert "Nothing is downloaded: download the model" in str(caught.value)


def test_a_static_model_of_the_network_is_not_the_robot():
    text = of_world(FUEL.format("<static>true</static>"), FIXED_MODEL)
    assert read_sdf_text(text).name == "ground"


def test_another_model_of_the_world_may_lack_a_part():
    other = f'<model name="shelf"><static>1</static><link name="s"/>{FUEL.format("")}</model>'
    description = read_sdf_text(of_world(other, MOVING_MODEL))
    assert description.name == "arm"
    assert any("a part of another model is left out" in x.text for x in description.warnings)
    with pytest.raises(KinetreeError, match="Nothing is downloaded"):
        read_sdf_text(of_world(other, MOVING_MODEL), model="shelf")


def test_a_file_is_loaded_by_its_ending(models, tmp_path):
    path = tmp_path / "arm.sdf"
    path.write_text(arm())
    with pytest.warns(kt.KinetreeWarning, match="1 kg and unit moments"):
        robot = kt.load(path, folders=[models])
    assert set(robot.joint_names) == {"hold", "gripper::close"}
    assert robot.report.source == path
