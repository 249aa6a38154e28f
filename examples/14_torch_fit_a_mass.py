"""Tensors of PyTorch: find a payload by gradient descent through the dynamics."""

import torch

import kinetree as kt

torch.manual_seed(0)
robot = kt.robots.panda()
carrying = robot.with_payload(2.5, (0, 0, 0.08))  # unknown to the fit

# A measured motion: tensors in, tensors out, any number of states.
q, dq, ddq = torch.randn(3, 500, 7, dtype=torch.float64)
tau = carrying.inverse_dynamics(q, dq, ddq) + 0.05 * torch.randn(500, 7).double()
print("one call:", tuple(tau.shape), tau.dtype, tau.device)

# The same dynamics with the last link's mass and centre left free.
kernel = robot.compile("inverse_dynamics", free=["mass", "com"])
own_mass, own_com = (torch.tensor(x) for x in (robot.model.m, robot.model.com))
hand = len(own_mass) - 1
m = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)  # of the load, kg
x = torch.zeros(3, dtype=torch.float64, requires_grad=True)  # its first moment, kg m


def predicted() -> torch.Tensor:
    """Joint forces with the guessed load on the hand; its inertia about its centre is neglected."""
    mass = torch.cat([own_mass[:hand], (own_mass[hand] + m)[None]])
    moment = own_mass[hand] * own_com[hand] + x
    com = torch.cat([own_com[:hand], (moment / mass[hand])[None]])
    return kernel(q, dq, ddq, mass, com)


optimiser = torch.optim.LBFGS([m, x], line_search_fn="strong_wolfe", max_iter=100)


def loss() -> torch.Tensor:
    """Mean square of what the guess does not explain."""
    optimiser.zero_grad()
    error = (predicted() - tau).square().mean()
    error.backward()
    return error


before = loss().item() ** 0.5
optimiser.step(loss)
after = loss().item() ** 0.5
print(f"error of the joint forces: {before:.3f} before, {after:.3f} N m after")
print(f"mass of the load: {m.item():.2f} kg")

# Second derivatives: how sharply the data fix the mass (inverse of the standard deviation).
(slope,) = torch.autograd.grad((predicted() - tau).square().sum() / 2, m, create_graph=True)
(curvature,) = torch.autograd.grad(slope, m)
print(f"known to {0.05 / curvature.item() ** 0.5:.0e} kg, were all else known")
