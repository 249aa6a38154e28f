"""Monte-Carlo studies: the accuracy of a controller whose model is not exact.

One controller keeps a thousand Pandas with varied masses and friction in place under random
forces. The same study in other parts on an executor gives the same bits.
"""

import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import kinetree as kt
from kinetree.studies import Noise, Normal, Spread, Uniform, envelope, read, rollouts


def main() -> None:
    """Rollouts, their file, and what the drives can carry."""
    robot = kt.robots.panda()
    home = np.array([0, -0.3, 0, -2.0, 0, 1.8, 0.5])
    hold = kt.controllers.ComputedTorque(home, kp=100.0, kd=20.0, model=robot)  # as described
    study = {
        "q0": Normal(home, 0.05),
        "controller": hold,
        "tau": Noise([2, 2, 2, 2, 0.1, 0.1, 0.02], hold=0.02),  # N m, new values every 20 ms
        "parameters": {"mass": Spread(0.1), "friction": Uniform(0, [0.5, 0.5, 0.2, 0.2])},
        "duration": 0.5,
    }
    found = rollouts(robot, 1000, **study)
    low, middle, high = np.degrees(found.quantiles("q") - home)
    print("joint      5 %  median   95 %   (degrees from where it should be)")
    for name, *row in zip(robot.model.joint_names, low, middle, high, strict=True):
        print(f"{name[-6:]}  {row[0]:6.2f}  {row[1]:6.2f}  {row[2]:6.2f}")
    print(f"{np.isfinite(found['violated_at']).mean():.1%} left a limit of a joint")

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(4) as executor:
        rollouts(robot, 1000, output=f"{folder}/study", executor=executor, part=99, **study)
        stored = read(f"{folder}/study")
        print(f"four workers give the same bits: {np.array_equal(found['q'], stored['q'])}")
        print(f"read again, the last of {stored.samples}: {stored['q'][-1, :3]}")

    loads = envelope(robot, 5000)
    reach = np.hypot(*loads["p"].T[:2])
    for inner, outer in ((0.0, 0.3), (0.3, 0.6), (0.6, 0.9)):
        ring = (reach >= inner) & (reach < outer)
        worst = np.quantile(loads["payload"][ring], 0.05)
        print(
            f"{inner:.1f} to {outer:.1f} m from the base it holds {worst:4.1f} kg in 95 % of poses"
        )


if __name__ == "__main__":
    main()
