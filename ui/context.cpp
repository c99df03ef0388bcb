// Handles changes of the settings that panels ask for.
#include "ui/context.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/error.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/stored_weights.h"
#include "ui/frame/notice.h"
#include "ui/outbox.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/settings/difference.h"

namespace shardlens::ui {

void Context::want(const Settings& settings) const {
  if (replay.is_open()) return say_recording_stays(*this);
  if (settings == wanted() && !has_stopped(snapshot)) return;  // a click on the present choice runs nothing
  ask_for(settings);
}

void Context::want_weights(Settings settings) const {
  try {
    const std::vector<std::string> remarks = fit_to_weights(settings);
    if (!replay.is_open() && !remarks.empty()) view.said = fmt::format("{}", fmt::join(remarks, ". "));
  } catch (const Error&) {  // the run says why its weights cannot be read
  }
  want(settings);
}

void Context::undo() const {
  const Settings before = wanted();
  ask_for(view.changes.undo());
  view.told = "Undone: " + difference(wanted(), before);
}

void Context::redo() const {
  const Settings before = wanted();
  ask_for(view.changes.redo());
  view.told = "Done again: " + difference(wanted(), before);
}

void Context::ask_for(const Settings& settings) const {
  view.wanted.sent(snapshot, settings);
  send(command::SetSettings{settings});
}

}  // namespace shardlens::ui
