// The worker behind a BreakSession.
//
// Protocol. send() appends to a queue under a lock. The worker takes all commands from it between two steps.
// Only Start, Stop, Clear and the end of the session interrupt a step: they cancel the present run. Its
// executors exist as long as running_ points to the run.
#include "engine/train/experiments/break_session.h"
#include "engine/planner/parameters.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/job.h"
#include "engine/base/one_run.h"
#include "engine/config/heads.h"
#include "engine/config/presets.h"
#include "engine/io/file_problem.h"
#include "engine/runtime/mailbox.h"
#include "engine/train/data/train_data.h"
#include "engine/train/experiments/break_run.h"

namespace shardlens {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPublishSeconds = 0.05;         // seconds between publications while steps are fast
constexpr int64_t kManyParameters = 30'000'000;  // above this, 50 steps take too long to wait for
constexpr int64_t kToyBatch = 4, kToySequence = 64;

// The smallest whole model of the family, if the settings are of one layer or of a much larger model.
std::optional<BreakSettings> toy_of(const Settings& settings) {
  if (settings.block == Block::Model && parameter_count(settings.model) < kManyParameters)
    return std::nullopt;
  Settings toy;
  toy.model = model_preset(settings.model.objective == Objective::NextToken ? "gpt2-tiny" : "bert-tiny");
  toy.model.norm = settings.model.norm;
  toy.split = settings.split;
  toy.tp = std::clamp(settings.tp, 1, static_cast<int>(toy.model.heads));
  const bool divides = divides_heads(toy.model, toy.tp);
  if (!divides) toy.heads_policy = HeadsPolicy::Uneven;  // T stays, for any heads of the toy
  toy.dtype = settings.dtype;
  toy.seed = settings.seed;
  toy.dropout = settings.dropout;
  toy.hardware = settings.hardware;
  toy.batch = kToyBatch;
  toy.seq = kToySequence;
  toy.block = Block::Model;
  const char* policy = divides ? "" : " --heads-policy uneven";
  return BreakSettings{toy, toy.model.title + ", whole model", "--model " + toy.model.name + policy};
}

}  // namespace

class BreakSession::Worker {
 public:
  Worker() {
    publish();
    mail_.start(
        "the experiments with mistakes", [this] { return turn(); }, [this] { let_go(); });
  }

  ~Worker() {
    mail_.close([this] { cancel_running(); });
    mail_.join();
  }

  void send(BreakCommand command) {
    const bool only_looks = std::holds_alternative<break_command::Look>(command);
    mail_.send(std::move(command), [&](const auto&) {
      if (!only_looks) cancel_running();
    });
  }

  const Mailbox<BreakCommand, BreakSnapshot>& mail() const { return mail_; }

 private:
  NextTurn turn();
  void handle(const BreakCommand& command);
  Job<> look(Settings settings);
  Job<> start(break_command::Start wish);
  void begin_step();
  void end_work();
  void let_go();
  void stop_with(BreakState state, const std::string& message);
  void publish();
  void cancel_running() {
    if (running_ != nullptr) running_->cancel();
  }

  // shared with callers
  Mailbox<BreakCommand, BreakSnapshot> mail_;
  BreakRun* running_ = nullptr;  ///< set during a step; under the mailbox's lock

  // the worker's own
  BreakSnapshot now_;
  std::unique_ptr<BreakRun> run_;
  OneRun one_run_;
  std::optional<Job<>> work_;  ///< a look, the preparations of a start, or the run's present step
  bool steps_ = false;         ///< work_ is a step
  Clock::time_point last_published_;
};

void BreakSession::Worker::publish() {
  ++now_.version;
  last_published_ = Clock::now();
  mail_.publish(std::make_shared<const BreakSnapshot>(now_));
}

// Commands are taken between two steps; those that end what runs have cancelled the present one.
NextTurn BreakSession::Worker::turn() {
  if (!mail_.begin_turn()) return kEnds;
  bool waits = false;
  try {
    while (!work_ && !waits) {
      waits = !one_run_.may_begin();
      const std::optional<BreakCommand> command = waits ? std::nullopt : mail_.take();
      if (!command) break;
      handle(*command);
    }
    if (!work_ && run_ && !waits) begin_step();
    if (work_ && work_->go_on()) end_work();
  } catch (const Error& error) {
    // Cancelled by a command that is in the queue; that command decides what comes next.
    if (error.kind() == ErrorKind::Cancelled)
      let_go();
    else
      stop_with(error.kind() == ErrorKind::Request ? BreakState::Refused : BreakState::Failed, error.what());
  } catch (const std::exception& error) {
    stop_with(BreakState::Failed, message_of(error));
  }
  // One pass is over soon; a training lets the others run in between.
  if (!work_ && (!run_ || run_->report().wanted_steps > 0)) one_run_.end();
  return mail_.end_turn(run_ != nullptr || work_ || waits);
}

void BreakSession::Worker::handle(const BreakCommand& command) {
  if (const auto* wish = std::get_if<break_command::Look>(&command)) {
    work_ = look(wish->settings);
    return;
  }
  let_go();
  if (const auto* wish = std::get_if<break_command::Start>(&command)) {
    work_ = start(*wish);
    return;
  }
  const bool clears = std::holds_alternative<break_command::Clear>(command);
  if (clears) {
    now_.planted.reset();
    now_.report = nullptr;
    now_.message.clear();
    now_.state = BreakState::Idle;
  } else if (now_.is_active()) {
    now_.state = BreakState::Stopped;
  }
  publish();
}

Job<> BreakSession::Worker::look(Settings settings) {
  std::vector<BreakChoice> choices;
  now_.toy = toy_of(settings);
  for (const Fault fault : all_faults()) {
    co_await GiveWay();
    BreakChoice choice{fault, has_opportunity(settings, fault), {}, place_of(settings, fault)};
    // A fault that needs a whole model is shown on one that trains in seconds.
    const bool on_toy = now_.toy && facts_of(fault).settings.whole_model;
    if (!choice.possible) choice.remedy = break_settings(on_toy ? now_.toy->settings : settings, fault);
    if (!choice.possible && on_toy && choice.remedy) {
      const std::string& more = choice.remedy->words;
      choice.remedy->words = now_.toy->words + (more.empty() ? "" : ", " + more);
    }
    if (choice.remedy) choice.place = place_of(choice.remedy->settings, fault);
    choices.push_back(std::move(choice));
  }
  now_.looked_at = settings;
  now_.choices = std::move(choices);
  publish();
}

Job<> BreakSession::Worker::start(break_command::Start wish) {
  now_.planted = wish.fault;
  now_.report = nullptr;
  now_.message.clear();
  now_.state = BreakState::Preparing;
  publish();
  co_await GiveWay();
  std::shared_ptr<const BatchSource> batches;
  if (wish.settings.block == Block::Model) {
    const TrainData data = open_built_in_text(wish.settings.model);
    batches = make_batches(data.train, *data.tokenizer, wish.settings, wish.settings.seed);
  }
  co_await GiveWay();
  BreakRequest request{wish.settings, wish.fault, wish.steps};
  request.keeps_passes = true;
  run_ = std::make_unique<BreakRun>(request, batches, kBuiltInText);
  now_.report = std::make_shared<const BreakReport>(run_->report());
  now_.state = BreakState::Running;
  publish();
}

void BreakSession::Worker::begin_step() {
  if (!mail_.begin_unless_called([this] { running_ = run_.get(); })) return;
  work_ = run_->step_in_pieces();
  steps_ = true;
}

void BreakSession::Worker::end_work() {
  work_.reset();
  if (!std::exchange(steps_, false)) return;
  const size_t looked_into = now_.report->probes.size();
  const bool done = run_->done();
  const std::chrono::duration<double> since = Clock::now() - last_published_;
  if (!done && run_->report().probes.size() == looked_into && since.count() < kPublishSeconds) return;
  now_.report = std::make_shared<const BreakReport>(run_->report());
  if (done) {
    now_.state = BreakState::Done;
    let_go();
  }
  publish();
}

void BreakSession::Worker::let_go() {
  mail_.locked([this] { running_ = nullptr; });
  work_.reset();
  steps_ = false;
  run_.reset();
}

void BreakSession::Worker::stop_with(BreakState state, const std::string& message) {
  let_go();
  now_.state = state;
  now_.message = message;
  publish();
}

BreakSession::BreakSession() : worker_(std::make_unique<Worker>()) {}
BreakSession::~BreakSession() = default;
void BreakSession::send(BreakCommand command) {
  worker_->send(std::move(command));
}
std::shared_ptr<const BreakSnapshot> BreakSession::snapshot() const {
  return worker_->mail().snapshot();
}
std::shared_ptr<const BreakSnapshot> BreakSession::wait_until_idle(double timeout_seconds) const {
  return worker_->mail().wait_until_idle(timeout_seconds);
}

}  // namespace shardlens
