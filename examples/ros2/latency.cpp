// Calls the exported inverse dynamics 1,000 times a second; measure_latency.py builds and runs it.
// Prints nanoseconds in two columns: from the tick to the torques, and the call alone.
#include <time.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kinetree_controllers/robot.hpp"

using kinetree_controllers::JointVector;

static long long now()
{
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int, char ** argv)
{
  constexpr long long PERIOD = 1000000;  // ns
  const int count = std::atoi(argv[1]);
  std::vector<long long> ready(count), call(count);
  JointVector q, dq, ddq;
  double sum = 0.0;  // keeps the calls
  long long tick = now();
  for (int k = 0; k < count; ++k) {
    tick += PERIOD;
    const timespec until{
      static_cast<time_t>(tick / 1000000000LL), static_cast<long>(tick % 1000000000LL)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    for (std::size_t i = 0; i < q.size(); ++i) {
      q[i] = std::sin(0.001 * k + i);
      dq[i] = std::cos(0.001 * k + i);
      ddq[i] = -q[i];
    }
    const long long begin = now();
    const JointVector tau = kinetree_controllers::inverse_dynamics(q, dq, ddq);
    const long long end = now();
    sum += tau[0];
    ready[k] = end - tick;
    call[k] = end - begin;
  }
  for (int k = 0; k < count; ++k) {
    std::printf("%lld %lld\n", ready[k], call[k]);
  }
  return std::isfinite(sum) ? 0 : 1;
}
