"""Every quantity from poses alone, in many digits, by other formulas than those of the library.

A body is a pose T(q), (4, 4), and the moments P of its mass points, P = sum of m x x^T with
x = (position, 1) in the body. T_a is the derivative of T along joint rate a, by differences; then

    M_ab = sum of tr(T_a P T_b^T),   C_ab = sum of tr(T_a P dT_b/dt^T),   tau_a = tr(T_a P ddT^T)

A spinning rotor is a body more, less the same body locked to its link. Numbers have 100 digits and
differences a step of 1e-20, so that derivatives are right to about 38 digits.
"""

import copy
from decimal import Decimal, getcontext
from functools import lru_cache
from types import SimpleNamespace

import mpmath
import numpy as np
from matrix_robots import BASE, SIZES

import kinetree as kt
from kinetree.joints import Spring

DIGITS, H = 100, Decimal("1e-20")
getcontext().prec = DIGITS


def exact(x):
    """An array of decimal numbers, exactly the given ones."""
    x = np.asarray(x, object)
    return np.array([Decimal(v) for v in x.ravel().tolist()], object).reshape(x.shape)


def eye(n):
    return exact(np.eye(n))


def zeros(*shape):
    return exact(np.zeros(shape))


@lru_cache(4096)
def mp(f, x):
    """A function of mpmath at a decimal number."""
    with mpmath.workdps(DIGITS):
        return Decimal(mpmath.nstr(f(mpmath.mpf(str(x))), DIGITS))


def along(f):
    """f'(0) by a central difference."""
    return (f(H) - f(-H)) / (2 * H)


def columns(f, x):
    """Derivatives of f by all entries of x, on the last axes."""
    unit = eye(x.size).reshape(x.size, *x.shape)
    return np.stack([np.asarray(along(lambda h, e=e: f(x + e * h))) for e in unit], -1)


def solve(A, b):
    """A^-1 b by elimination with pivots."""
    A, b, n = A.copy(), b.copy(), len(A)
    for k in range(n):
        p = k + max(range(n - k), key=lambda i: abs(A[k + i, k]))
        A[[k, p]], b[[k, p]] = A[[p, k]], b[[p, k]]
        for i in range(k + 1, n):
            b[i] = b[i] - b[k] * (A[i, k] / A[k, k])
            A[i, k:] = A[i, k:] - A[k, k:] * (A[i, k] / A[k, k])
    for k in reversed(range(n)):
        b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :]) / A[k, k]
    return b


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]], object)


def unskew(W):
    """Twice the axial vector of the antisymmetric part."""
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


def placed(R, p):
    T = eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def turned(w):
    """R = exp [w], and the integral of exp [s w] over s in 0 ... 1."""
    t, W = (w @ w).sqrt(), skew(w)
    if t == 0:
        return eye(3), eye(3)
    sine, half = mp(mpmath.sin, t), 2 * (mp(mpmath.sin, t / 2) / t) ** 2
    return eye(3) + W * (sine / t) + W @ W * half, eye(3) + W * half + W @ W * ((t - sine) / t**3)


def by_quaternion(x):
    X = skew(x[1:])
    return eye(3) + 2 * (X * x[0] + X @ X)


def times(x, w):
    """The quaternion x followed by the rotation exp [w]."""
    t = (w @ w).sqrt()
    c, b = mp(mpmath.cos, t / 2), w * (mp(mpmath.sin, t / 2) / t if t else Decimal("0.5"))
    return np.array([x[0] * c - x[1:] @ b, *(x[0] * b + x[1:] * c + skew(x[1:]) @ b)])


def joint_pose(part, x):
    """The pose that the joint of a part makes at its coordinates x."""
    if part.type in ("spherical", "free"):
        return placed(by_quaternion(x[:4]), x[4:] if len(x) > 4 else 0)
    if part.type == "planar":
        return placed(turned(np.array([0, 0, x[0]]))[0], np.array([x[1], x[2], 0]))
    axis, at = exact(part.axis), exact(part.point)
    R = eye(3) if part.type == "prismatic" else turned(axis * x[0])[0]
    slide = 1 if part.type == "prismatic" else Decimal(part.pitch)
    return placed(R, at - R @ at + axis * (slide * x[0]))


def moved(part, x, v):
    """Coordinates of a joint after its tangent vector v."""
    if part.type == "spherical":
        return times(x, v)
    if part.type == "free":
        step = by_quaternion(x[:4]) @ turned(v[:3])[1] @ v[3:]
        return np.concatenate([times(x[:4], v[:3]), x[4:] + step])
    if part.type == "planar":
        R, V = turned(np.array([0, 0, x[0]]))[0], turned(np.array([0, 0, v[0]]))[1]
        return x + np.array([v[0], *(R @ V @ np.array([*v[1:], 0]))[:2]])
    return x + v


def twist(T, dT, expressed="body"):
    """The twist of a pose with the rate dT: in {b}, of {s}, or of {b} in the axes of {s}."""
    w, v = unskew(dT[:3, :3] @ T[:3, :3].T) / 2, dT[:3, 3]
    if expressed == "body":
        return np.concatenate([T[:3, :3].T @ w, T[:3, :3].T @ v])
    return np.concatenate([w, v if expressed == "aligned" else v + skew(T[:3, 3]) @ w])


def moments(m, h, I):
    """P of the mass m, the moment h = m com, and the inertia I about the origin."""
    P = eye(4) * Decimal(m)
    P[:3, :3], P[:3, 3], P[3, :3] = eye(3) * (np.trace(I) / 2) - I, h, h
    return P


def body_moments(m, com, I_com):
    c = exact(com)
    return moments(m, c * Decimal(m), exact(I_com) + skew(c) @ skew(c).T * Decimal(m))


def unit_moments():
    """P for a unit of m, of each entry of h and of I."""
    yield moments(1, zeros(3), zeros(3, 3))
    yield from (moments(0, h, zeros(3, 3)) for h in eye(3))
    for a, b in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        I = zeros(3, 3)
        I[a, b] = I[b, a] = 1
        yield moments(0, zeros(3), I)


def work(X, P, Y):
    """Sum of tr(X P Y^T) over the bodies, for each X and each Y."""
    rows, others = (X @ P).reshape(-1, P.size), Y.reshape(-1, P.size)
    return (rows @ others.T).reshape(X.shape[:-3] + Y.shape[:-3])[()]


def pair(x):
    """The numbers for positive and for negative rates."""
    return exact(x if isinstance(x, tuple) else (x, x))


def sign(x):
    return (x > 0) - (x < 0)


def friction(f, v, dry):
    """Friction of a rate v, without that of loads; dry: with the part that jumps at rest."""
    k = int(v < 0)
    total = pair(f.coulomb)[k] * int(dry)
    if dry and f.stribeck is not None:
        x = -((abs(v) / Decimal(f.stribeck.speed)) ** Decimal(f.stribeck.exponent))
        total = total + (pair(f.stribeck.static)[k] - total) * x.exp()
    total = pair(f.viscous)[k] * v + total * sign(v)
    if f.sigmoid is not None:
        size, steepness, offset = map(Decimal, vars(f.sigmoid).values())
        for x, way in ((v + offset, 1), (offset, -1)):
            total = total + size * way / (1 + (-steepness * x).exp())
    return total if f.function is None else total + mp(f.function, v)


class Reference:
    """A robot of a recipe; of `robot` only the names of independent joints are read.

    inertias and frictions: (inertia or Friction, row over dq, number of a free or planar joint);
    springs: (stiffness, preload, damping, what it measures).
    """

    def __init__(self, recipe, robot):
        self.recipe, self.parts, self.coords, self.dofs, self.n, nq = recipe, [], [], [], 0, 0
        for x in recipe.parts:
            self.parts += self._elastic(x) if x.name in recipe.elastic else [x]
        self.links = [x.name for x in self.parts]
        for x in self.parts:
            size = 0 if "mimic" in x.more else SIZES[x.type]
            more = size + (x.type in ("spherical", "free"))
            self.coords.append(list(range(nq, nq + more)))
            self.dofs.append(list(range(self.n, self.n + size)))
            nq, self.n = nq + more, self.n + size
        self.poses, self.g = lru_cache(512)(self._poses), exact(recipe.gravity)
        if recipe.constraints:
            self.independent = [
                robot.joint_names.index(x) for x in kt.constraints.mobility(robot).independent
            ]
        self._masses()
        self._drives()

    def _elastic(self, x):
        """The motor of an elastic joint without mass, and the link behind it on the same axis."""
        stiffness, damping, inertia = self.recipe.elastic[x.name]
        motor = {"name": x.name + "_motor", "m": 0.0, "I_com": np.zeros((3, 3))}
        motor["more"] = x.more | {"armature": inertia}
        link = {"parent": x.name + "_motor", "at": np.eye(4)}
        link["more"] = {"own": Spring(stiffness), "friction": kt.friction.Friction(damping)}
        return [SimpleNamespace(**vars(x) | y) for y in (motor, link)]

    def _masses(self):
        found, spins, self.rotors = [body_moments(x.m, x.com, x.I_com) for x in self.parts], [], []
        for i, x in enumerate(self.parts):
            if rotor := x.more.get("rotor"):
                own = x.at[:3, :3] @ x.axis if rotor.axis is None else rotor.axis
                self.rotors.append((i, rotor.link or x.parent, exact(own), Decimal(rotor.ratio)))
                spin = np.outer(exact(own), exact(own)) * Decimal(rotor.inertia)
                spins.append(moments(0, zeros(3), spin))
        self.P = np.array([*found, *spins, *(-P for P in spins)])
        self.base = body_moments(*BASE, np.zeros((3, 3)))

    def _drives(self):
        springs = [(x.more["own"], {x.name: 1}) for x in self.parts if "own" in x.more]
        springs += [(x, x.points or x.joints or {k: 1}) for k, x in self.recipe.springs.items()]
        numbers = [(*exact((x.stiffness, x.stiffness * x.rest, x.damping)), w) for x, w in springs]
        self.springs, self.inertias, self.frictions = numbers, [], []
        for i, x in enumerate(self.parts):
            size, law = (
                Decimal(x.more.get("armature", 0)),
                x.more.get("friction", kt.friction.Friction()),
            )
            self.inertias += [(size, row, i) for row in self.rows(i)]
            self.frictions += [(law, row, i) for row in self.rows(i)]
        for x in self.recipe.motors.values():
            self.inertias.append((Decimal(x.inertia), self.row(x.joints), None))
            self.frictions.append((x.friction, self.row(x.joints), None))

    # positions and poses

    def joint(self, name):
        return self.links.index(name + "_motor" if name in self.recipe.elastic else name)

    def q_of(self, i, q):
        """Coordinates of joint i; those of a mimic joint follow."""
        x = self.parts[i].more.get("mimic")
        if x is None:
            return q[self.coords[i]]
        return self.q_of(self.joint(x.joint), q) * Decimal(x.multiplier) + Decimal(x.offset)

    def rows(self, i):
        """The rates of joint i over dq."""
        x = self.parts[i].more.get("mimic")
        if x is None:
            return eye(self.n)[self.dofs[i]]
        return self.rows(self.joint(x.joint)) * Decimal(x.multiplier)

    def row(self, ratios):
        return sum(self.rows(self.joint(x))[0] * Decimal(ratio) for x, ratio in ratios.items())

    def integrate(self, q, v):
        """q + v along tangent vectors."""
        q = q.copy()
        for x, own, dofs in zip(self.parts, self.coords, self.dofs, strict=True):
            if own:
                q[own] = moved(x, q[own], v[dofs])
        return q

    def _poses(self, q):
        T, q = {"base": eye(4)}, np.array(q)
        for i, x in enumerate(self.parts):
            at = self.q_of(i, q) + Decimal(x.more.get("offset", 0))
            T[x.name] = T[x.parent] @ exact(x.at) @ joint_pose(x, at)
        return np.array([T[x.name] for x in self.parts])

    def place(self, q, name="tool"):
        """T of a link, the base or the tool."""
        if name == "base":
            return eye(4)
        T = self.poses(tuple(q))
        return T[-1] @ exact(self.recipe.tool) if name == "tool" else T[self.links.index(name)]

    def point(self, q, link, p):
        return (self.place(q, link) @ np.array([*exact(p), 1]))[:3]

    def bodies(self, q):
        """Poses of links, of spinning rotors, and of rotors locked to their carriers."""
        locked = [self.place(q, link) for _, link, _, _ in self.rotors]
        turns = [turned(s * (r * self.q_of(i, q)[0]))[0] for i, _, s, r in self.rotors]
        spins = [T @ placed(R, 0) for T, R in zip(locked, turns, strict=True)]
        return np.array([*self.poses(tuple(q)), *spins, *locked])

    # derivatives

    def slopes(self, f, q):
        """Derivatives of f(q) along all rates, on a last axis."""
        return columns(lambda v: f(self.integrate(q, v)), zeros(self.n))

    def rate(self, f, q, dq, ddq=0):
        """The rate of f(q, dq) along a motion."""
        return along(lambda t: f(self.integrate(q, dq * t + ddq * (t * t / 2)), dq + ddq * t))

    def T_a(self, q):
        """Derivatives of the poses of all bodies, (n, bodies, 4, 4)."""
        return np.moveaxis(self.slopes(self.bodies, q), -1, 0)

    def dT(self, q, dq):
        return self.rate(lambda q, _: self.bodies(q), q, dq)

    def derivative(self, f, k, *x):
        """Derivative of f by its argument number k; by q, the first, along tangent vectors."""
        if k == 0:
            return self.slopes(lambda q: f(q, *x[1:]), x[0])
        return columns(lambda y: f(*x[:k], y, *x[k + 1 :]), x[k])

    # the equation of motion

    def mass_matrix(self, q):
        T = self.T_a(q)
        return work(T, self.P, T) + sum(np.outer(r, r) * x for x, r, _ in self.inertias)

    def coriolis_matrix(self, q, dq):
        rate = self.rate(lambda q, _: self.T_a(q), q, dq)
        return work(self.T_a(q), self.P, rate) + self.turning(dq)

    def turning(self, dq):
        """Armature of a free or planar joint has the force inertia w x v."""
        C, sizes = zeros(self.n, self.n), {joint: size for size, _, joint in self.inertias}
        for i, (x, d) in enumerate(zip(self.parts, self.dofs, strict=True)):
            if x.type in ("free", "planar"):
                w = dq[d[:3]] if x.type == "free" else [0, 0, dq[d[0]]]
                own = d[3:] or d[1:]
                C[np.ix_(own, own)] = skew(w)[: len(own), : len(own)] * sizes.get(i, 0)
        return C

    def body_forces(self, q, dq, ddq):
        """Inertia and weight of the bodies, by second derivatives of poses."""
        at = [self.bodies(self.integrate(q, dq * t + ddq * (t * t / 2))) for t in (-H, 0 * H, H)]
        ddT = (at[0] + at[2] - 2 * at[1]) / (H * H)
        ddT[:, :3, 3] -= self.g
        return work(self.T_a(q), self.P, ddT)

    def extent(self, q, way):
        """The sum of positions of joints times coefficients, or the length through points."""
        if isinstance(way, dict):
            items = [(self.links.index(x), Decimal(c)) for x, c in way.items()]
            return sum(self.q_of(i, q)[0] * c for i, c in items)
        return sum((x @ x).sqrt() for x in np.diff([self.point(q, *x) for x in way], axis=0))

    def spring_forces(self, q, dq=None):
        """Gradient of the energy, and with dq the dampers too."""
        total = zeros(self.n)
        for stiffness, preload, damping, way in self.springs:
            slope = self.slopes(lambda q, way=way: self.extent(q, way), q)
            force = stiffness * self.extent(q, way) - preload
            total += slope * (force if dq is None else force + damping * (slope @ dq))
        return total

    def friction_forces(self, dq, dry=True):
        return sum(row * friction(f, row @ dq, dry) for f, row, _ in self.frictions)

    def frictionless(self, q, dq, ddq, F_ext=None):
        """M ddq + c + g + springs - J^T F_ext."""
        tau = self.body_forces(q, dq, ddq) + self.turning(dq) @ dq + self.spring_forces(q, dq)
        tau += sum(row * (inertia * (row @ ddq)) for inertia, row, _ in self.inertias)
        for F, name in zip([] if F_ext is None else F_ext, self.links, strict=False):
            tau -= F @ self.jacobian(q, name=name)
        return tau

    def tree_forces(self, q, dq, ddq, F_ext=None):
        return self.frictionless(q, dq, ddq, F_ext) + self.friction_forces(dq)

    def tree_accelerations(self, q, dq, tau, F_ext=None):
        return solve(self.mass_matrix(q), tau - self.tree_forces(q, dq, 0 * dq, F_ext))

    def inverse_dynamics(self, *x):
        closed = self.recipe.constraints
        return self.constrained_inverse_dynamics(*x)[0] if closed else self.tree_forces(*x)

    def forward_dynamics(self, *x):
        closed = self.recipe.constraints
        return self.constrained_forward_dynamics(*x)[0] if closed else self.tree_accelerations(*x)

    def bias_forces(self, q, dq, F_ext=None):
        return self.frictionless(q, dq, 0 * dq, F_ext) + self.friction_forces(dq)

    def gravity_forces(self, q):
        return self.body_forces(q, zeros(self.n), zeros(self.n))

    def coriolis_forces(self, q, dq):
        forces = self.body_forces(q, dq, 0 * dq) - self.gravity_forces(q)
        return forces + self.turning(dq) @ dq

    def momentum_balance(self, q, dq, tau):
        p = lambda q, dq: self.mass_matrix(q) @ dq  # noqa: E731
        return p(q, dq), self.rate(p, q, dq, self.tree_accelerations(q, dq, tau))

    # energies, momenta, centre of mass, the tool

    def kinetic_energy(self, q, dq):
        dT = self.dT(q, dq)
        spin = sum(inertia * (row @ dq) ** 2 for inertia, row, _ in self.inertias)
        return (work(dT, self.P, dT) + spin) / 2

    def mass_moment(self, q):
        """Sum of (m x, m) of links and base."""
        return (self.bodies(q) @ self.P)[:, :, 3].sum(0) + self.base[3]

    def potential_energy(self, q):
        U = -self.g @ self.mass_moment(q)[:3]
        for stiffness, preload, _, way in self.springs:
            x = self.extent(q, way)
            U += stiffness * x * x / 2 - preload * x
            U += preload * preload / (2 * stiffness) if stiffness else 0
        return U

    def center_of_mass(self, q):
        return self.mass_moment(q)[:3] / self.mass_moment(q)[3]

    def momentum(self, q, dq):
        """Angular, linear about the origin of {s}."""
        A = (self.dT(q, dq) @ self.P @ self.bodies(q).swapaxes(1, 2)).sum(0)
        return np.array([*unskew(A[:3, :3]), *A[:3, 3]])

    def centroidal_momentum(self, q, dq):
        L = self.momentum(q, dq)
        return np.array([*(L[:3] - skew(self.center_of_mass(q)) @ L[3:]), *L[3:]])

    def centroidal_momentum_matrix(self, q):
        return np.array([self.centroidal_momentum(q, e) for e in eye(self.n)]).T

    def jacobian(self, q, expressed="body", name="tool"):
        slopes, T = self.slopes(lambda x: self.place(x, name), q), self.place(q, name)
        return np.array([twist(T, slopes[..., k], expressed) for k in range(self.n)]).T

    def task_space(self, q, dq, rows, expressed="body"):
        """Of as many rows as the robot can move or fewer."""
        J = self.jacobian(q, expressed)[list(rows)]
        dJ = self.rate(lambda q, _: self.jacobian(q, expressed)[list(rows)], q, dq)
        M, c, g = self.mass_matrix(q), self.coriolis_forces(q, dq), self.gravity_forces(q)
        Lambda = solve(J @ solve(M, J.T), eye(len(rows)))
        J_bar = solve(M, J.T) @ Lambda
        mu = J_bar.T @ c - Lambda @ (dJ @ dq)
        eta = J_bar.T @ (self.bias_forces(q, dq) - c) + mu
        return J, dJ, Lambda, eta, mu, J_bar.T @ g, J_bar, eye(self.n) - J_bar @ J

    # regressors: the same quantities of robots that have one unit parameter and no other

    def unit_robots(self):
        """The robot with each entry of pi alone, in their order."""
        links, spins, none = len(self.parts), len(self.rotors), 0 * self.P

        def alone(P=none, base=0 * self.base, **more):
            other = copy.copy(self)
            vars(other).update({"inertias": [], "frictions": [], "springs": []} | more)
            other.P, other.base = P, base
            return other

        def at(k, P):
            return np.array([P if i == k else none[0] for i in range(len(none))])

        def drive(rows, joint):
            ways = [(key, pair) for key in ("viscous", "coulomb") for pair in ((1, 0), (0, 1))]
            laws = [kt.friction.Friction(**{key: pair}) for key, pair in ways]
            yield from (alone(frictions=[(f, r, joint) for r in rows]) for f in laws)
            # a free or planar joint has no armature, so its column is zero
            loose = joint is not None and self.parts[joint].type in ("free", "planar")
            yield alone(inertias=[] if loose else [(1, r, joint) for r in rows])

        yield from (alone(at(i, P)) for i in range(links) for P in unit_moments())
        for i in range(links):
            yield from drive(self.rows(i), i)
        for k in range(spins):
            unit = self.P[links + k] / (2 * np.trace(self.P[links + k]))
            yield alone(at(links + k, unit) - at(links + spins + k, unit))
        for *_, way in self.springs:
            yield alone(springs=[(*exact((1, 0, 0)), way)])
            yield alone(springs=[(*exact((0, 1, 0)), way)])
        for x in self.recipe.motors.values():
            yield from drive([self.row(x.joints)], None)

    def regression(self, f):
        """Columns f(robot) of the robots with one parameter."""
        return np.stack([np.asarray(f(x), object) for x in self.unit_robots()], -1)

    def reference_forces(self, q, dq, dq_r, ddq_r):
        tau = self.mass_matrix(q) @ ddq_r + self.coriolis_matrix(q, dq) @ dq_r
        return tau + self.gravity_forces(q) + self.spring_forces(q) + self.friction_forces(dq)

    # constraints: a ball, whose errors are in the axes of frame_a, and a gear

    def constraint_errors(self, q):
        ball, gear = self.recipe.constraints["ball"], self.recipe.constraints["gear"]
        A, B = self.place(q, ball.frame_a), self.place(q, ball.frame_b)
        x = self.extent(q, {gear.joint: 1}) - Decimal(gear.offset)
        for name, c in gear.by.items():
            x -= sum(Decimal(c) * self.extent(q, {name: 1}) ** k for k, c in enumerate(c, 1))
        return np.array([*(A[:3, :3].T @ (B[:3, 3] - A[:3, 3])), x])

    def constraint_jacobian(self, q):
        return self.slopes(self.constraint_errors, q)

    def constraint_bias(self, q, dq):
        return self.rate(lambda q, _: self.constraint_jacobian(q), q, dq) @ dq

    def constrained_forward_dynamics(self, q, dq, tau, F_ext=None):
        J, gamma = self.constraint_jacobian(q), self.constraint_bias(q, dq)
        h = self.tree_forces(q, dq, 0 * dq, F_ext)
        A = np.block([[self.mass_matrix(q), -J.T], [J, zeros(len(J), len(J))]])
        x = solve(A, np.concatenate([tau - h, -gamma]))
        return x[: self.n], x[self.n :], 0 * gamma

    def constrained_inverse_dynamics(self, q, dq, ddq, F_ext=None):
        """As many motors as degrees of freedom: one solution."""
        J, r = self.constraint_jacobian(q), self.tree_forces(q, dq, ddq, F_ext)
        motors = eye(self.n)[[self.dofs[self.joint(x)][0] for x in self.recipe.actuated]]
        x, d = solve(np.concatenate([motors, J]).T, r), len(motors)
        return motors.T @ x[:d], x[d:], 0 * dq, J @ ddq + self.constraint_bias(q, dq)

    def constraint_impulse(self, q, dq):
        J, M = self.constraint_jacobian(q), self.mass_matrix(q)
        impulse = solve(J @ solve(M, J.T), -J @ dq)
        return dq + solve(M, J.T) @ impulse, impulse, 0 * impulse

    def reduced_dynamics(self, q, dq):
        J, some = self.constraint_jacobian(q), eye(self.n)[self.independent]
        A, d = np.concatenate([some, J]), len(some)
        N = solve(A, eye(self.n)[:, :d])
        ddq = solve(A, np.concatenate([zeros(d), -self.constraint_bias(q, dq)]))
        return N.T @ self.mass_matrix(q) @ N, N.T @ self.tree_forces(q, dq, ddq), N

    # contacts: spheres on the plane z = 0, all touching and within their cones

    def contact_points(self, q):
        up = exact([0, 0, 1])
        low = [self.point(q, x.link, x.position) - up * Decimal(x.radius) for x in self.recipe.feet]
        return np.array(low), np.array(low)[:, 2], np.array([up] * len(low))

    def contact_inverse_dynamics(self, q, dq, ddq, touching, F_ext=None):
        """The least forces that carry the base; the joints have motors."""
        r, low, J = self.tree_forces(q, dq, ddq, F_ext), self.contact_points(q)[0], []
        for x, p in zip(self.recipe.feet, low, strict=True):
            local = solve(self.place(q, x.link), np.array([*p, Decimal(1)]))[:3]
            J += list(self.slopes(lambda y, x=x, at=local: self.point(y, x.link, at), q))
        J = np.array(J)
        f = J[:, :6] @ solve(J[:, :6].T @ J[:, :6], r[:6])
        tau = np.concatenate([zeros(6), (r - J.T @ f)[6:]])
        return tau, f.reshape(-1, 3), 0 * r, Decimal(0), zeros(len(low)), Decimal(0)

    # one step without stick; kp and kd are slopes of tau

    def step(self, method, q, dq, tau, dt, F_ext=None, kp=0, kd=0, controls=(), activation=()):
        a = np.array(activation, object)

        def forces(x, v, a):
            given = tau - kp * self.between(q, x) - kd * (v - dq)
            return self.peaked(given + self.actuate(x, v, controls, a))

        def slope(y):
            x = self.integrate(q, y[0])
            D = columns(lambda w: self.between(x, self.integrate(q, w)), y[0])
            lag = np.array([(u - z) / T for z, u, T in self.lags(y[2], controls)])
            ddq = self.forward_dynamics(x, y[1], forces(x, *y[1:]), F_ext)
            return np.array([solve(D, y[1]), ddq, lag], object)

        start = np.empty(3, object)
        start[:] = 0 * dq, dq, a
        if method == "rk4":
            k1 = slope(start)
            k2 = slope(start + k1 * (dt / 2))
            k3 = slope(start + k2 * (dt / 2))
            v, new, a = start + (k1 + 2 * k2 + 2 * k3 + slope(start + k3 * dt)) * (dt / 6)
            return self.integrate(q, v), new, a
        ddq = self.forward_dynamics(q, dq, forces(q, dq, a), F_ext)
        if method.startswith("implicit"):
            D, K = self.stiff(q, dq, lambda x, v: forces(x, v, a))
            K, M = K * int(method == "implicit"), self.mass_matrix(q)
            ddq = solve(M + D * dt + K * (dt * dt), M @ ddq - K @ dq * dt)
        a = np.array([x + (u - x) * (1 - (-dt / T).exp()) for x, u, T in self.lags(a, controls)])
        if method == "time_stepping":
            return *self.straight(q, dq, ddq, dt), a
        new = dq + ddq * dt
        return self.integrate(q, (dq if method == "euler" else new) * dt), new, a

    def straight(self, q, dq, ddq, dt):
        """A step with forces of inertia at the mean rates, of bodies that move straight.

        Velocities are in the axes before the step: their rate is ddq + turning. Dry friction does
        not count in the mean rates.
        """
        M, turning = self.mass_matrix(q), self.body_turning(dq)
        dry = self.friction_forces(dq) - self.friction_forces(dq, False)
        smooth = ddq + solve(M, dry)

        def inertia(v):
            return self.coriolis_forces(q, v) - M @ self.body_turning(v)

        now = inertia(dq)
        trials = [0 * dq]
        for _ in range(2):
            mean = dq + (smooth - solve(M, trials[-1]) + turning) * (dt / 2)
            trials.append(inertia(mean) - now)
        _, first, second = trials
        part = first @ solve(M, first)
        later = (second - first) @ solve(M, second - first)
        fade = 1 / (1 + (later / (part + Decimal(2) ** -120)) ** 3)  # 1 where both vanish
        c = (first + second) / 2 * fade - now * (1 - fade)
        new = dq + (ddq - solve(M, c) + turning) * dt
        moved, rates = self.integrate(q, new * dt), np.array(new)
        for x, own, dofs in zip(self.parts, self.coords, self.dofs, strict=True):
            if x.type in ("free", "planar"):
                T, T_next = joint_pose(x, q[own]), joint_pose(x, moved[own])
                at = {"free": slice(3, 6), "planar": slice(1, 3)}[x.type]
                v = zeros(3)
                v[: at.stop - at.start] = new[dofs][at]
                place = (T[:3, 3] + T[:3, :3] @ v * dt)[: at.stop - at.start]
                moved[own[-len(place) :]] = place
                turned = T_next[:3, :3].T @ T[:3, :3] @ v
                rates[dofs[at]] = turned[: len(place)]
        return moved, rates

    def body_turning(self, dq):
        """omega x v of free and planar joints: how their velocities turn with the body, (n,)."""
        turned = 0 * dq
        for x, dofs in zip(self.parts, self.dofs, strict=True):
            if x.type == "free":
                turned[dofs[3:]] = skew(dq[dofs[:3]]) @ dq[dofs[3:]]
            elif x.type == "planar":
                w, vx, vy = dq[dofs]
                turned[dofs] = 0 * w, -w * vy, w * vx
        return turned

    def stiff(self, q, dq, forces):
        """D of friction, dampers and forces; K of springs, with constant arms, and of forces."""
        D = columns(lambda v: self.friction_forces(v, False) - forces(q, v), dq)
        K = self.slopes(lambda x: -forces(x, dq), q)
        for stiffness, _, damping, way in self.springs:
            slope = self.slopes(lambda q, way=way: self.extent(q, way), q)
            D, K = D + np.outer(slope, slope) * damping, K + np.outer(slope, slope) * stiffness
        return D, K

    def peaked(self, tau):
        """Joint forces within the peaks of the drives."""
        for x, dofs in zip(self.parts, self.dofs, strict=True):
            if "drive" in x.more and dofs:
                peak = Decimal(x.more["drive"].peak)
                tau[dofs[0]] = min(max(tau[dofs[0]], -peak), peak)
        return tau

    def actuate(self, q, dq, controls, activation):
        """Joint forces of the actuators; an activation takes the place of its control."""
        tau, states = 0 * dq, iter(activation)
        for u, x in zip(controls, self.recipe.actuators.values(), strict=False):
            low, high = exact(x.control_range)
            u = next(states) if x.time_constant else min(max(u, low), high)
            terms = np.array([1, self.extent(q, x.joints), self.row(x.joints) @ dq])
            tau += self.row(x.joints) * (exact(x.gain) @ terms * u + exact(x.bias) @ terms)
        return tau

    def lags(self, a, controls):
        """(activation, control, time constant) of the actuators that have one."""
        slow = zip(controls, self.recipe.actuators.values(), strict=False)
        slow = [(u, Decimal(x.time_constant)) for u, x in slow if x.time_constant]
        return [(x, *more) for x, more in zip(a, slow, strict=False)]

    def between(self, q, near):
        """The tangent vector from q to a position near it, to first order."""
        v = zeros(self.n)
        for x, own, dofs in zip(self.parts, self.coords, self.dofs, strict=True):
            if x.type in ("spherical", "planar", "free"):
                T = joint_pose(x, q[own])
                V = twist(T, joint_pose(x, near[own]) - T)
                v[dofs] = V[{"spherical": [0, 1, 2], "planar": [2, 3, 4]}.get(x.type, range(6))]
            elif own:
                v[dofs] = near[own] - q[own]
        return v


# quantities that follow from others: name -> formula of a Reference and the arguments
FORMULAS = {
    "link_poses": lambda x, q: x.poses(tuple(q)),
    "pose": lambda x, q: x.place(q),
    "mass_matrix_rate": lambda x, q, dq: x.rate(lambda q, _: x.mass_matrix(q), q, dq),
    "inverse_mass_matrix": lambda x, q: solve(x.mass_matrix(q), eye(x.n)),
    "bias_forces_rate": lambda x, *motion: x.rate(x.bias_forces, *motion),
    "center_of_mass_jacobian": lambda x, q: x.slopes(x.center_of_mass, q),
    "centroidal_momentum_matrix_rate": lambda x, q, dq: x.rate(
        lambda q, _: x.centroidal_momentum_matrix(q), q, dq
    ),
    "body_jacobian": lambda x, q: x.jacobian(q),
    "space_jacobian": lambda x, q: x.jacobian(q, "space"),
    "body_jacobian_rate": lambda x, q, dq: x.rate(lambda q, _: x.jacobian(q), q, dq),
    "space_jacobian_rate": lambda x, q, dq: x.rate(lambda q, _: x.jacobian(q, "space"), q, dq),
    "frame_velocity": lambda x, q, dq, expressed="body": x.jacobian(q, expressed) @ dq,
    "frame_acceleration": lambda x, q, dq, ddq, expressed="body": x.rate(
        lambda q, dq: x.jacobian(q, expressed) @ dq, q, dq, ddq
    ),
    "inverse_dynamics_derivatives": lambda x, *state: tuple(
        x.derivative(x.inverse_dynamics, k, *state) for k in range(2)
    ),
    "forward_dynamics_derivatives": lambda x, *state: tuple(
        x.derivative(x.forward_dynamics, k, *state) for k in range(3)
    ),
    "regressor": lambda x, *motion: x.regression(lambda y: y.inverse_dynamics(*motion)),
    "reference_regressor": lambda x, *motion: x.regression(lambda y: y.reference_forces(*motion)),
}


def reference(x, name, arguments, **options):
    """The results of a quantity, a list of arrays. arguments: by name."""
    given = {key: value if value.ndim else value[()] for key, value in arguments.items()}
    if name.startswith("step_"):
        found = x.step(name.removeprefix("step_").partition("_with_")[0], **given)
        found = found if "activation" in given else found[:2]
    elif name in FORMULAS:
        found = FORMULAS[name](x, *given.values(), **options)
    else:
        found = getattr(x, name)(*given.values(), **options)
    return [np.asarray(y, object) for y in (found if isinstance(found, tuple) else (found,))]
