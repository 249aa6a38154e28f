"""A trajectory as a pandas DataFrame."""

from typing import Any

from kinetree.base.extras import need
from kinetree.motion.columns import columns_of
from kinetree.trajectory import Trajectory


def to_dataframe(trajectory: Trajectory) -> Any:
    """A DataFrame over time, index "t" in s, columns (quantity, name): frame["q"]["elbow"].

    Units stand in `frame.attrs["units"]`. A batch takes one motion at a time.
    """
    pandas = need("pandas", "dataframe", "a data frame")
    columns = columns_of(trajectory, "a data frame")
    frame = pandas.DataFrame(
        {key: x for key, x in columns},
        index=pandas.Index(trajectory.t, name="t"),
    )
    frame.columns = pandas.MultiIndex.from_tuples(frame.columns, names=("quantity", "joint"))
    frame.attrs = {"name": trajectory.name, "units": dict(trajectory.units)}
    return frame
