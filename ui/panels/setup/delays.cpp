// Chooses delays and puts them in words.
#include "ui/panels/setup/delays.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ui/panels/faults/faults.h"
#include "ui/panels/setup/delay_view.h"

namespace shardlens::ui {

DelayChoice delay_choice(const Context& context, const Program& program) {
  const int world = program.tp() * program.dp();
  DelayChoice choice;
  choice.rank =
      context.view.of<DelayView>().rank >= 0 ? context.view.of<DelayView>().rank : context.view.selected_rank;
  if (choice.rank < 0) choice.rank = world - 1;  // not rank 0, which people look at first
  choice.rank = std::min(choice.rank, world - 1);
  if (const StepId selected = selection_in(context.view, program).step; selected >= 0) {
    choice.step = selected;
    choice.is_selected = true;
    return choice;
  }
  const auto meeting = std::find_if(program.steps.begin(), program.steps.end(),
                                    [](const Step& step) { return is_collective(step.op); });
  if (meeting != program.steps.end()) choice.step = std::max(0, meeting->id - 1);
  return choice;
}

bool can_add_delay(const Context& context) {
  return context.snapshot.plan != nullptr && !context.snapshot.only_planned();
}

void add_delay(const Context& context) {
  const Program& program = context.snapshot.plan->program;
  const DelayChoice choice = delay_choice(context, program);
  const Delay delay{choice.rank, delay_word(program, choice.step),
                    static_cast<double>(context.view.of<DelayView>().milliseconds)};
  Settings changed = context.wanted();
  std::erase_if(changed.delays,
                [&](const Delay& other) { return other.rank == delay.rank && other.step == delay.step; });
  changed.delays.push_back(delay);
  context.want(changed);
}

std::string delay_words(const Delay& delay, const Settings& settings) {
  const std::string how =
      is_loss(delay, settings) ? std::string("never comes") : fmt::format("{} ms", delay.milliseconds);
  return fmt::format("rank {}, {}, before {}", delay.rank, how, delay.step);
}

Settings without_delays(Settings settings) {
  settings.delays.clear();
  return settings;
}

namespace {

size_t late_ranks(const Settings& settings) {
  std::set<int> ranks;
  for (const Delay& delay : settings.delays) ranks.insert(delay.rank);
  return ranks.size();
}

}  // namespace

std::string delays_clause(const Settings& settings) {
  if (settings.delays.size() == 1 && is_loss(settings.delays[0], settings))
    return fmt::format("rank {} never comes", settings.delays[0].rank);
  if (settings.delays.size() == 1)
    return fmt::format("rank {} is {} ms late", settings.delays[0].rank, settings.delays[0].milliseconds);
  const size_t ranks = late_ranks(settings);
  return ranks == 1 ? fmt::format("rank {} is late {} times", settings.delays[0].rank, settings.delays.size())
                    : fmt::format("{} ranks are late", ranks);
}

std::string delays_phrase(const Settings& settings) {
  if (settings.delays.empty()) return "every rank on time";
  const Delay& first = settings.delays.front();
  if (settings.delays.size() == 1)
    return is_loss(first, settings) ? fmt::format("rank {} lost", first.rank)
                                    : fmt::format("rank {} late by {} ms", first.rank, first.milliseconds);
  const size_t ranks = late_ranks(settings);
  return ranks == 1 ? fmt::format("rank {} late {} times", first.rank, settings.delays.size())
                    : fmt::format("{} ranks late", ranks);
}

}  // namespace shardlens::ui
