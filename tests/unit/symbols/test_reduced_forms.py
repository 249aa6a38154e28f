"""Closed forms of mechanisms in their independent coordinates, against derivations of their own."""

import numpy as np
import pytest

sympy = pytest.importorskip("sympy")

import kinetree as kt  # noqa: E402
from closed_loops import slider_crank_tree  # noqa: E402
from kinetree.errors import ModelError, NameLookupError  # noqa: E402

KINDS = ("lengths", "inertial", "gravity")


def symbols_of(s):
    return {x.name: x for x in s.parameters}


def rational(rng, low=1, high=9):
    return sympy.Rational(int(rng.integers(low, high)), int(rng.integers(10, 20)))


def circle(t):
    """Cosine and sine of an angle whose half has the tangent t: rational on the unit circle."""
    return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)


def difference(a, b):
    """Cosine and sine of the angle a - b."""
    return a[0] * b[0] + a[1] * b[1], a[1] * b[0] - a[0] * b[1]


def exactly(expression, angles, values):
    """An expression at angles with rational cosines and sines, without rounding."""
    turned = {sympy.cos(x): c for x, (c, _) in angles.items()}
    turned |= {sympy.sin(x): s for x, (_, s) in angles.items()}
    return sympy.expand(sympy.expand_trig(expression).subs(turned).subs(values))


@pytest.mark.parametrize("seed", range(3))
def test_slider_crank_is_that_of_lagrange_with_the_position_of_the_slider(seed):
    """x = L1 cos(theta) + sqrt(L2^2 - L1^2 sin(theta)^2), without any constraint."""
    s = kt.symbolic(kt.robots.slider_crank(), KINDS)
    p, rng = symbols_of(s), np.random.default_rng(seed)
    L1, L2, m1, m2, m3 = (p[name] for name in ("L1", "L2", "m1", "m2", "m3"))
    theta, rate = sympy.symbols("theta rate", real=True)
    rise = L1 * sympy.sin(theta)
    reach = sympy.sqrt(L2**2 - rise**2)
    part = p["c2x"] / L2
    first = p["c1x"] * sympy.Matrix([sympy.cos(theta), sympy.sin(theta)])
    second = sympy.Matrix([L1 * sympy.cos(theta) + part * reach, rise * (1 - part)])
    slider = L1 * sympy.cos(theta) + reach
    rod = -sympy.asin(rise / L2)
    M = m1 * sum(x.diff(theta) ** 2 for x in first) + p["I1zz"] + m3 * slider.diff(theta) ** 2
    M += m2 * sum(x.diff(theta) ** 2 for x in second) + p["I2zz"] * rod.diff(theta) ** 2
    U = p["g"] * (m1 * first[1] + m2 * second[1])
    kinetic = M * rate**2 / 2
    c = kinetic.diff(rate).diff(theta) * rate - kinetic.diff(theta)

    values = {x: rational(rng) for x in s.parameters}
    crank, bar = circle(rational(rng)), circle(-rational(rng))
    values[L1] = -values[L2] * bar[1] / crank[1]
    values |= {rate: rational(rng), s.dq[0]: 0}
    values[s.dq[0]] = values[rate]
    angles = {s.q[0]: crank, s.q[1]: difference(bar, crank)}
    turned = {sympy.cos(theta): crank[0], sympy.sin(theta): crank[1]}
    for found, expected in ((s.M_r, M), (s.c_r, c), (s.g_r, U.diff(theta))):
        exact = sympy.expand(expected.subs(turned).subs(values))
        assert exact.is_Rational and exact != 0
        assert exactly(found[0, 0], angles, values) == exact
    closed = [exactly(x, angles, values) for x in s.closures.values()]
    position = values[L1] * crank[0] + values[L2] * bar[0] - values[p["L0"]]
    assert [x.subs(s.q[2], position) for x in closed] == [0, 0]


@pytest.mark.parametrize("seed", range(2))
def test_four_bar_is_that_of_its_energy(seed):
    """c = rate^2/2 dM/da and g = dU/da, with the other angles as functions of the crank's."""
    s = kt.symbolic(kt.robots.four_bar(), KINDS)
    p, rng = symbols_of(s), np.random.default_rng(seed)
    a, b, c = angles = sympy.symbols("a b c", real=True)  # angles of the bars to the x axis
    L0, L1, L2, L3 = (p[f"L{k}"] for k in range(4))

    def along(length, angle):
        return length * sympy.Matrix([sympy.cos(angle), sympy.sin(angle)])

    gap = along(L1, a) + along(L2, b) - along(L3, c)
    slopes = gap.jacobian([b, c]).LUsolve(-gap.diff(a))
    chain = sympy.Matrix([1, slopes[0], slopes[1]])

    def total(x):
        return sum(x.diff(angle) * slope for angle, slope in zip(angles, chain, strict=True))

    centres = along(p["c1x"], a), along(L1, a) + along(p["c2x"], b), along(p["c3x"], c)
    M = sum(
        p[f"m{k}"] * sum(total(x) ** 2 for x in centre) + p[f"I{k}zz"] * chain[k - 1] ** 2
        for k, centre in enumerate(centres, 1)
    )
    U = p["g"] * sum(p[f"m{k}"] * centre[1] for k, centre in enumerate(centres, 1))
    rate = s.dq[0]

    values = {x: rational(rng) for x in s.parameters} | {rate: rational(rng)}
    bars = [circle(rational(rng)), circle(-rational(rng)), circle(sympy.Rational(11, 10))]
    up = values[L1] * bars[0][1] + values[L2] * bars[1][1]
    values[L3] = up / bars[2][1]
    values[L0] = values[L1] * bars[0][0] + values[L2] * bars[1][0] - values[L3] * bars[2][0]
    own = dict(zip(s.q, (bars[0], difference(bars[1], bars[0]), bars[2]), strict=True))
    turned = {
        f(x): v
        for x, pair in zip(angles, bars, strict=True)
        for f, v in zip((sympy.cos, sympy.sin), pair, strict=True)
    }
    assert [exactly(x, own, values) for x in s.closures.values()] == [0, 0]
    assert [exactly(x, own, values) for x in s.Phi] == [0, 0]
    expected = {"M_r": M, "c_r": rate**2 / 2 * total(M), "g_r": total(U)}
    for name, x in expected.items():
        exact = sympy.expand(x.subs(turned).subs(values))
        assert exact.is_Rational and exact != 0
        assert exactly(getattr(s, name)[0, 0], own, values) == exact


def test_four_bar_has_the_ratio_of_textbooks():
    s = kt.symbolic(kt.robots.four_bar(), "lengths")
    names = {str(x): x for x in [*s.q, *s.parameters]}
    expected = sympy.sympify("L1*sin(theta2)/(L3*sin(theta1 + theta2 - theta3))", names)
    assert s.N[2, 0] == expected
    assert [str(x) for x in s.independent] == ["theta1"]
    assert [str(x) for x in s.dependent] == ["theta2", "theta3"]
    assert [str(x) for x in s.closures.values()] == [
        "-L0 + L1*cos(theta1) + L2*cos(theta1 + theta2) - L3*cos(theta3)",
        "L1*sin(theta1) + L2*sin(theta1 + theta2) - L3*sin(theta3)",
    ]


def geared():
    """A coupling, a rod of known length, springs and friction; one degree of freedom."""
    tree = slider_crank_tree().with_springs({"crank": kt.Spring(30.0, rest=0.2)})
    tree = tree.with_friction({"rod": kt.Friction(viscous=0.4, coulomb=0.3)})
    constraints = {
        "gear": kt.constraints.Couple("rod", {"crank": (-2, 0.3)}, 0.1),
        "bar": kt.constraints.Rod("pin", "tip", 0.5),
    }
    return tree.constrained(constraints, actuated=["crank"], near=(0.4, -0.6, 0.6))


def by_slide():
    """The slider-crank with the position of the slider as the independent coordinate."""
    constraints = {"loop": kt.constraints.Loop("pin", "tip", "point")}
    return slider_crank_tree().constrained(constraints, independent=["slide"])


ROBOTS = {
    "slider_crank": (kt.robots.slider_crank, (1.0, -1.3, -0.1)),
    "four_bar": (kt.robots.four_bar, (1.57, -1.15, 1.7)),
    "five_bar": (kt.robots.five_bar, (2.1, -1.05, 1.05, 1.05)),
    "geared": (geared, (0.4, -0.6, 0.6)),
    "by_slide": (by_slide, (0.7, -0.9, 1.0)),
}


@pytest.mark.parametrize("key", ROBOTS)
def test_closed_forms_are_the_kernels(key):
    make, near = ROBOTS[key]
    robot, rng = make(), np.random.default_rng(5)
    s = kt.symbolic(robot, None if key == "five_bar" else KINDS)
    kept = [robot.mobility.rows.index(name) for name in s.closures]
    for _ in range(3):
        q = robot.project(np.array(near) + rng.normal(size=robot.n) * 0.05)
        dq = robot.project_rates(q, rng.normal(size=robot.n))
        M_r, h_r, N = robot.reduced_dynamics(q, dq)
        assert s.evaluate("M_r", q) == pytest.approx(M_r, rel=1e-10)
        assert s.evaluate("h_r", q, dq) == pytest.approx(h_r, rel=1e-10, abs=1e-10)
        assert s.evaluate("N", q) == pytest.approx(N, rel=1e-10, abs=1e-12)
        away, rates = q + 0.1, rng.normal(size=robot.n)  # Phi is that of the robot everywhere
        assert s.evaluate("Phi", away) == pytest.approx(robot.constraint_errors(away)[kept])
        assert s.evaluate("J_Phi", away) == pytest.approx(robot.constraint_jacobian(away)[kept])
        gamma = robot.constraint_bias(away, rates)[kept]
        assert s.evaluate("gamma", away, rates) == pytest.approx(gamma)


def test_known_lengths_can_be_put_in():
    s = kt.symbolic(kt.robots.slider_crank(), KINDS)
    short = s.subs({"L1": sympy.Rational(1, 10)})
    assert "L1" not in {x.name for x in short.parameters}
    L1 = symbols_of(s)["L1"]
    assert sympy.simplify(short.M_r[0, 0] - s.M_r[0, 0].subs(L1, sympy.Rational(1, 10))) == 0


def test_the_tree_has_its_own_forms_and_forces_of_the_tree_are_refused():
    robot = kt.robots.four_bar()
    s, tree = kt.symbolic(robot), kt.symbolic(robot.unconstrained())
    q = [0.3, 0.5, -0.7]
    assert s.evaluate("M", q) == pytest.approx(tree.evaluate("M", q), rel=1e-14)
    for name in ("tau", "Lambda"):
        with pytest.raises(ModelError, match=f"{name} in closed form does not honour.*M_r, h_r"):
            getattr(s, name)
    with pytest.raises(ModelError, match="needs a robot with constraints"):
        _ = tree.M_r
    with pytest.raises(NameLookupError, match="there is no 'M_r'"):
        tree.evaluate("M_r", q)


def test_a_pose_loop_is_refused_by_name():
    with pytest.raises(ModelError, match=r"'grasp' of 'two arms' has no closed form.*'point'"):
        _ = kt.symbolic(kt.robots.two_arms()).M_r
