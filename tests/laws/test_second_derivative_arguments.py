"""Second derivatives by arguments of several axes, such as centres of mass and wrenches."""

import numpy as np
import pytest

import kinetree as kt


@pytest.mark.parametrize(
    "n, name", [(3, "com"), (3, "inertia"), (4, "friction"), (6, "F_ext"), (2, "com"), (5, "mass")]
)
def test_second_derivatives_by_arguments_of_several_axes(n, name):
    """Along a line of all arguments, against central differences of order 8."""
    rng = np.random.default_rng(n)
    builder, last = kt.Builder("chain").link("base"), "base"
    for k in range(n):
        builder.link(f"l{k}", m=1 + k, com=rng.normal(size=3) * 0.1, I_com=0.1 * np.eye(3))
        place = {"axis": np.eye(3)[k % 3], "at": rng.normal(size=3) * 0.2}
        builder.joint(f"j{k}", "revolute", last, f"l{k}", **place)
        last = f"l{k}"
    robot = builder.build()
    options = {"wrenches": True} if name == "F_ext" else {"free": [name]}
    value = robot.compile("inverse_dynamics", **options)
    x = {port.name: np.abs(rng.normal(size=port.shape)) for port in value.graph.inputs}
    y, names = rng.normal(size=n), list(x)
    wrt = ["q", name]
    d = {a: rng.normal(size=x[a].shape) for a in wrt}

    def along(t):
        return float(y @ value(*(x[a] + t * d[a] if a in wrt else x[a] for a in names)))

    weights = [-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]
    h = 1e-2
    expected = sum(c * along((k - 4) * h) for k, c in enumerate(weights)) / h**2
    blocks = robot.derivative("inverse_dynamics", wrt, order=2, **options)(*x.values(), y)
    pairs = [("q", "q"), ("q", name), (name, name)]
    found = 0.0
    for (a, b), block in zip(pairs, blocks, strict=True):
        assert block.shape == (*x[a].shape, *x[b].shape)
        form = d[a].ravel() @ block.reshape(d[a].size, d[b].size) @ d[b].ravel()
        found += form if a == b else 2 * form
    assert found == pytest.approx(expected, rel=1e-7)
