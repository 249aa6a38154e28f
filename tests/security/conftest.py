"""A workbench on a small robot, and raw requests to it."""

import pytest
from security_door import Door

import kinetree as kt


@pytest.fixture(scope="module")
def workbench():
    from kinetree.views.workbench import view

    with view(kt.robots.planar_2r(), browser=False) as running:
        yield running


@pytest.fixture
def door(workbench):
    return Door(workbench)
