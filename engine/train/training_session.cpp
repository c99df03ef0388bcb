// The worker behind a TrainingSession.
//
// Protocol. send() appends to a queue under a lock. The worker takes all commands from it between two steps,
// and makes a step, or the preparations of a start, piece by piece.
// Only Stop, Start, Restart and the end of the session interrupt a step: they cancel the executor that runs.
// A step that is to be frozen samples every tensor in its pass, and so does the last step of all, so that a
// run that is done can be shown too. The pass is the training step itself, so the values shown are those that
// were used for training. Its times are those of the last step before it that was not sampled.
#include "engine/train/training_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/job.h"
#include "engine/io/file_problem.h"
#include "engine/runtime/choose.h"
#include "engine/runtime/hanging_rank.h"
#include "engine/runtime/mailbox.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/recordings/run_recorder.h"
#include "engine/runtime/sampler.h"
#include "engine/train/data/corpus.h"
#include "engine/train/data/train_data.h"
#include "engine/train/step_metrics.h"
#include "engine/train/trained_model.h"

namespace shardlens {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPublishSeconds = 0.05;  // seconds between publications while steps are fast
constexpr double kLastStepSeconds = 20;   // for the last step before an end that saves

/// Releases the hanging rank when the step ends, for whatever reason.
struct LetGo {
  HangingRank* hanging = nullptr;
  ~LetGo() {
    if (hanging != nullptr) hanging->let_go();
  }
};

/// The last non-collective step before the middle one of the collectives. If there is no collective, the
/// middle of the Program.
StepId middle_of(const Program& program) {
  std::vector<StepId> before;
  StepId last = 0;
  for (const Step& step : program.steps) {
    if (is_collective(step.op) && step.id > 0) before.push_back(last);
    if (!is_collective(step.op) && !step.outputs.empty()) last = step.id;
  }
  return before.empty() ? static_cast<StepId>(program.steps.size() / 2) : before[before.size() / 2];
}

/// A new folder for the checkpoints of a model, numbered if it exists: two runs can begin in the same second.
std::string free_checkpoint(const train_command::Start& wish, const Settings& settings,
                            const std::string& name) {
  namespace fs = std::filesystem;
  const std::string when =
      fs::path(recording_name(settings, static_cast<double>(std::time(nullptr)))).stem().string();
  const std::string which = wish.models.size() > 1 ? "_" + name : "";
  fs::path folder = fs::path(wish.checkpoints) / (when + which);
  for (int copy = 2; fs::exists(folder); ++copy)
    folder = fs::path(wish.checkpoints) / fmt::format("{}{}-{}", when, which, copy);
  make_folder(folder.parent_path());
  return folder.string();
}

}  // namespace

std::string to_string(TrainState state) {
  switch (state) {
    case TrainState::Idle:
      return "idle";
    case TrainState::Preparing:
      return "preparing";
    case TrainState::Running:
      return "running";
    case TrainState::Paused:
      return "paused";
    case TrainState::Done:
      return "done";
    case TrainState::Stopped:
      return "stopped";
    case TrainState::Refused:
      return "refused";
    case TrainState::Failed:
      return "failed";
  }
  return {};
}

class TrainingSession::Worker {
 public:
  Worker() {
    now_.machine = machine_description();
    publish();
    mail_.start(
        "a training", [this] { return turn(); }, [this] { finish(); });
  }

  ~Worker() { end({}); }

  /// `others`: nothing is saved if left out.
  void end(std::optional<Others> others) {
    if (!mail_.is_started()) return;
    saved_at_end_ = others;
    mail_.close([&] {
      if (!others) cancel_running();
    });
    // A step in which a rank hangs may never end by itself.
    if (others && !wait_for_last_step()) mail_.locked([this] { cancel_running(); });
    mail_.join();
  }

  void send(TrainCommand command) {
    const bool ends_what_runs = std::holds_alternative<train_command::Stop>(command) ||
                                std::holds_alternative<train_command::Start>(command) ||
                                std::holds_alternative<train_command::Restart>(command);
    mail_.send(std::move(command), [&](const auto&) {
      if (ends_what_runs) cancel_running();
    });
  }

  const Mailbox<TrainCommand, TrainSnapshot>& mail() const { return mail_; }

 private:
  NextTurn turn();
  NextTurn end_turn();
  void finish();
  bool wait_for_last_step() {
    std::unique_lock lock(end_mutex_);
    return last_step_done_.wait_for(lock, kLastStepSeconds, [this] { return ended_; });
  }
  void handle(TrainCommand command);
  Job<> start(const train_command::Start& wish, std::vector<TrainedModel> before);
  void restart();
  void lose_rank(int rank);
  void write(const train_command::Write& wish);
  void write(TrainedModel& run);
  void freeze(size_t curve);
  Job<> train_one_step();
  Job<> make_step(TrainedModel& run, bool sampled);
  void finish_if_done();
  void save_rest(Others others);
  void stop_with(TrainState state, const std::string& message);
  void touch(TrainedModel& run) { run.published = nullptr; }
  void publish();
  void cancel_running() {
    if (running_ != nullptr) running_->cancel("training was stopped");
  }

  // shared with callers
  Mailbox<TrainCommand, TrainSnapshot> mail_;
  Executor* running_ = nullptr;  ///< set during a step; under the mailbox's lock

  // the worker's own
  TrainSnapshot now_;
  std::vector<TrainedModel> runs_;
  size_t next_run_ = 0;        ///< of runs_: the one whose step comes next
  std::optional<Job<>> work_;  ///< the present step, or the preparations of a start
  std::optional<size_t> freeze_wanted_;
  std::optional<int> lose_wanted_;  ///< the world rank to lose in the next step
  train_command::Start wish_;       ///< what is trained, or was trained last
  Clock::time_point last_published_;
  RunRecorder recordings_{"studio train"};
  std::optional<Others> saved_at_end_;  ///< set before the mailbox is closed, read after
  std::mutex end_mutex_;
  WaitForWorkers last_step_done_;
  bool ended_ = false;  ///< the last step is done
};

void TrainingSession::Worker::publish() {
  ++now_.version;
  now_.curves.clear();
  for (TrainedModel& run : runs_) {
    if (!run.published) run.published = std::make_shared<const TrainCurve>(run.curve);
    now_.curves.push_back(run.published);
  }
  last_published_ = Clock::now();
  now_.recording = recordings_.state();
  mail_.publish(std::make_shared<const TrainSnapshot>(now_));
}

// While no step is made the recorder can still write, so its progress is published.
NextTurn TrainingSession::Worker::end_turn() {
  if (work_ || now_.state == TrainState::Running) return mail_.end_turn(true);
  const bool settled = recordings_.is_settled();
  if (recordings_.state() != now_.recording) publish();
  return settled ? mail_.end_turn(false) : mail_.end_turn(false, kPublishSeconds);
}

NextTurn TrainingSession::Worker::turn() {
  if (!mail_.begin_turn() && !work_) return kEnds;  // a step that has begun comes to its end, or is cancelled
  try {
    while (!work_) {
      std::optional<TrainCommand> command = mail_.take();
      if (!command) break;
      handle(std::move(*command));
    }
    if (!work_ && now_.state == TrainState::Running) work_ = train_one_step();
    if (work_ && work_->go_on()) work_.reset();
  } catch (const Error& error) {
    stop_with(error.kind() == ErrorKind::Request ? TrainState::Refused : TrainState::Failed, error.what());
  } catch (const std::exception& error) {
    stop_with(TrainState::Failed, message_of(error));
  }
  return end_turn();
}

void TrainingSession::Worker::finish() {
  {
    const std::lock_guard lock(end_mutex_);
    ended_ = true;
  }
  last_step_done_.notify_all();
  if (saved_at_end_) save_rest(*saved_at_end_);
  recordings_.close();
  publish();
}

void TrainingSession::Worker::save_rest(Others others) {
  if (now_.state != TrainState::Running && now_.state != TrainState::Paused) return;
  for (TrainedModel& run : runs_) {
    if (run.curve.checkpoint.empty() && others == Others::Dropped) continue;
    run.save_rest([&] { return free_checkpoint(wish_, run.curve.options.settings, run.curve.name); });
    touch(run);
  }
}

void TrainingSession::Worker::handle(TrainCommand command) {
  if (const auto* wish = std::get_if<train_command::Start>(&command)) {
    wish_ = *wish;
    work_ = start(wish_, {});
    return;
  }
  if (std::holds_alternative<train_command::Restart>(command)) return restart();
  if (const auto* wish = std::get_if<train_command::LoseRank>(&command)) return lose_rank(wish->rank);
  if (const auto* wish = std::get_if<train_command::Freeze>(&command)) return freeze(wish->curve);
  if (const auto* wish = std::get_if<train_command::Write>(&command)) return write(*wish);
  if (const auto* wish = std::get_if<train_command::Record>(&command)) {
    recordings_.set_folder(wish->folder);
  } else if (const auto* save = std::get_if<train_command::Save>(&command)) {
    freeze_wanted_.reset();
    if (now_.state == TrainState::Running) now_.state = TrainState::Paused;
    save_rest(save->all ? Others::Saved : Others::Dropped);
    ++now_.saves;
  } else if (std::holds_alternative<train_command::LetGo>(command)) {
    now_.frozen = nullptr;
  } else if (std::holds_alternative<train_command::Pause>(command)) {
    if (now_.state != TrainState::Running) return;
    freeze_wanted_.reset();
    now_.state = TrainState::Paused;
  } else if (std::holds_alternative<train_command::Resume>(command)) {
    now_.frozen = nullptr;
    if (now_.state == TrainState::Paused) now_.state = TrainState::Running;
  } else if (std::holds_alternative<train_command::Stop>(command)) {
    if (now_.state != TrainState::Running && now_.state != TrainState::Paused) return;
    stop_with(TrainState::Stopped, {});
    return;
  }
  publish();
}

void TrainingSession::Worker::restart() {
  if (wish_.models.empty() || now_.state == TrainState::Preparing) return;
  std::vector<TrainedModel> before = std::move(runs_);
  for (TrainedModel& run : before) run.let_go();  // also frees the reserved checkpoint folders
  work_ = start(wish_, std::move(before));
}

void TrainingSession::Worker::lose_rank(int rank) {
  if (now_.state != TrainState::Running && now_.state != TrainState::Paused) return;
  lose_wanted_ = rank;
  now_.frozen = nullptr;
  now_.state = TrainState::Running;
  publish();
}

void TrainingSession::Worker::write(const train_command::Write& wish) {
  wish_.writing = wish.wish;
  for (TrainedModel& run : runs_) {
    if (wish.now && run.trainer && run.curve.plan) write(run);
  }
  publish();
}

/// A command that arrives during the writing stops the text early.
void TrainingSession::Worker::write(TrainedModel& run) {
  const std::string before = std::exchange(now_.activity, "writing a text");
  publish();
  run.write(wish_.writing, [&] {
    touch(run);
    const std::chrono::duration<double> since = Clock::now() - last_published_;
    if (since.count() > kPublishSeconds) publish();
    return mail_.begin_unless_called([] {});
  });
  now_.activity = before;
  touch(run);
}

/// `before`: the models of the run that is restarted. Their curves continue from their checkpoints.
Job<> TrainingSession::Worker::start(const train_command::Start& wish, std::vector<TrainedModel> before) {
  recordings_.close();
  runs_.clear();
  freeze_wanted_.reset();
  lose_wanted_.reset();
  next_run_ = 0;
  TrainSnapshot fresh;
  fresh.version = now_.version;
  fresh.saves = now_.saves;
  fresh.machine = machine_description(wish.models.front().options.settings);  // one machine for all
  fresh.state = TrainState::Preparing;
  now_ = std::move(fresh);
  now_.activity = "reading the text";
  now_.text.name = wish.text.empty() ? kBuiltInText : wish.text;
  publish();
  co_await GiveWay();
  const Model& first = wish.models.front().options.settings.model;  // one text for all
  const TrainData data =
      wish.text.empty() ? open_built_in_text(first) : open_train_data(wish.text, {}, first);
  now_.text.left_out = data.left_out;
  now_.text.train_tokens = data.train->tokens();
  now_.text.validation_tokens = data.validation ? data.validation->tokens() : 0;
  now_.text.tokenizer = data.tokenizer->name();
  now_.text.unigram_entropy_nats = unigram_entropy_nats(*data.train);
  for (const train_command::Model& model : wish.models) {
    TrainedModel& run = runs_.emplace_back();
    run.curve.name = model.name;
    run.curve.options = model.options;
    if (run.curve.options.checkpoint_every > 0)
      run.curve.options.checkpoint = free_checkpoint(wish, run.curve.options.settings, model.name);
    if (runs_.size() <= before.size()) {
      const TrainCurve& known = before[runs_.size() - 1].curve;
      if (!known.checkpoint.empty()) run.curve.options.checkpoint = known.checkpoint;
      if (known.saved_step > 0) run.curve.options.resume = known.checkpoint;
    }
    run.curve.checkpoint = run.curve.options.checkpoint;
    now_.activity = fmt::format("preparing {}", model.name);
    publish();
    co_await GiveWay();
    TrainOptions options = run.curve.options;
    options.text = {now_.text.name, data.train->tokens(), data.tokenizer, data.train->hash()};
    const Settings& settings = options.settings;
    const auto validation = validation_batches(data, settings);
    run.validates = validation != nullptr;
    run.trainer = std::make_unique<Trainer>(
        options, make_batches(data.train, *data.tokenizer, settings, settings.seed), validation);
    run.curve.options = run.trainer->options();
    if (!options.resume.empty()) run.keep_up_to(run.trainer->steps_done(), before[runs_.size() - 1].curve);
    run.curve.plan = run.trainer->shared_plan();
    run.curve.communicator = run.trainer->executor().communicator();
    run.norms = std::make_shared<GradientNorms>(run.curve.plan->program);
    run.curve.groups = run.norms->groups();
    run.trainer->observe({run.norms});
    now_.activity = "measuring this machine's GEMM ceiling";
    touch(run);
    publish();
    co_await GiveWay();
    co_await run.trainer->measure_ceiling_in_pieces();
    run.curve.ceiling_flops = run.trainer->ceiling_flops();
    touch(run);
  }
  now_.activity.clear();
  now_.state = TrainState::Running;
  finish_if_done();
  publish();
  for (TrainedModel& run : runs_) {
    if (run.writes_now(wish_.writing)) write(run);
  }
  publish();
}

void TrainingSession::Worker::freeze(size_t curve) {
  if (curve >= runs_.size()) return;
  TrainedModel& run = runs_[curve];
  if (run.last_shown) {
    now_.frozen = std::make_shared<FrozenStep>(FrozenStep{curve, run.shown_step, run.last_shown});
    if (now_.state == TrainState::Running) now_.state = TrainState::Paused;
  } else if (run.goes_on() && (now_.state == TrainState::Running || now_.state == TrainState::Paused)) {
    freeze_wanted_ = curve;
    next_run_ = curve;
    now_.frozen = nullptr;
    now_.state = TrainState::Running;
  }
  publish();
}

Job<> TrainingSession::Worker::train_one_step() {
  while (!runs_[next_run_].goes_on()) next_run_ = (next_run_ + 1) % runs_.size();
  const size_t curve = next_run_;
  TrainedModel& run = runs_[curve];
  next_run_ = (next_run_ + 1) % runs_.size();
  const bool last = run.trainer->steps_done() + 1 == run.curve.options.steps;
  const bool frozen = freeze_wanted_ == curve;
  try {
    co_await make_step(run, last || frozen);
  } catch (const RunFailed& error) {
    run.curve.failure = error.failure();
    run.show_failure(error, now_.version);
    run.curve.ended = error.what();
    run.let_go();
    touch(run);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Cancelled) co_return;  // by a command that is in the queue, or by the end
    run.curve.ended = error.what();
    run.let_go();
    touch(run);
  }
  if (frozen) {
    freeze_wanted_.reset();
    if (run.last_shown) {
      now_.frozen = std::make_shared<FrozenStep>(FrozenStep{curve, run.shown_step, run.last_shown});
      now_.state = TrainState::Paused;
    }
  }
  if (!run.curve.done() && !run.curve.failure) run.last_shown = nullptr;
  finish_if_done();
  const std::chrono::duration<double> since = Clock::now() - last_published_;
  if (since.count() > kPublishSeconds || now_.state != TrainState::Running) publish();
}

Job<> TrainingSession::Worker::make_step(TrainedModel& run, bool sampled) {
  Trainer& trainer = *run.trainer;
  Recorder* const recorder = recordings_.open(run.curve.plan, run.curve.communicator, PictureOptions{});
  if (!mail_.begin_unless_called([&] { running_ = &trainer.executor(); }))
    throw Error(ErrorKind::Cancelled, "a new command comes first");
  const Program& program = run.curve.plan->program;
  std::vector<std::shared_ptr<StepObserver>> observers{run.norms};
  if (recorder != nullptr) observers.push_back(recorder->pictures());
  std::shared_ptr<Sampler> sampler;
  if (sampled) {
    // An overflow that the loss scale can handle is shown like any step and does not end the run.
    const bool scaled = program.settings.dtype == DType::Fp16;
    sampler = std::make_shared<Sampler>(
        program, scaled ? Sampler::NotFinite::IsCounted : Sampler::NotFinite::StopsTheRun);
    observers.push_back(sampler);
  }
  std::shared_ptr<HangingRank> hanging;
  if (lose_wanted_ && *lose_wanted_ < program.tp() * program.dp()) {
    hanging = std::make_shared<HangingRank>(*lose_wanted_, program.tp(), middle_of(program),
                                            ranks_take_turns(program.settings));
    observers.push_back(hanging);
  }
  lose_wanted_.reset();
  const LetGo at_the_end{hanging.get()};
  trainer.observe(observers);
  struct Done {
    Worker& worker;
    ~Done() {
      worker.mail_.locked([this] { worker.running_ = nullptr; });
    }
  };
  TrainStep step;
  {
    const Done done{*this};
    run.whole = false;
    step.report = co_await trainer.step_in_pieces();
    run.whole = true;
  }
  step.gradient_norms = run.norms->norms();
  for (double& norm : step.gradient_norms) norm /= step.report.loss_scale;
  const int64_t number = trainer.steps_done(), every = run.curve.options.validate_every;
  const bool last = number >= run.curve.options.steps;
  std::optional<ValidationReport> validation;
  if (run.validates && (is_due(every, number) || (every > 0 && last)))
    validation = co_await trainer.validate_in_pieces();
  if (recorder != nullptr) {
    std::vector<Metric> metrics = metrics_of(step.report);
    for (size_t group = 0; group < step.gradient_norms.size(); ++group)
      metrics.emplace_back(gradient_norm_metric(run.norms->groups()[group]), step.gradient_norms[group]);
    if (validation) std::ranges::move(metrics_of(*validation), std::back_inserter(metrics));
    if (const double entropy = now_.text.unigram_entropy_nats; entropy > 0)
      metrics.emplace_back(kUnigramEntropyMetric, entropy);
    recorder->take(trainer.executor(), std::move(metrics));
  }
  run.curve.ceiling_flops = trainer.ceiling_flops();
  run.curve.steps.push_back(std::make_shared<const TrainStep>(std::move(step)));
  if (validation) run.curve.validations.push_back(*validation);
  if (sampler) {
    run.show_step(*sampler, now_.version);
  } else {
    run.last_events = trainer.executor().events(program.tp());
    run.events_step = number;
  }
  run.save_if_due();
  if (run.writes_now(wish_.writing)) write(run);
  touch(run);
}

void TrainingSession::Worker::finish_if_done() {
  for (const TrainedModel& run : runs_) {
    if (run.goes_on()) return;
  }
  std::string ended;
  bool any_done = false;
  for (const TrainedModel& run : runs_) {
    any_done |= run.curve.done();
    ended += (ended.empty() || run.curve.ended.empty() ? "" : "\n") + run.curve.ended;
  }
  recordings_.close();  // the files are complete
  now_.state = any_done ? TrainState::Done : TrainState::Failed;
  now_.message = any_done ? std::string() : ended;
}

void TrainingSession::Worker::stop_with(TrainState state, const std::string& message) {
  recordings_.close();
  work_.reset();
  for (TrainedModel& run : runs_) run.let_go();
  freeze_wanted_.reset();
  now_.state = state;
  now_.message = message;
  now_.activity.clear();
  publish();
}

TrainingSession::TrainingSession() : worker_(std::make_unique<Worker>()) {}
TrainingSession::~TrainingSession() = default;
void TrainingSession::end(Others others) {
  worker_->end(others);
}
void TrainingSession::send(TrainCommand command) {
  worker_->send(std::move(command));
}
std::shared_ptr<const TrainSnapshot> TrainingSession::snapshot() const {
  return worker_->mail().snapshot();
}
std::shared_ptr<const TrainSnapshot> TrainingSession::wait_until_idle(double timeout_seconds) const {
  return worker_->mail().wait_until_idle(timeout_seconds);
}

}  // namespace shardlens
