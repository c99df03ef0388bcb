// The worker behind a Comparison.
//
// Protocol. send() appends to a queue under a lock; the worker takes one command after the other and
// completes it, piece by piece. A stop token ends a measurement: Stop, another measurement and the destructor
// set it. Of several plans asked for in a row only the last is made.
#include "engine/runtime/session/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "engine/base/error.h"
#include "engine/base/job.h"
#include "engine/config/hardware_file.h"
#include "engine/io/file_problem.h"
#include "engine/planner/planner.h"
#include "engine/runtime/mailbox.h"
#include "engine/runtime/plan.h"

namespace shardlens {

bool measures(const ComparisonCommand& command) {
  return std::holds_alternative<comparison_command::RunSplits>(command) ||
         std::holds_alternative<comparison_command::SweepDegrees>(command) ||
         std::holds_alternative<comparison_command::RunTop>(command);
}

class Comparison::Worker {
 public:
  Worker() {
    mail_.publish(std::make_shared<ComparisonSnapshot>());
    mail_.start("a comparison", [this] { return turn(); });
  }

  ~Worker() {
    mail_.close([this] { stop_.request_stop(); });
    mail_.join();
  }

  void send(ComparisonCommand command) {
    const bool gives_up = std::holds_alternative<comparison_command::Stop>(command),
               measures_too = measures(command);
    const size_t kind = command.index();
    mail_.send(std::move(command), [&](auto& queue) {
      if (gives_up) std::erase_if(queue, measures);
      if (gives_up || measures_too) stop_.request_stop();  // stops the present measurement
      if (!queue.empty() && !measures_too && queue.back().index() == kind) queue.pop_back();
    });
  }

  const Mailbox<ComparisonCommand, ComparisonSnapshot>& mail() const { return mail_; }

 private:
  NextTurn turn();
  bool begin();
  Job<> handle(const comparison_command::PlanSplits& wish);
  Job<> handle(const comparison_command::RunSplits&);
  Job<> handle(const comparison_command::SweepDegrees& wish);
  Job<> handle(const comparison_command::HoldTournament& command);
  Job<> handle(const comparison_command::RunTop& wish);
  Job<> handle(const comparison_command::Stop&) { co_return; }
  void rest();
  void publish();
  /// Publishes what is measured now.
  void measure(const std::string& activity) {
    now_.measuring = true;
    now_.activity = activity;
    publish();
  }
  RunWish run_wish() const { return {.passes = 3, .stop = token_}; }

  // shared with callers
  Mailbox<ComparisonCommand, ComparisonSnapshot> mail_;
  std::stop_source stop_;  ///< of the present command or the one taken next; under the mailbox's lock

  // only the worker uses these
  ComparisonSnapshot now_;
  std::stop_token token_;
  std::optional<ComparisonCommand> command_;  ///< the present one
  std::optional<Job<>> job_;                  ///< what is left to do for it
};

void Comparison::Worker::publish() {
  ++now_.version;
  mail_.publish(std::make_shared<ComparisonSnapshot>(now_));
}

/// Publishes that the worker is idle.
void Comparison::Worker::rest() {
  now_.busy = now_.measuring = false;
  now_.activity.clear();
  publish();
}

NextTurn Comparison::Worker::turn() {
  if (!mail_.begin_turn()) return kEnds;
  try {
    if (!job_ && !begin()) return mail_.end_turn(false);
    if (!job_->go_on()) return mail_.end_turn(true);
  } catch (const Error& error) {
    now_.message =
        error.kind() == ErrorKind::Cancelled ? "The measurement was stopped before its end." : error.what();
  } catch (const std::exception& error) {
    now_.message = message_of(error);
  }
  job_.reset();
  rest();
  return mail_.end_turn(false);
}

/// Begins with the next command. Returns false if there is none.
bool Comparison::Worker::begin() {
  // Before the command is taken: a command that arrives from here on stops it.
  token_ = mail_.locked([this] { return (stop_ = std::stop_source()).get_token(); });
  command_ = mail_.take();
  if (!command_) return false;
  now_.busy = true;
  if (measures(*command_)) now_.message.clear();
  job_ = std::visit([this](const auto& wish) { return handle(wish); }, *command_);
  return true;
}

Job<> Comparison::Worker::handle(const comparison_command::PlanSplits& wish) {
  now_.trials = std::make_shared<SplitTrials>(plan_trials(wish.settings, wish.splits));
  co_return;
}

Job<> Comparison::Worker::handle(const comparison_command::RunSplits&) {
  if (!now_.trials) co_return;
  SplitTrials trials = *now_.trials;
  for (SplitTrial& trial : trials.trials) begin_rounds(trial);
  // A round of each split in turn, so that a busy moment of the machine does not meet only one of them; every
  // second round goes the other way.
  for (int round = 0; round < kSplitRounds; ++round) {
    for (size_t i = 0; i < trials.trials.size(); ++i) {
      SplitTrial& trial = trials.trials[round % 2 == 0 ? i : trials.trials.size() - 1 - i];
      measure(fmt::format("measuring {}, round {} of {}", trial.split.name, round + 1, kSplitRounds));
      const RunWish wish{.passes = 1, .stop = token_};
      co_await run_trial(trial, wish);
      now_.trials = std::make_shared<SplitTrials>(trials);
    }
  }
}

Job<> Comparison::Worker::handle(const comparison_command::SweepDegrees& wish) {
  now_.activity = "planning";
  publish();
  Sweeper sweeper(wish.settings, wish.degrees);
  for (;;) {
    now_.sweep = std::make_shared<Sweep>(sweeper.sweep());
    if (sweeper.is_done()) co_return;
    measure(fmt::format("measuring T = {}", sweeper.next_degree()));
    co_await sweeper.run_next(run_wish());
  }
}

Job<> Comparison::Worker::handle(const comparison_command::HoldTournament& command) {
  now_.activity = "ranking every split";
  publish();
  auto held = std::make_shared<HeldTournament>();
  held->wish = command.wish;
  const Settings& settings = command.wish.settings;
  const Hardware& hardware = find_hardware(settings.hardware);
  held->predicted_on = hardware.title + ": " + hardware.basis;
  held->has_times = hardware.flops(settings.dtype) > 0;
  held->can_run = held->has_times && hardware.is_calibrated() && hardware.name == kThisMachine;
  const int ranks = command.wish.ranks;
  const int64_t limit =
      command.wish.limit_bytes > 0 ? command.wish.limit_bytes : memory_of_a_rank(hardware, ranks);
  const auto begin = std::chrono::steady_clock::now();
  try {
    held->tournament = co_await hold_in_pieces(settings, ranks, hardware, limit, command.wish.listed);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) throw;
    held->refused = error.what();
  }
  held->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::vector<Entrant>& entrants = held->tournament.entrants;
  held->megatron = static_cast<size_t>(
      std::find_if(entrants.begin(), entrants.end(),
                   [](const Entrant& entrant) { return entrant.split.name == "megatron"; }) -
      entrants.begin());
  now_.tournament = std::move(held);
}

Job<> Comparison::Worker::handle(const comparison_command::RunTop& wish) {
  if (!now_.tournament || !now_.tournament->can_run) co_return;
  HeldTournament held = *now_.tournament;
  held.runs.clear();
  held.round_seconds.clear();
  const size_t count = std::min(wish.count, held.tournament.listed.size());
  std::vector<std::shared_ptr<const Plan>> plans;
  for (size_t i = 0; i < count; ++i) {
    const Entrant& entrant = held.tournament.entrants[held.tournament.listed[i]];
    plans.push_back(make_plan(plan_program(settings_of(held.wish.settings, entrant))));
    co_await GiveWay();
  }
  for (int round = 0; round < kSplitRounds; ++round) {
    for (size_t i = 0; i < count; ++i) {
      measure(fmt::format("running number {} of {}, round {} of {}", i + 1, count, round + 1, kSplitRounds));
      std::vector<std::shared_ptr<StepObserver>> nobody;
      const RunWish run{.passes = 1, .stop = token_};
      TimeComparison times = (co_await measure_in_pieces(plans[i], std::move(nobody), run)).times;
      if (round == 0) held.round_seconds.emplace_back();
      held.round_seconds[i].push_back(times.measured_seconds);
      if (round == 0)
        held.runs.push_back(std::move(times));
      else if (times.measured_seconds < held.runs[i].measured_seconds)
        held.runs[i] = std::move(times);
      now_.tournament = std::make_shared<HeldTournament>(held);
    }
  }
}

Comparison::Comparison() : worker_(std::make_unique<Worker>()) {}
Comparison::~Comparison() = default;
void Comparison::send(ComparisonCommand command) {
  worker_->send(std::move(command));
}
std::shared_ptr<const ComparisonSnapshot> Comparison::snapshot() const {
  return worker_->mail().snapshot();
}
std::shared_ptr<const ComparisonSnapshot> Comparison::wait_until_idle(double timeout_seconds) const {
  return worker_->mail().wait_until_idle(timeout_seconds);
}

}  // namespace shardlens
