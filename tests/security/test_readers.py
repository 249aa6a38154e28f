"""Files of others run no code, use no network and never wait, whichever reader they come to."""

import os
import socket
import urllib.request
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeError

ADDRESS = "http://127.0.0.1:9/a"
BODY = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
VISUAL = f'<visual><geometry><mesh filename="{ADDRESS}.stl"/></geometry></visual>'
URDF = f'<robot name="a"><link name="b"><inertial>{BODY}</inertial>{VISUAL}</link></robot>'
XACRO = '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">{}<link name="b"/></robot>'
MJCF = '<mujoco>{}<worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
MESH = f'<asset><mesh name="m" file="{ADDRESS}.stl"/></asset>'
SDF = f'<sdf version="1.9"><model name="a"><include><uri>{ADDRESS}</uri></include></model></sdf>'
DOCTYPE = f'<!DOCTYPE robot SYSTEM "{ADDRESS}.dtd">'
FILES = {
    "mesh.urdf": URDF,
    "type.urdf": DOCTYPE + URDF,
    "include.xacro": XACRO.format(f'<xacro:include filename="{ADDRESS}.xacro"/>'),
    "yaml.xacro": XACRO.format(f"${{xacro.load_yaml('{ADDRESS}.yaml')}}"),
    "mesh.xml": MJCF.format(MESH),
    "include.xml": MJCF.format(f'<include file="{ADDRESS}.xml"/>'),
    "include.sdf": SDF,
}


@pytest.mark.parametrize("name", FILES)
def test_a_robot_file_opens_no_connection(tmp_path, name, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    (tmp_path / name).write_text(FILES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            robot = kt.load(tmp_path / name)
        except KinetreeError as error:
            assert "connection" not in str(error)
        else:
            assert not kt.views.scene(robot).of("visual")


class Mark:
    """An object that makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_pickled_objects_of_a_recording_are_not_unpickled(tmp_path, name):
    mark = np.array([Mark(tmp_path / "mark")], object)
    if name == "a.npz":
        np.savez(tmp_path / name, t=mark, q=mark, dq=mark)
    else:
        np.save(tmp_path / name, mark, allow_pickle=True)
    with pytest.raises(KinetreeError):
        kt.motion.read(tmp_path / name)
    assert not (tmp_path / "mark").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.csv.gz", "a.mcap", "a.urdf", "a.xml"])
def test_a_pipe_is_refused_before_it_is_opened(tmp_path, name):
    os.mkfifo(tmp_path / name)
    readers = [kt.motion.read, kt.identify.read_recording]
    for reader in [kt.load] if name.endswith(("urdf", "xml")) else readers:
        arguments = (kt.robots.planar_2r(),) if reader is kt.identify.read_recording else ()
        with pytest.raises(KinetreeError, match="is a pipe or a device"):
            reader(tmp_path / name, *arguments)
