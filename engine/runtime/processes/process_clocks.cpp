// Measures clocks by pings.
#include "engine/runtime/processes/process_clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/clock.h"
#include "engine/runtime/processes/process_commands.h"

namespace shardlens {
namespace {

constexpr int kPings = 30;

}  // namespace

ProcessClocks::ProcessClocks(Processes& processes, const ProcessPatience& patience)
    : patience_(patience), pings_(processes, kPingTag, patience_) {}

// Asks for the other process's time many times. The quickest answer was on its way for the shortest time, so
// it gives the best estimate: the time in the middle between asking and hearing, exact to half of that
// interval.
void ProcessClocks::align(int process) {
  double shortest = 1e9, offset = 0;
  for (int ping = 0; ping < kPings; ++ping) {
    const double asked = now_seconds();
    pings_.send(process, Packet().put(0.0).put(ping + 1 < kPings));
    Packet answer = next_ping(process);
    const double heard = now_seconds();
    if (heard - asked >= shortest) continue;
    shortest = heard - asked;
    offset = (asked + heard) / 2 - answer.take<double>();
  }
  pings_.send(process, Packet().put(offset).put(false));
  const auto before = offset_of_.find(process);
  const double drifted = before == offset_of_.end() ? 0 : std::abs(offset - before->second);
  offset_of_[process] = offset;
  residual_seconds_ = std::max(residual_seconds_.load(), shortest / 2 + drifted);
}

void ProcessClocks::answer() {
  for (bool more = true; more;) {
    Packet ping = next_ping(0);
    ping.take<double>();
    more = ping.take<bool>();
    pings_.send(0, Packet().put(now_seconds()));
  }
  offset_seconds_ = next_ping(0).take<double>();
}

// Returns the next ping from that process. It polls without a pause, because the round trip is what is
// measured.
Packet ProcessClocks::next_ping(int process) {
  constexpr double kToldSeconds = 0.5;
  PatientWait wait(patience_.told_to_end, kToldSeconds);
  for (;;) {
    if (auto ping = pings_.poll()) return std::move(ping->second);
    if (wait.is_enough(patience_.seconds))
      throw LateProcess(process, fmt::format("has not answered for {:.1f} s", wait.waited_seconds()));
  }
}

}  // namespace shardlens
