// Updates the studio for the open recording. The recording takes the place of the run, the selection follows
// the playback, a run on this machine may be compared with it, and only samples that are on screen are read.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ui/context.h"
#include "ui/follow/own_run.h"
#include "ui/frame/message_card.h"
#include "ui/outbox.h"
#include "ui/sessions.h"

namespace shardlens::ui {

class ReplayFollower {
 public:
  ReplayFollower(Sessions& sessions, OwnRun& own_run, ViewState& view, MessageCard& message, Outbox& outbox)
      : sessions_(sessions), own_run_(own_run), view_(view), message_(message), outbox_(outbox) {}

  /// Returns this machine's run of the recorded settings once it is timed. Null: not yet, or never; then a
  /// message says why. `live`: the Session's newest snapshot.
  std::shared_ptr<const Snapshot> beside(const std::shared_ptr<const Snapshot>& live,
                                         const RecordingFacts& recording);

  /// Takes the replay's new snapshot; `before` is that of the last frame. Shows its message, moves the
  /// selection, and opens or closes the views of a recording.
  void follow(const ReplaySnapshot& now, const ReplaySnapshot& before);
  /// Goes to the moment that a comparison of recordings wants to show, once its recording is open.
  void jump(const ReplaySnapshot& now);
  /// Asks for the samples that are on screen, and no others.
  void read_samples(const ReplaySnapshot& now);
  /// Call after the panels; `selected` was the selected step before them. Goes to a selected step that the
  /// run has not reached yet. If a moment of the recording was chosen, the selection follows, unless a step
  /// was chosen too.
  void follow_clicks(const Context& context, StepId selected);

 private:
  void follow_timeline(const ReplaySnapshot& now, const ReplaySnapshot& before);
  void opened(const ReplaySnapshot& now, const ReplaySnapshot& before);
  void closed(const ReplaySnapshot& now, const ReplaySnapshot& before);

  Sessions& sessions_;
  OwnRun& own_run_;
  ViewState& view_;
  MessageCard& message_;
  Outbox& outbox_;
  bool sought_ = false;                        ///< the last move was to a moment: the selection follows
  bool returned_ = false;                      ///< in this frame the recording was closed
  bool training_waits_ = false;                ///< until the recording is closed
  std::shared_ptr<const Plan> compared_plan_;  ///< of this machine's run, compared with the recorded one
  bool same_program_ = false;                  ///< they are equal
  std::shared_ptr<const RecordingFacts> read_recording_;  ///< the recording of the last requested samples
  std::pair<int, StepId> read_place_{};                   ///< the open part and selected step of that request
  std::vector<TensorId> read_tensors_;
};

}  // namespace shardlens::ui
