"""Robots of thousands of links: no recursion, no lost link, limits of MuJoCo by name."""

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.lean import lean_model
from kinetree.errors import ModelError, ParseError

MANY = 1020  # beyond the depth at which Python ends a recursion


def urdf(n):
    """A chain whose joints turn about y and z in turns, with masses that tell its links apart."""
    parts = ['<robot name="snake"><link name="base"/>']
    for i in range(n):
        axis, parent = ("0 0 1", "0 1 0")[i % 2], f"l{i - 1}" if i else "base"
        parts.append(
            f'<link name="l{i}"><inertial><origin xyz="0.05 0 0"/>'
            f'<mass value="{0.1 + i * 1e-5!r}"/><inertia ixx="2e-4" iyy="3e-4" izz="2.5e-4" '
            'ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{i}" type="revolute"><parent link="{parent}"/><child link="l{i}"/>'
            f'<origin xyz="0.1 0 0"/><axis xyz="{axis}"/>'
            '<limit lower="-2" upper="2" effort="10" velocity="5"/></joint>'
        )
    return "".join([*parts, "</robot>"])


def sdf(n):
    parts = ['<sdf version="1.9"><model name="snake">']
    for i in range(n):
        parent = f"l{i - 1}" if i else "__model__"
        parts.append(
            f'<link name="l{i}"><pose relative_to="{parent}">0.1 0 0 0 0 0</pose><inertial>'
            "<mass>0.1</mass><inertia><ixx>1e-4</ixx><iyy>1e-4</iyy><izz>1e-4</izz></inertia>"
            "</inertial></link>"
            f'<joint name="j{i}" type="revolute"><parent>{parent if i else "world"}</parent>'
            f"<child>l{i}</child><axis><xyz>0 0 1</xyz></axis></joint>"
        )
    return "".join([*parts, "</model></sdf>"])


def mjcf(n):
    body = '<body name="l{}" pos="0.1 0 0"><joint name="j{}"/><geom size="0.01"/>'
    bodies = "".join(body.format(i, i) for i in range(n))
    return f'<mujoco model="snake"><worldbody>{bodies}{"</body>" * n}</worldbody></mujoco>'


@pytest.fixture(scope="module")
def snake():
    return kt.load_string(urdf(MANY))


def test_a_long_chain_has_every_link_of_its_file(snake):
    model = snake.model
    assert snake.n == MANY and model.parent == tuple(range(-1, MANY - 1))
    np.testing.assert_array_equal(model.m, 0.1 + np.arange(MANY) * 1e-5)
    assert model.path(MANY - 1) == list(range(MANY)) and model.tool == f"l{MANY - 1}"
    assert f"{MANY} joints" in str(snake.report) and f"{MANY - 20} more" in str(snake.report)
    assert pickle.loads(pickle.dumps(model)).n == MANY


def test_a_long_chain_reaches_as_far_as_its_links_together(snake):
    np.testing.assert_allclose(
        kt.dynamics.pose(snake.model, np.zeros(MANY))[:3, 3], [MANY / 10, 0, 0]
    )
    z = [link.place.X[:3, 2].astype(float) for link in lean_model(snake.model).links]
    np.testing.assert_allclose(z[0::2], np.tile([0, 0, 1], (MANY // 2, 1)), atol=1e-15)
    np.testing.assert_allclose(z[1::2], np.tile([0, 1, 0], (MANY // 2, 1)), atol=1e-15)


def test_a_long_chain_is_written_and_read_again(snake):
    again = kt.load_string(kt.convert.to_urdf(snake)).model
    assert again.link_names == snake.model.link_names and again.parent == snake.model.parent
    np.testing.assert_array_equal(again.m, snake.model.m)


def test_a_long_chain_of_sdf_has_every_link():
    assert kt.load_string(sdf(MANY), strict=True).n == MANY


def test_mjcf_beyond_the_depth_of_mujoco_is_refused_with_the_way_out(snake):
    pytest.importorskip("mujoco")
    with pytest.raises(ParseError):
        kt.load_string(mjcf(600))
    with pytest.raises(ModelError):
        kt.convert.to_mjcf(snake, losses="allow")
