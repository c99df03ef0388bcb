#include "ui/lesson/state_opener.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/shown.h"
#include "engine/lesson/functions.h"
#include "engine/runtime/snapshot.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/train/train_view.h"
#include "ui/plan/shown_plan.h"

namespace shardlens::ui {
namespace {

/// A link may be older than the names in it. The other problems of a state are said where they arise.
void say_what_is_missing(const Context& c, const SceneState& state) {
  const std::shared_ptr<const Plan> plan = shared_shown_plan(c.snapshot);
  if (!plan || state.select.empty() || !c.view.said.empty()) return;
  if (find_step(plan->program, state.select) >= 0 || find_tensor(plan->program, state.select) != kNoTensor)
    return;
  c.view.said = {
      fmt::format("The link names {}, and this run has no such step or tensor: all else is as the link says",
                  shown(state.select))};
}

}  // namespace

void StateOpener::open(SceneState state, const Settings& settings) {
  std::vector<ShownCallout> callouts;
  for (const Callout& callout : state.callouts) {
    std::string text;
    for (const Template::Piece& piece : callout.text.pieces) text += piece.text;
    callouts.push_back({callout.at, text});
  }
  wanted_ = std::make_shared<ShownState>(ShownState{std::move(state), settings, std::move(callouts), ""});
  begun_ = false;
}

void StateOpener::follow(const Context& c) {
  if (!wanted_) return;
  if (!std::exchange(begun_, true)) setter_.begin(c, wanted_);
  setter_.advance(c);
  if (!setter_.is_set()) return;
  say_what_is_missing(c, wanted_->state);
  c.view.of<TrainView>().before_lesson.reset();
  c.view.of<ByHandView>().before_lesson.reset();
  setter_.stop();
  wanted_ = nullptr;
}

}  // namespace shardlens::ui
