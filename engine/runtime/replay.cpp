// The Replay's worker: its thread, the recording that is open, and the clock it is played by.
//
// Protocol. Commands come by the mailbox; between them the worker reads what is left of the metrics, a
// stretch at a time, and while it plays it looks at the clock and moves on. Only the pass shown is in memory;
// the next takes its place. A recording that is refused, at whichever step of opening it, leaves everything
// as it was.
#include "engine/runtime/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <thread>

#include "engine/config/error.h"
#include "engine/config/units.h"
#include "engine/record/gallery.h"
#include "engine/runtime/mailbox.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/step_times.h"

namespace shardlens {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(16);  // between two positions while it plays
constexpr int64_t kMostMetricRows = 1 << 16;
constexpr int64_t kMetricRowsAtOnce = 1 << 12;
constexpr size_t kMostMetrics = 32;
constexpr size_t kMostListed = 2'000;
constexpr const char* kExtension = ".shardlens";
constexpr int64_t kSampleBytes = int64_t{64} << 20;  // of pictures and values, all tensors together
constexpr size_t kFewSamples = 256;  // so many are read without being asked for: they fit with their pictures

// The Plan of what was recorded. Where the hardware it was priced on is not known here, this machine is.
std::shared_ptr<const Plan> plan_of(const RecordingHeader& header) {
  Program program = header.program;
  try {
    find_hardware(program.settings.hardware);
  } catch (const Error&) {
    program.settings.hardware = "this-machine";
  }
  return make_plan(std::move(program));
}

// When every rank had done each step of a pass, from its beginning; never decreases.
std::vector<double> done_seconds(const Result& result) {
  std::vector<double> done(result.plan->program.steps.size(), 0);
  double latest = 0;
  for (size_t step = 0; step < done.size(); ++step) {
    for (const std::vector<StepEvent>& rank : result.events)
      if (step < rank.size()) latest = std::max(latest, rank[step].end_seconds);
    done[step] = latest;
  }
  return done;
}

RecordingList list_of(const std::string& wanted) {
  namespace fs = std::filesystem;
  RecordingList list;
  std::error_code failed;
  const fs::path folder =
      fs::weakly_canonical(wanted.empty() ? fs::current_path(failed) : fs::path(wanted), failed);
  list.folder = folder.string();
  fs::directory_iterator entries(folder, fs::directory_options::skip_permission_denied, failed);
  if (failed) {
    list.problem = fmt::format("{} cannot be read: {}", list.folder, failed.message());
    return list;
  }
  for (; entries != fs::directory_iterator() && list.entries.size() < kMostListed;
       entries.increment(failed)) {
    if (failed) break;
    const std::string name = entries->path().filename().string();
    const bool is_folder = entries->is_directory(failed);
    if (name.starts_with(".") || (!is_folder && entries->path().extension() != kExtension)) continue;
    const auto bytes = is_folder ? 0 : static_cast<int64_t>(entries->file_size(failed));
    list.entries.push_back({name, is_folder, failed ? 0 : bytes});
  }
  std::sort(list.entries.begin(), list.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.is_folder, a.name) < std::pair(b.is_folder, b.name);
  });
  return list;
}

}  // namespace

const std::vector<double>* MetricTable::column(const std::string& name) const {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? nullptr : &values[static_cast<size_t>(at - names.begin())];
}

std::shared_ptr<const Result> replayed_result(const RecordingHeader& header,
                                              const std::shared_ptr<const Plan>& plan, RecordedPass pass,
                                              const std::vector<BytesByKind>& high_water_bytes) {
  const auto ranks = static_cast<size_t>(plan->program.ranks());
  Result result;
  result.plan = plan;
  result.communicator = {header.communicator, header.communicator_reason};
  result.machine = header.machine;
  result.replayed = true;
  result.provenance = "replayed on " + header.machine;
  result.not_compared =
      "A recording holds what ran, and no run on one rank beside it. Run its settings here, and this machine "
      "compares them.";
  result.not_exact = fmt::format(
      "A recording keeps the values of pieces of up to {} elements as they are, and pictures of larger ones.",
      grouped_text(kRecordedExactElements));
  // Of several replicas the first is shown, as of a run; what late ranks cost is reckoned with all of them.
  if (high_water_bytes.size() >= ranks)
    result.high_water_bytes.assign(high_water_bytes.begin(),
                                   high_water_bytes.begin() + static_cast<std::ptrdiff_t>(ranks));
  const size_t steps = plan->program.steps.size();
  const bool whole = std::all_of(pass.events.begin(), pass.events.end(),
                                 [steps](const auto& rank) { return rank.size() == steps; });
  if (!whole) {
    pass.events.resize(ranks);
    result.events = std::move(pass.events);
    return std::make_shared<const Result>(std::move(result));
  }
  set_times(result, std::move(pass.events));
  TimeComparison times = compare_times(*plan, result.events);
  times.measured_on = header.machine;
  result.times = std::make_shared<const TimeComparison>(std::move(times));
  return std::make_shared<const Result>(std::move(result));
}

class Replay::Worker {
 public:
  Worker() {
    publish();
    thread_ = std::thread([this] { main(); });
  }
  ~Worker() {
    mail_.close();
    thread_.join();
  }

  /// Of several wishes to stand somewhere that wait in a row only the last counts.
  void send(ReplayCommand command) {
    const auto moves = [](const ReplayCommand& wish) {
      return std::holds_alternative<replay_command::Seek>(wish) ||
             std::holds_alternative<replay_command::ShowPass>(wish);
    };
    const bool is_move = moves(command);
    mail_.send(std::move(command), [&](auto& queue) {
      if (is_move && !queue.empty() && moves(queue.back())) queue.pop_back();
    });
  }

  const Mailbox<ReplayCommand, ReplaySnapshot>& mail() const { return mail_; }

 private:
  /// The pass that is looked at.
  struct Shown {
    int64_t pass = 0;
    PassTime time;
    std::shared_ptr<const Result> result;  ///< null: the recording holds no pass
    std::vector<double> done;              ///< [step], from the beginning of the pass
    LatestSamples samples;                 ///< that are in the result
  };

  void main();
  void handle(const ReplayCommand& command);
  void open(const std::string& path_or_piece);
  void close();
  void publish();
  void say(const std::string& message);

  Shown read_pass(const Recording& recording, const RecordingFacts& facts, int64_t pass) const;
  static void read_samples(const Recording& recording, const std::vector<bool>& wanted,
                           const LatestSamples& known, Shown& shown);
  void look_at(const std::vector<TensorId>& tensors);
  int64_t pass_at(const Recording& recording, int64_t passes, double seconds) const;
  void show_pass(int64_t pass);
  void stand_at(double seconds);
  void stand_after(size_t position);
  void advance();

  void read_metrics();
  bool has_metrics_left() const { return recording_ != nullptr && !metrics_.complete; }
  void write_note(const ReplayCommand& command);
  void publish_notes();

  Mailbox<ReplayCommand, ReplaySnapshot> mail_;

  // the worker's own
  ReplaySnapshot now_;
  std::unique_ptr<Recording> recording_;
  Shown shown_;
  std::vector<bool> wanted_;  ///< [tensor]: its samples are shown
  size_t position_ = 0;
  bool whole_ = false;  ///< the pass was asked for as a whole: playing begins with its beginning
  std::vector<ReplayNote> notes_;
  int64_t next_unsaved_ = -1;  ///< ids of notes that the file does not have
  MetricTable metrics_;
  int64_t metrics_read_ = 0;  ///< passes
  Clock::time_point played_at_;
  double played_from_seconds_ = 0;
  std::thread thread_;
};

void Replay::Worker::main() {
  while (mail_.wait(now_.playing || has_metrics_left())) {
    try {
      while (const std::optional<ReplayCommand> command = mail_.take()) handle(*command);
      if (has_metrics_left()) read_metrics();
      if (now_.playing) advance();
    } catch (const std::exception& error) {
      now_.playing = false;
      metrics_.complete = true;  // what could be read is shown
      say(error.what());
    }
    if (now_.playing) std::this_thread::sleep_for(kTick);
  }
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

void Replay::Worker::handle(const ReplayCommand& command) {
  if (const auto* wish = std::get_if<replay_command::Open>(&command)) return open(wish->path);
  if (const auto* wish = std::get_if<replay_command::List>(&command)) {
    now_.list = std::make_shared<const RecordingList>(list_of(wish->folder));
    return publish();
  }
  if (!recording_) return;
  const int64_t passes = now_.recording->passes;
  if (std::holds_alternative<replay_command::Close>(command)) {
    close();
  } else if (std::holds_alternative<replay_command::Pause>(command)) {
    now_.playing = false;
  } else if (std::holds_alternative<replay_command::AddNote>(command) ||
             std::holds_alternative<replay_command::EditNote>(command) ||
             std::holds_alternative<replay_command::RemoveNote>(command)) {
    write_note(command);
  } else if (passes == 0) {
    return;  // there is nowhere to stand
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

// Everything is made before anything is taken over.
void Replay::Worker::open(const std::string& path_or_piece) {
  std::string path = path_or_piece;
  std::error_code not_there;
  if (std::filesystem::is_directory(path, not_there)) return handle(replay_command::List{path});
  now_.playing = false;
  try {
    path = recording_path(path_or_piece);
    auto recording = std::make_unique<Recording>(path);
    const RecordingHeader& header = recording->header();
    auto facts = std::make_shared<RecordingFacts>();
    facts->path = path;
    facts->verb = header.verb;
    facts->machine = header.machine;
    facts->communicator = {header.communicator, header.communicator_reason};
    facts->started_unix_seconds = recording->started_unix_seconds();
    facts->finished = recording->finished();
    std::error_code ignored;
    facts->file_bytes = static_cast<int64_t>(std::filesystem::file_size(path, ignored));
    facts->passes = recording->passes();
    const RecordingTotals totals = recording->totals();
    facts->dropped_passes = totals.dropped_passes;
    facts->problem = totals.problem;
    if (facts->passes > 0)
      facts->seconds = std::max(0.0, recording->pass_time(facts->passes - 1).end_seconds());
    facts->plan = plan_of(header);
    Shown shown;
    const Program& program = facts->plan->program;
    const bool few = program.tensors.size() * static_cast<size_t>(program.ranks()) <= kFewSamples;
    std::vector<bool> wanted(program.tensors.size(), few);
    if (facts->passes > 0) {
      shown = read_pass(*recording, *facts, 0);
      read_samples(*recording, wanted, {}, shown);
    }
    std::vector<ReplayNote> notes;
    for (Note& note : recording->notes()) {
      const int64_t pass = pass_at(*recording, facts->passes, note.seconds);
      notes.push_back({std::move(note), pass, true});
    }

    recording_ = std::move(recording);
    now_.recording = std::move(facts);
    now_.message.clear();
    shown_ = std::move(shown);
    wanted_ = std::move(wanted);
    notes_ = std::move(notes);
  } catch (const std::exception& error) {
    return say(error.what());
  }
  metrics_ = {};
  metrics_read_ = 0;
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
  closed.list = now_.list;
  now_ = std::move(closed);
}

Replay::Worker::Shown Replay::Worker::read_pass(const Recording& recording, const RecordingFacts& facts,
                                                int64_t pass) const {
  Shown shown;
  shown.pass = pass;
  shown.time = recording.pass_time(pass);
  shown.result =
      replayed_result(recording.header(), facts.plan, recording.pass(pass), recording.high_water_bytes());
  shown.done = done_seconds(*shown.result);
  return shown;
}

// What is pictured of the pass: a result of its own, as the one before may still be looked at.
void Replay::Worker::read_samples(const Recording& recording, const std::vector<bool>& wanted,
                                  const LatestSamples& known, Shown& shown) {
  LatestSamples latest = recording.latest_samples(shown.pass, wanted, known, kSampleBytes);
  auto result = std::make_shared<Result>(*shown.result);
  result->samples = latest.samples;
  result->sampled_in.assign(wanted.size(), -1);
  for (const std::vector<int64_t>& rank : latest.passes)
    for (size_t tensor = 0; tensor < wanted.size(); ++tensor)
      result->sampled_in[tensor] = std::max(result->sampled_in[tensor], rank[tensor]);
  result->parity = recording.parity(shown.pass, wanted);
  if (!result->parity.empty()) {
    result->parity_summary = summarise(result->plan->program, result->parity);
    result->not_compared.clear();
  }
  shown.samples = std::move(latest);
  shown.result = std::move(result);
}

void Replay::Worker::look_at(const std::vector<TensorId>& tensors) {
  std::vector<bool> wanted(wanted_.size(), false);
  for (const TensorId id : tensors)
    if (id >= 0 && static_cast<size_t>(id) < wanted.size()) wanted[static_cast<size_t>(id)] = true;
  if (wanted == wanted_) return;
  wanted_ = std::move(wanted);
  // What was coarse for want of room may have it now: nothing that is known is taken over.
  read_samples(*recording_, wanted_, {}, shown_);
}

// The last pass that has begun by then; what it costs does not grow with the recording.
int64_t Replay::Worker::pass_at(const Recording& recording, int64_t passes, double seconds) const {
  int64_t first = 0, last = passes - 1;
  while (first < last) {
    const int64_t middle = first + (last - first + 1) / 2;
    if (recording.pass_time(middle).begin_seconds <= seconds)
      first = middle;
    else
      last = middle - 1;
  }
  return first;
}

void Replay::Worker::show_pass(int64_t pass) {
  if (shown_.result && shown_.pass == pass) return;
  Shown shown = read_pass(*recording_, *now_.recording, pass);
  read_samples(*recording_, wanted_, shown_.samples, shown);
  shown_ = std::move(shown);
}

void Replay::Worker::stand_at(double seconds) {
  whole_ = false;
  const double end = now_.recording->seconds;
  now_.seconds = std::isfinite(seconds) ? std::clamp(seconds, 0.0, end) : 0;
  show_pass(pass_at(*recording_, now_.recording->passes, now_.seconds));
  const double within = now_.seconds - shown_.time.begin_seconds;
  constexpr double kRounding = 1e-9;  // a step's own end counts as done
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
  publish();
}

// A stretch of them, so that a command need not wait for all.
void Replay::Worker::read_metrics() {
  const int64_t passes = now_.recording->passes, stride = metrics_.stride;
  const int64_t end = std::min(passes, metrics_read_ + kMetricRowsAtOnce * stride);
  const auto rows = static_cast<size_t>((end + stride - 1) / stride);
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (std::vector<double>& column : metrics_.values) column.resize(rows, kNone);
  recording_->metrics(metrics_read_, end, stride, [&](int64_t pass, const std::string& name, double value) {
    const auto at = std::find(metrics_.names.begin(), metrics_.names.end(), name);
    const auto column = static_cast<size_t>(at - metrics_.names.begin());
    if (at == metrics_.names.end()) {
      if (metrics_.names.size() == kMostMetrics) return;
      metrics_.names.push_back(name);
      metrics_.values.emplace_back(rows, kNone);
    }
    metrics_.values[column][static_cast<size_t>(pass / stride)] = value;
  });
  metrics_read_ = end;
  metrics_.complete = end >= passes;
  now_.metrics = std::make_shared<const MetricTable>(metrics_);
  publish();
}

// A file that cannot be written loses nothing: what was wanted is kept beside it, and tried again with the
// next note.
void Replay::Worker::write_note(const ReplayCommand& command) {
  const auto of = [this](int64_t id) {
    return std::find_if(notes_.begin(), notes_.end(), [id](const auto& kept) { return kept.note.id == id; });
  };
  if (const auto* wish = std::get_if<replay_command::AddNote>(&command)) {
    ReplayNote added{wish->note, pass_at(*recording_, now_.recording->passes, wish->note.seconds), false};
    added.note.id = next_unsaved_--;
    const auto after =
        std::upper_bound(notes_.begin(), notes_.end(), added.note.seconds,
                         [](double seconds, const auto& kept) { return seconds < kept.note.seconds; });
    notes_.insert(after, std::move(added));
  } else if (const auto* edit = std::get_if<replay_command::EditNote>(&command)) {
    const auto kept = of(edit->id);
    if (kept == notes_.end()) return;
    kept->note.text = edit->text;
    kept->saved = false;
  } else if (const auto* removal = std::get_if<replay_command::RemoveNote>(&command)) {
    const auto kept = of(removal->id);
    if (kept == notes_.end()) return;
    if (kept->note.id >= 0) recording_->remove_note(kept->note.id);
    notes_.erase(kept);
  }
  std::string problem;
  try {
    for (ReplayNote& kept : notes_) {
      if (kept.saved) continue;
      if (kept.note.id < 0)
        kept.note = recording_->add_note(kept.note);
      else
        recording_->edit_note(kept.note.id, kept.note.text);
      kept.saved = true;
    }
  } catch (const std::exception& error) {
    problem = fmt::format(
        "The note is not saved: {}. It is kept here until the recording is closed; Copy in the list of notes "
        "takes all of them along.",
        error.what());
  }
  publish_notes();
  if (!problem.empty()) say(problem);
}

void Replay::Worker::publish_notes() {
  now_.notes = std::make_shared<const std::vector<ReplayNote>>(notes_);
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
