// Follows what is being recorded, and says when a file has ended or could not be written.
#pragma once

#include "ui/frame/message_card.h"
#include "ui/snapshots.h"
#include "ui/view_state.h"

namespace shardlens::ui {

class RecordingWatch {
 public:
  /// The newest states of both kinds of recording. Files that begin or end become recent ones.
  void take(const RecordingState& runs, const RecordingState& steps, ViewState& view, MessageCard& message);

  const BeingRecorded& recorded() const { return recorded_; }

 private:
  BeingRecorded recorded_;
};

}  // namespace shardlens::ui
