// A controller manager and hardware in one: load a plugin, configure it, and run its loop.
//
// Arguments: type and base of the plugin. Standard input has one command in a line:
//   strings KEY NAME...     numbers KEY X...     parameters
//   set INTERFACE X         a state, or a reference of a preceding controller
//   busy INTERFACE 0|1      another thread holds the handle
//   chained, configure, activate, deactivate, update
// Every transition prints its result, and every update its result and the efforts by name.
#include <pthread.h>

#include <cstdlib>
#include <iostream>
#include <new>
#include <sstream>

#include "ros2.hpp"

static long allocations = 0, locks = 0;
// not inlined: gcc would compare malloc and delete
[[gnu::noinline]] void * operator new(std::size_t size)
{
  ++allocations;
  if (void * memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void * memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }
extern "C" int pthread_mutex_lock(pthread_mutex_t *) noexcept { return ++locks, 0; }

using hardware_interface::Handle;
static std::map<std::string, Handle::SharedPtr> handles;

static Handle::SharedPtr handle(const std::string & name)
{
  auto & found = handles[name];
  if (!found) {
    const auto slash = name.rfind('/');
    found = std::make_shared<Handle>(name.substr(0, slash), name.substr(slash + 1));
  }
  return found;
}

template <class T> static std::vector<T> words(std::istream & line)
{
  std::vector<T> result;
  for (std::string word; line >> word;) {
    if constexpr (std::is_same_v<T, double>) {
      result.push_back(std::strtod(word.c_str(), nullptr));
    } else {
      result.push_back(word);
    }
  }
  return result;
}

template <class Loaned> static std::vector<Loaned> loan(const std::vector<std::string> & names)
{
  std::vector<Loaned> result;
  for (const auto & name : names) {
    result.emplace_back(handle(name));
  }
  return result;
}

int main(int, char ** argv)
{
  const auto controller = plugins().at(std::string(argv[1]) + " " + argv[2])();
  const auto node = controller->get_node();
  node->name = "under_test";
  controller->on_init();
  const rclcpp_lifecycle::State state;
  const auto report = [](const char * what, controller_interface::CallbackReturn result) {
    std::printf("%s %d\n", what, static_cast<int>(result));
  };
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    std::string command, key;
    line >> command;
    if (command == "strings" && line >> key) {
      node->parameters[key] = {words<std::string>(line)};
    } else if (command == "numbers" && line >> key) {
      node->parameters[key] = {words<double>(line)};
    } else if (command == "set" && line >> key) {
      std::ignore = handle(key)->set_value(words<double>(line).at(0));
    } else if (command == "busy" && line >> key) {
      handle(key)->busy = words<double>(line).at(0) != 0;
    } else if (command == "chained") {
      dynamic_cast<controller_interface::ChainableControllerInterface &>(*controller)
        .in_chained_mode = true;
    } else if (command == "configure") {
      report("configure", controller->on_configure(state));
      for (const auto & reference : controller->export_reference_interfaces()) {
        handles[reference->get_name()] = reference;
      }
      controller->assign_interfaces(
        loan<hardware_interface::LoanedCommandInterface>(
          controller->command_interface_configuration().names),
        loan<hardware_interface::LoanedStateInterface>(
          controller->state_interface_configuration().names));
    } else if (command == "activate") {
      report("activate", controller->on_activate(state));
    } else if (command == "deactivate") {
      report("deactivate", controller->on_deactivate(state));
    } else if (command == "update") {
      allocations = locks = 0;
      const auto result = controller->update(rclcpp::Time{}, rclcpp::Duration{});
      std::printf("update %d %ld %ld", static_cast<int>(result), allocations, locks);
      for (const auto & [name, value] : handles) {
        if (name.size() > 7 && name.substr(name.size() - 7) == "/effort") {
          std::printf(" %s=%a", name.c_str(), *value->get_optional());
        }
      }
      std::printf("\n");
    } else {
      std::fprintf(stderr, "unknown command: %s\n", text.c_str());
      return 2;
    }
  }
  return 0;
}
