// Faults in words, and the actions for them: see faults.h.
#include "ui/panels/faults/faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/planner/delays.h"
#include "ui/outbox.h"
#include "ui/panels/setup/delay_view.h"
#include "ui/panels/setup/delays.h"

namespace shardlens::ui {
namespace {

std::string ranks_words(const Program& program, const std::vector<int>& ranks) {
  if (ranks.size() == 1) return rank_text(program, ranks.front());
  std::string words;
  for (size_t i = 0; i < ranks.size(); ++i)
    words += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return "ranks " + words;
}

}  // namespace

bool is_loss(const Delay& delay, const Settings& settings) {
  return settings.timeout_seconds > 0 && delay.milliseconds >= settings.timeout_seconds * 1e3;
}

std::string fault_place(const Program& program, const RunFailure& failure) {
  const char* what = failure.lost ? "lost" : "failed";
  if (failure.step < 0) return fmt::format("{} before the first step", what);
  const Step& step = program.step(failure.step);
  const std::string where =
      is_collective(step.op) && !step.outputs.empty()
          ? fmt::format("{} of {}", to_string(step.op),
                        step.outputs.size() == 1 ? program.tensor(step.outputs.front()).name
                                                 : converted_words(program, step))
          : step.name;
  return fmt::format("{} in {}, step {} of the pass", what, where, step.id);
}

std::string fault_words(const Program& program, const RunFailure& failure) {
  return ranks_words(program, failure.ranks) + " " + fault_place(program, failure);
}

const RunFailure* shown_failure(const Snapshot& snapshot) {
  const bool failed = snapshot.state == RunState::Failed && snapshot.failure && snapshot.plan;
  return failed ? &*snapshot.failure : nullptr;
}

const TrainCurve* failed_curve(const TrainSnapshot& train) {
  for (const auto& curve : train.curves)
    if (curve->failure && curve->plan) return curve.get();
  return nullptr;
}

bool can_lose_rank(const Context& context) {
  return can_add_delay(context) &&
         context.snapshot.plan->program.tp() * context.snapshot.plan->program.dp() > 1;
}

void lose_rank(const Context& context) {
  const Program& program = context.snapshot.plan->program;
  const DelayChoice choice = delay_choice(context, program);
  Settings changed = context.wanted();
  const bool lost_another = std::any_of(changed.delays.begin(), changed.delays.end(),
                                        [&](const Delay& delay) { return is_loss(delay, changed); });
  double& timeout_before = context.view.of<DelayView>().timeout_before_seconds;
  if (!lost_another || timeout_before < 0) timeout_before = changed.timeout_seconds;
  std::erase_if(changed.delays, [&](const Delay& delay) { return delay.rank == choice.rank; });
  changed.delays.push_back({choice.rank, delay_word(program, choice.step), kLongestDelayMilliseconds});
  changed.timeout_seconds = kLostAfterSeconds;
  context.want(changed);
}

Settings without_losses(Settings settings, double timeout_before_seconds) {
  const size_t before = settings.delays.size();
  const Settings as_it_is = settings;
  std::erase_if(settings.delays, [&](const Delay& delay) { return is_loss(delay, as_it_is); });
  if (settings.delays.size() < before && timeout_before_seconds >= 0)
    settings.timeout_seconds = timeout_before_seconds;
  return settings;
}

bool can_run_again(const Context& context) {
  return shown_failure(context.snapshot) != nullptr && context.train.frozen == nullptr;
}

void run_again(const Context& context) {
  const Settings again =
      without_losses(context.wanted(), context.view.of<DelayView>().timeout_before_seconds);
  if (again == context.wanted()) {
    context.send(command::Run{});
  } else if (context.view.changes.would_undo_to(again)) {
    context.undo();  // so that one more undo does not lose the rank again
  } else {
    context.want(again);
  }
}

bool can_restart_training(const Context& context) {
  const TrainState state = context.train.state;
  const bool ended = state == TrainState::Failed || state == TrainState::Stopped ||
                     (state == TrainState::Done && failed_curve(context.train) != nullptr);
  return ended && !context.train.curves.empty();
}

std::string restart_words(const TrainSnapshot& train) {
  int64_t first = -1;
  for (const auto& curve : train.curves)
    first = first < 0 ? curve->saved_step : std::min(first, curve->saved_step);
  return first > 0 ? fmt::format("Restart from step {}", first) : "Run again";
}

}  // namespace shardlens::ui
