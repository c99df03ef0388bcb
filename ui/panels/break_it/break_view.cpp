// Plants mistakes and takes them back.
#include "ui/panels/break_it/break_view.h"

#include "ui/outbox.h"

namespace shardlens::ui {
namespace {

bool is_in_view(const Context& context) {
  return context.view.tab == Tab::BreakIt || seen_break(context).has_value();
}

}  // namespace

void plant(const Context& context, const Settings& settings, Fault fault, int64_t steps) {
  auto& view = context.view.of<BreakView>();
  view.probe = 0;
  if (view.page == BreakPage::Faults) view.page = BreakPage::Errors;
  view.side = BreakSide::Broken;
  view.left = false;
  view.planted = {settings, fault, steps};
  view.taken_back.reset();
  view.planted_at = context.view.changes.at();
  context.send(*view.planted);
}

void take_back(const Context& context) {
  auto& view = context.view.of<BreakView>();
  view.taken_back = view.planted;
  context.send(break_command::Clear{});
}

bool is_switched_on(const Context& context) {
  return context.breaks.planted && is_in_view(context);
}

bool undo_takes_back(const Context& context) {
  const auto& view = context.view.of<BreakView>();
  return is_switched_on(context) && view.planted_at == context.view.changes.at();
}

bool redo_plants(const Context& context) {
  const auto& view = context.view.of<BreakView>();
  return view.taken_back && !context.breaks.planted && context.view.tab == Tab::BreakIt;
}

std::optional<Settings> plantable(const Context& context, Fault fault) {
  for (const BreakChoice& choice : context.breaks.choices) {
    if (choice.fault != fault) continue;
    if (choice.possible) return context.wanted();
    if (choice.remedy) return choice.remedy->settings;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace shardlens::ui
