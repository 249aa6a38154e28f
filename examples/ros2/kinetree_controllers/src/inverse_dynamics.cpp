#include <array>
#include <memory>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "kinetree_controllers/joints.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace kinetree_controllers
{
/// Computed torque: tau = M(q) (ddq_r + kp (q_r - q) + kd (dq_r - dq)) + h(q, dq).
///
/// The references q_r, dq_r, ddq_r are interfaces that a preceding controller writes, such as
/// joint_trajectory_controller. Without one, the controller holds the position of its activation.
class InverseDynamics : public JointController<controller_interface::ChainableControllerInterface>
{
public:
  CallbackReturn on_init() override
  {
    auto_declare<std::vector<double>>("kp", {});
    auto_declare<std::vector<double>>("kd", {});
    return JointController::on_init();
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State & state) override
  {
    auto result = JointController::on_configure(state);
    if (result == CallbackReturn::SUCCESS) {
      result = read_parameter("kp", kp_);
    }
    return result == CallbackReturn::SUCCESS ? read_parameter("kd", kd_) : result;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State & state) override
  {
    const auto result = JointController::on_activate(state);
    references_ = {q_, {}, {}};
    for (std::size_t k = 0; k < ordered_exported_reference_interfaces_.size(); ++k) {
      std::ignore =
        ordered_exported_reference_interfaces_[k]->set_value(references_[k / q_.size()][k % q_.size()]);
    }
    return result;
  }

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
    override
  {
    std::vector<hardware_interface::CommandInterface::SharedPtr> interfaces;
    for (const auto * kind :
         {hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY,
          hardware_interface::HW_IF_ACCELERATION}) {
      for (const auto * joint : JOINT_NAMES) {
        interfaces.push_back(std::make_shared<hardware_interface::CommandInterface>(
          std::string(get_node()->get_name()) + "/" + joint, kind));
      }
    }
    return interfaces;
  }

  /// Without a preceding controller, the references of the activation stay.
  return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) override
  {
    return return_type::OK;
  }

  return_type update_and_write_commands(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    bool finite = read_states();
    for (std::size_t k = 0; k < ordered_exported_reference_interfaces_.size(); ++k) {
      double & reference = references_[k / q_.size()][k % q_.size()];
      reference = ordered_exported_reference_interfaces_[k]->get_optional().value_or(reference);
      finite = finite && std::isfinite(reference);
    }
    if (!finite) {
      return return_type::ERROR;
    }
    const auto & [q_r, dq_r, ddq_r] = references_;
    JointVector ddq;
    for (std::size_t k = 0; k < ddq.size(); ++k) {
      ddq[k] = ddq_r[k] + kp_[k] * (q_r[k] - q_[k]) + kd_[k] * (dq_r[k] - dq_[k]);
    }
    write_efforts(inverse_dynamics(q_, dq_, ddq));
    return return_type::OK;
  }

private:
  JointVector kp_{}, kd_{};
  std::array<JointVector, 3> references_{};
};
}  // namespace kinetree_controllers

PLUGINLIB_EXPORT_CLASS(
  kinetree_controllers::InverseDynamics, controller_interface::ChainableControllerInterface)
