// The Replay's loop: takes commands, publishes ReplaySnapshots; opens, closes, moves and plays.
#include "engine/runtime/recordings/replay.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <ranges>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/io/file_problem.h"
#include "engine/record/gallery.h"
#include "engine/runtime/recordings/replay_worker.h"

namespace shardlens {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFewSamples = 256;  // up to so many are read without a Look: they fit with pictures

// True if the command shows something other than the newest pass.
bool moves_away(const ReplayCommand& command) {
  return std::holds_alternative<replay_command::ShowPass>(command) ||
         std::holds_alternative<replay_command::Seek>(command) ||
         std::holds_alternative<replay_command::ShowStep>(command) ||
         std::holds_alternative<replay_command::Play>(command);
}

}  // namespace

NextTurn Replay::Worker::turn() {
  if (!mail_.begin_turn()) return kEnds;
  try {
    while (const std::optional<ReplayCommand> command = mail_.take()) handle(*command);
    look_at_writer();
    if (now_.playing) advance();
  } catch (const std::exception& error) {
    now_.playing = false;
    fail(message_of(error));
  }
  try {
    if (has_metrics_left()) read_metrics();
  } catch (const std::exception& error) {
    metrics_.complete = true;  // what could be read is shown
    now_.metrics = std::make_shared<const MetricTable>(metrics_);
    fail(message_of(error));
  }
  return end_turn();
}

void Replay::Worker::publish() {
  ++now_.version;
  if (recording_ && now_.recording) {
    Snapshot shown;
    shown.version = now_.version;
    shown.plan = now_.recording->plan;
    shown.settings = shown.plan->program.settings;
    shown.result = shown_.result;
    shown.position = position_;
    shown.state = position_ >= shown.plan->program.steps.size() ? RunState::Done : RunState::Paused;
    now_.shown = std::make_shared<const Snapshot>(std::move(shown));
    now_.pass = shown_.pass;
    now_.pass_begin_seconds = shown_.time.begin_seconds;
  }
  mail_.publish(std::make_shared<const ReplaySnapshot>(now_));
}

void Replay::Worker::say(const std::string& message) {
  now_.message = message;
  ++now_.messages;
  publish();
}

void Replay::Worker::fail(const std::string& message) {
  ++now_.failures;
  say(message);
}

void Replay::Worker::handle(const ReplayCommand& command) {
  if (const auto* wish = std::get_if<replay_command::Open>(&command)) return open(wish->path);
  if (const auto* wish = std::get_if<replay_command::List>(&command)) {
    const auto has_any = [](const RecordingList& list) {
      return std::any_of(list.entries.begin(), list.entries.end(),
                         [](const RecordingList::Entry& entry) { return !entry.is_folder; });
    };
    RecordingList list = list_of(wish->folder);
    if (!wish->otherwise.empty() && !has_any(list))
      if (RecordingList other = list_of(wish->otherwise); has_any(other)) list = std::move(other);
    now_.list = std::make_shared<const RecordingList>(std::move(list));
    return publish();
  }
  if (!recording_) return;
  const int64_t passes = now_.recording->passes;
  if (moves_away(command)) now_.follows = false;
  if (std::holds_alternative<replay_command::Close>(command)) {
    close();
  } else if (std::holds_alternative<replay_command::Pause>(command)) {
    now_.playing = false;
  } else if (std::holds_alternative<replay_command::AddNote>(command) ||
             std::holds_alternative<replay_command::EditNote>(command) ||
             std::holds_alternative<replay_command::RemoveNote>(command)) {
    write_note(command);
  } else if (const auto* follow = std::get_if<replay_command::Follow>(&command)) {
    now_.follows = follow->on && now_.is_live();
    if (now_.follows) now_.playing = false;
    if (now_.follows && passes > 0) {
      show_pass(passes - 1);
      stand_after(shown_.done.size());
      whole_ = true;
    }
  } else if (passes == 0) {
    return;  // there is no position to show
  } else if (const auto* to = std::get_if<replay_command::ShowPass>(&command)) {
    now_.playing = false;
    show_pass(std::clamp<int64_t>(to->pass, 0, passes - 1));
    stand_after(shown_.done.size());
    whole_ = true;
  } else if (const auto* moment = std::get_if<replay_command::Seek>(&command)) {
    now_.playing = false;
    stand_at(moment->seconds);
  } else if (const auto* step = std::get_if<replay_command::ShowStep>(&command)) {
    now_.playing = false;
    stand_after(step->position);
  } else if (const auto* look = std::get_if<replay_command::Look>(&command)) {
    look_at(look->tensors);
  } else if (const auto* play = std::get_if<replay_command::Play>(&command)) {
    if (!(play->speed > 0) || !std::isfinite(play->speed)) return;
    if (whole_)
      stand_at(shown_.time.begin_seconds);
    else if (now_.seconds >= now_.recording->seconds)
      stand_at(0);
    now_.speed = play->speed;
    now_.playing = true;
    played_at_ = Clock::now();
    played_from_seconds_ = now_.seconds;
  }
  publish();
}

// All objects are made before any of them replaces an old one.
void Replay::Worker::open(const std::string& path_or_piece) {
  std::string path = path_or_piece;
  std::error_code not_there;
  if (std::filesystem::is_directory(path, not_there)) return handle(replay_command::List{path});
  now_.playing = false;
  try {
    path = recording_path(path_or_piece);
    auto recording = std::make_unique<Recording>(path);
    const uint64_t generation = recording->generation();
    const RecordingHeader& header = recording->header();
    auto facts = std::make_shared<RecordingFacts>();
    facts->path = path;
    facts->verb = header.verb;
    facts->machine = header.machine;
    facts->communicator = {header.communicator, header.communicator_reason};
    facts->started_unix_seconds = recording->started_unix_seconds();
    facts->finished = recording->finished();
    facts->failure = recording->failure();
    std::error_code ignored;
    facts->file_bytes = static_cast<int64_t>(std::filesystem::file_size(path, ignored));
    facts->passes = recording->passes();
    const RecordingTotals totals = recording->totals();
    facts->dropped_passes = totals.dropped_passes;
    facts->problem = totals.problem;
    if (facts->passes > 0)
      facts->seconds = std::max(0.0, recording->pass_time(facts->passes - 1).end_seconds());
    facts->plan = plan_of(header);
    const WriterState writer = recording->writer();
    const bool live = writer != WriterState::Gone;
    std::vector<BytesByKind> high_water_bytes = recording->high_water_bytes();
    Shown shown;
    const Program& program = facts->plan->program;
    const bool few = program.tensors.size() * static_cast<size_t>(program.tp()) <= kFewSamples;
    auto looked_at = std::make_shared<const std::vector<bool>>(program.tensors.size(), few);
    if (facts->passes > 0) {
      shown = read_pass(*recording, facts->plan, live ? facts->passes - 1 : 0, high_water_bytes, live);
      read_samples(*recording, *looked_at, {}, shown);
    }
    std::vector<ReplayNote> notes;
    for (Note& note : recording->notes()) {
      const int64_t pass = pass_at(*recording, facts->passes, note.seconds);
      notes.push_back({std::move(note), pass, true});
    }

    taken_generation_ = generation;
    high_water_bytes_ = std::move(high_water_bytes);
    recording_ = std::move(recording);
    now_.recording = std::move(facts);
    now_.writer = writer;
    now_.follows = live;
    now_.committed_seconds = recording_->committed_seconds();
    now_.message.clear();
    shown_ = std::move(shown);
    now_.looked_at = std::move(looked_at);
    notes_ = std::move(notes);
  } catch (const std::exception& error) {
    return fail(message_of(error));
  }
  metrics_ = {};
  metric_rows_ = 0;
  metrics_.stride = std::max<int64_t>(1, (now_.recording->passes + kMostMetricRows - 1) / kMostMetricRows);
  metrics_.complete = now_.recording->passes == 0;
  now_.metrics = std::make_shared<const MetricTable>(metrics_);
  stand_after(shown_.done.size());
  whole_ = true;
  publish_notes();
}

void Replay::Worker::close() {
  recording_.reset();
  shown_ = {};
  notes_.clear();
  metrics_ = {};
  position_ = 0;
  ReplaySnapshot closed;
  closed.version = now_.version;
  closed.messages = now_.messages;
  closed.failures = now_.failures;
  closed.list = now_.list;
  now_ = std::move(closed);
}

void Replay::Worker::look_at(const std::vector<TensorId>& tensors) {
  std::vector<bool> wanted(now_.looked_at->size(), false);
  for (const TensorId id : tensors)
    if (id >= 0 && static_cast<size_t>(id) < wanted.size()) wanted[static_cast<size_t>(id)] = true;
  if (wanted == *now_.looked_at) return;
  now_.looked_at = std::make_shared<const std::vector<bool>>(std::move(wanted));
  // Tensors that were coarse for lack of room may have room now, so known samples are not reused.
  read_samples(*recording_, *now_.looked_at, {}, shown_);
}

// Returns the last pass that has begun at `seconds`; the cost does not grow with the number of passes.
int64_t Replay::Worker::pass_at(const Recording& recording, int64_t passes, double seconds) const {
  const auto numbers = std::views::iota(int64_t{0}, passes);
  const auto later = std::ranges::upper_bound(
      numbers, seconds, {}, [&](int64_t pass) { return recording.pass_time(pass).begin_seconds; });
  return std::max<int64_t>(0, later - numbers.begin() - 1);
}

void Replay::Worker::show_pass(int64_t pass) {
  if (shown_.result && shown_.pass == pass) return;
  Shown shown = read_pass(*recording_, now_.recording->plan, pass, high_water_bytes_, now_.is_live());
  read_samples(*recording_, *now_.looked_at, shown_.samples, shown);
  shown_ = std::move(shown);
}

void Replay::Worker::stand_at(double seconds) {
  whole_ = false;
  const double end = now_.recording->seconds;
  now_.seconds = std::isfinite(seconds) ? std::clamp(seconds, 0.0, end) : 0;
  show_pass(pass_at(*recording_, now_.recording->passes, now_.seconds));
  const double within = now_.seconds - shown_.time.begin_seconds;
  constexpr double kRounding = 1e-9;  // a step counts as done at its own end
  position_ = static_cast<size_t>(
      std::upper_bound(shown_.done.begin(), shown_.done.end(), within + kRounding) - shown_.done.begin());
}

void Replay::Worker::stand_after(size_t position) {
  whole_ = false;
  position_ = std::min(position, shown_.done.size());
  now_.seconds =
      std::max(0.0, shown_.time.begin_seconds + (position_ == 0 ? 0.0 : shown_.done[position_ - 1]));
}

void Replay::Worker::advance() {
  const double passed = std::chrono::duration<double>(Clock::now() - played_at_).count();
  const double wanted = played_from_seconds_ + passed * now_.speed;
  stand_at(wanted);
  if (wanted >= now_.recording->seconds) now_.playing = false;
  ++now_.played;
  publish();
}

Replay::Replay() : worker_(std::make_unique<Worker>()) {}
Replay::~Replay() = default;
void Replay::send(ReplayCommand command) {
  worker_->send(std::move(command));
}
std::shared_ptr<const ReplaySnapshot> Replay::snapshot() const {
  return worker_->mail().snapshot();
}
std::shared_ptr<const ReplaySnapshot> Replay::wait_until_idle(double timeout_seconds) const {
  return worker_->mail().wait_until_idle(timeout_seconds);
}

}  // namespace shardlens
