"""A monoped learns to hop forward: cross-entropy search over linear policies, one robot for each.

The environment has the vector interface of Gymnasium, so trainers of other packages take it too.
"""

import numpy as np

from kinetree import contacts

POPULATION, ELITE, STEPS, GENERATIONS = 256, 32, 200, 20
env = contacts.environments.make("monoped", POPULATION)
size = env.single_observation_space.shape[0] + 1, env.single_action_space.shape[0]
rng = np.random.default_rng(0)


def returns(policies, seed):
    """Rewards of each policy until its robot falls, and how far it came, m."""
    seen, _ = env.reset(seed=seed)
    total, distance, standing = np.zeros((3, len(policies)))
    standing += 1
    for _ in range(STEPS):
        inputs = np.column_stack([seen, np.ones(len(seen))])
        actions = np.tanh(np.einsum("pi,pij->pj", inputs, policies))
        seen, reward, fallen, late, infos = env.step(actions)
        total += standing * reward
        distance += standing * 0.02 * infos["final_obs"][:, 4]  # the rate of x
        standing *= ~(fallen | late)
    return total, distance


mean, spread = np.zeros(size), 0.5 * np.ones(size)
for generation in range(GENERATIONS):
    policies = mean + spread * rng.normal(size=(POPULATION, *size))
    total, distance = returns(policies, generation)
    best = np.argsort(-total)[:ELITE]
    mean, spread = policies[best].mean(0), policies[best].std(0) + 0.02
    if generation % 4 == 0 or generation == GENERATIONS - 1:
        print(f"generation {generation:2}: best {ELITE} of {POPULATION} reach "
              f"{total[best].mean():5.0f} points and {distance[best].mean():.1f} m")  # fmt: skip

total, distance = returns(np.tile(mean, (POPULATION, 1, 1)), 100)
print(f"the learned policy hops {np.median(distance):.1f} m in {STEPS * 0.02:.0f} s")
