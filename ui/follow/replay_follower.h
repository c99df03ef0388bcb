// What the studio does about the recording that is open. It takes the place of the run, the selection follows
// what is played, this machine's run may stand beside it, and only samples that are on screen are read.
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

  /// This machine's run of the recorded settings, once it is timed; null: not yet, or there will be none, and
  /// the message says why. `live`: the Session's newest snapshot.
  std::shared_ptr<const Snapshot> beside(const std::shared_ptr<const Snapshot>& live,
                                         const RecordingFacts& recording);

  /// A new snapshot of the replay, `before` being that of the last frame. Shows its message, takes the
  /// selection along, and opens or closes what belongs to a recording.
  void follow(const ReplaySnapshot& now, const ReplaySnapshot& before);
  /// Goes to the moment that a comparison of recordings wants to show, once its recording is open.
  void jump(const ReplaySnapshot& now);
  /// Has the samples read that are on screen, and no others.
  void read_samples(const ReplaySnapshot& now);
  /// After the panels; before them `selected` was the selected step. A step that the run has not reached yet
  /// is gone to. A moment of a recording takes the selection along, unless a step was chosen with it.
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
  bool sought_ = false;                        ///< a moment was asked for last: the selection follows there
  bool training_waits_ = false;                ///< until the recording is closed
  std::shared_ptr<const Plan> compared_plan_;  ///< of this machine's run, compared with the recorded one
  bool same_program_ = false;                  ///< they are equal
  std::shared_ptr<const RecordingFacts> read_recording_;  ///< whose samples were asked for last
  std::pair<int, StepId> read_place_{};                   ///< the open part and the selected step they are of
  std::vector<TensorId> read_tensors_;
};

}  // namespace shardlens::ui
