"""Reinforcement learning: 4,096 Pandas that reach for points, in one environment of Gymnasium."""

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector.utils import batch_space as batch

import kinetree as kt

PANDA = kt.robots.panda()
LIMITS = [(x.limits.lower, x.limits.upper, x.limits.effort) for x in PANDA.model.joints]
LOW, HIGH, EFFORT = np.array(LIMITS).T
SEEN = gym.spaces.Box(-100, 100, (17,), np.float32)  # q, dq, and the way to the goal
ACTS = gym.spaces.Box(-1, 1, (7,), np.float32)  # tenths of the largest torques, beside gravity


class Pandas(gym.vector.VectorEnv):
    """Robots with torques at 100 Hz; one that has ended begins anew in its next step."""

    def __init__(self, n: int = 1) -> None:
        self.single_observation_space, self.single_action_space, self.num_envs = SEEN, ACTS, n
        self.observation_space, self.action_space = batch(SEEN, n), batch(ACTS, n)
        self.metadata = {"autoreset_mode": gym.vector.AutoresetMode.NEXT_STEP}
        self.q, self.dq, self.goal, self.age = map(np.zeros, ((n, 7), (n, 7), (n, 3), n))

    def reset(self, *, seed=None, options=None):  # noqa: D102
        super().reset(seed=seed)
        return self.observe(np.ones(self.num_envs, bool)), {}

    def observe(self, fresh):  # noqa: D102
        start, end = self.np_random.uniform(LOW, HIGH, (2, fresh.sum(), 7))
        self.q[fresh], self.dq[fresh], self.age[fresh] = start, 0, 0
        self.goal[fresh], self.ended = PANDA.pose(end)[:, :3, 3], np.zeros(self.num_envs, bool)
        self.way = self.goal - PANDA.pose(self.q)[:, :3, 3]
        return np.hstack([self.q, self.dq, self.way]).clip(-100, 100).astype(np.float32)

    def step(self, actions):  # noqa: D102
        tau = PANDA.gravity_forces(self.q) + 0.1 * EFFORT * actions
        self.q, self.dq = PANDA.step(self.q, self.dq, tau, 0.01, method="implicit")
        self.age, fresh = self.age + 1, self.ended
        seen, far = self.observe(fresh), np.linalg.norm(self.way, axis=1)
        self.ended = (reached := ~fresh & (far < 0.05)) | (late := ~fresh & (self.age >= 200))
        return seen, np.where(fresh, 0.0, -far), reached, late, {}


class OnePanda(gym.Env):  # noqa: D101
    many, observation_space, action_space = Pandas(), SEEN, ACTS

    def reset(self, *, seed=None, options=None):  # noqa: D102
        super().reset(seed=seed)
        return self.many.reset(seed=seed)[0][0], {}

    def step(self, action):  # noqa: D102
        return (*(x[0].item() if x.ndim == 1 else x[0] for x in self.many.step(action)[:4]), {})


check_env(OnePanda(), skip_render_check=True)
(env := Pandas(4096)).reset(seed=0)
rewards = [env.step(env.action_space.sample())[1] for _ in range(100)]
print(f"409,600 steps of a robot, mean distance from the goal {-np.mean(rewards):.2f} m")
