"""Reports of robots with constraints: kinds, equations and degrees of freedom."""

import numpy as np

import kinetree as kt
from kinetree.constraints import Couple, Hold, Rod
from kinetree.files.report import constraint_rows, freedom

TEXT = """<mujoco model="pair"><worldbody>
<body name="a"><joint name="qa" axis="0 0 1"/><inertial pos=".1 0 0" mass="1" diaginertia="1 1 1"/>
</body><body name="b" pos="1 0 0"><joint name="qb" axis="0 0 1"/>
<inertial pos=".1 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
<equality><joint name="gear" joint1="qa" joint2="qb" polycoef="0 2 0 0 0"/></equality>
<actuator><motor joint="qb"/></actuator></mujoco>"""


def test_the_report_counts_degrees_of_freedom_and_lists_constraints():
    robot = kt.load_string(TEXT)
    text = str(robot.report)
    assert "1 degree of freedom (2 of the tree)" in text
    assert "gear" in text and "couple      qa by qb, 1 equation" in text
    assert "motors: qb" in text
    plain = str(kt.load_string(TEXT, constraints="none").report)
    assert "2 degrees of freedom," in plain and "constraints are left out, as asked" in plain


def test_rows_count_redundant_equations():
    robot = kt.robots.four_bar()
    (row,) = constraint_rows(robot.model)
    assert (row.name, row.kind, row.equations, row.redundant) == ("loop", "loop", 5, 3)
    assert row.text == "axis z of tip = pin"
    assert freedom(robot.unconstrained().model) == "3 degrees of freedom"
    assert constraint_rows(robot.unconstrained().model) == []


def test_every_kind_has_a_text():
    tree = kt.robots.planar_2r()
    tip = tree.pose([0.3, 0.4])[:3, 3]
    held = tree.constrained({"h": Hold(tree.model.tool, "point", tip)}, near=[0.3, 0.4])
    assert constraint_rows(held.model)[0].kind == "hold"
    rod = tree.constrained({"r": Rod(tree.model.base_name, tree.model.tool, 1.5)})
    assert "1.5 m" in constraint_rows(rod.model)[0].text
    kept = tree.constrained({"k": Couple("joint1", {}, 0.2)})
    assert constraint_rows(kept.model)[0].text == "joint1 is kept in place"
    q = kept.project(np.zeros(2))
    assert q[0] == 0.2 and kept.mobility.independent == ("joint2",)
