// How the Session's worker handles commands, and the passes of a run.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/units.h"
#include "engine/base/worker.h"
#include "engine/config/validate.h"
#include "engine/device/device.h"
#include "engine/planner/planner.h"
#include "engine/runtime/measure/ceiling.h"
#include "engine/runtime/session/long_run.h"
#include "engine/runtime/session/session_worker.h"
#include "engine/runtime/step_times.h"

namespace shardlens {
namespace {

constexpr double kMostSecondsUnasked = 15;  // of a run that begins by itself where workers take turns
/// Where memory is short and never given back, a run at rest leaves it: ranks are made anew, and do the steps
/// again, when somebody steps on.
constexpr bool kRanksLeaveAtRest = sizeof(void*) == 4;
constexpr double kSlowSeconds = 30;  // a step that takes longer is not run again on one rank automatically

std::string activity_of(Pass pass) {
  switch (pass) {
    case Pass::Sample:
      return "running and sampling every tensor";
    case Pass::WarmUp:
    case Pass::Time:
      return "timing the run";
    case Pass::Serial:
      return "running on one rank, to compare with";
    case Pass::Compare:
      return "comparing every tensor with T = 1";
    case Pass::Ceiling:
      return "measuring this machine's GEMM ceiling";
    case Pass::LossFused:
      return "running the fused loss";
    case Pass::LossGathered:
      return "running the gathered loss";
    case Pass::Windows:
      return "reading single values";
    case Pass::Move:
      return {};
  }
  return {};
}

// False for passes whose steps belong to another plan.
bool is_of_the_plan(Pass pass) {
  return pass != Pass::Serial && pass != Pass::Ceiling && pass != Pass::LossFused &&
         pass != Pass::LossGathered;
}

// Settings with equal serial settings have the same values in the serial run.
Settings serial_settings(Settings settings) {
  if (settings.block == Block::Model && settings.vocab_ranks == 0) settings.vocab_ranks = settings.tp;
  settings.tp = settings.overlap_chunks = 1;
  settings.recompute = Recompute::None;  // the same values, computed once
  settings.delays.clear();
  return settings;
}

}  // namespace

void Session::Worker::handle(Command command) {
  if (const auto* wish = std::get_if<command::SetSettings>(&command)) return set_settings(wish->settings);
  if (std::holds_alternative<command::Cancel>(command)) {
    if (!passes_.empty()) stop_with(RunState::Cancelled, "the run was cancelled; Run starts it again");
    return;
  }
  if (std::holds_alternative<command::PlanRecompute>(command)) return plan_recompute();
  if (const auto* wish = std::get_if<command::Record>(&command)) {
    // Waits for a run that is still being compared, unless the command comes a second time.
    const bool ends = wish->folder.empty();
    if (ends && to_record_ && recordings_.is_on() && !std::exchange(last_recorded_, true)) return publish();
    if (ends) record_result();
    last_recorded_ = false;
    recordings_.set_folder(wish->folder);
    return publish();
  }
  if (auto* wish = std::get_if<command::ReadWindows>(&command)) {
    if (wish->plan == now_.plan) windows_wanted_ = std::move(*wish);
    return;
  }
  if (std::holds_alternative<command::Run>(command) && now_.waits_for_run) return begin_long_run();
  if (!now_.plan || now_.state == RunState::Refused) return;  // nothing to run; the message says why
  const size_t steps = now_.plan->program.steps.size();
  const size_t position = now_.position;
  if (std::holds_alternative<command::Run>(command)) {
    const bool halfway =
        sampler_ && executor_ && result_.plan == now_.plan && !result_.timed && position < steps;
    stop_passes();
    if (!halfway) sampler_.reset();
    queue_whole_run();
  } else if (std::holds_alternative<command::Pause>(command)) {
    if (now_.state != RunState::Running) return;  // the timing and comparison afterwards cannot be paused
    stop_passes();
    if (now_.position == steps) return queue_whole_run();  // it was at its end: nothing to pause
    now_.state = RunState::Paused;
    publish();
  } else if (const auto* seek = std::get_if<command::Seek>(&command)) {
    move_to(std::min(seek->position, steps));
  } else if (std::holds_alternative<command::CompareLosses>(command)) {
    queue_losses();
  } else if (std::holds_alternative<command::StepOnce>(command)) {
    move_to(position >= steps ? 1 : position + 1);
  } else if (std::holds_alternative<command::NextCollective>(command)) {
    const std::vector<Step>& all = now_.plan->program.steps;
    const size_t from = position >= steps ? 0 : position;
    const auto next = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(from), all.end(),
                                   [](const Step& step) { return is_collective(step.op); });
    move_to(next == all.end() ? steps : static_cast<size_t>(next->id) + 1);
  }
}

void Session::Worker::set_settings(const Settings& settings) {
  record_result();
  recordings_.close();
  executor_.reset();
  serial_executor_.reset();
  loss_executor_.reset();
  passes_.clear();
  pass_running_ = false;
  parity_.reset();
  windows_wanted_.reset();
  now_.windows = nullptr;
  now_.settings = settings;
  now_.plan = nullptr;
  now_.lens = nullptr;
  now_.recompute = nullptr;
  now_.message.clear();
  now_.fitting.clear();
  now_.waits_for_run = false;
  now_.failure.reset();
  now_.activity.clear();
  now_.position = 0;
  now_.plan = make_plan(settings);  // throws what the user must read
  now_.state = RunState::Planning;
  now_.lens = plan_loss_lens(*now_.plan);
  publish();  // the new plan, the old result greyed
  check_runnable(*now_.plan);
  if (kWorkersTakeTurns && gpus_of(settings).empty()) try {
      refuse_if_long(*now_.plan, one_core_flops(), kMostSecondsUnasked);
    } catch (const TooLarge&) {
      now_.waits_for_run = true;
      throw;
    }
  sampler_.reset();
  queue_whole_run();
}

// A person has read what it costs, and wants it.
void Session::Worker::begin_long_run() {
  now_.waits_for_run = false;
  now_.message.clear();
  now_.fitting.clear();
  now_.state = RunState::Planning;
  sampler_.reset();
  queue_whole_run();
}

void Session::Worker::ensure_executor() {
  if (executor_) return;
  executor_ = std::make_unique<Executor>(now_.plan);
  now_.failure.reset();
}

void Session::Worker::queue_whole_run() {
  passes_ = {Pass::Sample, Pass::WarmUp, Pass::Time};
  if (!ceilings_.contains(ceiling_of(now_.settings))) passes_.push_back(Pass::Ceiling);
}

// Called after the run is timed: then its time on one rank can be estimated, and with it whether to compare.
void Session::Worker::queue_comparison() {
  result_.not_compared.clear();
  const bool known = serial_ && serial_settings_ == serial_settings(now_.settings);
  const double seconds = result_.forward_seconds + result_.backward_seconds;
  if (!known && seconds > kSlowSeconds) {
    result_.not_compared = fmt::format(
        "One step takes {:.0f} s here, and about as long again on one rank. An automatic comparison may take "
        "{:.0f} s. Choose a smaller batch, sequence or model to compare.",
        seconds, kSlowSeconds);
    return;
  }
  if (!known) {
    serial_ = nullptr;  // freed before its successor is made
    result_.not_compared = why_not_comparable(*now_.plan, *make_plan(plan_serial(now_.settings)));
    if (!result_.not_compared.empty()) return;
  }
  passes_.push_front(Pass::Compare);
  if (!known) passes_.push_front(Pass::Serial);
}

void Session::Worker::plan_recompute() {
  if (!now_.plan || now_.recompute) return;
  now_.recompute = std::make_shared<const std::array<RecomputeCost, 3>>(compare_recompute(now_.settings));
  publish();
}

void Session::Worker::queue_losses() {
  if (!now_.lens) return;
  const int64_t each = std::max(now_.lens->fused.peak_bytes, now_.lens->gathered.peak_bytes);
  const auto ranks = static_cast<size_t>(now_.settings.tp * now_.settings.dp);
  const MemoryDemand demand = memory_demand(*now_.plan, std::vector<int64_t>(ranks, each), 0);
  if (demand.lacking_bytes() > 0) {
    auto lens = std::make_shared<LossLens>(*now_.lens);
    lens->note =
        fmt::format("Running both needs {} more{}, and {} are free. Choose a smaller batch or sequence.",
                    bytes_text(static_cast<double>(demand.needed_bytes)), demand.place,
                    bytes_text(static_cast<double>(demand.free_bytes)));
    now_.lens = std::move(lens);
    return publish();
  }
  passes_.push_back(Pass::LossFused);
  passes_.push_back(Pass::LossGathered);
}

// A first pass reads the loss and warms up, a second one is timed.
void Session::Worker::begin_loss(LossForm form) {
  loss_plan_ = make_plan(plan_program(with_loss(now_.settings, form)));
  loss_executor_ = std::make_unique<Executor>(loss_plan_);
  loss_reader_ = std::make_shared<LossReader>();
  loss_executor_->observe({loss_reader_});
  loss_timed_ = false;
  loss_executor_->start(loss_executor_->steps());
}

bool Session::Worker::wait_for_loss(double seconds) {
  if (!loss_executor_->wait_for(seconds)) return false;
  if (loss_timed_) return true;
  loss_timed_ = true;
  loss_executor_->observe({});
  loss_executor_->rewind();
  loss_executor_->start(loss_executor_->steps());
  return false;
}

void Session::Worker::finish_loss(LossForm form) {
  auto lens = std::make_shared<LossLens>(*now_.lens);
  LossFigures& figures = form == LossForm::Fused ? lens->fused : lens->gathered;
  figures.loss = loss_reader_->loss();
  take_measured(figures, *loss_plan_, *loss_executor_);
  now_.lens = std::move(lens);
  loss_executor_.reset();
  loss_plan_ = nullptr;
}

// Reads the windows that are wanted once nothing else is left to do: then the serial run is known, if ever.
void Session::Worker::begin_windows() {
  const bool whole = result_.plan && result_.plan == now_.plan && result_.timed && sampler_;
  if (!windows_wanted_ || !passes_.empty() || !whole) return;
  const Program& program = now_.plan->program;
  window_reader_ = std::make_shared<WindowReader>(program, windows_wanted_->windows);
  if (window_reader_->take(sampler_->samples())) return answer_windows();
  passes_.push_back(Pass::Windows);
}

void Session::Worker::answer_windows() {
  now_.windows =
      std::make_shared<const WindowAnswer>(WindowAnswer{now_.plan, window_reader_->values(serial_.get())});
  window_reader_.reset();
  windows_wanted_.reset();
  publish();
}

// Stops at a step boundary and forgets the passes that were still to run.
void Session::Worker::stop_passes() {
  record_result();
  if (pass_running_ && executor_ && !passes_.empty() && passes_.front() != Pass::Ceiling) {
    if (passes_.front() == Pass::Serial) {
      serial_executor_.reset();
    } else if (passes_.front() == Pass::LossFused || passes_.front() == Pass::LossGathered) {
      loss_executor_.reset();
    } else {
      executor_->pause();
      executor_->wait();
      if (passes_.front() == Pass::Sample) now_.position = executor_->position();
    }
  }
  passes_.clear();
  pass_running_ = false;
  now_.activity.clear();
}

// The position that the user sees changes at once: the values that the steps before it produced are known
// from the sampled pass. The engine, whose arenas hold the real state, follows.
void Session::Worker::move_to(size_t position) {
  const bool sampling = !passes_.empty() && passes_.front() == Pass::Sample;
  if (sampling) stop_passes();
  now_.position = position;
  now_.state = position == now_.plan->program.steps.size() ? RunState::Done : RunState::Paused;
  move_target_ = position;
  if (passes_.empty() || passes_.back() != Pass::Move) passes_.push_back(Pass::Move);
  publish();
}

// The run of this plan begins: what it gives is sampled from its first step on.
void Session::Worker::begin_result() {
  sampler_ = std::make_shared<Sampler>(now_.plan->program);
  executor_->rewind();
  result_ = Result{};
  result_.plan = now_.plan;
  result_.communicator = executor_->communicator();
  result_.machine = machine_description(now_.plan->program.settings);
  result_.not_exact = why_not_exact(sampler_->plan());
}

Job<std::pair<Session::Worker::CeilingOf, double>> Session::Worker::measure_ceiling(
    Settings settings, std::vector<GemmShape> shapes) {
  double flops = 0;
  try {
    flops = co_await measured_ceiling_flops(settings, shapes);
  } catch (const Error&) {
    // The GPU has no room for it beside a run: the speed that the run reaches is used instead.
  }
  co_return std::make_pair(ceiling_of(settings), flops);
}

void Session::Worker::begin_pass() {
  const Pass pass = passes_.front();
  pass_running_ = true;
  if (pass != Pass::Move) now_.activity = activity_of(pass);
  const size_t steps = now_.plan->program.steps.size();
  if (is_of_the_plan(pass))
    ensure_executor();
  else if (kRanksLeaveAtRest)
    executor_.reset();
  switch (pass) {
    case Pass::Sample:
      if (!sampler_) {
        begin_result();
        now_.position = 0;
      }
      now_.state = RunState::Running;
      executor_->observe({sampler_});
      executor_->start(steps);
      break;
    case Pass::WarmUp:
    case Pass::Time:
      executor_->observe({});
      executor_->rewind();
      executor_->start(steps);
      break;
    case Pass::Serial:
      serial_ = nullptr;
      serial_in_progress_ = std::make_shared<SerialReference>();
      serial_executor_ = std::make_unique<Executor>(make_plan(plan_serial(now_.settings)));
      serial_executor_->observe({serial_in_progress_});
      serial_executor_->start(serial_executor_->steps());
      break;
    case Pass::Compare:
      parity_ = std::make_shared<ParityCheck>(now_.plan->program, serial_, true);
      executor_->observe({parity_});
      executor_->rewind();
      executor_->start(steps);
      break;
    case Pass::Ceiling:
      // By a worker of its own, so a change of settings need not wait for it.
      if (!ceiling_) try {
          ceiling_ = std::make_unique<BackgroundCall<std::pair<CeilingOf, double>>>(
              "the speed of this machine",
              measure_ceiling(now_.settings, gemm_shapes(plan_serial(now_.settings), 0)));
        } catch (const Error&) {  // no worker can start: it stays null, and the speed of the run is used
        }
      break;
    case Pass::LossFused:
      begin_loss(LossForm::Fused);
      break;
    case Pass::LossGathered:
      begin_loss(LossForm::Gather);
      break;
    case Pass::Windows:
      executor_->observe({window_reader_});
      executor_->rewind();
      executor_->start(window_reader_->steps());
      break;
    case Pass::Move:
      // A first run may have been interrupted while it was sampled: go on sampling from there. Or before it
      // began: sample from the start.
      if (result_.plan != now_.plan) begin_result();
      executor_->observe(result_.timed || !sampler_ ? std::vector<std::shared_ptr<StepObserver>>{}
                                                    : std::vector<std::shared_ptr<StepObserver>>{sampler_});
      executor_->start(move_target_);
      break;
  }
  publish();
}

// True if the pass that runs is over; throws what a rank threw.
bool Session::Worker::wait_for_pass(double seconds) {
  switch (passes_.front()) {
    case Pass::Serial:
      return serial_executor_->wait_for(seconds);
    case Pass::LossFused:
    case Pass::LossGathered:
      return wait_for_loss(seconds);
    case Pass::Ceiling:
      return !ceiling_ || ceiling_->wait_for(seconds);
    default:
      return executor_->wait_for(seconds);
  }
}

void Session::Worker::finish_pass() {
  const Pass pass = passes_.front();
  passes_.pop_front();
  pass_running_ = false;
  const Program& program = now_.plan->program;
  switch (pass) {
    case Pass::Sample:
      now_.position = program.steps.size();
      now_.state = RunState::Done;
      result_.high_water_bytes.clear();
      for (int rank = 0; rank < program.tp(); ++rank) {
        result_.high_water_bytes.push_back(executor_->high_water_bytes(rank));
      }
      break;
    case Pass::WarmUp:
      break;
    case Pass::Time:
      set_times(result_, executor_->events(program.tp() * program.dp()));
      result_.times = std::make_shared<TimeComparison>(compare_times(*now_.plan, result_.events));
      to_record_ = true;
      queue_comparison();
      if (const auto known = ceilings_.find(ceiling_of(now_.settings)); known != ceilings_.end()) {
        // The known value may be of smaller products, or from a worse moment: then it is measured again, on
        // this run's shapes.
        if (result_.flops_per_second > known->second)
          passes_.push_back(Pass::Ceiling);
        else
          result_.gemm_ceiling_flops = known->second;
      }
      break;
    case Pass::Serial:
      serial_executor_.reset();
      serial_ = std::move(serial_in_progress_);
      serial_settings_ = serial_settings(now_.settings);
      break;
    case Pass::Compare:
      result_.parity = parity_->results();
      result_.parity_summary = summarise(program, result_.parity);
      parity_.reset();
      break;
    case Pass::Ceiling: {
      const auto [of, flops] = ceiling_ ? ceiling_->get() : std::make_pair(ceiling_of(now_.settings), 0.0);
      ceiling_.reset();
      double& ceiling = ceilings_[of];
      ceiling = std::max(ceiling, flops);
      if (of == ceiling_of(now_.settings)) {
        ceiling = std::max(ceiling, result_.flops_per_second);  // a speed that was reached is possible
        result_.gemm_ceiling_flops = ceiling;
      } else {
        passes_.push_back(Pass::Ceiling);  // it was measured for older settings: measure it for these too
      }
      break;
    }
    case Pass::LossFused:
      finish_loss(LossForm::Fused);
      break;
    case Pass::LossGathered:
      finish_loss(LossForm::Gather);
      break;
    case Pass::Windows:
      now_.activity.clear();
      answer_windows();
      break;
    case Pass::Move:
      break;
  }
  if (passes_.empty()) {
    now_.activity.clear();
    record_result();
    if (kRanksLeaveAtRest) executor_.reset();
  }
  publish();
}

// For a run that ends early: keeps how far each rank came, unless the run has been timed whole.
void Session::Worker::keep_what_was_done() {
  const Program& program = now_.plan->program;
  now_.position = executor_->position();
  if (result_.plan != now_.plan) return;
  if (!result_.timed) result_.events = executor_->events(program.tp() * program.dp());
  if (result_.parity.empty())
    result_.not_compared = "The run ended early, so nothing of it was compared with T = 1.";
}

void Session::Worker::stop_with(RunState state, const std::string& message,
                                std::optional<RunFailure> failure) {
  record_result();
  const Pass pass = passes_.empty() ? Pass::Move : passes_.front();
  if (!is_of_the_plan(pass) || !executor_) failure.reset();
  if (failure) keep_what_was_done();
  windows_wanted_.reset();
  passes_.clear();
  pass_running_ = false;
  executor_.reset();
  serial_executor_.reset();
  loss_executor_.reset();
  now_.state = state;
  now_.message = message;
  now_.failure = std::move(failure);
  now_.activity.clear();
  publish();
}

}  // namespace shardlens
