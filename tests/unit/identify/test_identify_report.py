"""The report: every joint, every parameter with its error, open questions, and plots."""

import re
from dataclasses import replace

import numpy as np
import pytest
from identified_robots import BARE, TRUE, arm_motion

from kinetree import Robot
from kinetree.identify import identify, simulated_recording


def test_the_summary_names_joints_parameters_errors_and_what_is_open(reported):
    text = reported.summary()
    for name in (*reported.robot.model.joint_names, *reported.sought.names):
        assert name in text
    for k in range(reported.base.r):
        assert reported.base.formula(k) in text
        assert f"{reported.fit.beta[k]:.5g}" in text
        assert f"{reported.fit.standard_error[k]:.2g}" in text
    assert "No joint force depends on m[turret]" in text
    assert "low-pass at" in text and "95% interval" in text


def test_the_verdict_warnings_and_choices_stand_in_the_summary(reported):
    text = reported.summary()
    assert "## Verdict\n\nUsable" in text and "The sum of the errors on held-out motion is" in text
    assert reported.warnings and all(x.text.split(" ", 1)[0] in text for x in reported.warnings)
    for choice in reported.choices:
        for name, error in choice.errors.items():
            assert name in text and f"{error:.3g}" in text
    assert f"Low-pass of rates and accelerations: {reported.train.cutoff:.3g} Hz" in text


def test_withheld_intervals_are_named_so(reported):
    some = replace(reported, withheld=(2, 5))
    assert len(re.findall(r"\| withheld *\| [-\d]", some.summary())) >= 2
    assert "Intervals of 2 of 22 base parameters are withheld" in some.summary()
    assert "withheld" not in reported.summary()


def test_measured_friction_lies_on_the_curve_found(reported):
    for k, x in enumerate(reported.friction_curves()):
        fitted = np.interp(x.speed, x.grid, x.found)
        fast = np.abs(x.speed) > 0.2 * x.grid.max()  # the low-pass blurs changes of direction
        assert np.abs(x.force - fitted)[fast].mean() < 3 * reported.fit.sigma[k]
        assert not x.described.any() and x.unit == "N m"


def test_a_prompt_shows_one_line_and_plain_numbers(reported):
    error = ", ".join(f"{x:.3g}" for x in reported.error())
    assert repr(reported) == (
        f"Identification('{reported.robot.name}', {reported.base.r} base parameters from "
        f"{len(reported.train.q)} samples; error on held-out motion {error} N m or N)"
    )
    assert "float64" not in repr([joint.friction for joint in reported.robot.model.joints])
    base = repr(reported.robot.base_parameters())
    assert base.startswith("BaseParameters(") and base.endswith(" parameters)")


def test_the_tables_are_tables_of_markdown(reported):
    lines = [line for line in reported.summary().splitlines() if line.startswith("|")]
    assert len(lines) > reported.base.r + len(reported.sought.names)
    starts = [k for k, line in enumerate(lines) if set(line) <= set("| -")]
    assert len(starts) == 4  # forces, choices, base parameters, unknowns
    for k in starts:
        assert lines[k].count("|") == lines[k - 1].count("|") == lines[k + 1].count("|")


def test_the_report_is_written_with_its_pictures(reported, tmp_path):
    pytest.importorskip("matplotlib")
    path = reported.save_report(tmp_path / "new" / "folder")
    text = path.read_text(encoding="utf-8")
    names = ("forces.png", "cutoff.png", "friction.png", "errors.png", "parameters.png")
    assert re.findall(r"\((\w+\.png)\)", text) == list(names)
    for name in names:
        assert f"({name})" in text
        picture = (path.parent / name).read_bytes()
        assert picture.startswith(b"\x89PNG") and len(picture) > 10_000


def test_the_pictures_show_what_was_measured_and_predicted(reported, monkeypatch):
    pytest.importorskip("matplotlib")
    from kinetree.identify import constants, plot_forces, plot_parameters

    figure = plot_forces(reported)
    assert len(figure.axes) == 2 * reported.robot.n
    measured, described, predicted = figure.axes[0].get_lines()
    before = reported.prior.inverse_dynamics(reported.test.q, reported.test.dq, reported.test.ddq)
    assert list(described.get_ydata()) == list(before[:, 0])
    assert list(measured.get_ydata()) == list(reported.test.tau[:, 0])
    assert list(predicted.get_ydata()) == list(reported.predict(reported.test)[:, 0])
    labels = [x.get_text() for x in plot_parameters(reported).axes[0].get_yticklabels()]
    assert len(labels) == reported.base.r and "coulomb[lift]" in labels
    monkeypatch.setattr(constants, "PLOTTED_POINTS", 20)  # of a long recording, some samples
    (some, *_) = plot_forces(reported).axes[0].get_lines()
    assert list(some.get_ydata()) == list(reported.test.tau[:: len(reported.test) // 20, 0])


HOSTILE = (
    "arm|x</td><script>alert(1)</script> [a](javascript:b) ![i](c) `d` *e* _f_ $\\frac{$\n"
    "## Base parameters"
)


def test_names_cannot_mark_up_the_report(tmp_path):
    """A table keeps its columns, a heading stays one line, nothing becomes a link or a picture."""
    pytest.importorskip("matplotlib")
    model = TRUE.model
    joints = tuple(replace(joint, name=f"{HOSTILE}{k}") for k, joint in enumerate(model.joints))
    links = tuple(f"{HOSTILE}{k}" for k in range(len(model.links)))
    robot = Robot(model.replace(name=HOSTILE, joints=joints, link_names=links))
    data = replace(simulated_recording(TRUE, arm_motion()), model=robot.model)
    text = identify(robot, data).save_report(tmp_path).read_text(encoding="utf-8")
    shown = re.sub(r"\\.", "", text)  # what an escape leaves to be read as markup
    assert "<" not in shown and "](" not in re.sub(r"\]\(\w+\.png\)", "", shown)
    assert text.count("\n## Base parameters\n") == 1 and "\n# Identification of arm" in f"\n{text}"
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} <= {7, 8, 9, 10} and len(rows) > 20
    assert not re.search(r"[`*$]", shown.replace("`learned`", ""))


def test_forces_and_noise_after_a_low_pass_are_named_so(reported):
    motion = arm_motion(dt=0.005)
    data = simulated_recording(TRUE, motion, encoder_noise=2e-5, torque_noise=0.2)
    found = identify(BARE, data, friction="symmetric", lag=0.0)
    assert found.fit.sigma.max() < 0.15
    for text in (found.summary(), found._repr_html_()):
        assert "noise are after the low-pass at" in text
    assert "noise are after" not in reported.summary()  # every sample is a row
