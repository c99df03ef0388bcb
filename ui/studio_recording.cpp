// The studio's part in recordings: one that is opened takes the place of what runs, this machine's run may
// stand beside it, and what is being recorded is told.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "engine/config/counted.h"
#include "engine/config/presets.h"
#include "engine/config/units.h"
#include "engine/record/gallery.h"
#include "engine/record/recording.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/plan/sections.h"
#include "ui/studio.h"

namespace shardlens::ui {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRecentRecordings = 6;

std::string sentence(const std::string& words) {
  return !words.empty() && words.back() == '.' ? words : words + ".";
}

/// Where the files are of a recording that has ended, and what is in them.
Said ended_recording(const BeingRecorded& recorded) {
  std::vector<std::string> files;
  for (const RecordingState* state : {&recorded.runs, &recorded.steps})
    if (!state->path.empty()) files.push_back(state->path);
  if (files.empty()) return {"Nothing was recorded: nothing ran meanwhile. Record, then Run or train."};
  const int64_t earlier = recorded.runs.files + recorded.steps.files - std::ssize(files);
  const std::string bytes = bytes_text(static_cast<double>(recorded.runs.bytes + recorded.steps.bytes));
  return {fmt::format(
              "Recorded: {}, {}{}.", counted(recorded.runs.passes + recorded.steps.passes, "pass", "passes"),
              bytes,
              earlier > 0 ? fmt::format(", in the same folder {} before it", counted(earlier, "file")) : ""),
          files};
}

}  // namespace

/// This machine's run of the recorded settings, once it is timed; or why there will be none.
void Studio::take_beside(const std::shared_ptr<const Snapshot>& live, const RecordingFacts& recording) {
  if (live->settings != recording.plan->program.settings) return;  // not asked for yet
  const bool stopped = live->state == RunState::Refused || live->state == RunState::Failed ||
                       live->state == RunState::Cancelled;
  if (stopped) {
    view_.replay.beside = false;
    message_ = "The recording's settings do not run here: " + live->message;
  }
  if (!live->result || !live->result->timed || live->stale()) return;
  if (live->plan != compared_plan_) {
    compared_plan_ = live->plan;
    same_program_ = live->plan->program == recording.plan->program;
    if (!same_program_)
      message_ = {
          "This machine runs the recording's settings, and they make another Program than the recorded one: "
          "a mistake was planted in it, or another version planned it. The two are not laid beside each "
          "other."};
  }
  if (same_program_) beside_ = live;
}

/// Puts it before the others that were opened; what came with the studio has its own place on the start page.
void Studio::remember_recording(const std::string& path) {
  if (path.starts_with(gallery_folder())) return;
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::absolute(path, unknown);
  const std::string place = unknown ? path : whole.lexically_normal().string();
  std::erase(view_.recent, place);
  view_.recent.insert(view_.recent.begin(), place);
  if (view_.recent.size() > kRecentRecordings) view_.recent.resize(kRecentRecordings);
}

/// The timeline is that of the recording that is open.
void Studio::follow_recording(const ReplaySnapshot& before) {
  if (same_recording(replayed_->recording.get(), before.recording.get())) return;
  HistoryView anew;
  anew.numbers = view_.history.numbers;  // an answer on its way is none to the new one's questions
  view_.history = anew;
  if (!replayed_->is_open()) return history_.send(history_command::Close{});
  const std::shared_ptr<const Plan>& plan = replayed_->recording->plan;
  history_.send(history_command::Open{replayed_->recording->path, {plan, &plan->program}});
}

/// What is said is shown; what is played or sought is followed by the selection; what is closed gives its
/// place to a run.
void Studio::follow_replay(const ReplaySnapshot& before) {
  if (replayed_->messages != before.messages) {
    message_ = replayed_->message;
    view_.replay.choosing = false;
    view_.compare.diff.jump.reset();
  }
  const bool opened =
      replayed_->is_open() && !same_recording(replayed_->recording.get(), before.recording.get());
  if (opened) {
    if (replayed_->messages == before.messages) message_ = {};  // what could not be opened before it
    view_.playing = view_.replay.choosing = false;
    view_.replay.beside = view_.replay.run_here = false;
    view_.replay.edited = 0;
    view_.wanted = {};
    // It would not be seen, and would disturb what is measured beside the recording.
    if (training_.snapshot()->is_active()) {
      training_.send(train_command::Pause{});
      training_waits_ = true;
      message_ = {
          "Training is paused while a recording is shown in its place, and goes on when that is closed "
          "(Ctrl+W)."};
    }
    remember_recording(replayed_->recording->path);
    if (view_.tab == Tab::Start) {
      view_.tab = is_training(replayed_->recording->verb) ? Tab::Train : Tab::Stage;
      view_.focus_tab = true;
    }
  }
  if (!replayed_->is_open()) {
    if (before.is_open()) view_.playing = false;  // a run stands until it is played itself
    if (std::exchange(training_waits_, false)) train_outbox_.emplace_back(train_command::Resume{});
    const bool closed = before.is_open() || replayed_->messages != before.messages;
    if (closed && !session_asked_) run_settings(first_settings_);
    view_.replay.notes_open = false;
    return;
  }
  if (replayed_->follows && !opened && before.recording) follow_newest(before.recording->seconds);
  const bool moved =
      !before.shown || before.shown->position != replayed_->shown->position || before.pass != replayed_->pass;
  const bool follows = replayed_->playing || before.playing || sought_;  // the last move of a play ends it
  if (follows && moved && replayed_->shown->plan) {
    const auto at = static_cast<StepId>(replayed_->shown->position);
    select_step(view_, replayed_->shown->plan->program, std::max(0, at - 1));
    view_.scroll_to_selection = true;
  }
}

/// The Timeline's stretch goes on with the recording, which ended at `end_seconds` before.
void Studio::follow_newest(double end_seconds) {
  Stretch& shown = view_.history.shown;
  const double by = replayed_->recording->seconds - end_seconds;
  if (shown.size() > 0 && by > 0) shown = {shown.begin + by, shown.end + by};
}

void Studio::open_recording(const std::string& path) {
  replay_.send(replay_command::Open{path});
  last_change_ = Clock::now();
}

void Studio::open_dropped(const std::string& path) {
  const std::filesystem::path dropped(path);
  std::error_code unknown;
  const bool is_folder = std::filesystem::is_directory(dropped, unknown);
  const std::filesystem::path folder = is_folder ? dropped : dropped.parent_path();
  const bool is_weights = !is_folder && dropped.extension() == ".safetensors";
  const bool has_model = std::filesystem::exists(folder / "config.json", unknown);
  if (is_weights && !has_model) {
    message_ = {
        fmt::format("{} holds weights, and the folder it lies in has no config.json, which says of what "
                    "model. If it is the one that Setup shows, choose the file under Weights there.",
                    dropped.filename().string())};
    last_change_ = Clock::now();
    return;
  }
  if (has_model && (is_folder || is_weights))
    return take_model(folder, is_weights ? path : weights_of_model(folder.string()));
  if (view_.replay.choosing) return take_chosen(context(), path);
  if (is_folder) {
    view_.replay.chosen_for = ChosenFor::Replay;
    view_.close_covers();
    view_.replay.choosing = true;
  }
  open_recording(path);
}

/// The sizes of a model's folder, such as a checkpoint's, and weights of it, in place of those of Setup.
void Studio::take_model(const std::filesystem::path& folder, const std::string& weights) {
  if (replayed_->is_open()) {
    message_ = {"A model goes to Setup, which shows what was recorded: close the recording (Ctrl+W) first."};
    return;
  }
  try {
    Settings changed = context().wanted();
    changed.model = find_model(folder.string());
    changed.weights_path = weights;
    changed.layer = 0;
    changed.seq = std::min(changed.seq, changed.model.positions);
    context().want(changed);
    view_.replay.choosing = false;  // the list would hide what was asked for
    message_ = {};
  } catch (const std::exception& error) {
    message_ = {error.what()};
  }
  last_change_ = Clock::now();
}

/// A moment that was wanted of a recording, once that is open.
void Studio::follow_diff_jump() {
  std::optional<DiffJump>& jump = view_.compare.diff.jump;
  if (!jump || !replayed_->is_open() || replayed_->recording->path != jump->file) return;
  replay_.send(replay_command::ShowPass{jump->pass});
  const std::shared_ptr<const Plan>& plan = replayed_->recording->plan;
  select_step(view_, plan->program, jump->step);
  if (jump->tensor != kNoTensor) {
    view_.selected_tensor = jump->tensor;
    if (is_whole_model(plan->program))  // its layer is opened
      view_.open_section = sections_of(plan).of_step[static_cast<size_t>(view_.selected_step)];
  }
  view_.scroll_to_selection = view_.focus_tab = true;
  view_.tab = Tab::Stage;
  jump.reset();
}

/// Of a recording the samples of what is on screen are read, and no others.
void Studio::look_at_recording() {
  if (!replayed_->is_open()) return;
  const std::shared_ptr<const RecordingFacts>& recording = replayed_->recording;
  const std::pair place(view_.open_section, view_.selected_step);
  if (same_recording(looked_into_.get(), recording.get()) && looked_from_ == place) return;
  looked_from_ = place;
  std::vector<TensorId> tensors = tensors_on_screen(recording->plan, view_);
  if (same_recording(looked_into_.get(), recording.get()) && looked_at_ == tensors) return;
  looked_into_ = recording;
  looked_at_ = tensors;
  replay_.send(replay_command::Look{std::move(tensors)});
}

/// In place of what this machine runs; Undo brings that back.
void Studio::run_settings(const Settings& settings) {
  session_asked_ = true;
  const ImGuiIO& io = ImGui::GetIO();
  view_.changes.ran(settings, io.MouseDown[0] ? io.MouseClickedTime[0] : 0);
  session_.send(command::SetSettings{settings});
}

/// This machine's own run of what was recorded, to stand beside it.
void Studio::run_recorded_settings() {
  view_.replay.beside = true;
  run_settings(replayed_->recording->plan->program.settings);
}

/// What is recorded of runs and of training steps. A disk that is full stops neither, and is said once; so is
/// where a recording is that has ended.
void Studio::take_recording(const RecordingState& runs, const RecordingState& steps) {
  bool went_wrong = false;
  using Change = std::pair<const RecordingState*, const RecordingState*>;
  for (const auto& [now, before] : {Change{&runs, &recorded_.runs}, Change{&steps, &recorded_.steps}}) {
    if (!now->problem.empty() && now->problem != before->problem) {
      message_ = fmt::format("{} The run goes on.", sentence(now->problem));
      went_wrong = true;
    }
    const bool same_file = now->path == before->path;
    const RecordingState& last = same_file ? *now : *before;  // its last pass may be counted as it is closed
    const bool begun = now->passes > 0 && !(same_file && before->passes > 0);
    const bool ended = before->on && !(now->on && same_file) && last.passes > 0;
    if (begun)
      remember_recording(now->path);  // not at its end alone, which a studio that is killed never sees
    if (ended) remember_recording(last.path);
  }
  const bool was_on = recorded_.runs.on || recorded_.steps.on;
  recorded_ = {runs, steps};
  if (was_on && !runs.on && !steps.on && !went_wrong) message_ = ended_recording(recorded_);
}

}  // namespace shardlens::ui
