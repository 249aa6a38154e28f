"""Small parts of studies: defaults, sizes, and requests to clusters."""

import numpy as np
import pytest
from test_study_files import ROBOT

import kinetree as kt
from kinetree.errors import InputError
from kinetree.parallel import (
    Grid,
    Noise,
    Normal,
    Uniform,
    locks,
    rollouts,
    sweep,
)


@pytest.mark.parametrize(
    ("mass", "said"),
    [
        (Normal(0.5, 0.5), "reaches -"),
        (Uniform(-0.1, 1), "reaches -0.1"),
        (Grid([[0.5, 0.5], [-1, 1]]), "reaches -1"),
        (-2.0, "reaches -2"),
    ],
)
def test_masses_below_zero_are_refused(mass, said):
    with pytest.raises(InputError, match=f"mass of the study {said}.*expected 0 or more"):
        sweep(ROBOT, "gravity_forces", {"q": 0.0}, parameters={"mass": mass})
    sweep(ROBOT, "gravity_forces", {"q": 0.0}, 2, parameters={"mass": Normal(5.0, 0.01)})


def test_quaternions_that_are_none_are_refused():
    robot = (
        kt.Builder("ball").link("base").link("arm", 1.0, (0.1, 0, 0), np.eye(3) * 0.01)
        .joint("socket", "spherical", "base", "arm").build()
    )  # fmt: skip
    good, long, wide = (1.0, 0, 0, 0), (2.0, 0, 0, 0), (1.0, 0, 0, 0.5)
    assert sweep(robot, "gravity_forces", {"q": Uniform(good, good)}).samples == 1
    with pytest.raises(InputError, match="quaternion"):
        sweep(robot, "gravity_forces", {"q": Uniform(long, long)})
    with pytest.raises(InputError, match="not drawn one by one"):
        sweep(robot, "gravity_forces", {"q": Uniform(good, wide)})


def test_noise_is_for_forces_alone():
    with pytest.raises(InputError, match="dq0 is Noise, which is for tau and F_ext"):
        rollouts(ROBOT, 1, q0=0.0, dq0=Noise(1.0, 0.1), duration=0.01)


def test_a_lock_can_be_read_and_is_no_program(tmp_path):
    with locks.locked(tmp_path / "study.npy"):
        mode = (tmp_path / "study.npy.lock").stat().st_mode
    assert mode & 0o600 == 0o600 and not mode & 0o111
