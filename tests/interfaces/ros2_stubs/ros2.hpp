// Stand-ins for the types of ROS 2 Jazzy that examples/ros2 uses, with the same signatures.
// The test writes a header of the original name for each of them, which includes this one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace rclcpp
{
struct Time {};
struct Duration {};
struct Logger { std::string name; };

struct Parameter
{
  std::variant<std::vector<std::string>, std::vector<double>> value;
  std::vector<std::string> as_string_array() const { return std::get<0>(value); }
  std::vector<double> as_double_array() const { return std::get<1>(value); }
  template <typename T> T get_value() const { return std::get<T>(value); }
};
}  // namespace rclcpp

#define RCLCPP_ERROR(logger, ...) \
  (std::fprintf(stderr, "[%s] ", (logger).name.c_str()), std::fprintf(stderr, __VA_ARGS__), \
   std::fprintf(stderr, "\n"))

namespace rclcpp_lifecycle
{
struct State {};

namespace node_interfaces
{
class LifecycleNodeInterface
{
public:
  enum class CallbackReturn : std::uint8_t { SUCCESS = 97, FAILURE = 98, ERROR = 99 };
  virtual CallbackReturn on_configure(const State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_activate(const State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_deactivate(const State &) { return CallbackReturn::SUCCESS; }
  virtual ~LifecycleNodeInterface() = default;
};
}  // namespace node_interfaces

struct LifecycleNode
{
  std::string name;
  std::map<std::string, rclcpp::Parameter> parameters;  // those of a file are here from the start
  const char * get_name() const { return name.c_str(); }
  rclcpp::Logger get_logger() const { return {name}; }
  bool has_parameter(const std::string & key) const { return parameters.count(key) != 0; }
  rclcpp::Parameter get_parameter(const std::string & key) const { return parameters.at(key); }
};
}  // namespace rclcpp_lifecycle

namespace hardware_interface
{
constexpr char HW_IF_POSITION[] = "position";
constexpr char HW_IF_VELOCITY[] = "velocity";
constexpr char HW_IF_ACCELERATION[] = "acceleration";
constexpr char HW_IF_EFFORT[] = "effort";

/// A number with a name; `busy` is a handle that another thread holds.
class Handle
{
public:
  using SharedPtr = std::shared_ptr<Handle>;
  explicit Handle(const std::string & prefix, const std::string & interface)
  : name_(prefix + "/" + interface) {}
  const std::string & get_name() const { return name_; }
  template <typename T = double> [[nodiscard]] std::optional<T> get_optional() const
  {
    return busy ? std::nullopt : std::optional<T>(value_);
  }
  template <typename T> [[nodiscard]] bool set_value(const T & value)
  {
    value_ = busy ? value_ : value;
    return !busy;
  }
  bool busy = false;

private:
  std::string name_;
  double value_ = std::numeric_limits<double>::quiet_NaN();
};
using CommandInterface = Handle;
using StateInterface = Handle;

class LoanedStateInterface
{
public:
  explicit LoanedStateInterface(Handle::SharedPtr handle) : handle_(handle) {}
  LoanedStateInterface(const LoanedStateInterface &) = delete;
  LoanedStateInterface(LoanedStateInterface &&) = default;
  template <typename T = double> [[nodiscard]] std::optional<T> get_optional(unsigned = 10) const
  {
    return handle_->get_optional<T>();
  }

protected:
  Handle::SharedPtr handle_;
};

class LoanedCommandInterface : public LoanedStateInterface
{
public:
  using LoanedStateInterface::LoanedStateInterface;
  template <typename T> [[nodiscard]] bool set_value(const T & value, unsigned = 10)
  {
    return handle_->set_value(value);
  }
};
}  // namespace hardware_interface

namespace controller_interface
{
using CallbackReturn = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;
enum class return_type : std::uint8_t { OK = 0, ERROR = 1 };
enum class interface_configuration_type : std::uint8_t { ALL = 0, INDIVIDUAL = 1, NONE = 2 };
struct InterfaceConfiguration
{
  interface_configuration_type type = interface_configuration_type::NONE;
  std::vector<std::string> names = {};
};

class ControllerInterfaceBase : public rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface
{
public:
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_init() = 0;
  virtual return_type update(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr>
  export_reference_interfaces() = 0;
  virtual void assign_interfaces(
    std::vector<hardware_interface::LoanedCommandInterface> && commands,
    std::vector<hardware_interface::LoanedStateInterface> && states)
  {
    command_interfaces_ = std::move(commands);
    state_interfaces_ = std::move(states);
  }
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() { return node_; }
  template <typename T> auto auto_declare(const std::string & key, const T & default_value)
  {
    node_->parameters.emplace(key, rclcpp::Parameter{default_value});
    return node_->get_parameter(key).get_value<T>();
  }

protected:
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;

private:
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_ =
    std::make_shared<rclcpp_lifecycle::LifecycleNode>();
};

class ControllerInterface : public ControllerInterfaceBase
{
public:
  std::vector<hardware_interface::CommandInterface::SharedPtr> export_reference_interfaces() final
  {
    return {};
  }
};

class ChainableControllerInterface : public ControllerInterfaceBase
{
public:
  return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) final
  {
    if (!in_chained_mode && update_reference_from_subscribers(time, period) != return_type::OK) {
      return return_type::ERROR;
    }
    return update_and_write_commands(time, period);
  }
  std::vector<hardware_interface::CommandInterface::SharedPtr> export_reference_interfaces() final
  {
    return ordered_exported_reference_interfaces_ = on_export_reference_interfaces_list();
  }
  bool in_chained_mode = false;

protected:
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() { return {}; }
  virtual return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;
  virtual return_type update_and_write_commands(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;
  std::vector<hardware_interface::CommandInterface::SharedPtr>
    ordered_exported_reference_interfaces_;
};
}  // namespace controller_interface

/// Plugins by the words "type base", as pluginlib finds them.
using Maker = std::function<std::unique_ptr<controller_interface::ControllerInterfaceBase>()>;
inline std::map<std::string, Maker> & plugins()
{
  static std::map<std::string, Maker> table;
  return table;
}
#define PLUGINLIB_EXPORT_CLASS(type, base) \
  static_assert(std::is_base_of_v<base, type>); \
  static const bool exported = \
    plugins().emplace(#type " " #base, [] { return std::make_unique<type>(); }).second;
