// Follows the recording of runs and trainings. Shows a message when a file is finished or could not be
// written.
#pragma once

#include "ui/frame/message_card.h"
#include "ui/snapshots.h"
#include "ui/view_state.h"

namespace shardlens::ui {

class RecordingWatch {
 public:
  /// Takes the newest states of both kinds of recording. Files that begin or end are added to the recent
  /// ones.
  void take(const RecordingState& runs, const RecordingState& steps, ViewState& view, MessageCard& message);

  const BeingRecorded& recorded() const { return recorded_; }

 private:
  BeingRecorded recorded_;
};

}  // namespace shardlens::ui
