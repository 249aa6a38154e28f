"""Drawn contacts: the ground, markers, arrows of forces and friction cones."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.views import scene

HOPPER = """<robot name="hopper"><link name="body"><inertial><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><origin xyz="0 0 -0.3"/><geometry><sphere radius="0.05"/></geometry></collision>
</link></robot>"""
RED = (192, 57, 43)


@pytest.fixture(scope="module")
def hopper():
    return kt.load_string(HOPPER, floating=True).with_contacts(["body"], friction=0.5)


@pytest.fixture(scope="module")
def motion(hopper):
    q = hopper.start_position()
    return hopper.simulate(q, duration=0.02, dt=0.002, limits="ignore")


def shapes(robot, group):
    return scene(robot).of(group)


def test_markers_stand_at_the_contacts_and_the_level_plane_is_the_floor(hopper):
    (marker,) = shapes(hopper, "contact")
    assert marker.T[:3, 3].tolist() == [0, 0, -0.3] and marker.size[0] == pytest.approx(0.051)
    assert shapes(hopper, "ground") == () and "ground" not in scene(hopper).shown
    assert shapes(hopper.with_contacts(None), "contact") == ()


def test_slopes_boxes_and_height_fields_are_shapes_of_the_scene(hopper):
    slope = kt.contacts.Plane((0.3, 0, 1), (0, 0, -1))
    (plate,) = shapes(hopper.with_contacts(["body"], slope), "ground")
    corners = np.array([[x, y, -plate.size[2] / 2] for x in (-1, 1) for y in (-1, 1)])
    top = corners @ plate.T[:3, :3].T + plate.T[:3, 3]
    assert np.abs((top - [0, 0, -1]) @ [0.3, 0, 1]).max() < 1e-12
    steps = shapes(hopper.with_contacts(["body"], kt.contacts.stairs(3, 0.3, 0.1, 1)), "ground")
    assert [x.size[2] for x in steps] == pytest.approx([0.1, 0.2, 0.3])
    heights = np.arange(12.0).reshape(3, 4) / 100
    field = kt.contacts.HeightField(heights, 0.5, (1, 2, 3))
    (drawn,) = shapes(
        hopper.with_contacts([kt.contacts.ContactPoint("p", "body")], field), "ground"
    )
    corners = drawn.mesh.vertices + drawn.T[:3, 3]
    assert corners[-1].tolist() == [2, 3.5, 3.11] and len(drawn.mesh.triangles) == 12


def colours(path):
    plt = pytest.importorskip("matplotlib.image")
    return (plt.imread(path)[..., :3] * 255).round().astype(int).reshape(-1, 3)


def near(pixels, colour):
    """Pixels of the hue of a colour, whatever their light is."""
    share = pixels / np.maximum(np.linalg.norm(pixels, axis=1, keepdims=True), 1)
    wanted = np.array(colour) / np.linalg.norm(colour)
    return int((np.linalg.norm(share - wanted, axis=1) < 0.06).sum())


def test_a_picture_shows_the_forces_of_the_motion(hopper, motion, tmp_path):
    options = {"size": (160, 120)}
    files = {
        "plain": {"hide": ["force"]},
        "force": {},
        "cone": {"add": ["cone"], "hide": ["force"]},
    }
    for name, more in files.items():
        kt.views.render(hopper, motion, path=tmp_path / f"{name}.png", **options, **more)
    pixels = {name: colours(tmp_path / f"{name}.png") for name in files}
    assert near(pixels["force"], RED) > near(pixels["plain"], RED) + 20
    assert (pixels["cone"] != pixels["plain"]).any(axis=1).sum() > 40
    kt.views.render(hopper, motion, path=tmp_path / "a.svg", **options)
    movie = kt.views.render(hopper, motion, path=tmp_path / "a.gif", fps=50, **options)
    assert movie.frames == 2
    with pytest.raises(InputError, match="force, cone"):
        kt.views.render(hopper, path=tmp_path / "a.png", add=["forces"])


def test_a_plot_has_the_forces_of_contacts(hopper, motion):
    (chart,) = kt.motion.plot(motion, panels=["contacts"]).charts
    assert [line.name for line in chart.series] == ["body"]
    assert chart.series[0].y[1:].max() == pytest.approx(2 * 9.81, rel=1e-3)
    falls = hopper.with_contacts(None)
    alone = falls.simulate(falls.start_position(), duration=0.02, dt=0.002)
    with pytest.raises(InputError, match="needs a simulation of a robot with contacts"):
        kt.motion.plot(alone, panels=["contacts"])


def test_the_workbench_gets_points_forces_and_normals(hopper, motion):
    from kinetree.views.workbench.motions import motion_data
    from kinetree.views.workbench.presets import presets
    from kinetree.views.workbench.runs import Run

    data = motion_data(hopper, Run(motion, None, ()), "run")["contacts"]
    assert data["names"] == ["body"] and data["friction"] == [0.5]
    assert data["weight"] == pytest.approx(2 * 9.81)
    assert data["normals"][:, 0].tolist() == [[0, 0, 1]] * len(motion)
    assert data["points"].shape == data["forces"].shape == (len(motion), 1, 3)
    assert presets(hopper)[0].title == "Stand"
    assert presets(hopper.with_contacts(None))[0].weightless
