// Handles changes of the settings that panels ask for.
#include "ui/context.h"

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/frame/notice.h"
#include "ui/outbox.h"
#include "ui/panels/recordings/replay_parts.h"

namespace shardlens::ui {

void Context::want(const Settings& settings) const {
  if (replay.is_open()) return say_recording_stays(*this);
  if (settings == wanted() && !has_stopped(snapshot)) return;  // a click on the present choice runs nothing
  ask_for(settings);
}

void Context::undo() const {
  ask_for(view.changes.undo());
}

void Context::redo() const {
  ask_for(view.changes.redo());
}

void Context::ask_for(const Settings& settings) const {
  view.wanted.sent(snapshot, settings);
  send(command::SetSettings{settings});
}

}  // namespace shardlens::ui
