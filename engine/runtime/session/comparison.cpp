// The worker behind a Comparison.
//
// Protocol. send() appends to a queue under a lock; the worker takes one command after the other and
// completes it. A stop token ends a measurement: Stop, another measurement and the destructor set it. Of
// several plans asked for in a row only the last is made.
#include "engine/runtime/session/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/threads.h"
#include "engine/config/hardware_file.h"
#include "engine/io/file_problem.h"
#include "engine/planner/planner.h"
#include "engine/runtime/mailbox.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {}  // namespace

bool measures(const ComparisonCommand& command) {
  return std::holds_alternative<comparison_command::RunSplits>(command) ||
         std::holds_alternative<comparison_command::SweepDegrees>(command) ||
         std::holds_alternative<comparison_command::RunTop>(command);
}

class Comparison::Worker {
 public:
  Worker() {
    mail_.publish(std::make_shared<ComparisonSnapshot>());
    thread_ = start_thread("a comparison", [this] { main(); });
  }

  ~Worker() {
    mail_.close([this] { stop_.request_stop(); });
    thread_.join();
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
  void main();
  void handle(const comparison_command::PlanSplits& wish);
  void handle(const comparison_command::RunSplits&);
  void handle(const comparison_command::SweepDegrees& wish);
  void handle(const comparison_command::HoldTournament& wish);
  void handle(const comparison_command::RunTop& wish);
  void handle(const comparison_command::Stop&) {}
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
  std::thread thread_;
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

void Comparison::Worker::main() {
  while (mail_.wait(false)) {
    // Before the command is taken: a command that arrives from here on stops it.
    token_ = mail_.locked([this] { return (stop_ = std::stop_source()).get_token(); });
    const std::optional<ComparisonCommand> command = mail_.take();
    if (!command) continue;
    now_.busy = true;
    if (measures(*command)) now_.message.clear();
    try {
      std::visit([this](const auto& wish) { handle(wish); }, *command);
    } catch (const Error& error) {
      now_.message =
          error.kind() == ErrorKind::Cancelled ? "The measurement was stopped before its end." : error.what();
    } catch (const std::exception& error) {
      now_.message = message_of(error);
    }
    rest();
  }
}

void Comparison::Worker::handle(const comparison_command::PlanSplits& wish) {
  now_.trials = std::make_shared<SplitTrials>(plan_trials(wish.settings, wish.splits));
}

void Comparison::Worker::handle(const comparison_command::RunSplits&) {
  if (!now_.trials) return;
  SplitTrials trials = *now_.trials;
  for (SplitTrial& trial : trials.trials) begin_rounds(trial);
  // A round of each split in turn, so that a busy moment of the machine does not meet only one of them; every
  // second round goes the other way.
  for (int round = 0; round < kSplitRounds; ++round) {
    for (size_t i = 0; i < trials.trials.size(); ++i) {
      SplitTrial& trial = trials.trials[round % 2 == 0 ? i : trials.trials.size() - 1 - i];
      measure(fmt::format("measuring {}, round {} of {}", trial.split.name, round + 1, kSplitRounds));
      run_trial(trial, {.passes = 1, .stop = token_});
      now_.trials = std::make_shared<SplitTrials>(trials);
    }
  }
}

void Comparison::Worker::handle(const comparison_command::SweepDegrees& wish) {
  now_.activity = "planning";
  publish();
  Sweeper sweeper(wish.settings, wish.degrees);
  for (;;) {
    now_.sweep = std::make_shared<Sweep>(sweeper.sweep());
    if (sweeper.is_done()) return;
    measure(fmt::format("measuring T = {}", sweeper.next_degree()));
    sweeper.run_next(run_wish());
  }
}

void Comparison::Worker::handle(const comparison_command::HoldTournament& command) {
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
    held->tournament = hold_tournament(settings, ranks, hardware, limit, command.wish.listed);
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

void Comparison::Worker::handle(const comparison_command::RunTop& wish) {
  if (!now_.tournament || !now_.tournament->can_run) return;
  HeldTournament held = *now_.tournament;
  held.runs.clear();
  held.round_seconds.clear();
  const size_t count = std::min(wish.count, held.tournament.listed.size());
  std::vector<std::shared_ptr<const Plan>> plans;
  for (size_t i = 0; i < count; ++i) {
    const Entrant& entrant = held.tournament.entrants[held.tournament.listed[i]];
    plans.push_back(make_plan(plan_program(settings_of(held.wish.settings, entrant))));
  }
  for (int round = 0; round < kSplitRounds; ++round) {
    for (size_t i = 0; i < count; ++i) {
      measure(fmt::format("running number {} of {}, round {} of {}", i + 1, count, round + 1, kSplitRounds));
      TimeComparison times = measure_run(plans[i], {}, {.passes = 1, .stop = token_}).times;
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
