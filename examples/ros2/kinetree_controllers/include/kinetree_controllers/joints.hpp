// What both controllers share: the joints of the exported robot, their states and their efforts.
#ifndef KINETREE_CONTROLLERS__JOINTS_HPP_
#define KINETREE_CONTROLLERS__JOINTS_HPP_

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "controller_interface/controller_interface_base.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "kinetree_controllers/robot.hpp"
#include "rclcpp/logging.hpp"

namespace kinetree_controllers
{
using controller_interface::CallbackReturn;
using controller_interface::return_type;

/// Differences between `joints` and JOINT_NAMES in words, empty if there are none.
std::string joint_differences(const std::vector<std::string> & joints);

/// Copies `numbers` and returns "", or returns why they are not one number >= 0 for every joint.
std::string read_numbers(const std::vector<double> & numbers, JointVector & result);

/// A ControllerInterface or ChainableControllerInterface with the joints of the exported robot.
///
/// States and efforts are in the order of JOINT_NAMES: INDIVIDUAL claims keep their order.
/// If a handle is busy, the last state or effort stays for one cycle; ros2_control counts and
/// reports these cycles.
template <class Interface>
class JointController : public Interface
{
public:
  controller_interface::InterfaceConfiguration command_interface_configuration() const override
  {
    return claims({hardware_interface::HW_IF_EFFORT});
  }

  controller_interface::InterfaceConfiguration state_interface_configuration() const override
  {
    return claims({hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY});
  }

  CallbackReturn on_init() override
  {
    this->template auto_declare<std::vector<std::string>>("joints", {});
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    return accepts(joint_differences(this->get_node()->get_parameter("joints").as_string_array()));
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    q_.fill(std::numeric_limits<double>::quiet_NaN());
    dq_ = q_;
    std::string unknown;
    if (!read_states()) {
      for (std::size_t k = 0; k < q_.size(); ++k) {
        unknown += std::isfinite(q_[k] + dq_[k]) ? "" : std::string(" ") + JOINT_NAMES[k];
      }
      unknown = "position or velocity is not a finite number:" + unknown + ". Start the hardware first.";
    }
    return accepts(unknown);
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    write_efforts({});
    return CallbackReturn::SUCCESS;
  }

protected:
  /// Reads q_ and dq_; false if one of them is not a finite number.
  bool read_states()
  {
    bool finite = true;
    for (std::size_t k = 0; k < q_.size(); ++k) {
      q_[k] = this->state_interfaces_[k].get_optional().value_or(q_[k]);
      dq_[k] = this->state_interfaces_[q_.size() + k].get_optional().value_or(dq_[k]);
      finite = finite && std::isfinite(q_[k]) && std::isfinite(dq_[k]);
    }
    return finite;
  }

  void write_efforts(const JointVector & tau)
  {
    for (std::size_t k = 0; k < tau.size(); ++k) {
      std::ignore = this->command_interfaces_[k].set_value(tau[k]);
    }
  }

  /// SUCCESS if `complaint` is empty; otherwise logs it.
  CallbackReturn accepts(const std::string & complaint)
  {
    if (complaint.empty()) {
      return CallbackReturn::SUCCESS;
    }
    RCLCPP_ERROR(this->get_node()->get_logger(), "%s", complaint.c_str());
    return CallbackReturn::FAILURE;
  }

  /// Reads the parameter `name`: one number >= 0 for every joint.
  CallbackReturn read_parameter(const std::string & name, JointVector & result)
  {
    const auto numbers = this->get_node()->get_parameter(name).as_double_array();
    const std::string complaint = read_numbers(numbers, result);
    return accepts(complaint.empty() ? complaint : "parameter " + name + complaint);
  }

  JointVector q_{}, dq_{};

private:
  static controller_interface::InterfaceConfiguration claims(const std::vector<std::string> & kinds)
  {
    std::vector<std::string> names;
    for (const auto & kind : kinds) {
      for (const auto * joint : JOINT_NAMES) {
        names.push_back(std::string(joint) + "/" + kind);
      }
    }
    return {controller_interface::interface_configuration_type::INDIVIDUAL, names};
  }
};
}  // namespace kinetree_controllers

#endif  // KINETREE_CONTROLLERS__JOINTS_HPP_
