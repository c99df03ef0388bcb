// The parts of the engine that the studio drives, each with its own threads, and the newest snapshots of all
// of them.
#pragma once

#include <memory>

#include "engine/lesson/lesson_session.h"
#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/machine_watch.h"
#include "engine/runtime/session/scaling_session.h"
#include "engine/runtime/session/session.h"
#include "engine/train/experiments/break_session.h"
#include "engine/train/experiments/diff_session.h"
#include "engine/train/training_session.h"
#include "ui/snapshots.h"

namespace shardlens::ui {

/// The snapshots that a frame draws, kept alive until the next frame.
struct HeldSnapshots {
  std::shared_ptr<const Snapshot> shown;       ///< the shown one
  std::shared_ptr<const Snapshot> beside;      ///< this machine's run, compared with a recording; null: none
  std::shared_ptr<const FrozenStep> frozen;    ///< the training step shown if no recording is; null: none
  bool shows_break = false;                    ///< `shown` is the run of a planted mistake
  std::shared_ptr<const TrainSnapshot> train;  ///< while a recording is open: the training it holds
  std::shared_ptr<const BreakSnapshot> breaks;
  std::shared_ptr<const ScalingSnapshot> scaling;
  std::shared_ptr<const ComparisonSnapshot> comparison;
  std::shared_ptr<const DiffSnapshot> diff;
  std::shared_ptr<const ReplaySnapshot> replay;
  std::shared_ptr<const HistorySnapshot> history;
  std::shared_ptr<const LessonSnapshot> lesson;
  std::shared_ptr<const MachineFacts> machine;

  Snapshots references(const BeingRecorded& recorded) const {
    return {recorded, *train, *breaks, *scaling, *comparison, *diff, *replay, *history, *lesson, *machine};
  }
  /// True if nothing has changed except the facts about the machine's memory and GPUs.
  bool same_as(const HeldSnapshots& other) const {
    return shown == other.shown && train == other.train && breaks == other.breaks &&
           scaling == other.scaling && comparison == other.comparison && diff == other.diff &&
           replay == other.replay && history == other.history && lesson == other.lesson;
  }
};

struct Sessions {
  Sessions(const Settings& settings, Session::Begin begin) : run(settings, begin) {}

  Session run;
  TrainingSession training;
  BreakSession breaks;
  ScalingSession scaling;
  Comparison comparison;
  DiffSession diff;
  Replay replay;
  HistoryReader history;
  LessonSession lesson;
  MachineWatch machine;

  /// Ends what a person would miss: the training, which saves its steps, and the recordings.
  void end(TrainingSession::Others unsaved_models) {
    training.end(unsaved_models);
    run.end();
  }

  /// Returns the newest snapshots, with the Session's run as the shown one.
  HeldSnapshots newest() {
    HeldSnapshots held;
    held.shown = run.snapshot();
    held.train = training.snapshot();
    held.breaks = breaks.snapshot();
    held.scaling = scaling.snapshot();
    held.comparison = comparison.snapshot();
    held.diff = diff.snapshot();
    held.replay = replay.snapshot();
    held.history = history.snapshot();
    held.lesson = lesson.snapshot();
    held.machine = machine.facts();
    return held;
  }
};

}  // namespace shardlens::ui
