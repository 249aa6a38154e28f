"""Objects with names: recognised without an import, refused where names mean nothing; times."""

import datetime as dt
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

from kinetree.base.arrays import array
from kinetree.base.containers import read_times
from kinetree.errors import InputError

T = np.array([0.0, 0.5, 1.25])
SECONDS = {
    "floats": T,
    "a list": [0.0, 0.5, 1.25],
    "a column": pd.Series(T, index=[7, 8, 9]),
    "an index": pd.Index(T),
    "a column of polars": pl.Series("t", T),
    "a DataArray": xr.DataArray(T, dims="t"),
    "time differences": pd.Series(pd.to_timedelta(T, unit="s")),
    "an index of time differences": pd.to_timedelta(T, unit="s"),
    "time differences of NumPy": (T * 1e9).astype("m8[ns]"),
    "time differences in ms": (T * 1e3).astype("m8[ms]"),
    "time differences of polars": pl.Series("t", [dt.timedelta(seconds=x) for x in T]),
    "time differences of Python": [dt.timedelta(seconds=x) for x in T],
    "time differences of a DataArray": xr.DataArray(pd.to_timedelta(T, unit="s"), dims="t"),
}
DATES = {
    "an index of dates": pd.date_range("2024-01-01", periods=3, freq="s"),
    "dates with a zone": pd.date_range("2024-01-01", periods=3, freq="s", tz="UTC"),
    "a column of dates": pd.Series(pd.date_range("2024-01-01", periods=3)),
    "dates of NumPy": np.array(["2024-01-01"], "M8[s]"),
    "dates of Python": [dt.datetime(2024, 1, 1)],
    "dates of polars": pl.Series([dt.datetime(2024, 1, 1)]),
}


@pytest.mark.parametrize("case", SECONDS)
def test_times_are_read_in_seconds(case):
    assert np.array_equal(np.asarray(read_times(SECONDS[case]), float), T)


@pytest.mark.parametrize("case", DATES)
def test_dates_are_refused_with_the_way_to_seconds(case):
    with pytest.raises(InputError, match=r"t has dates, such as 2024-01-01.*t - t\[0\]"):
        read_times(DATES[case])


@pytest.mark.parametrize(
    "value", [pd.DataFrame({"t": T}), pl.DataFrame({"t": T}), {"t": T}, [pd.Series(T)]]
)
def test_a_table_is_not_a_column_of_times(value):
    with pytest.raises(InputError, match=r"t is a .*; expected one column of times"):
        read_times(value)


def test_a_missing_time_difference_is_not_a_number():
    found = read_times(pd.Series(pd.to_timedelta([0, None, 2], unit="s")))
    assert np.array_equal(found, [0, np.nan, 2], equal_nan=True)


def test_no_package_of_frames_is_imported_to_recognise_one():
    code = (
        "import sys, kinetree as kt; kt.robots.planar_2r().gravity_forces([0.1, 0.2]); "
        "from kinetree.base import labels, containers; containers.has_labels({}); "
        "print([x for x in ('pandas', 'polars', 'xarray', 'pyarrow') if x in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_masked_entries_are_refused_and_whole_masked_arrays_are_read():
    whole = np.ma.masked_array([0.1, 0.2], [False, False])
    assert np.array_equal(array(whole, (2,), "com"), [0.1, 0.2])
    with pytest.raises(InputError, match=r"com is a masked array.*com\.filled\(numpy\.nan\)"):
        array(np.ma.masked_array([0.1, 0.2], [False, True]), (2,), "com")
