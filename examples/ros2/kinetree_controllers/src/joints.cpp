#include "kinetree_controllers/joints.hpp"

#include <algorithm>

namespace kinetree_controllers
{
std::string joint_differences(const std::vector<std::string> & joints)
{
  const std::vector<std::string> expected(JOINT_NAMES.begin(), JOINT_NAMES.end());
  const auto listed = [](const std::vector<std::string> & names, const std::string & name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::string differences;
  for (const auto & name : expected) {
    differences += listed(joints, name) ? "" : "'" + name + "' is missing; ";
  }
  for (const auto & name : joints) {
    differences += listed(expected, name) ? "" : "'" + name + "' is not a joint of the robot; ";
  }
  if (differences.empty() && joints.size() != expected.size()) {
    differences = std::to_string(joints.size()) + " names with a repeated one, expected " +
                  std::to_string(expected.size()) + "; ";
  }
  for (std::size_t k = 0; differences.empty() && k < expected.size(); ++k) {
    if (joints[k] != expected[k]) {
      differences = "entry " + std::to_string(k) + " is '" + joints[k] + "', expected '" +
                    expected[k] + "'; ";
    }
  }
  if (differences.empty()) {
    return "";
  }
  return "parameter joints differs from the exported robot '" + std::string(ROBOT_NAME) +
         "': " + differences +
         "write the names in the order of robot.hpp, or export the robot again.";
}

std::string read_numbers(const std::vector<double> & numbers, JointVector & result)
{
  if (numbers.size() != result.size()) {
    return " has " + std::to_string(numbers.size()) + " numbers; expected " +
           std::to_string(result.size()) + ", one for every joint.";
  }
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (!std::isfinite(numbers[k]) || numbers[k] < 0.0) {
      return " is " + std::to_string(numbers[k]) + " for '" + JOINT_NAMES[k] +
             "'; expected a finite number, 0 or more.";
    }
    result[k] = numbers[k];
  }
  return "";
}
}  // namespace kinetree_controllers
