"""A ROS 2 node that carries the weight of a robot: joint states in, efforts out.

It needs kinetree and rclpy, and an effort controller that takes commands from a topic:

python gravity_node.py arm.urdf
python gravity_node.py panda --ros-args -r commands:=/arm_effort_controller/commands
"""

import sys
from collections.abc import Sequence

import kinetree as kt


def gravity_efforts(
    robot: kt.Robot, names: Sequence[str], positions: Sequence[float]
) -> list[float]:
    """Efforts that carry the weight, N m or N, in the order of `robot.dof_names`.

    Args:
        robot: the robot.
        names: joints in any order, others (a gripper) among them; a missing one is an error.
        positions: one for every name, rad or m.
    """
    measured = dict(zip(names, positions, strict=True))
    state = {name: measured[name] for name in robot.dof_names if name in measured}
    return list(robot.gravity_forces(state).values())


def main() -> None:
    """Run the node; types of ROS appear only here."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from rclpy.utilities import remove_ros_args
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    robot = kt.load(remove_ros_args(sys.argv)[1])
    robot.gravity_forces(robot.neutral())  # compiles before the first message
    rclpy.init()
    node = rclpy.create_node("gravity")
    commands = node.create_publisher(Float64MultiArray, "commands", 1)

    def answer(message: JointState) -> None:
        try:
            efforts = gravity_efforts(robot, message.name, message.position)
        except (kt.errors.KinetreeError, ValueError) as error:
            node.get_logger().error(f"no command: {error}", throttle_duration_sec=1.0)
            return
        commands.publish(Float64MultiArray(data=efforts))

    node.create_subscription(JointState, "joint_states", answer, qos_profile_sensor_data)
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
