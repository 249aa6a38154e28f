"""The page of an identification has all results, escapes names and needs no network."""

import dataclasses
import json
import re
import xml.etree.ElementTree as ElementTree
from html import escape

import numpy as np
import pytest

import kinetree as kt
from kinetree.identify import Finding, Verdict, identify, simulated_recording
from kinetree.motion import excitation
from kinetree.views import identification_page


@pytest.fixture(scope="module")
def found():
    robot = kt.robots.rp().with_friction({"joint1": kt.Friction(0.5, 0.2)})
    data = simulated_recording(robot, excitation(robot, 5, 0.02, reach=0.8), torque_noise=0.1)
    return identify(kt.robots.rp(), data)


def test_a_page_of_something_else_is_refused():
    with pytest.raises(kt.KinetreeError, match="found is a str"):
        identification_page("report.html")


def page_data(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def test_the_page_names_every_joint_parameter_and_note(found):
    page = identification_page(dataclasses.replace(found, notes=("one <note> & more",)))
    for name in (*found.sought.names, *found.robot.model.joint_names):
        assert name in page
    for k in range(found.base.r):
        assert found.base.formula(k) in page and f"{found.fit.beta[k]:.5g}" in page
    assert "one &lt;note&gt; &amp; more" in page and "<note>" not in page
    charts = page_data(page)["charts"]
    assert [(x["title"], x["unit"]) for x in charts[:2]] == [("joint1", "N m"), ("joint2", "N")]
    assert "No joint force depends on" in page


def test_the_curves_are_those_of_the_forces(found):
    page = identification_page(found)
    plots = re.findall(r'<svg class="plot".*?</svg>', page, re.S)[: found.robot.n]
    for plot in plots:
        tracks = [x for x in ElementTree.fromstring(plot).iter("path") if "track" in x.get("class")]
        assert len(tracks) == 4  # measured, measured less found, described, found
        points = [np.array(x.get("d")[1:].replace("L", " ").split(), float) for x in tracks]
        assert all(len(x) == len(points[0]) for x in points)
        heights = [x.reshape(-1, 2)[:, 1] for x in points]
        # pixels of the plot: measured less predicted is the difference, to a tenth of each
        change = (heights[0] - heights[3]) - (heights[1] - heights[1].mean())
        assert np.ptp(change) < 0.4


def test_intervals_stand_where_the_numbers_say(found):
    page = identification_page(found)
    bars = re.findall(r'<rect class="held" x="([-0-9.]+)" y="[0-9.]+" width="([0-9.]+)"', page)
    assert len(bars) == found.base.r
    described = found.base.K @ found.sought.values(found.prior.model)
    for (x, width), (low, high), own in zip(bars, found.interval(), described, strict=True):
        middle = float(x) + float(width) / 2
        scale = 285 / 1.04 / max(abs(low), abs(high), abs(own))
        assert middle == pytest.approx(475 + scale * (low + high) / 2, abs=0.2)


def test_the_page_has_the_verdict_the_choices_and_their_plots(found):
    page = identification_page(found)
    assert '<p class="verdict good">Usable, as far as this recording can show. ' in page
    for warning in found.warnings:
        assert escape(warning.text) in page
    assert all(x.joint in page for x in found.choices) and "friction laws on rows" in page
    titles = re.findall(r'<svg class="plot".*?aria-label="([^"]*)"', page)
    assert titles[found.robot.n :] == [
        "Errors of the fit (white noise is flat)", "joint1, friction", "joint2, friction"
    ]  # fmt: skip
    reason = Finding("worse", (), "on held-out motion the robot found is worse")
    worse = dataclasses.replace(found, verdict=Verdict("not usable", "", (reason,)))
    assert '<p class="verdict bad">Not usable' in identification_page(worse)


def test_withheld_intervals_have_no_bar(found):
    page = identification_page(dataclasses.replace(found, withheld=(0, 1)))
    assert page.count('<rect class="held"') == found.base.r - 2
    assert page.count(">withheld</text>") == 2


def test_the_page_loads_nothing_and_runs_no_script_of_others(found):
    name = 'arm"><script>alert(1)</script>'
    robot = kt.Robot(found.robot.model.replace(name=name))
    page = identification_page(dataclasses.replace(found, robot=robot))
    assert "<script>alert" not in page and "default-src 'none'" in page
    assert not re.search(r'(src|href)="', page)
