"""JAX: a step of predictive control, with the dynamics and their gradients in one compiled program.

A double pendulum is to swing from hanging to a given pose and rest there. Forces over a horizon are
improved by gradient descent through the simulation (Adam), all inside `jax.jit`.
"""

import jax
import jax.numpy as jnp
import numpy as np

import kinetree as kt

robot = kt.robots.double_pendulum()
goal = jnp.array([1.2, -0.6])
DT, HORIZON, ROUNDS = 0.02, 50, 200


def rollout(tau, q, dq):
    """States along a horizon of forces (HORIZON, 2), by semi-implicit Euler."""

    def step(state, tau):
        q, dq = state
        dq = dq + DT * robot.forward_dynamics(q, dq, tau)
        return (q + DT * dq, dq), (q, dq)

    return jax.lax.scan(step, (q, dq), tau)


def cost(tau, q, dq):
    """Distance from the goal along the way and at its end, rest there, and little force."""
    (q_end, dq_end), (qs, _) = rollout(tau, q, dq)
    running = ((qs - goal) ** 2).mean() + 1e-4 * (tau**2).mean()
    return running + 10 * ((q_end - goal) ** 2).sum() + (dq_end**2).sum()


@jax.jit
def improved(tau, q, dq):
    """The forces after some rounds of Adam."""

    def one(k, state):
        tau, m, v = state
        g = jax.grad(cost)(tau, q, dq)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        unbiased = (m / (1 - 0.9 ** (k + 1.0))) / (jnp.sqrt(v / (1 - 0.99 ** (k + 1.0))) + 1e-6)
        return tau - 0.3 * unbiased, m, v

    zero = jnp.zeros_like(tau)
    return jax.lax.fori_loop(0, ROUNDS, one, (tau, zero, zero))[0]


q, dq = jnp.zeros(2), jnp.zeros(2)
tau = jnp.tile(robot.gravity_forces(goal), (HORIZON, 1))
before = cost(tau, q, dq)
tau = improved(tau, q, dq)
print(f"cost: {before:.2f} before, {cost(tau, q, dq):.3f} after {ROUNDS} rounds")
(q_end, dq_end), _ = rollout(tau, q, dq)
print(f"reached: {q_end[0]:.2f}, {q_end[1]:.2f} rad; goal: {goal[0]:.2f}, {goal[1]:.2f} rad")
print(f"speed there: {abs(dq_end).max():.1f} rad/s")

# The same for many starting points at once, each with its own horizon of forces.
starts = jnp.asarray(np.random.default_rng(0).uniform(-0.3, 0.3, (64, 2)), jnp.float32)
many = jax.vmap(improved, in_axes=(None, 0, None))(tau, starts, dq)
costs = jax.vmap(cost, in_axes=(0, 0, None))(many, starts, dq)
print(f"64 starts: forces {many.shape}, largest cost {costs.max():.2f}")
