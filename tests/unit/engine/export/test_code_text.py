"""Exported text: its header, its operations, its names, and the errors on the way."""

import dataclasses
import shutil
import subprocess

import pytest

import kinetree as kt

COMMENTS = {"c": "//", "cpp": "//", "numpy": "#", "matlab": "%", "julia": "#", "casadi": "#"}


def test_the_same_robot_gives_the_same_text():
    assert kt.export(kt.robots.scara(), "mass_matrix") == kt.export(
        kt.robots.scara().model, "mass_matrix"
    )


HOSTILE = 'evil */ int main(void){return 1;} /* """ \\\n#include <x>\r%{ \u2028 \u00e9 ??/'


@pytest.mark.parametrize("language", ["c", "matlab", "casadi"])
def test_names_cannot_leave_their_comment(language):
    model = kt.robots.rp().model
    joints = tuple(dataclasses.replace(joint, name=HOSTILE) for joint in model.joints)
    model = model.replace(name=HOSTILE, joints=joints)
    text = kt.export(model, "inverse_dynamics", language)
    mark = COMMENTS[language]
    outside = [line for line in text.splitlines() if not line.startswith(mark)]
    assert not any("main(void)" in line or "<x>" in line for line in outside)
    assert "\\" not in text and "??" not in text and text.isascii()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_hostile_name_compiles(tmp_path):
    model = kt.robots.rp().model.replace(name=HOSTILE)
    (tmp_path / "f.c").write_text(kt.export(model, "inverse_dynamics"))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "f.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
