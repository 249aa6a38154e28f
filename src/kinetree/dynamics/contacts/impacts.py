"""Contacts as rows of a step: velocities that close gaps, restitution, and what is recorded.

A step of length h begins at (q, dq). Without impulses its velocities along the normal and the
tangents of a contact would be J v, with v = dq + h a. The rows (rows.py) ask of the velocities w at
its end

    w_n >= -gap / h - h c / 2      where the gap is open: it can close within the step, not more
    w_n >= PUSH |gap| / h - h c / 2    where a point is below the ground, up to PUSH_SPEED

and q then moves with dq_next. c is the second derivative of the gap for constant rates dq. Paths
are curved: for a point at distance l from an axis that turns at w, h^2 c / 2 is (h w)^2 l / 2: it
is 0.1 mm for 0.1 m, 20 rad/s and h = 2 ms. A gap at the end of a step is wrong by the change of c.

**Restitution** is Newton's: a second solution asks for

    w_n >= -e (J dq)_n - h c / 2   where it hits the ground faster than the step itself makes it,
                                   at most -(J v)_n
    w_n >= -e (J v)_n              where it leaves and the impulses of others push it down, if this
                                   is less than -gap / h - h c / 2

A resting point stays at rest: e counts for impacts faster than REBOUND times the change of the
velocity within the step, so that a ball comes to rest. Newton's law fixes velocities and not the
work of the impulses: with friction, or where contacts of different restitution hit at once, it can
gain energy. The solution without rebound never does, both are in the cones and keep the robot out
of the ground, and so does every mixture r_0 + s d. Its work is a parabola in s. The result is the
mixture with the largest s <= 1 that gains no energy.

The rates of a free or planar joint are in the axes of its body, which turn. Here the velocities of
a step are those in the axes at its beginning, a + (0, w x v) their acceleration: the body moves
straight, and its momentum does not depend on its spin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.contacts.points import Touch
from kinetree.dynamics.impulses import Problem, Response, Solution, solve_rows
from kinetree.dynamics.rows import TINY, ConeRow, Row, Seat
from kinetree.errors import InputError
from kinetree.files.description.contacts import Contacts
from kinetree.model import Model
from kinetree.scalars import Scalar, absolute, maximum, minimum, sqrt, where
from kinetree.spatial.matrices import is_zero

PUSH = 0.2  # of a penetration is undone in a step, so that points do not jump out of the ground
PUSH_SPEED = 0.1  # m/s, at most
REBOUND = 3  # changes of velocity in a step: a slower impact has no restitution
SHARING = 1e-6  # of the mean response with compliance: the softness of pads of a link's contacts
SLIPPING = 1 - 1e-6  # of the friction cone: a force beyond it is that of a slipping contact
PRESSING = 1e-6  # of the velocities into the ground: what stops less counts as open
OPEN, STICK, SLIP = 0, 1, 2  # modes of a contact


def check_smooth(model: Model) -> None:
    """Raise InputError if the contacts of a robot are rigid, whose steps have no derivatives."""
    if model.contacts is not None and model.contacts.compliance is None:
        raise InputError(
            f"{model.name!r} has rigid contacts, whose steps have no derivatives; expected "
            "contacts with a compliance, such as robot.with_contacts(feet, compliance=1e-6), m/N, "
            "or none."
        )


def contact_sizes(model: Model) -> dict[str, int]:
    """Names of the results of contacts in a step and how many numbers they have, in their order.

    Forces are those of the ground onto the robot in {s}, N; points are in {s}, m; gaps in m; modes
    OPEN, STICK or SLIP.
    """
    if model.contacts is None:
        return {}
    m = len(model.contacts.points)
    each = {"contact_forces": 3, "contact_points": 3, "contact_gaps": 1, "contact_modes": 1}
    return {name: size * m for name, size in each.items()}


def contact_rows(
    contacts: Sequence[Touch],
    seats: Sequence[Seat],
    blocks: Sequence[Array],
    frictions: Sequence[Any],
    compliance: Any,
) -> list[ConeRow]:
    """The rows of all contacts; both tangents have the larger eigenvalue of their block as weight.

    Args:
        blocks: responses of the carriers of each contact.
        compliance: softness of the normals, m/s for a unit impulse.
    """
    responses = [seat.response(A) for seat, A in zip(seats, blocks, strict=True)]
    links = [x.link for x in contacts]
    rows: list[ConeRow] = []
    for seat, x, mu, link in zip(seats, responses, frictions, links, strict=True):
        own = [y[0, 0] for y, other in zip(responses, links, strict=True) if other == link]
        pads = (sum(own) * (1 / len(own)) + compliance) * SHARING
        half, across, mean = (x[1, 1] - x[2, 2]) / 2, x[1, 2], (x[1, 1] + x[2, 2]) / 2
        largest = mean + sqrt(half * half + across * across + TINY)
        normal = x[0, 0] + compliance + TINY
        rows.append(ConeRow(seat, np.array([normal, largest, pads + compliance, pads, mu])))
    return rows


@dataclass(frozen=True, eq=False)
class Approach:
    """Velocities of all contacts in a step, (3 m,), and those that the rows ask for.

    moving: without impulses. closing: the same, with those that close gaps: b of the rows without
    rebound. rebounding: b with rebound; None: no contact has restitution. bounces: 1 if one does.
    """

    moving: Array
    closing: Array
    rebounding: Array | None
    bounces: Any


def approach(
    of: Contacts,
    contacts: Sequence[Touch],
    seats: Sequence[Seat],
    curves: Sequence[Scalar],
    rates: tuple[Array, Array, Array],
    h: Scalar,
) -> Approach:
    """The velocities of contacts before their impulses.

    Args:
        curves: second derivatives of the gaps for constant rates.
        rates: velocities of all carriers before the step, (D,), their change by accelerations
            without impulses, and that by free joints that move straight, 1/s times velocities.
    """
    before, free, turning = rates
    moving, closing, rebounding, bounces = list[Any](), list[Any](), list[Any](), 0
    for at, seat, e, curve in zip(contacts, seats, of.restitutions, curves, strict=True):
        rows = seat.carrier
        old, more = (seat.velocities(x) for x in (before[rows], (free + turning)[rows] * h))
        b, close = old + more, at.gap / h
        if of.compliance is None:
            close = where(at.gap, close, maximum(close * PUSH, -PUSH_SPEED))
        bent = (curve - seat.velocities(turning[rows])[0]) * (h / 2)
        hits = where(-(b[0] + at.gap / h), 1, 0) * where(
            -old[0] - absolute(more[0]) * REBOUND, 1, 0
        )
        stopped = minimum(close, 0)
        plastic = where(hits, stopped, close) + bent
        moving += list(b)
        closing += [b[0] + plastic, *b[1:]]
        if is_zero(e):
            rebounding += closing[-3:]
            continue
        rebound = maximum(e * old[0], b[0] - bent)  # a faster one would gain energy
        elastic = where(e * b[0], maximum(close, e * b[0] - bent), close)
        elastic = where(hits, minimum(rebound, stopped), elastic) + bent
        rebounding += [b[0] + elastic, *b[1:]]
        bounces = maximum(bounces, absolute(elastic - plastic))
    elastic = any(not is_zero(e) for e in of.restitutions)
    bounces = where(bounces, 1, 0)
    return Approach(
        np.array(moving), np.array(closing), np.array(rebounding) if elastic else None, bounces
    )


def impulses_with_rebound(
    response: Response, rows: Sequence[Row], near: Approach, rates: Array, *, smooth: bool
) -> Solution:
    """Impulses of contacts and joint rows, which gain no energy.

    Args:
        rates: velocities of the joint rows without impulses, (k,).
        smooth: as in `Problem`.
    """
    plastic = Problem(response, rows, np.concatenate([near.closing, rates]), smooth)
    solution = solve_rows(plastic)
    if near.rebounding is None:
        return solution
    elastic = replace(plastic, b=np.concatenate([near.rebounding, rates]))
    other = solve_rows(elastic, needed=near.bounces)
    moving = np.concatenate([near.moving, rates])
    r, r_e = solution.impulses, other.impulses
    change = plastic.velocities(r) - plastic.b  # A r
    d, faster = r_e - r, elastic.velocities(r_e) - elastic.b - change  # A d
    work = r @ (moving + change * 0.5)
    slope, curve = d @ (moving + change), d @ faster
    lost = slope * slope - 2 * curve * minimum(work, 0)
    root = (sqrt(lost + TINY) - slope) / (curve + TINY)
    share = where(work + slope + curve * 0.5, maximum(minimum(root, 1), 0), 1)
    r = where(near.bounces, r + d * share, r)
    residual = maximum(solution.residual, other.residual)
    return replace(solution, impulses=r, carried=plastic.carried(r), residual=residual)


def contact_records(
    contacts: Sequence[Touch], rows: Sequence[Row], solution: Solution, h: Scalar
) -> list[Array]:
    """The results of contacts in a step, in the order of `contact_sizes`."""
    forces: list[Any] = []
    modes: list[Any] = []
    for k, at in enumerate(contacts):
        normal, _, _, _, mu = rows[k].numbers
        r = solution.impulses[3 * k : 3 * k + 3]
        most = mu * r[0] * SLIPPING
        slips = where(r[1] * r[1] + r[2] * r[2] - most * most, SLIP, STICK)
        slips = SLIP if is_zero(mu) else slips
        presses = r[0] * normal - solution.scale * PRESSING
        modes.append(where(presses, slips, OPEN))
        forces += list(at.axes.T @ r / h)
    points = np.concatenate([x.point for x in contacts])
    gaps = np.array([x.gap for x in contacts])
    return [np.array(forces), points, gaps, np.array(modes)]
