"""Names of columns: `q:elbow`, `mass:upper`, `F_ext.fz:tool`; what a table's numbers are."""

from itertools import product

from kinetree.model import Model

AXES = ("x", "y", "z")
PARTS = {  # of data of links, after the link
    "mass": ("",),
    "com": AXES,
    "inertia": tuple(a + b for a in AXES for b in AXES),
    "friction": ("viscous+", "viscous-", "coulomb+", "coulomb-"),
    "F_ext": ("mx", "my", "mz", "fx", "fy", "fz"),
}
POSITIONS, RATES = ("q", "q0"), ("dq", "dq0", "ddq", "tau")


def argument_columns(model: Model, name: str) -> list[str]:
    """Columns of an argument, in the order of its entries."""
    if name in POSITIONS:
        return [f"{name}:{x}" for x in model.coordinate_names]
    if name in RATES:
        return [f"{name}:{x}" for x in model.dof_names]
    if name == "gravity":
        return [f"gravity:{x}" for x in AXES]
    parts = [f".{x}" if x else "" for x in PARTS[name]]
    return [f"{name}{part}:{link}" for link in model.link_names for part in parts]


def result_columns(
    model: Model, name: str, dims: tuple[str, ...], shape: tuple[int, ...]
) -> list[str]:
    """Columns of a result whose axes have these letters; others than n are numbered."""
    axes = [model.dof_names if d == "n" else range(k) for d, k in zip(dims, shape, strict=True)]
    if dims == ("n",):
        return [f"{name}:{x}" for x in model.dof_names]
    if not shape:
        return [name]
    return [f"{name}[{','.join(map(str, index))}]" for index in product(*axes)]
