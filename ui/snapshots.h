// The newest Snapshot of every part of the engine except the shown run. The types are only declared here:
// include the header of a type to read it.
#pragma once

#include "engine/record/recording_state.h"

namespace shardlens {
struct BreakSnapshot;       // engine/train/experiments/break_snapshot.h
struct ComparisonSnapshot;  // engine/runtime/session/comparison.h
struct DiffSnapshot;        // engine/train/experiments/diff_session.h
struct HistorySnapshot;     // engine/runtime/recordings/history_reader.h
struct LessonSnapshot;      // engine/lesson/lesson_session.h
struct MachineFacts;        // engine/runtime/session/machine_watch.h
struct ReplaySnapshot;      // engine/runtime/recordings/replay_snapshot.h
struct ScalingSnapshot;     // engine/runtime/session/scaling_snapshot.h
struct TrainSnapshot;       // engine/train/train_snapshot.h
}  // namespace shardlens

namespace shardlens::ui {

/// The state of recording, independent of the shown snapshot.
struct BeingRecorded {
  RecordingState runs;   ///< of the Session
  RecordingState steps;  ///< of the TrainingSession
};

struct Snapshots {
  const BeingRecorded& recorded;
  const TrainSnapshot& train;  ///< while a recording is open: the training it holds
  const BreakSnapshot& breaks;
  const ScalingSnapshot& scaling;
  const ComparisonSnapshot& comparison;
  const DiffSnapshot& diff;
  const ReplaySnapshot& replay;
  const HistorySnapshot& history;  ///< the timeline of the recording that is open
  const LessonSnapshot& lesson;    ///< the open lesson
  const MachineFacts& machine;     ///< memory and GPUs, as last read
};

}  // namespace shardlens::ui
