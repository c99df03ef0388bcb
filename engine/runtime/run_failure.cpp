// The text of a failed run.
#include "engine/runtime/run_failure.h"

#include <fmt/format.h>

#include "engine/comm/comm.h"

namespace shardlens {
namespace {

std::string seconds_text(double seconds) {
  return seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

// "rank 2 is lost", "ranks 1, 2 and 5 are lost"
std::string lost_text(const Program& program, const std::vector<int>& ranks) {
  if (ranks.size() == 1) return rank_text(program, ranks[0]) + " is lost";
  std::string text;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += rank_text(program, ranks[i]);
  }
  return text + " are lost";
}

// "all-reduce of attn.z [64, 32] fp32", or for a bucket "all-reduce of 12 tensors, first grad.w [64, 32]
// fp32"
std::string collective_text(const Program& program, const Step& step) {
  const Tensor& first = program.tensor(step.outputs.front());
  const std::string tensor =
      fmt::format("{} {} {}", first.name, to_string(first.shape), to_string(first.dtype));
  if (step.outputs.size() == 1) return fmt::format("{} of {}", to_string(step.op), tensor);
  return fmt::format("{} of {} tensors, first {}", to_string(step.op), step.outputs.size(), tensor);
}

std::string found_text(const Program& program, const std::vector<Whereabouts>& whereabouts) {
  std::string text;
  for (const Whereabouts& one : whereabouts) {
    const std::string who = whereabouts.size() == 1 ? "it" : rank_text(program, one.rank);
    text += &one == &whereabouts.front() ? "; " : ", ";
    if (one.step < 0) {
      text += who + " has not begun the first step";
    } else if (!one.is_inside) {
      text += fmt::format("{} last finished {}", who, step_text(program, one.step));
    } else if (one.held_seconds > 0 && one.seconds < one.held_seconds) {
      text += fmt::format("{} is held up on purpose for {} before {}", who, seconds_text(one.held_seconds),
                          step_text(program, one.step));
    } else {
      text += fmt::format("{} has been in {} for {}", who, step_text(program, one.step),
                          seconds_text(one.seconds));
    }
  }
  return text;
}

std::string waited_text(const Program& program, double seconds) {
  return fmt::format("within {} (time-out {} s)", seconds_text(seconds), program.settings.timeout_seconds);
}

}  // namespace

double timeout_seconds(const Settings& settings) {
  return settings.timeout_seconds > 0 ? settings.timeout_seconds : kNoTimeout;
}

std::string rank_text(const Program& program, int rank) {
  if (program.replicas() == 1) return fmt::format("rank {}", rank);
  return fmt::format("rank {} of replica {}", rank % program.ranks(), rank / program.ranks());
}

std::string step_text(const Program& program, StepId step) {
  if (step < 0) return "before step 0";
  return fmt::format("step {} ({}: {})", step, program.step(step).name, program.step(step).equation);
}

std::string failed_message(const Program& program, int rank, StepId step, const std::string& why) {
  return fmt::format("{}, {}: {}", rank_text(program, rank), step_text(program, step), why);
}

std::string lost_message(const Program& program, const RunFailure& failure, double waited_seconds,
                         const std::vector<Whereabouts>& whereabouts) {
  const Step& step = program.step(failure.step);
  return fmt::format("{}: did not reach step {} ({}), the {}, {}{}", lost_text(program, failure.ranks),
                     step.id, step.name, collective_text(program, step), waited_text(program, waited_seconds),
                     found_text(program, whereabouts));
}

std::string lost_at_the_end_message(const Program& program, const RunFailure& failure, double waited_seconds,
                                    const std::vector<Whereabouts>& whereabouts) {
  return fmt::format("{}: did not reach the end of {}, where the other ranks are, {}{}",
                     lost_text(program, failure.ranks), step_text(program, failure.step),
                     waited_text(program, waited_seconds), found_text(program, whereabouts));
}

}  // namespace shardlens
