"""Laws of kernels: Pinocchio on random trees, drives as bodies of their own, bits and units."""

import numpy as np
from attack_case import note
from attack_plants import body, close, placement, rotation, size, tree, unit

import kinetree as kt

TYPES = ("revolute", "prismatic", "helical", "spherical", "planar", "free")


def pinocchio_twin(robot):
    """Pinocchio's model of a robot, its data and the order of rates."""
    from pinocchio_model import twin

    double = twin(robot.model)
    return double, double.theirs, double.theirs.createData(), double.order


def state(rng, robot):
    """A random state, rates and accelerations."""
    q = robot.random(rng=np.random.default_rng(int(rng.integers(2**40))))
    return q, rng.normal(size=robot.n), rng.normal(size=robot.n)


def law_dynamics_against_pinocchio(rng):
    """One of ID, FD, M, c, g a case, with every type of joint."""
    import pinocchio as pin

    robot = tree(rng, 4, types=TYPES)
    double, model, data, order = pinocchio_twin(robot)
    back, zero = np.argsort(order), np.zeros(robot.n)
    q, dq, ddq = state(rng, robot)
    wrench = rng.normal(size=(len(robot.model.links), 6))
    theirs, forces = double.q(q), double.wrenches(wrench)
    tau = pin.rnea(model, data, theirs, dq[order], ddq[order], forces)[back]
    g = pin.rnea(model, data, theirs, zero, zero)[back]
    h = pin.rnea(model, data, theirs, dq[order], zero)[back]
    M = pin.crba(model, data, theirs)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(back, back)]
    scale = 1e-11 * size(tau) * size(M)
    quantity = int(rng.integers(6))
    if quantity == 0:
        close(robot.inverse_dynamics(q, dq, ddq, wrench), tau, scale, "inverse dynamics")
    elif quantity == 1:
        expected = pin.aba(model, data, theirs, dq[order], tau[order], forces)[back]
        close(robot.forward_dynamics(q, dq, tau, wrench), expected, 1e-7 * size(tau), "ddq")
    elif quantity == 2:
        close(robot.mass_matrix(q), M, 1e-11 * size(M), "mass matrix")
    elif quantity == 3:
        close(robot.gravity_forces(q), g, scale, "gravity forces")
    elif quantity == 4:
        close(robot.bias_forces(q, dq), h, scale, "bias forces")
        close(robot.coriolis_forces(q, dq), h - g, scale, "c")
    else:
        C, rate = robot.coriolis_matrix(q, dq), robot.mass_matrix_rate(q, dq)
        close(C @ dq, h - g, scale, "C dq")
        skew = rate - 2 * C
        close(skew + skew.T, np.zeros_like(skew), 1e-10 * size(C), "dM - 2C skew")


def law_kinematics_and_energies_against_pinocchio(rng):
    import pinocchio as pin

    robot = tree(rng, 4, types=TYPES, armature=False)
    double, model, data, order = pinocchio_twin(robot)
    back = np.argsort(order)
    q, dq, _ = state(rng, robot)
    theirs = double.q(q)
    kinetic = pin.computeKineticEnergy(model, data, theirs, dq[order])
    close(robot.kinetic_energy(q, dq), kinetic, 1e-11 * size(kinetic), "kinetic energy")
    potential = pin.computePotentialEnergy(model, data, theirs)
    close(robot.potential_energy(q), potential, 1e-11 * size(potential), "potential energy")
    com = pin.centerOfMass(model, data, theirs)
    close(robot.center_of_mass(q), com, 1e-12 * size(com), "centre of mass")
    frame = model.getFrameId("tool")
    pin.framesForwardKinematics(model, data, theirs)
    close(robot.pose(q), data.oMf[frame].homogeneous, 1e-12 * 10, "pose")
    J = pin.computeFrameJacobian(model, data, theirs, frame, pin.LOCAL)
    J = np.vstack([J.reshape(6, -1)[3:], J.reshape(6, -1)[:3]])[:, back]
    close(robot.body_jacobian(q), J, 1e-11 * size(J), "body Jacobian")
    J = pin.computeFrameJacobian(model, data, theirs, frame, pin.WORLD)
    J = np.vstack([J.reshape(6, -1)[3:], J.reshape(6, -1)[:3]])[:, back]
    close(robot.space_jacobian(q), J, 1e-11 * size(J), "space Jacobian")


def law_derivatives_against_pinocchio(rng):
    import pinocchio as pin

    robot = tree(rng, 4)
    double, model, data, order = pinocchio_twin(robot)
    back = np.argsort(order)
    q, dq, ddq = state(rng, robot)
    pin.computeRNEADerivatives(model, data, double.q(q), dq[order], ddq[order])
    found = robot.inverse_dynamics_derivatives(q, dq, ddq)
    for ours, theirs, name in zip(
        found, (data.dtau_dq, data.dtau_dv), ("dtau_dq", "dtau_dv"), strict=True
    ):
        expected = np.array(theirs)[np.ix_(back, back)]
        close(ours, expected, 1e-9 * size(expected), name)


def law_mimic_joints_are_projections(rng):
    """A joint that follows another: the tree without the bond, projected on its own rates."""
    import pinocchio as pin

    seed, n = int(rng.integers(2**40)), int(rng.integers(2, 6))
    follow = rng.random(n) < 0.4
    follow[0] = False
    leaders = [i for i in range(n) if not follow[i]]
    leader = [int(rng.choice([j for j in leaders if j < max(i, 1)])) for i in range(n)]
    ratio, offset = rng.normal(size=n) * 2, rng.normal(size=n) * 0.5
    note(rng, n=n, follow=follow, leader=leader, ratio=ratio, offset=offset)

    def build(bound):
        draw = np.random.default_rng(seed)
        builder = kt.Builder("mimic", gravity=draw.normal(size=3) * 5).link("base")
        names = ["base"]
        for i in range(n):
            builder.link(f"link{i}", *body(draw))
            mimic = kt.Mimic(f"joint{leader[i]}", float(ratio[i]), float(offset[i]))
            builder.joint(
                f"joint{i}",
                str(draw.choice(["revolute", "prismatic"])),
                names[int(draw.integers(len(names)))],
                f"link{i}",
                at=placement(draw),
                axis=unit(draw.normal(size=3), (0, 0, 1)),
                mimic=mimic if bound and follow[i] else None,
            )
            names.append(f"link{i}")
        return builder.build()

    robot, whole = build(True), build(False)
    assert robot.n == len(leaders)
    S = np.zeros((n, len(leaders)))
    for i in range(n):
        S[i, leaders.index(leader[i] if follow[i] else i)] = ratio[i] if follow[i] else 1
    shift = np.where(follow, offset, 0)
    q, dq, ddq = rng.normal(size=(3, len(leaders)))
    double, model, data, order = pinocchio_twin(whole)
    args = double.q(S @ q + shift), (S @ dq)[order], (S @ ddq)[order]
    tau = S.T @ pin.rnea(model, data, *args)[np.argsort(order)]
    close(robot.inverse_dynamics(q, dq, ddq), tau, 1e-11 * size(tau) * 10, "tau")
    M = pin.crba(model, data, args[0])
    back = np.argsort(order)
    M = S.T @ (np.triu(M) + np.triu(M, 1).T)[np.ix_(back, back)] @ S
    close(robot.mass_matrix(q), M, 1e-11 * size(M), "M")


def law_rotors_are_spinning_bodies(rng):
    """Each rotor as a body of its own on a joint that turns at ratio times the rate."""
    import pinocchio as pin

    n = int(rng.integers(1, 5))
    gravity = rng.normal(size=3) * 5
    builder = kt.Builder("geared", gravity=gravity).link("base")
    model = pin.Model()
    model.gravity = pin.Motion(np.concatenate([gravity, np.zeros(3)]))
    ratios = rng.uniform(-150, 150, n)
    links = [body(rng) for _ in range(n)]
    spins = [unit(rng.normal(size=3), (0, 0, 1)) for _ in range(n)]
    carriers = [int(rng.integers(-1, i)) if i else -1 for i in range(n)]
    rotors = [float(rng.uniform(1e-5, 1e-3)) for _ in range(n)]
    whole = [list(link) for link in links]
    loads = []
    for i in range(n):  # the carrier's mass and inertia include its rotors, locked
        wheel = 2 * rotors[i] / 0.03**2  # mass of a disc of radius 3 cm
        at = rng.normal(size=3) * 0.1
        a = spins[i]
        own = rotors[i] / 2 * (np.eye(3) + np.outer(a, a))
        loads.append((wheel, at, own))
        if carriers[i] >= 0:
            whole[carriers[i]] = list(_together(tuple(whole[carriers[i]]), (wheel, at, own)))
    number = [0]
    for i in range(n):
        T, axis = placement(rng), unit(rng.normal(size=3), (1, 0, 0))
        name = "base" if i == 0 else f"link{i - 1}"
        builder.link(f"link{i}", *whole[i])
        carrier = "base" if carriers[i] < 0 else f"link{carriers[i]}"
        rotor = kt.Rotor(rotors[i], float(ratios[i]), spins[i], carrier)
        builder.joint(f"joint{i}", "revolute", name, f"link{i}", at=T, axis=axis, rotor=rotor)
        joint = pin.JointModelRevoluteUnaligned(axis)
        number.append(model.addJoint(number[i], joint, pin.SE3(T), f"joint{i}"))
        m, com, I = links[i]
        model.appendBodyToJoint(number[-1], pin.Inertia(m, com, I), pin.SE3.Identity())
    places = []
    for i in range(n):
        wheel, at, own = loads[i]
        parent = number[carriers[i] + 1]
        joint = pin.JointModelRevoluteUnaligned(spins[i])
        k = model.addJoint(parent, joint, pin.SE3(np.eye(3), at), f"rotor{i}")
        places.append(model.joints[k].idx_v)
        model.appendBodyToJoint(k, pin.Inertia(wheel, np.zeros(3), own), pin.SE3.Identity())
    data = model.createData()
    S = np.zeros((2 * n, n))
    for i in range(n):
        S[model.joints[number[i + 1]].idx_v, i] = 1
        S[places[i], i] = ratios[i]
    q, dq, ddq = rng.normal(size=(3, n))
    note(rng, ratios=ratios, carriers=carriers)
    tau = S.T @ pin.rnea(model, data, S @ q, S @ dq, S @ ddq)
    robot = builder.build()
    close(robot.inverse_dynamics(q, dq, ddq), tau, 1e-9 * size(tau), "tau")
    close(robot.mass_matrix(q) @ ddq + robot.bias_forces(q, dq), tau, 1e-9 * size(tau), "M, h")
    close(robot.forward_dynamics(q, dq, tau), ddq, 1e-7 * size(tau), "ddq")
    Y = robot.regressor(q, dq, ddq)
    close(Y @ robot.parameters, tau, 1e-9 * size(tau), "regressor")


def _together(a, b):
    """Mass, centre and inertia of two bodies as one."""
    m = a[0] + b[0]
    com = (a[0] * np.asarray(a[1]) + b[0] * np.asarray(b[1])) / m
    I = np.zeros((3, 3))
    for mass, centre, own in (a, b):
        d = np.asarray(centre) - com
        I = I + own + mass * (d @ d * np.eye(3) - np.outer(d, d))
    return m, com, I


def law_units_scale_every_kernel(rng):
    """mm, g and ms: each number scales by its own unit."""
    seed = int(rng.integers(2**40))
    L, W, S = (float(rng.choice([1, 1e3, 1e-2])) for _ in range(3))
    plain = tree(np.random.default_rng(seed), 3)
    scaled = tree(np.random.default_rng(seed), 3, scale=(L, W, S))
    kinds = [joint.type for joint in plain.model.joints]
    length = np.array([L if kind == "prismatic" else 1.0 for kind in kinds])
    force, energy = W * L**2 / S**2 / length, W * L**2 / S**2
    q, dq, ddq = rng.normal(size=(3, plain.n))
    note(rng, scales=(L, W, S), kinds=kinds)
    Q, V, A = q * length, dq * length / S, ddq * length / S**2
    tau = plain.inverse_dynamics(q, dq, ddq)
    close(scaled.inverse_dynamics(Q, V, A) / force, tau, 1e-11 * size(tau), "tau")
    M = plain.mass_matrix(q)
    units = W * L**2 / np.outer(length, length)
    close(scaled.mass_matrix(Q) / units, M, 1e-11 * size(M), "M")
    acceleration = plain.forward_dynamics(q, dq, tau)
    found = scaled.forward_dynamics(Q, V, tau * force) / length * S**2
    close(found, acceleration, 1e-7 * size(tau), "ddq")
    close(scaled.kinetic_energy(Q, V) / energy, plain.kinetic_energy(q, dq), 1e-10 * 100, "T")
    close(
        scaled.potential_energy(Q) / energy,
        plain.potential_energy(q),
        1e-11 * size(plain.potential_energy(q)),
        "U",
    )
    close(scaled.center_of_mass(Q) / L, plain.center_of_mass(q), 1e-11, "com")
    momentum = plain.momentum(q, dq)
    found = scaled.momentum(Q, V) / np.array([W * L**2 / S] * 3 + [W * L / S] * 3)
    close(found, momentum, 1e-11 * size(momentum), "momentum")
    dtau = plain.inverse_dynamics_derivatives(q, dq, ddq)
    found = scaled.inverse_dynamics_derivatives(Q, V, A)
    close(found[0] / force[:, None] * length, dtau[0], 1e-9 * size(dtau[0]), "dtau_dq")
    close(found[1] / force[:, None] * length / S, dtau[1], 1e-9 * size(dtau[1]), "dtau_dv")


def law_turning_the_base_changes_no_joint_force(rng):
    seed = int(rng.integers(2**40))
    base = placement(rng)
    plain = tree(np.random.default_rng(seed), 4, types=("revolute", "prismatic", "spherical"))
    turned = tree(
        np.random.default_rng(seed), 4, types=("revolute", "prismatic", "spherical"), base=base
    )
    q, dq, ddq = state(rng, plain)
    tau = plain.inverse_dynamics(q, dq, ddq)
    close(turned.inverse_dynamics(q, dq, ddq), tau, 1e-11 * size(tau), "tau")
    close(turned.mass_matrix(q), plain.mass_matrix(q), 1e-11 * 10, "M")
    tip = plain.model.tips[-1]
    close(turned.pose(q, tip), base @ plain.pose(q, tip), 1e-12 * 10, "pose")
    com = base[:3, :3] @ plain.center_of_mass(q) + base[:3, 3]
    close(turned.center_of_mass(q), com, 1e-12 * 10, "centre of mass")


def law_results_do_not_depend_on_how_arrays_lie(rng):
    """Any batch, stride, order and position: the bits of one state, and no input changes."""
    robot = tree(rng, 3, types=TYPES)
    count = int(rng.integers(1, 40))
    draw = np.random.default_rng(int(rng.integers(2**40)))
    q = np.array([robot.random(rng=draw) for _ in range(count)])
    dq, ddq = rng.normal(size=(2, count, robot.n))
    quantity = str(
        rng.choice(["inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix"])
    )
    kernel = getattr(robot, quantity)
    args = {"mass_matrix": (q,), "coriolis_matrix": (q, dq)}.get(quantity, (q, dq, ddq))
    before = [a.copy() for a in args]
    whole = kernel(*args)
    k = int(rng.integers(count))
    single = kernel(*(a[k] for a in args))
    assert np.array_equal(whole[k], single), "a batch differs from a single state"
    layouts = {
        "reversed": [a[::-1][::-1] for a in args],
        "Fortran": [np.asfortranarray(a) for a in args],
        "strided": [np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3] for a in args],
        "offset": [_offset(a) for a in args],
        "further axes": [a[:, None] for a in args],
    }
    for name, arrays in layouts.items():
        found = kernel(*arrays)
        found = found[:, 0] if name == "further axes" else found
        assert np.array_equal(found, whole), f"{name} arrays give other bits"
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True)), "inputs changed"


def _offset(a):
    """The same numbers at an address that is not a multiple of 8 bytes."""
    raw = np.zeros(a.nbytes + 4, np.uint8)
    out = raw[4:].view(np.uint8)[: a.nbytes].view(a.dtype).reshape(a.shape)
    out[...] = a
    return out


def law_free_parameters_against_pinocchio(rng):
    """Masses, centres, inertias and gravity as arguments."""
    import pinocchio as pin

    robot = tree(rng, 4)
    links = len(robot.model.links)
    bodies = [body(rng) for _ in range(links)]
    m = np.array([b[0] for b in bodies])
    com, I = np.array([b[1] for b in bodies]), np.array([b[2] for b in bodies])
    gravity = rng.normal(size=3) * 5
    kernel = robot.compile("inverse_dynamics", free=["mass", "com", "inertia", "gravity"])
    q, dq, ddq = rng.normal(size=(3, robot.n))
    double, model, data, order = pinocchio_twin(robot)
    for number, link in enumerate(double.links):
        shift = double.T[link][:3, 3]
        model.inertias[number + 1] = pin.Inertia(float(m[link]), com[link] - shift, I[link])
    model.gravity = pin.Motion(np.concatenate([gravity, np.zeros(3)]))
    tau = pin.rnea(model, data, double.q(q), dq[order], ddq[order])[np.argsort(order)]
    found = kernel(q, dq, ddq, m, com, I, gravity)
    close(found, tau, 1e-11 * size(tau) * 10, "tau")


def law_rotated_links_change_nothing(rng):
    """The frame of the last link turned about its own joint's data: the same joint forces."""
    R = rotation(rng)
    draws = int(rng.integers(2**40))

    def build(turn):
        draw = np.random.default_rng(draws)
        builder = kt.Builder("two").link("base").link("a", *body(draw))
        m, com, I = body(draw)
        builder.link("b", m, turn.T @ com, turn.T @ I @ turn)
        axis, T = unit(draw.normal(size=3), (0, 0, 1)), placement(draw)
        builder.joint("j1", "revolute", "base", "a", at=placement(draw), axis=(0, 0, 1))
        T = T.copy()
        T[:3, :3] = T[:3, :3] @ turn
        builder.joint("j2", "revolute", "a", "b", at=T, axis=turn.T @ axis)
        return builder.build()

    plain, turned = build(np.eye(3)), build(R)
    q, dq, ddq = rng.normal(size=(3, 2))
    tau = plain.inverse_dynamics(q, dq, ddq)
    close(turned.inverse_dynamics(q, dq, ddq), tau, 1e-11 * size(tau), "tau")
