#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "kinetree_controllers/joints.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace kinetree_controllers
{
/// Efforts g(q) - damping dq.
class GravityCompensation : public JointController<controller_interface::ControllerInterface>
{
public:
  CallbackReturn on_init() override
  {
    auto_declare<std::vector<double>>("damping", std::vector<double>(damping_.size(), 0.0));
    return JointController::on_init();
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State & state) override
  {
    const auto names = JointController::on_configure(state);
    return names == CallbackReturn::SUCCESS ? read_parameter("damping", damping_) : names;
  }

  return_type update(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    if (!read_states()) {
      return return_type::ERROR;
    }
    JointVector tau = gravity_forces(q_);
    for (std::size_t k = 0; k < tau.size(); ++k) {
      tau[k] -= damping_[k] * dq_[k];
    }
    write_efforts(tau);
    return return_type::OK;
  }

private:
  JointVector damping_{};
};
}  // namespace kinetree_controllers

PLUGINLIB_EXPORT_CLASS(
  kinetree_controllers::GravityCompensation, controller_interface::ControllerInterface)
