"""Values with names: in any container and any order the results are those of plain arrays."""

import collections

import numpy as np
import pytest

import kinetree as kt

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
ROBOT = kt.robots.panda().with_friction({"panda_joint2": kt.friction.Friction(1.0, 0.5)})
NAMES = list(ROBOT.joint_names)


def shuffled(kind, values, rng):
    """The values, (7,) or (k, 7), with their names in a random order."""
    order = rng.permutation(7)
    names = [NAMES[k] for k in order]
    values = np.asarray(values)[..., order]
    columns = dict(zip(names, values.T, strict=True))
    if kind == "dict":
        return {name: x if x.ndim else float(x) for name, x in columns.items()}
    if kind == "pandas":
        return pd.Series(values, index=names) if values.ndim == 1 else pd.DataFrame(columns)
    return pl.DataFrame(columns if values.ndim > 1 else {x: [y] for x, y in columns.items()})


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars"])
@pytest.mark.parametrize("shape", [(7,), (5, 7)], ids=["one", "many"])
def test_arguments_are_taken_by_name(kind, shape):
    rng = np.random.default_rng(len(kind))
    for name in ("inverse_dynamics", "gravity_forces", "coriolis_forces", "forward_dynamics"):
        count = {"gravity_forces": 1, "coriolis_forces": 2}.get(name, 3)
        state = rng.normal(size=(count, *shape))
        found = getattr(ROBOT, name)(*(shuffled(kind, x, rng) for x in state))
        expected = getattr(ROBOT, name)(*state)
        np.testing.assert_array_equal(np.reshape(values_of(found), np.shape(expected)), expected)


def values_of(found):
    """Results in the order of the joints, whatever their container."""
    if isinstance(found, dict):
        return np.stack([found[name] for name in NAMES], axis=-1)
    if isinstance(found, (pd.Series, pd.DataFrame)):
        return found[NAMES].to_numpy()
    if isinstance(found, pl.DataFrame):
        return found.select(NAMES).to_numpy()
    return np.asarray(found)


class Quantity(np.ndarray):
    """An array with a unit, as astropy, pint and unyt have it."""

    unit = "deg"


class Labelled:
    """An array with named dimensions, as xarray has it."""

    dims = ("joint",)

    def to_numpy(self):
        return np.zeros(7)

    __array__ = to_numpy


FRAME = pd.DataFrame(np.zeros((4, 7)), columns=NAMES)
WRONG = {
    "a missing name": FRAME[NAMES[:-1]],
    "an unknown name": FRAME.assign(elbow=1.0),
    "a repeated name": FRAME[[*NAMES, NAMES[0]]],
    "a transposed table": FRAME.T,
    "numbers for names": pd.Series(np.zeros(7)),
    "a column of times": FRAME.assign(time=0.0),
    "dimensions": Labelled(),
    "names of another robot": dict.fromkeys("abcdefg", 0.0),
    "degrees": np.zeros(7).view(Quantity),
    "a list of degrees": [np.array(x).view(Quantity) for x in range(7)],
    "a dict of degrees": dict.fromkeys(NAMES, np.array(1.0).view(Quantity)),
    "a column of degrees": FRAME.astype(object).assign(
        panda_joint1=[np.array(1.0).view(Quantity)] * 4
    ),
    "a column of texts": FRAME.astype(object).assign(panda_joint1="1"),
    "a square table": pd.DataFrame(np.eye(7), index=NAMES, columns=NAMES),
    "fields": np.zeros(4, dtype=[(name, float) for name in NAMES]),
    "masked entries": np.ma.array(np.zeros(7), mask=[1, 0, 0, 0, 0, 0, 0]),
    "a tuple with names": collections.namedtuple("State", NAMES)(*range(7)),
    "a lazy table": pl.DataFrame({"a": [1]}).lazy(),
    "texts": dict.fromkeys(NAMES, "0"),
    "a list of tables": [FRAME, FRAME],
}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_names_that_do_not_fit_are_refused(value):
    with pytest.raises(kt.errors.KinetreeError, match="q"):
        ROBOT.gravity_forces(value)


def test_names_are_used_in_motions_and_options():
    robot, rng = kt.robots.planar_2r(), np.random.default_rng(0)
    start, end = {"joint2": 0.3, "joint1": 0.1}, pd.Series([0.5, 1.0], index=["joint2", "joint1"])
    plan = kt.motion.quintic(start, end, duration=1.0, robot=robot)
    assert np.array_equal(plan.q[[0, -1]], [[0.1, 0.3], [1.0, 0.5]])
    run = robot.simulate(start, duration=0.05)
    assert np.array_equal(run.q, robot.simulate([0.1, 0.3], duration=0.05).q)
    table = plan.to_dataframe()
    assert len(table) == len(plan.t) and rng is not None
    gains = kt.controllers.PD(end, kp={"joint2": 5.0, "joint1": 9.0}, kd=[3.0, 2.0])
    plain = kt.controllers.PD([1.0, 0.5], kp=[9.0, 5.0], kd=[3.0, 2.0])
    runs = [robot.simulate(start, duration=0.05, controller=x) for x in (gains, plain)]
    assert np.array_equal(runs[0].q, runs[1].q)
