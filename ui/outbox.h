// The Commands of one frame, in a list for each part of the engine. The studio sends them after the frame.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "engine/lesson/lesson_session.h"
#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "engine/train/experiments/diff_session.h"
#include "engine/train/train_snapshot.h"

namespace shardlens::ui {

/// The commands of one part of the engine.
template <class Command>
class OutboxPart {
 public:
  void send(Command command);

 protected:
  std::vector<Command> commands_;
};

/// One list for each kind of command. send() finds the kind a command belongs to.
template <class... Commands>
class OutboxParts : OutboxPart<Commands>... {
 public:
  using OutboxPart<Commands>::send...;

  template <class Command>
  std::vector<Command>& of() {
    return OutboxPart<Command>::commands_;
  }
  template <class Command>
  const std::vector<Command>& of() const {
    return OutboxPart<Command>::commands_;
  }

  bool empty() const { return (of<Commands>().empty() && ...); }
  void clear() { (of<Commands>().clear(), ...); }
};

/// A separate class, so that context.h can declare it without these headers.
class Outbox : public OutboxParts<Command, TrainCommand, BreakCommand, ScalingCommand, ComparisonCommand,
                                  DiffCommand, ReplayCommand, HistoryCommand, LessonCommand> {};

/// True if one of the commands is of this kind: contains<command::Seek>(outbox.of<Command>()).
template <class Kind>
bool contains(const auto& commands) {
  for (const auto& command : commands)
    if (std::holds_alternative<Kind>(command)) return true;
  return false;
}

/// Called by Context::send().
template <class Command>
void put_into(Outbox& outbox, Command command) {
  outbox.send(std::move(command));
}

}  // namespace shardlens::ui
