"""A monoped learns to hop forward: cross-entropy search over linear policies, one robot for each.

The environment has the vector interface of Gymnasium, so trainers of other packages take it too.
"""

import numpy as np
from ground.environments import make

POPULATION, ELITE, GENERATIONS, STEPS, DT = 512, 40, 40, 250, 0.02
env = make("monoped", POPULATION)
inputs, outputs = env.single_observation_space.shape[0] + 1, env.single_action_space.shape[0]
scale = np.r_[np.ones(4), 0.1 * np.ones(5), np.ones(2)]  # height, vertical; rates; servos
rng = np.random.default_rng(0)


def returns(policies, seed):
    """Rewards of each policy until its robot falls, and how far it came, m."""
    seen, _ = env.reset(seed=seed)
    total, distance, stands = np.zeros((3, POPULATION))
    stands += 1
    for _ in range(STEPS):
        x = np.column_stack([seen * scale, np.ones(POPULATION)])
        seen, reward, fallen, _, infos = env.step(np.tanh(np.einsum("pi,pij->pj", x, policies)))
        total += stands * reward
        distance += stands * DT * infos["final_obs"][:, 4]  # the rate of x
        stands *= ~fallen
        if not stands.any():
            break
    return total, distance


mean, spread = np.zeros((inputs, outputs)), np.full((inputs, outputs), 0.5)
for k in range(GENERATIONS):
    policies = mean + spread * rng.normal(size=(POPULATION, inputs, outputs))
    total, distance = returns(policies, k)
    best = np.argsort(-total)[:ELITE]
    mean, spread = policies[best].mean(0), policies[best].std(0) + 0.03 * (1 - k / GENERATIONS)
    if k % 5 == 0:
        reached = f"{total[best].mean():3.0f} points and {distance[best].mean():.1f} m"
        print(f"generation {k:2}: the best {ELITE} of {POPULATION} policies reach {reached}")
print(f"the last generation hops {distance[best].max():.1f} m in {STEPS * DT:.0f} s")
