"""Load and activate controllers in a controller manager that is already running.

ros2 launch kinetree_controllers controllers.launch.py law:=gravity_compensation
ros2 launch kinetree_controllers controllers.launch.py law:=inverse_dynamics
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

CONTROLLERS = {
    "gravity_compensation": ["gravity_compensation"],
    "inverse_dynamics": ["inverse_dynamics", "arm_controller"],
}


def generate_launch_description() -> LaunchDescription:
    """Return the spawner of the chosen law; a chain is activated in one step."""
    share = FindPackageShare("kinetree_controllers")
    config = PathJoinSubstitution([share, "config", "controllers.yaml"])
    spawners = [
        Node(
            package="controller_manager",
            executable="spawner",
            arguments=[
                *names,
                "--activate-as-group",
                "--param-file",
                LaunchConfiguration("param_file"),
            ],
            condition=IfCondition(EqualsSubstitution(LaunchConfiguration("law"), law)),
        )
        for law, names in CONTROLLERS.items()
    ]
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "law", default_value="gravity_compensation", choices=list(CONTROLLERS)
            ),
            DeclareLaunchArgument("param_file", default_value=config),
            *spawners,
        ]
    )
