"""Every public function refuses options of another type in a sentence of kinetree."""

import inspect
import re
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.base.options import typed
from kinetree.errors import InputError, KinetreeError

WRONG = {
    "list": ["a", 1],
    "dict": {"a": 1},
    "array": np.arange(3.0),
    "none": None,
    "object": object(),
    "text": "banana",
    "nan": float("nan"),
}
ROBOT = kt.robots.planar_2r()
Q, STILL = np.array([0.3, 0.4]), np.zeros(2)
MOTION = kt.motion.cubic(Q, STILL, 1.0, robot=ROBOT)
URDF = ROBOT.to_urdf(losses="allow")
VALID = {
    "q": Q, "dq": STILL, "ddq": STILL, "tau": STILL, "v": STILL, "q0": Q, "q1": Q,
    "dq_r": STILL, "ddq_r": STILL, "duration": 0.01, "quantity": "inverse_dynamics",
    "joint": "joint1", "joints": ["joint1"], "link": "link1", "name": "hand", "m": 1.0,
    "stiffness": 100.0, "gravity": [0, 0, -9.81], "T": ROBOT.pose(Q), "goal": ROBOT.pose(Q),
    "robot": ROBOT, "model": ROBOT, "trajectory": MOTION, "motion": MOTION, "t": MOTION.t,
    "points": [Q, STILL], "times": [0, 0.01], "center": Q, "amplitude": 0.1, "frequency": 100.0,
    "acceleration": 1.0, "factor": 2.0, "function": ROBOT.compile("gravity_forces"), "text": URDF,
    "sought": kt.identify.unknowns(ROBOT),
    "feet": [kt.contacts.ContactPoint("tip", "tool")],
    "data": kt.identify.make_recording(ROBOT, MOTION.t, MOTION.q, np.zeros(MOTION.q.shape)),
}  # fmt: skip


def public_functions(module, prefix=""):
    """Public functions of a module by name, with their module before them."""
    listed = ((name, getattr(module, name)) for name in module.__all__)
    return {prefix + name: found for name, found in listed if inspect.isfunction(found)}


def methods(robot):
    """Public methods that the robot has, kernels included."""
    for name in dir(robot):
        if name.startswith("_"):
            continue
        try:
            found = getattr(robot, name)
        except KinetreeError:  # of robots with constraints
            continue
        if callable(found):
            yield f"Robot.{name}", found


DOORS = dict(methods(ROBOT)) | public_functions(kt)
for module in (kt.convert, kt.identify, kt.motion, kt.robots):
    DOORS |= public_functions(module, module.__name__.removeprefix("kinetree.") + ".")


@pytest.mark.parametrize("door", DOORS)
def test_options_of_another_type_are_refused_in_words(door, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robot.urdf").write_text(URDF)
    kt.motion.write_csv(MOTION, "motion.csv")
    kt.motion.write_npz(MOTION, "motion.npz")
    file = {"load": "robot.urdf", "motion.read_npz": "motion.npz"}.get(door, "motion.csv")
    given = inspect.signature(DOORS[door]).parameters.values()
    usual = [x for x in given if x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)]
    valid = {**VALID, "path": file}
    needed = {x.name: valid.get(x.name) for x in usual if x.default is x.empty}
    raw = []
    for option in usual:
        for kind, value in WRONG.items():
            if value is option.default:
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    DOORS[door](**{**needed, option.name: value})
            except (KinetreeError, FileNotFoundError):
                continue
            except Exception as problem:
                raw.append(f"{option.name}={kind}: {type(problem).__name__}: {problem}")
            else:
                if kind == "object":
                    raw.append(f"{option.name}={kind} is ignored")
    assert raw == []


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_exported_code_refuses_them_too(value):
    for option in ("dtype", "wrenches", "frame", "rows", "free", "libm", "driver"):
        if value is None and option in ("dtype", "frame", "rows"):
            continue
        with pytest.raises(KinetreeError, match=option):
            kt.export(ROBOT, "inverse_dynamics", **{option: value})


def test_a_simulated_recording_takes_the_result_of_excite():
    excitation = kt.identify.excite(ROBOT, duration=2.0, rounds=1)
    found = kt.identify.simulated_recording(ROBOT, excitation)
    expected = kt.identify.simulated_recording(ROBOT, excitation.motion)
    np.testing.assert_array_equal(found.tau, expected.tau)
    with pytest.raises(InputError, match=r"motion is None; expected a Trajectory, or the result"):
        kt.identify.simulated_recording(ROBOT, None)


def test_options_that_would_have_no_effect_are_refused():
    with pytest.raises(InputError, match=r"com of tool 'hand' is \[0, 0, 1\], but .* no mass"):
        ROBOT.with_tool("hand", com=[0, 0, 1])
    with pytest.raises(KinetreeError, match="event"):
        ROBOT.simulate(Q, duration=0.01, method="rk4", events=np.arange(3.0))


def test_the_types_of_a_signature_are_named_in_the_error():
    @typed
    def door(
        count: int,
        names: Sequence[str] = (),
        path: str | PathLike[str] | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> int:
        return count

    assert door(np.int64(3), ["a"], Path("b"), {"a": np.float32(1)}) == 3
    assert door(3, np.array(["a"]), "b") == 3
    wrong = {
        "count": (True, "count is True; expected a whole number."),
        "names": ("ab", "names is 'ab'; expected a list, each entry text in quotes."),
        "path": (1, "path is 1; expected text in quotes or a path or None."),
        "limits": (
            {"a": "b"},
            "limits is {'a': 'b'}; expected a dict, each value a number or None.",
        ),
    }
    for option, (value, message) in wrong.items():
        with pytest.raises(InputError, match=re.escape(message)):
            door(**{"count": 1, option: value})
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'count'"):
        door()
