// Looks up the rank and step of each delay.
#include "engine/planner/holds.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/config/error.h"
#include "engine/config/suggest.h"
#include "engine/config/units.h"

namespace shardlens {
namespace {

// Finds a step by its name ("attn.proj") or its number ("12").
StepId step_of(const Program& program, const std::string& text) {
  const auto count = static_cast<StepId>(program.steps.size());
  StepId id = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool is_number =
      !text.empty() && end == text.data() + text.size() && problem != std::errc::invalid_argument;
  if (is_number) {
    if (problem == std::errc() && id >= 0 && id < count) return id;
    throw request_error(fmt::format(
        "a delay names step {}, which does not exist. Choose from 0 to {}, or a name.", text, count - 1));
  }
  const auto found = std::find_if(program.steps.begin(), program.steps.end(),
                                  [&](const Step& step) { return step.name == text; });
  if (found != program.steps.end()) return found->id;
  std::vector<std::string> names;
  for (const Step& step : program.steps) names.push_back(step.name);
  const std::string near = near_name(text, names);
  throw request_error(fmt::format(
      "a delay names step \"{}\", which does not exist{} `plan` lists all steps, 0 to {}.", text,
      near.empty() ? "." : fmt::format("; did you mean \"{}\" (step {})?", near, step_of(program, near)),
      count - 1));
}

}  // namespace

std::string delay_word(const Program& program, StepId step) {
  const std::string& name = program.step(step).name;
  const auto first = std::find_if(program.steps.begin(), program.steps.end(),
                                  [&](const Step& other) { return other.name == name; });
  return first->id == step ? name : std::to_string(step);
}

std::vector<Hold> plan_holds(const Program& program) {
  std::vector<Hold> holds;
  const int world = program.ranks() * program.replicas();
  for (const Delay& delay : program.settings.delays) {
    if (delay.rank < 0 || delay.rank >= world)
      throw request_error(
          world == 1
              ? fmt::format("a delay names rank {}, which does not exist. The only rank is 0.", delay.rank)
              : fmt::format(
                    "a delay names rank {}, which does not exist. T x D = {} x {}: choose from 0 to {}.",
                    delay.rank, program.ranks(), program.replicas(), world - 1));
    if (!(delay.milliseconds >= 0 && delay.milliseconds <= kLongestDelayMilliseconds))
      throw request_error(fmt::format("a delay of {} ms is out of range. Choose from 0 to {} ms.",
                                      delay.milliseconds,
                                      grouped_text(static_cast<int64_t>(kLongestDelayMilliseconds))));
    holds.push_back({delay.rank, step_of(program, delay.step), delay.milliseconds / 1e3});
  }
  return holds;
}

}  // namespace shardlens
