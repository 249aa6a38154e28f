"""An identification in mm, g and ms is the same one: every number scales as its unit."""

import re

import numpy as np
import pytest
from identified_robots import arm_motion, misjudged, spatial_arm, with_drives

import kinetree as kt
from kinetree.identify import find_base, identify, identify_payload, make_recording, unknowns
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
    a, b = (identify(robot, data, method=method) for robot, data in recordings(name, units, rates))
    assert a.base.kept == b.base.kept and a.unidentified == b.unidentified
    assert [re.sub(r"[-+.\de]*\d", "#", x) for x in a.notes] == [
        re.sub(r"[-+.\de]*\d", "#", x) for x in b.notes
    ]
    assert [(x.kind, x.joints) for x in a.causes] == [(x.kind, x.joints) for x in b.causes]
    assert a.verdict.word == b.verdict.word
    unit = np.array([units.parameter(x) for x in a.params.units])
    kept = list(a.base.kept)
    force = units.motion(a.prior.model, *np.ones((4, a.robot.n)))[3]
    same(a.fit.beta * unit[kept], b.fit.beta, b.fit.standard_error)
    same(a.interval() * unit[kept][:, None], b.interval(), b.fit.standard_error[:, None])
    same(a.fit.residual * force, b.fit.residual, b.fit.sigma)
    same(a.fit.sigma * force, b.fit.sigma, b.fit.sigma)
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
    assert a.unidentified == b.unidentified
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
