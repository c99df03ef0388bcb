// Follows the open recording.
#include "ui/follow/replay_follower.h"
#include "ui/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/record/recording.h"
#include "ui/commands/walk.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/panels/recordings/notes_view.h"
#include "ui/panels/recordings/replay_view.h"
#include "ui/panels/timeline/history_view.h"
#include "ui/plan/sections.h"
#include "ui/remember/recent_recordings.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace {

/// Moves the Timeline's stretch along when the recording has grown by `seconds`.
void move_along(Stretch& shown, double seconds) {
  if (shown.size() > 0 && seconds > 0) shown = {shown.begin + seconds, shown.end + seconds};
}

}  // namespace

std::shared_ptr<const Snapshot> ReplayFollower::beside(const std::shared_ptr<const Snapshot>& live,
                                                       const RecordingFacts& recording) {
  if (live->settings != recording.plan->program.settings) return nullptr;  // not asked for yet
  const bool stopped = live->state == RunState::Refused || live->state == RunState::Failed ||
                       live->state == RunState::Cancelled;
  if (stopped) {
    view_.of<ReplayView>().beside = false;
    message_.say("This machine cannot run the recording's settings: " + live->message);
  }
  if (!live->result || !live->result->timed || live->stale()) return nullptr;
  if (live->plan != compared_plan_) {
    compared_plan_ = live->plan;
    same_program_ = live->plan->program == recording.plan->program;
    if (!same_program_)
      message_.say(
          {"The recording's settings make a different Program here than the recorded one: a mistake was "
           "planted in the recorded Program, or another version planned it. So the two runs are not "
           "compared."});
  }
  return same_program_ ? live : nullptr;
}

/// Opens the timeline of the open recording, or closes it.
void ReplayFollower::follow_timeline(const ReplaySnapshot& now, const ReplaySnapshot& before) {
  if (same_recording(now.recording.get(), before.recording.get())) return;
  HistoryView anew;
  anew.numbers =
      view_.of<HistoryView>().numbers;  // an answer for the old recording must not match a new question
  view_.of<HistoryView>() = anew;
  if (!now.is_open()) return sessions_.history.send(history_command::Close{});
  const std::shared_ptr<const Plan>& plan = now.recording->plan;
  sessions_.history.send(history_command::Open{now.recording->path, {plan, &plan->program}});
}

/// Called when a recording takes the place of the run.
void ReplayFollower::opened(const ReplaySnapshot& now, const ReplaySnapshot& before) {
  if (now.messages == before.messages) message_.close();  // a message about a recording that did not open
  view_.playing = view_.chooser_open = false;
  view_.of<ReplayView>().beside = view_.of<ReplayView>().run_here = false;
  view_.of<NotesView>().edited = 0;
  view_.wanted = {};
  // A training would not be visible, and would disturb a run that is timed for comparison with the recording.
  if (sessions_.training.snapshot()->is_active()) {
    sessions_.training.send(train_command::Pause{});
    training_waits_ = true;
    message_.say({fmt::format(
        "Training is paused while the recording is shown. It continues when you close the recording "
        "({}).",
        key_of("replay.close"))});
  }
  add_recent(view_.recent, now.recording->path);
  if (view_.tab == Tab::Start) {
    view_.tab = is_training(now.recording->verb) ? Tab::Train : Tab::Stage;
    view_.focus_tab = true;
  }
}

/// Called while no recording is open. After one was closed, or could not be opened at the start, the run is
/// shown.
void ReplayFollower::closed(const ReplaySnapshot& now, const ReplaySnapshot& before) {
  if (before.is_open()) view_.playing = false;  // the run does not play until Play is pressed
  returned_ = before.is_open();
  if (std::exchange(training_waits_, false)) outbox_.send(train_command::Resume{});
  if (before.is_open() || now.messages != before.messages) own_run_.run_first(view_);
  view_.of<NotesView>().open = false;
}

void ReplayFollower::follow(const ReplaySnapshot& now, const ReplaySnapshot& before) {
  follow_timeline(now, before);
  if (now.messages != before.messages) {
    message_.say(now.message);
    view_.chooser_open = false;
    view_.of<DiffView>().jump.reset();
  }
  const bool is_new = now.is_open() && !same_recording(now.recording.get(), before.recording.get());
  if (is_new) opened(now, before);
  if (!now.is_open()) return closed(now, before);
  if (now.follows && !is_new && before.recording)
    move_along(view_.of<HistoryView>().shown, now.recording->seconds - before.recording->seconds);
  const bool moved =
      !before.shown || before.shown->position != now.shown->position || before.pass != now.pass;
  // A slow frame can miss that it played: it may begin and end between two frames.
  const bool follows = now.playing || before.playing || now.played != before.played || sought_;
  if (follows && moved && now.shown->plan) {
    const auto at = static_cast<StepId>(now.shown->position);
    show_step(view_, now.shown->plan->program, std::max(0, at - 1));
  }
}

void ReplayFollower::jump(const ReplaySnapshot& now) {
  std::optional<DiffJump>& wanted = view_.of<DiffView>().jump;
  if (!wanted || !now.is_open() || now.recording->path != wanted->file) return;
  sessions_.replay.send(replay_command::ShowPass{wanted->pass});
  const std::shared_ptr<const Plan>& plan = now.recording->plan;
  select_step(view_, plan->program, wanted->step);
  if (wanted->tensor != kNoTensor) {
    set_selection(view_, plan->program, {wanted->step, wanted->tensor});
    open_part_of_selection(view_);
  }
  view_.scroll_to_selection = view_.focus_tab = true;
  view_.tab = Tab::Stage;
  wanted.reset();
}

void ReplayFollower::read_samples(const ReplaySnapshot& now) {
  if (!now.is_open()) return;
  const std::shared_ptr<const RecordingFacts>& recording = now.recording;
  const std::pair place(view_.open_section, view_.selected_step);
  if (same_recording(read_recording_.get(), recording.get()) && read_place_ == place) return;
  read_place_ = place;
  std::vector<TensorId> tensors = tensors_on_screen(recording->plan, view_);
  if (same_recording(read_recording_.get(), recording.get()) && read_tensors_ == tensors) return;
  read_recording_ = recording;
  read_tensors_ = tensors;
  sessions_.replay.send(replay_command::Look{std::move(tensors)});
}

void ReplayFollower::follow_clicks(const Context& context, StepId selected) {
  const std::vector<ReplayCommand>& moves = outbox_.of<ReplayCommand>();
  const std::vector<Command>& runs = outbox_.of<Command>();
  const bool seeks = contains<replay_command::Seek>(moves);
  const bool walks = contains<command::Seek>(runs);
  const bool selects = view_.selected_step != selected;
  // The step that was selected in a recording may be one that this machine's run was stepped back from.
  const bool returns = std::exchange(returned_, false);
  if ((selects || returns) && !seeks && !walks) reach_selection(context);
  if (!moves.empty() || !runs.empty()) sought_ = seeks && !selects;
}

}  // namespace shardlens::ui
