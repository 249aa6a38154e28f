"""States with names in every kind of container, in a random order, and results read back."""

import numpy as np
import pandas as pd
import polars as pl

import kinetree as kt

ONE, MANY = ("dict", "whole dict", "Series"), ("dict of arrays", "DataFrame", "polars")
KINDS = (*ONE, *MANY)


def floating():
    """A free base with a revolute joint."""
    builder = kt.Builder("floating").link("world").link("base", 2, (0.1, 0, 0.2), np.eye(3) * 0.1)
    builder.link("arm", 1, (0, 0.1, 0.3), np.eye(3) * 0.02)
    builder.joint("base", "free", "world", "base")
    friction = kt.friction.Friction(viscous=0.3)
    builder.joint("1", "revolute", "base", "arm", at=(0, 0, 0.4), axis=(0, 1, 0), friction=friction)
    return builder.build()


def rolling():
    """A planar base with a prismatic joint: q and dq have the same length and other names."""
    builder = kt.Builder("rolling").link("ground").link("cart", 3, (0, 0, 0.1), np.eye(3) * 0.2)
    builder.link("mast", 1, (0.05, 0, 0.3), np.eye(3) * 0.05)
    builder.joint("cart", "planar", "ground", "cart")
    builder.joint("lift", "prismatic", "cart", "mast", at=(0.1, 0, 0.2), axis=(0, 0, 1))
    return builder.build()


def hand():
    """A ball joint and two fingers, of which the second follows the first."""
    builder = kt.Builder("hand").link("palm").link("wrist", 1, (0, 0, 0.1), np.eye(3) * 0.01)
    builder.joint("wrist", "spherical", "palm", "wrist")
    for side, mimic in (("left", None), ("right", kt.joints.Mimic("left", -1.0, 0.1))):
        builder.link(side, 0.2, (0.02, 0, 0.05), np.eye(3) * 0.001)
        builder.joint(
            side, "revolute", "wrist", side, at=(0, 0.03, 0.1), axis=(1, 0, 0), mimic=mimic
        )
    return builder.frame("grip", "right", tool=True).build()


ROBOTS = {make.__name__: make for make in (floating, rolling, hand)}


def names_of(robot, argument):
    return robot.coordinate_names if argument.startswith("q") else robot.dof_names


def states(robot, rng, shape, argument):
    """Plain values of an argument, (*shape, n)."""
    count = int(np.prod(shape))
    if argument.startswith("q"):
        rows = [robot.random(rng=rng) for _ in range(count)]
    else:
        rows = [rng.normal(size=robot.n) for _ in range(count)]
    return np.array(rows).reshape(*shape, -1)


def labelled(kind, robot, argument, x, rng):
    """The values x, (n,) or (rows, n), in a container, their names in a random order."""
    names = list(names_of(robot, argument))
    order = rng.permutation(len(names))
    shuffled = [names[k] for k in order]
    if kind in ("dict", "dict of arrays"):
        return {names[k]: x[..., k] for k in order}
    if kind == "whole dict":
        return whole(robot, argument, x, rng)
    if kind == "Series":
        return pd.Series(x, index=names).loc[shuffled]
    if kind == "DataFrame":
        rows = pd.Index(np.arange(len(x)) * 0.1, name="t")
        return pd.DataFrame(x, index=rows, columns=names)[shuffled]
    return pl.DataFrame({names[k]: x[:, k] for k in order})


def whole(robot, argument, x, rng):
    """A dict by joint: the joints of several entries are given whole."""
    free = [joint for joint in robot.model.joints if joint.follows is None]
    parts = {}
    for k in rng.permutation(len(free)):
        own = free[k].coords if argument.startswith("q") else free[k].dofs
        parts[free[k].name] = x[..., list(own)] if len(own) > 1 else x[..., own[0]]
    return parts


def read_back(found, axes):
    """The numbers of a labelled result as a plain array, (..., *axes), and its names by axis.

    axes: names of each of the last axes; None where they are directions or numbers.
    """
    if isinstance(found, dict):
        return _from_dict(found, axes)
    if isinstance(found, pd.Series | pd.DataFrame):
        return _from_pandas(found, axes)
    if isinstance(found, pl.DataFrame):
        assert found.columns == [":".join(x) for x in _product(axes)]
        return found.to_numpy().reshape(len(found), *map(len, axes))
    if isinstance(found, pl.Series):
        return found.to_numpy()
    return np.asarray(found)


def _product(axes):
    rows = [()]
    for names in axes:
        rows = [(*row, name) for row in rows for name in names]
    return rows


def _from_dict(found, axes):
    names = list(found)
    at = next(k for k, own in enumerate(axes) if list(own) == names)
    rest = [*axes[:at], *axes[at + 1 :]]
    parts = [np.asarray(read_back(found[name], rest)) for name in names]
    return np.stack(parts, parts[0].ndim - len(rest) + at)


def _from_pandas(found, axes):
    x = found.to_numpy()
    if not axes:
        return x
    rows = found.index
    last = found.columns if isinstance(found, pd.DataFrame) else rows
    assert last.tolist() == list(axes[-1])
    if isinstance(found, pd.Series):
        return x
    inner = axes[:-1]
    if rows.nlevels == 1 and inner:
        assert rows.tolist() == list(inner[0])
        return x
    if inner:  # levels: one for the states, if there are several, then one for each axis
        sizes = [len(names) for names in inner]
        labels = [row[rows.nlevels - len(inner) :] for row in rows.tolist()]
        expected = _product(inner)
        assert labels == expected * (len(labels) // len(expected))
        lead = (-1,) if rows.nlevels > len(inner) else ()
        return x.reshape(*lead, *sizes, len(last))
    return x
