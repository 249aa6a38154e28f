// Second derivatives of inverse dynamics by the headers of Pinocchio, which its Python has not.
// The model comes as numbers: a library compiled for other vectors would lay it out differently.
#include <algorithm>
#include <string>

#include <Eigen/Core>
#include <unsupported/Eigen/CXX11/Tensor>
#include <pinocchio/algorithm/rnea-second-order-derivatives.hpp>

namespace {
using Vector = Eigen::Map<const Eigen::Vector3d>;
using Matrix = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;
using State = Eigen::Map<const Eigen::VectorXd>;

enum Kind { TURNS, SLIDES, FREE };

// 28 numbers: axis, rotation and origin in the parent's frame, mass, centre of mass, inertia there
constexpr int AXIS = 0, ROTATION = 3, ORIGIN = 12, MASS = 15, COM = 16, INERTIA = 19, NUMBERS = 28;

struct Robot {
  pinocchio::Model model;
  pinocchio::Data data;
  explicit Robot(const pinocchio::Model& made) : model(made), data(made) {}
};

pinocchio::JointModel joint_of(int kind, const Eigen::Vector3d& axis) {
  if (kind == FREE) return pinocchio::JointModelFreeFlyer();
  const bool x = axis == Eigen::Vector3d::UnitX();
  const bool y = axis == Eigen::Vector3d::UnitY();
  const bool z = axis == Eigen::Vector3d::UnitZ();
  if (kind == SLIDES) {
    if (x) return pinocchio::JointModelPX();
    if (y) return pinocchio::JointModelPY();
    if (z) return pinocchio::JointModelPZ();
    return pinocchio::JointModelPrismaticUnaligned(axis);
  }
  if (x) return pinocchio::JointModelRX();
  if (y) return pinocchio::JointModelRY();
  if (z) return pinocchio::JointModelRZ();
  return pinocchio::JointModelRevoluteUnaligned(axis);
}
}  // namespace

extern "C" {
void* robot_of(int joints, const int* parent, const int* kind, const double* numbers,
               const double* gravity) {
  pinocchio::Model model;
  for (int i = 0; i < joints; ++i, numbers += NUMBERS) {
    const pinocchio::SE3 pose(Matrix(numbers + ROTATION), Vector(numbers + ORIGIN));
    const auto at = model.addJoint(parent[i], joint_of(kind[i], Vector(numbers + AXIS)), pose,
                                   "joint" + std::to_string(i));
    const Eigen::Matrix3d inertia = Matrix(numbers + INERTIA);
    model.appendBodyToJoint(at, pinocchio::Inertia(numbers[MASS], Vector(numbers + COM), inertia));
  }
  model.gravity.linear() = Vector(gravity);
  return new Robot(model);
}

// Every state in turn. The tensors by q q, q dq and dq dq, column-major, are copied to `tensors`,
// one state after the other; where that is null they stay in Pinocchio's data.
void second_derivatives(void* robot, int states, const double* q, const double* dq,
                        const double* ddq, double* tensors) {
  auto& [model, data] = *static_cast<Robot*>(robot);
  const int size = model.nv * model.nv * model.nv;
  for (int k = 0; k < states; ++k, q += model.nq, dq += model.nv, ddq += model.nv) {
    pinocchio::ComputeRNEASecondOrderDerivatives(model, data, State(q, model.nq),
                                                 State(dq, model.nv), State(ddq, model.nv));
    if (tensors == nullptr) continue;
    for (const auto* tensor : {&data.d2tau_dqdq, &data.d2tau_dqdv, &data.d2tau_dvdv})
      tensors = std::copy_n(tensor->data(), size, tensors);
  }
}
}
