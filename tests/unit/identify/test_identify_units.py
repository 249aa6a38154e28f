"""An identification in mm, g and ms is the same one: every number scales as its unit."""

import dataclasses
import re
from importlib import import_module

import numpy as np
import pytest
from identified_robots import arm_motion, misjudged, spatial_arm, with_drives

import kinetree as kt
from kinetree.errors import KinetreeWarning, ModelError, SingularityError
from kinetree.identify import find_base, identify, identify_payload, make_recording, unknowns
from kinetree.identify.notes import check_motion
from kinetree.identify.recording import Recording
from kinetree.identify.self_check import check_result
from kinetree.motion import excitation
from other_units import MM_G_MS, SYSTEMS

NAMES = {"arm": spatial_arm, "rp": kt.robots.rp}


def recordings(name, units, rates=True, payload=None):
    """The described robot and its recording, in SI and in other units."""
    true, described = with_drives(NAMES[name]()), misjudged(NAMES[name]())
    loaded = true if payload is None else true.with_payload(*payload)
    options = {"reach": 0.3} if name == "rp" else {}
    x = arm_motion(true, 6) if name == "arm" else excitation(true, 6, 0.02, seed=1, **options)
    rng, tau = np.random.default_rng(0), loaded.inverse_dynamics(x.q, x.dq, x.ddq)
    noise = 0.02 * np.abs(tau).max(axis=0)
    motion = x.q, x.dq, x.ddq, tau + noise * rng.normal(size=tau.shape)
    found = []
    robot = true if payload else described
    for model, t, y in (
        (robot.model, x.t, motion),
        (units.model(robot.model), x.t * units.time, units.motion(true.model, *motion)),
    ):
        other = kt.Robot(model)
        given = y[1:3] if rates else ()
        found.append((other, make_recording(other, t, y[0], y[3], *given)))
    return found


def same(scaled, other, size, rel=1e-6):
    assert np.abs((scaled - other) / size).max() < rel


@pytest.mark.parametrize(("name", "system", "method", "rates"), [
    ("arm", "mm, g, ms", "weighted", False),
    pytest.param("rp", "mm, g, ms", "ordinary", True, marks=pytest.mark.many),
    ("rp", "um", "robust", True),
    ("rp", "Mm, t", "ordinary", False),
    pytest.param("arm", "hours", "robust", True, marks=pytest.mark.many),
])  # fmt: skip
def test_every_number_of_an_identification_scales_with_its_unit(name, system, method, rates):
    units = SYSTEMS[system]
    a, b = (
        identify(robot, data, method=method, folds=2)
        for robot, data in recordings(name, units, rates)
    )
    assert a.base.kept == b.base.kept and a.untold == b.untold
    assert [re.sub(r"[-+.\de]*\d", "#", x) for x in a.notes] == [
        re.sub(r"[-+.\de]*\d", "#", x) for x in b.notes
    ]
    assert [(x.kind, x.joints) for x in a.warnings] == [(x.kind, x.joints) for x in b.warnings]
    assert a.verdict == b.verdict and a.withheld == b.withheld
    unit = np.array([units.parameter(x) for x in a.sought.units])
    kept = list(a.base.kept)
    force = units.motion(a.prior.model, *np.ones((4, a.robot.n)))[3]
    same(a.fit.beta * unit[kept], b.fit.beta, b.fit.standard_error)
    same(a.interval() * unit[kept][:, None], b.interval(), b.fit.standard_error[:, None])
    same(a.fit.residual * force, b.fit.residual, b.fit.sigma)
    same(a.fit.sigma * force, b.fit.sigma, b.fit.sigma)
    same(a.folds * force, b.folds, b.fit.sigma)
    same(a.error() * force, b.error(), b.fit.sigma)
    same(a.fit.condition, b.fit.condition, a.fit.condition)
    same(a.estimate.x * unit, b.estimate.x, b.estimate.deviation, 1e-5)
    same(a.estimate.deviation * unit, b.estimate.deviation, b.estimate.deviation)
    assert np.abs(a.estimate.learned - b.estimate.learned).max() < 1e-6
    scaled = units.model(a.robot.model)
    assert np.allclose(scaled.m, b.robot.model.m, rtol=1e-4)


@pytest.mark.parametrize("system", ["mm, g, ms", "Mm, t"])
def test_a_payload_scales_with_its_units(system):
    units = SYSTEMS[system]
    body = 0.8, (0.02, 0.01, 0.05), np.diag([2e-3, 2e-3, 1e-3])
    (robot, data), (other, scaled) = recordings("arm", units, payload=body)
    a, b = identify_payload(robot, data), identify_payload(other, scaled)
    assert a.untold == b.untold
    assert b.m == pytest.approx(a.m * units.mass, rel=1e-6)
    assert b.com == pytest.approx(a.com * units.length, rel=1e-5)
    same(a.I_com * units.mass * units.length**2, b.I_com, np.abs(b.I_com).max(), 1e-5)
    same(a.standard_error[0] * units.mass, b.standard_error[0], b.standard_error[0])


def test_base_parameters_of_unknowns_do_not_depend_on_units():
    robot = kt.Robot(with_drives(kt.robots.puma_560()).model)
    other = kt.Robot(MM_G_MS.model(robot.model))
    a, b = find_base(unknowns(robot)), find_base(unknowns(other))
    assert a.kept == b.kept and a.status() == b.status()
    unit = np.array([MM_G_MS.parameter(x) for x in unknowns(robot).units])
    scaled = a.K * unit[list(a.kept)][:, None] / unit
    assert np.allclose(scaled, b.K, rtol=1e-7, atol=1e-12)


def test_combinations_that_miss_at_other_states_are_refused(monkeypatch):
    module = import_module("kinetree.identify.base")
    honest = module.independent_columns

    def wrong(W, order):
        kept, K, gap = honest(W, order)
        return kept, K * (1 + 1e-6 * (np.arange(K.shape[1]) % 3 == 0)), gap

    monkeypatch.setattr(module, "independent_columns", wrong)
    with pytest.raises(
        ModelError, match=r"do not give its joint forces at other states: they miss 1e-06"
    ):
        find_base(unknowns(kt.robots.planar_2r()))


def test_a_result_whose_parts_do_not_agree_says_so():
    (robot, data), _ = recordings("arm", MM_G_MS)
    found = identify(robot, data, folds=2)
    assert check_result(found) is found
    heavier = found.robot.with_payload(1e-4, (0, 0, 0))
    with pytest.warns(KinetreeWarning, match=r"robot that was found .* differ by \d"):
        wrong = check_result(dataclasses.replace(found, robot=heavier))
    assert "Do not use this result" in wrong.warnings[0].text and wrong.verdict.word == "not usable"
    assert wrong.warnings[1:] == found.warnings and wrong.verdict.reasons[0].kind == "check"
    fit = dataclasses.replace(found.fit, beta=found.fit.beta * (1 + 1e-6))
    with pytest.warns(KinetreeWarning, match=r"fit's residual that differ by \d"):
        check_result(dataclasses.replace(found, fit=fit))


def test_rest_is_a_share_of_the_robots_own_length():
    """A slide of 5 mm is motion of an arm of 30 cm, and rest of a crane."""
    for size, rests in ((0.3, False), (30.0, True)):
        robot = kt.Builder("slide").link("base").link("cart", 1.0)
        robot.link("tip", 1.0, (0.1, 0, 0), np.eye(3) * 0.01)
        robot.joint("along", "prismatic", "base", "cart", axis=(1, 0, 0))
        robot.joint("turn", "revolute", "cart", "tip", at=(size, 0, 0))
        t, zero = np.linspace(0, 1, 20), np.zeros((20, 2))
        q, tau = zero + 0.005 * np.sin(t)[:, None] * [1, 0], zero + t[:, None]
        data = Recording(t, q, zero, zero, tau)
        if rests:
            with pytest.raises(SingularityError, match=r"0.001 rad or 0.03 m"):
                check_motion(robot.build_model(), data)
        else:
            check_motion(robot.build_model(), data)
