"""Alignment by name: forty-odd labelled inputs, each right by name or refused by name."""

import datetime as dt
import re
from collections import namedtuple
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import kinetree as kt
from kinetree.base.axis import Axis
from kinetree.base.containers import read_times
from kinetree.base.labels import Alignment, by_name, own_axis, vector_by_name
from kinetree.errors import InputError

AXIS = Axis(("a", "b", "c"), "joint", "arm", following={"d": "a"})
BASE = ("base.qw", "base.qx", "base.qy", "base.qz")
FREE = Axis((*BASE, "arm"), "joint", "robot", whole={"base": BASE})
X = np.array([0.1, 0.2, 0.3])
ROWS = np.arange(12.0).reshape(4, 3)
FRAME = pd.DataFrame(ROWS, columns=list("abc"))


def read(value, axis=AXIS):
    return by_name(value, axis, "q")


def series(values, kind=None, index="cab"):
    return pd.Series(values, index=list(index), dtype=kind)


def table(**columns):
    return pl.DataFrame(columns)


ARRAY = xr.DataArray(ROWS, dims=("t", "joint"), coords={"joint": list("abc")})
BY_COLUMN = {"c": ROWS[:, 2], "b": ROWS[:, 1], "a": ROWS[:, 0]}
CATEGORIES = pd.CategoricalIndex(list("abc"))
LEVELS = pd.MultiIndex.from_product([["x", "y"], [0, 1]])
MIXED = pd.DataFrame({"b": [1, 2], "c": np.float32([0.5, 1.5]), "a": [True, False]})
HALF = Fraction(1, 2)
RIGHT = {
    "a dict": ({"c": 0.3, "a": 0.1, "b": 0.2}, X),
    "NumPy scalars": ({"c": np.float64(0.3), "b": np.float32(0.5), "a": 1}, [1, 0.5, 0.3]),
    "a dict of arrays": (BY_COLUMN, ROWS),
    "numbers and arrays": ({"b": [1.0, 2.0], "c": 0.5, "a": 0}, [[0, 1, 0.5], [0, 2, 0.5]]),
    "a Series": (series([0.3, 0.1, 0.2]), X),
    "a Series of a nullable type": (series([3, 1, 2], "Int64"), [1, 2, 3]),
    "a Series of floats of pyarrow": (series([3.0, 1.0, 2.0], "double[pyarrow]"), [1, 2, 3]),
    "a Series of objects": (series([HALF, 1, 2.0], object), [1, 2, 0.5]),
    "an index of categories": (pd.Series([1.0, 2.0, 3.0], index=CATEGORIES), [1, 2, 3]),
    "a DataFrame": (FRAME[["c", "a", "b"]], ROWS),
    "columns of categories": (FRAME.set_axis(CATEGORIES, axis=1).iloc[:, [2, 0, 1]], ROWS),
    "a DataFrame of mixed types": (MIXED, [[1, 1, 0.5], [0, 2, 1.5]]),
    "a time index": (FRAME.set_index(pd.Index([0, 0.1, 0.2, 0.3], name="t")), ROWS),
    "several levels of rows": (FRAME.set_index(LEVELS), ROWS),
    "a DataFrame with repeated rows": (FRAME.set_index(pd.Index([0, 0, 1, 1])), ROWS),
    "a DataFrame without rows": (FRAME.iloc[:0], ROWS[:0]),
    "a slice of a DataFrame": (FRAME.iloc[::-2], ROWS[::-2]),
    "a polars DataFrame": (table(**BY_COLUMN), ROWS),
    "a polars DataFrame of integers": (table(c=[3], b=[2], a=[1]), [[1, 2, 3]]),
    "a polars DataFrame without rows": (table(**BY_COLUMN).clear(), ROWS[:0]),
    "a DataArray": (ARRAY, ROWS),
    "a DataArray with its joints first": (ARRAY.T, ROWS),
    "a DataArray in another order": (ARRAY.isel(joint=[2, 0, 1]), ROWS),
    "further coordinates": (ARRAY.assign_coords(run=7, side=("joint", [1, 2, 3])), ROWS),
    "a DataArray of one state": (ARRAY[0].isel(joint=[1, 0, 2]), ROWS[0]),
    "a DataArray whose dimension has another name": (ARRAY.rename(joint="axis name"), ROWS),
    "a plain array": (X, X),
    "a plain list": ([0.1, 0.2, 0.3], X),
}

POINT = namedtuple("POINT", "a b c")
FIELDS = [(x, float) for x in "abc"]
DATES = pd.date_range("2024-01-01", periods=3)
SQUARE = xr.DataArray(np.eye(3), coords={"joint": list("abc"), "other": list("abc")})
WRONG = {
    "a missing name": (series([1.0, 2.0], index="ab"), "missing 'c'"),
    "an unknown name": (FRAME.assign(x=1.0), "unknown 'x'"),
    "a name that is nearly right": ({"a": 1, "b": 2, "C": 3}, "missing 'c'; unknown 'C'"),
    "names of the wrong robot": ({"x": 1, "y": 2}, "missing 'a', 'b', 'c'; unknown 'x', 'y'"),
    "a joint that follows another": ({"a": 1, "b": 2, "c": 3, "d": 4}, "'d' follows 'a'"),
    "a repeated name": (series([1.0] * 4, index="abca"), "'a' more than once"),
    "a repeated column": (FRAME[["a", "b", "c", "b"]], "'b' more than once"),
    "a transposed DataFrame": (FRAME.T, r"rows are named like joints.*Pass frame\.T"),
    "named on both sides": (SQUARE.to_pandas(), "its columns are, too"),
    "columns that are numbers": (pd.DataFrame(ROWS), r"are 0, 1, 2; .* pass \.to_numpy\(\)"),
    "an index of numbers": (pd.Series(X), "labels of the Series are 0, 1, 2"),
    "several levels of columns": (pd.concat({"q": FRAME}, axis=1), "2 levels.*frame\\['q'\\]"),
    "a column of times": (FRAME.assign(time=0.0), r"frame\.set_index\('time'\)"),
    "a column of times in polars": (table(t=[0], a=[1], b=[2], c=[3]), r"frame\.drop\('t'\)"),
    "times in place of names": (pd.Series(X, index=DATES), "expected the names of the joints"),
    "a polars Series": (pl.Series([1.0, 2.0, 3.0]), "a polars Series has no names"),
    "a lazy frame": (pl.DataFrame({"a": [1]}).lazy(), r"\.collect\(\)"),
    "a Dataset": (ARRAY.to_dataset(name="q"), "choose one of its variables"),
    "no coordinates": (ARRAY.drop_vars("joint"), r"t \(4\), joint \(3\); no dimension is labelled"),
    "unknown joints": (ARRAY.assign_coords(joint=list("xyz")), "unknown 'x', 'y', 'z'"),
    "two dimensions of joints": (SQUARE, "several dimensions are labelled"),
    "a table of pyarrow": (pl.DataFrame({"a": [1.0]}).to_arrow(), "to_pandas"),
    "a structured array": (np.array([(1.0, 2.0, 3.0)], FIELDS), "array with the fields a, b, c"),
    "a record array": (FRAME.to_records(index=False), "structured NumPy array"),
    "a named tuple": (POINT(1, 2, 3), "_asdict"),
    "a list of Series": ([FRAME.loc[0], FRAME.loc[1]], "a list of objects of type pandas Series"),
    "a tuple of dicts": (({"a": 1}, {"a": 2}), "a tuple of objects of type dict"),
    "a nested list of Series": ([[FRAME.loc[0]]], "list"),
    "a dict of Series": (dict(FRAME), r"q\['a'\] is a pandas Series.*DataFrame\(q\)"),
    "a dict of texts": ({"a": "1", "b": 1, "c": 2}, r"q\['a'\] is '1'"),
    "a dict with nothing in it": ({"a": None, "b": 1, "c": 2}, r"q\['a'\] is None"),
    "other lengths": ({"a": [1, 2], "b": [1, 2, 3], "c": 0}, "do not have one shape"),
    "an empty dict": ({}, "missing 'a', 'b', 'c'"),
    "texts in a Series": (series(["2", "1", "3"], object), "is '1'; expected a number"),
    "texts in a polars frame": (table(a=["1"], b=[1], c=[2]), "'a' has the type String"),
    "dates in a DataFrame": (FRAME.assign(a=dt.datetime(2024, 1, 1)), "datetime64"),
    "complex numbers": (series([1j, 2j, 3j]), "complex128"),
    "a missing object": (series([1.0, None, 2.0], object), "is None"),
    "degrees in attributes": (ARRAY.assign_attrs(units="deg"), "units 'deg'; expected rad or m"),
    "rates in degrees": (ARRAY.assign_attrs(units="Degrees/s"), "expected rad"),
}


@pytest.mark.parametrize("case", RIGHT)
def test_labelled_values_are_taken_by_name(case):
    value, expected = RIGHT[case]
    assert np.array_equal(np.asarray(read(value)), np.asarray(expected, float))


@pytest.mark.parametrize("case", WRONG)
def test_names_that_do_not_fit_are_refused(case):
    value, words = WRONG[case]
    with pytest.raises(InputError, match=words) as refused:
        read(value)
    assert "q" in str(refused.value)[:20]  # the argument comes first


def test_numbers_that_only_look_like_the_names_are_refused():
    with pytest.raises(InputError, match=r"are 1, 2, 3; .* '1', '2', '3'"):
        read(pd.Series(X, index=[1, 2, 3]), Axis(("1", "2", "3")))


def test_degrees_in_the_attributes_of_a_frame_are_refused():
    frame = FRAME.copy()
    frame.attrs["units"] = {"q": "degrees"}
    with pytest.raises(InputError, match=r"numpy\.deg2rad"):
        read(frame)
    frame.attrs["units"] = {"q": "rad", "tau": "degrees"}
    assert np.array_equal(read(frame), ROWS)


@pytest.mark.parametrize("key", ["units", "unit", "Units", "UNITS"])
@pytest.mark.parametrize(
    "stated",
    [{"a": "deg"}, {"position": "deg"}, {"q": {"b": "deg"}}, {"q": ["deg", "rad"]}, ("deg",)],
)
def test_degrees_of_some_entries_are_refused(key, stated):
    series = pd.Series(ROWS[0], index=list(FRAME.columns))
    for value in (FRAME.copy(), series, ARRAY.copy()):
        value.attrs = {key: stated}
        with pytest.raises(InputError, match="has the units 'deg'; expected rad or m"):
            read(value)
        for nested in (
            {"a": {key: "deg"}},
            {"meta": {key: stated}},
            {"x": [{"name": "b", key: "deg"}]},
        ):
            value.attrs = nested
            with pytest.raises(InputError, match="has the units 'deg'; expected rad or m"):
                read(value)
        value.attrs = {
            "a": {key: "rad"},
            "tau": {key: "N mm"},
            "x": [{"name": "heat", key: "degC"}],
        }
        read(value)
        value.attrs = {key: {"a": "rad", "t": "ms", "dq": "deg/s", "heat": "degC", "load": "N"}}
        read(value)


def test_one_coordinate_of_units_is_that_of_all_entries():
    for name in ("units", "Unit"):
        with pytest.raises(InputError, match="has the units 'deg'"):
            read(ARRAY.assign_coords({name: "deg"}))
        assert np.array_equal(read(ARRAY.assign_coords({name: "rad"})), ROWS)
        with pytest.raises(InputError, match="t has the units 'ms'"):
            read_times(xr.DataArray([0.0, 1, 2], dims="t", coords={name: "ms"}), "t")


def test_units_may_be_arrays_of_texts():
    for stated in (np.array("deg"), np.array(["rad", "deg"])):
        with pytest.raises(InputError, match="has the units 'deg'"):
            read(ARRAY.assign_attrs(units=stated))
    assert np.array_equal(read(ARRAY.assign_attrs(units=np.array("rad"))), ROWS)


def test_units_of_positions_to_lock_and_of_tables_are_checked():
    robot, body = kt.robots.planar_2r(), {"m": [1.0], "com": [[0, 0, 0]], "I_com": [np.eye(3)]}
    table = pd.DataFrame([[0.5, 90.0, 0, 0]], columns=["a", "alpha", "d", "theta"])
    position = pd.Series({"joint1": 90.0})
    for units in ("deg", {"joint1": "deg", "alpha": "deg"}):
        position.attrs["units"] = table.attrs["units"] = units
        with pytest.raises(InputError, match="q has the units 'deg'"):
            robot.lock(position)
        with pytest.raises(InputError, match="DH table has the units 'deg'"):
            kt.Robot.from_dh(table, **body)
    position.attrs["units"] = {"joint1": "rad"}
    assert robot.lock(position).n == 1


def test_missing_numbers_stay_missing():
    for kind in (float, "Float64", "Int64", "double[pyarrow]"):
        column = pd.Series([1, None, 3], index=list("abc"), dtype=kind)
        assert np.array_equal(read(column), [1, np.nan, 3], equal_nan=True)
    rows = pl.DataFrame({"a": [1], "b": [None], "c": [3]}, schema=dict.fromkeys("abc", pl.Int64))
    assert np.array_equal(read(rows), [[1, np.nan, 3]], equal_nan=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: pd.DataFrame(x, columns=list("abc")),
        lambda x: pl.DataFrame({k: x[:, i] for i, k in enumerate("abc")}),
        lambda x: xr.DataArray(x, dims=("t", "j"), coords={"j": list("abc")}),
    ],
)
def test_single_precision_stays_single(make):
    found = read(make(np.float32(ROWS)))
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    "given",
    [
        {"arm": 5, "base": [1, 2, 3, 4]},
        {"base.qz": 4, "base.qw": 1, "arm": 5, "base.qy": 3, "base.qx": 2},
    ],
)
def test_a_joint_of_several_entries_is_given_whole_or_in_parts(given):
    assert np.array_equal(read(given, FREE), [1, 2, 3, 4, 5])


def test_a_joint_of_several_entries_may_vary_over_states():
    turns = np.arange(8.0).reshape(2, 4)
    assert np.array_equal(read({"base": turns, "arm": 9}, FREE), [[0, 1, 2, 3, 9], [4, 5, 6, 7, 9]])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"base": [1, 2, 3], "arm": 0}, "expected 4 entries: base.qw"),
        ({"base": 1, "arm": 0}, r"shape \(\)"),
        ({"base": [1, 2, 3, 4], "base.qw": 1, "arm": 0}, "'base.qw' twice"),
        (pd.Series([1.0, 2.0], index=["base", "arm"]), "'base' has several entries: base.qw"),
    ],
)
def test_a_joint_of_several_entries_is_refused_by_name(given, words):
    with pytest.raises(InputError, match=words):
        read(given, FREE)


FORMS = {
    "dict": {"b": 0.2, "a": 0.1, "c": 0.3},
    "Series": pd.Series(X, index=list("abc")),
    "DataFrame": FRAME.set_index(pd.Index([3, 1, 2, 0], name="t")),
    "polars": pl.DataFrame({k: ROWS[:, i] for i, k in enumerate("abc")}),
    "xarray": ARRAY.assign_coords(t=[3, 1, 2, 0], run=7),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dims", [0, 1, 2])
def test_results_have_the_form_of_the_arguments(form, dims):
    alignment = Alignment([(FORMS[form], AXIS, "q")])
    x = alignment.values[0]
    lead = x.shape[:-1]
    result = np.arange(np.prod(lead) * 3**dims).reshape((*lead, *(3,) * dims))
    found = alignment.label(result, [AXIS] * dims, "M")
    if form == "dict":
        keys = [list(found), list(found["a"]) if dims == 2 else []] if dims else []
        assert keys == [list("abc"), list("abc") if dims == 2 else []][: len(keys)]
        assert dims == 0 or np.array_equal(
            pd.DataFrame(found).T if dims == 2 else [*found.values()], result
        )
    elif form == "Series":
        kinds = (np.generic, pd.Series, pd.DataFrame)
        assert isinstance(found, kinds[dims]) and np.array_equal(found, result)
    elif form == "DataFrame":
        assert found.index.get_level_values("t").unique().tolist() == [3, 1, 2, 0]
        assert np.array_equal(found.to_numpy().reshape(result.shape), result)
    elif form == "polars":
        columns = {0: None, 1: list("abc"), 2: [f"{x}:{y}" for x in "abc" for y in "abc"]}[dims]
        assert dims == 0 or found.columns == columns
        assert np.array_equal(found.to_numpy().reshape(result.shape), result)
    else:
        assert found.dims == ("t", "joint", "joint_2")[: dims + 1]
        assert found["t"].to_numpy().tolist() == [3, 1, 2, 0] and found["run"] == 7
        assert np.array_equal(found.to_numpy(), result)


def test_a_series_goes_with_every_row_of_a_frame():
    alignment = Alignment([(FRAME, AXIS, "q"), (FORMS["Series"], AXIS, "dq")])
    assert alignment.values[1].shape == (3,)
    assert alignment.label(ROWS, [AXIS], "tau").index.equals(FRAME.index)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (FRAME, FRAME.iloc[:2], "q has 4 rows and dq has 2"),
        (FRAME, FRAME.iloc[::-1], r"labelled differently: 0 and 3.*dq\.reindex\(q\.index\)"),
        (FRAME, FORMS["polars"], "q is of pandas, dq is of polars"),
        (FORMS["Series"], ARRAY, "expected all labelled arguments of one package"),
        (
            ARRAY.assign_coords(t=range(4)),
            ARRAY.assign_coords(t=range(1, 5)),
            "labels of dimension 't'",
        ),
        (ARRAY, ARRAY[:2], "dimension 't' has 4 entries and in dq 2"),
    ],
)
def test_arguments_that_do_not_belong_together_are_refused(first, second, words):
    with pytest.raises(InputError, match=words):
        Alignment([(first, AXIS, "q"), (second, AXIS, "dq")])


def test_dimensions_of_arrays_are_matched_by_name():
    runs = xr.DataArray(X + np.zeros((2, 3)), dims=("run", "joint"), coords={"joint": list("abc")})
    alignment = Alignment([(ARRAY, AXIS, "q"), (runs, AXIS, "dq")])
    assert [x.shape for x in alignment.values] == [(4, 1, 3), (1, 2, 3)]
    found = alignment.label(np.zeros((4, 2, 3)), [AXIS], "tau")
    assert found.dims == ("t", "run", "joint")
    both = ARRAY.expand_dims(run=2)
    values = Alignment([(both, AXIS, "q"), (ARRAY.T, AXIS, "dq")]).values
    assert np.array_equal(np.broadcast_to(values[1], (2, 4, 3)), values[0])


def test_coordinates_that_differ_are_left_out_of_the_result():
    first, second = ARRAY.assign_coords(run=1, site=5), ARRAY.assign_coords(run=2, site=5)
    alignment = Alignment([(first, AXIS, "q"), (second, AXIS, "dq")])
    found = alignment.label(ROWS, [AXIS], "tau")
    assert "run" not in found.coords and found["site"] == 5


def test_states_of_a_result_without_names_are_refused():
    alignment = Alignment([(FRAME, AXIS, "q"), (np.zeros((2, 4, 3)), AXIS, "dq")])
    with pytest.raises(InputError, match=r"leading axes \(2, 4\)"):
        alignment.label(np.zeros((2, 4, 3)), [AXIS], "tau")


def test_arguments_without_names_must_be_plain():
    with pytest.raises(InputError, match=r"F_ext is a pandas DataFrame.*robot\.wrenches"):
        Alignment([(FRAME, None, "F_ext")])
    with pytest.raises(InputError, match="com is a dict; expected a plain array"):
        Alignment([({"a": 1}, None, "com")])


def test_one_number_for_each_name_is_not_a_table():
    assert np.array_equal(vector_by_name({"b": 2, "a": 1, "c": 3}, AXIS, "kp"), [1, 2, 3])
    with pytest.raises(InputError, match="expected one number for each joint"):
        vector_by_name(FRAME, AXIS, "kp")


def test_objects_have_their_own_names():
    assert own_axis(FRAME, "q").names == ("a", "b", "c")
    assert own_axis({"x": 1}, "q").names == ("x",)
    assert own_axis(ARRAY, "q").names == ("a", "b", "c")
    assert own_axis(X, "q") is None
    with pytest.raises(InputError, match="q has the labels 0, 1, 2"):
        own_axis(pd.DataFrame(ROWS), "q")


def test_integers_among_tensors_do_not_round_the_others():
    torch = pytest.importorskip("torch")
    found = read({"a": torch.tensor(1), "b": 0.5, "c": 2})
    assert found.tolist() == [1.0, 0.5, 2.0]


def test_a_robot_without_joints_takes_an_empty_dict():
    assert read({}, Axis(())).shape == (0,)


@pytest.mark.parametrize("unit", ["degrees", "deg", "°", "mrad", "rev", "rad/s", "N m", "foo", "%"])
def test_units_of_a_dimension_are_those_of_its_values(unit):
    """On the variable, on the coordinate, and as a coordinate with a unit for every joint."""
    on_coordinate = ARRAY.copy()
    on_coordinate.coords["joint"].attrs["units"] = unit
    along = ARRAY.assign_coords(units=("joint", [unit] * 3))
    for value in (ARRAY.assign_attrs(units=unit), on_coordinate, along):
        with pytest.raises(InputError, match=r"has the units .* expected rad or m"):
            read(value)
    assert np.array_equal(read(ARRAY.assign_coords(units=("joint", ["rad"] * 3))), ROWS)


def test_times_in_other_units_are_refused():
    column = pd.Series([0.0, 1, 2])
    column.attrs["units"] = "ms"
    for t in (column, xr.DataArray([0.0, 1, 2], dims="t", attrs={"units": "ms"})):
        with pytest.raises(InputError, match="t has the units 'ms'; expected s"):
            read_times(t)
    seconds = xr.DataArray([0.0, 1, 2], dims="t", attrs={"units": "seconds"})
    assert read_times(seconds).tolist() == [0, 1, 2]


@pytest.mark.parametrize("package", ["pint", "astropy.units.quantity"])
def test_quantities_of_other_packages_are_not_read_as_numbers(package):
    """Packages of units are recognised by the names of their types, as others are."""
    kind = type("Quantity", (np.ndarray,), {"__module__": package})
    with pytest.raises(InputError, match="Quantity: convert it to SI units"):
        read(X.view(kind))


@pytest.mark.parametrize("name", ["q [deg]", "q_deg", "q (turns)", "enc [counts]", "angle in mrad"])
def test_a_unit_in_the_name_of_an_object_is_refused(name):
    robot = kt.robots.planar_2r()
    names = list(robot.joint_names)
    series = pd.Series([10.0, 20.0], index=names, name=name)
    for value in (series, xr.DataArray([1.0, 2.0], coords={"joint": names}, name=name)):
        with pytest.raises(InputError, match=f"has the name '{re.escape(name)}', which states"):
            robot.gravity_forces(value)
    for plain in ("q", "q [rad]", "left turn", "run 3", "time [s]", 3):
        robot.gravity_forces(series.rename(plain))


@pytest.mark.parametrize("key", ["angle_unit", "uom", "unit_of_measure", "qUnits", "q_units"])
def test_a_unit_under_any_key_of_units_is_refused(key):
    robot = kt.robots.planar_2r()
    series = pd.Series([10.0, 20.0], index=list(robot.joint_names))
    series.attrs[key] = "deg"
    with pytest.raises(InputError, match="has the units 'deg'; expected rad or m"):
        robot.gravity_forces(series)
    series.attrs = {key: "rad", "time_unit": "ms", "community": "deg"}
    robot.gravity_forces(series)


def test_times_with_a_unit_in_their_name_are_refused():
    for name in ("t [ms]", "time_ms"):
        index = pd.Index([0.0, 10.0], name=name)
        with pytest.raises(InputError, match=r"states ms; expected s"):
            read_times(index)
    assert read_times(pd.Index([0.0, 1.0], name="t [s]")).tolist() == [0, 1]
