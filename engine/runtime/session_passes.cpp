// What the Session's worker does with a command, and the passes a run is made of.
#include <algorithm>
#include <chrono>

#include "engine/device/device.h"
#include "engine/planner/planner.h"
#include "engine/runtime/ceiling.h"
#include "engine/runtime/session_worker.h"

namespace shardlens {
namespace {

constexpr int kCeilingRepetitions = 3;

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
    case Pass::Move:
      return {};
  }
  return {};
}

Settings serial_settings(Settings settings) {
  settings.tp = 1;
  return settings;
}

// The serial run keeps every value it computes, beside its own arenas. Where that would crowd the machine the
// run goes without a comparison, and the parity chip says that none was made.
bool comparable_here(const Plan& plan) {
  int64_t values_bytes = 0;
  for (const Tensor& tensor : plan.program.tensors) values_bytes += tensor.bytes();
  return run_bytes(plan) + 2 * values_bytes < available_memory_bytes() / 2;
}

// Times of a finished pass: the slowest rank decides.
void take_events(const Executor& executor, const Program& program, Result& result) {
  result.events.assign(static_cast<size_t>(program.ranks()), {});
  double forward = 0, total = 0;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    auto& events = result.events[static_cast<size_t>(rank)];
    const RankTrace& trace = executor.trace(rank);
    for (size_t s = 0; s < trace.finished(); ++s) {
      events.push_back(trace.event(s));
      total = std::max(total, events.back().end_seconds);
      if (program.steps[s].phase == Phase::Forward) forward = std::max(forward, events.back().end_seconds);
    }
  }
  result.forward_seconds = forward;
  result.backward_seconds = total - forward;
}

}  // namespace

void Session::Worker::handle(Command command) {
  if (const auto* wish = std::get_if<command::SetSettings>(&command)) return set_settings(wish->settings);
  if (std::holds_alternative<command::Cancel>(command)) {
    if (!passes_.empty()) stop_with(RunState::Cancelled, "the run was cancelled; Run starts it again");
    return;
  }
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
    if (now_.state != RunState::Running) return;  // what is timed or compared afterwards is no run to halt
    stop_passes();
    now_.state = RunState::Paused;
    publish();
  } else if (const auto* seek = std::get_if<command::Seek>(&command)) {
    move_to(std::min(seek->position, steps));
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
  executor_.reset();
  serial_executor_.reset();
  passes_.clear();
  pass_running_ = false;
  parity_.reset();
  now_.settings = settings;
  now_.plan = nullptr;
  now_.message.clear();
  now_.activity.clear();
  now_.position = 0;
  now_.plan = make_plan(settings);  // throws what the person must read
  now_.state = RunState::Planning;
  publish();  // the new plan, the old result greyed
  check_runnable(*now_.plan);
  sampler_.reset();
  queue_whole_run();
}

void Session::Worker::ensure_executor() {
  if (!executor_) executor_ = std::make_unique<Executor>(now_.plan, Beside::AWindow);
}

void Session::Worker::queue_whole_run() {
  ensure_executor();
  passes_ = {Pass::Sample, Pass::WarmUp, Pass::Time};
  if (comparable_here(*now_.plan)) {
    if (!serial_ || serial_settings_ != serial_settings(now_.settings)) passes_.push_back(Pass::Serial);
    passes_.push_back(Pass::Compare);
  }
  if (!ceilings_.contains(now_.settings.dtype)) passes_.push_back(Pass::Ceiling);
}

// Halts at a step boundary and forgets what was still to be done.
void Session::Worker::stop_passes() {
  if (pass_running_ && executor_ && !passes_.empty() && passes_.front() != Pass::Ceiling) {
    if (passes_.front() == Pass::Serial) {
      serial_executor_.reset();
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

// The position a person sees changes at once: what the steps before it left is known from the sampled pass,
// and the engine, whose arenas hold the real state, follows.
void Session::Worker::move_to(size_t position) {
  const bool sampling = !passes_.empty() && passes_.front() == Pass::Sample;
  if (sampling) stop_passes();
  ensure_executor();
  now_.position = position;
  now_.state = position == now_.plan->program.steps.size() ? RunState::Done : RunState::Paused;
  move_target_ = position;
  if (passes_.empty() || passes_.back() != Pass::Move) passes_.push_back(Pass::Move);
  publish();
}

void Session::Worker::begin_pass() {
  const Pass pass = passes_.front();
  pass_running_ = true;
  if (pass != Pass::Move) now_.activity = activity_of(pass);
  const size_t steps = now_.plan->program.steps.size();
  switch (pass) {
    case Pass::Sample:
      if (!sampler_) {
        sampler_ = std::make_shared<Sampler>(now_.plan->program);
        executor_->rewind();
        now_.position = 0;
        result_ = Result{};
        result_.plan = now_.plan;
        result_.communicator = executor_->communicator();
        result_.machine = machine_;
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
      serial_executor_ = std::make_unique<Executor>(make_plan(plan_serial(now_.settings)), Beside::AWindow);
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
      // In a thread of its own: a change of settings need not wait for it.
      if (!ceiling_.valid()) {
        const DType dtype = now_.settings.dtype;
        ceiling_ =
            std::async(std::launch::async, [dtype, shapes = gemm_shapes(plan_serial(now_.settings), 0)] {
              return std::make_pair(
                  dtype, measure_gemm_ceiling(dtype, shapes, available_cores(), 1, kCeilingRepetitions)
                             .best()
                             .median_flops);
            });
      }
      break;
    case Pass::Move:
      // A first run may have been interrupted while it was sampled: keep sampling where it goes on.
      executor_->observe(result_.timed || !sampler_ ? std::vector<std::shared_ptr<StepObserver>>{}
                                                    : std::vector<std::shared_ptr<StepObserver>>{sampler_});
      executor_->start(move_target_);
      break;
  }
  publish();
}

// True when the pass that runs is over; what a rank threw, this throws.
bool Session::Worker::wait_for_pass(double seconds) {
  switch (passes_.front()) {
    case Pass::Serial:
      return serial_executor_->wait_for(seconds);
    case Pass::Ceiling:
      return ceiling_.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
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
      for (int rank = 0; rank < program.ranks(); ++rank) {
        result_.high_water_bytes.push_back(executor_->high_water_bytes(rank));
      }
      break;
    case Pass::WarmUp:
      break;
    case Pass::Time:
      take_events(*executor_, program, result_);
      result_.timed = true;
      if (ceilings_.contains(now_.settings.dtype))
        result_.gemm_ceiling_flops = ceilings_[now_.settings.dtype];
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
      const auto [dtype, flops] = ceiling_.get();
      ceilings_[dtype] = flops;
      if (dtype == now_.settings.dtype) {
        result_.gemm_ceiling_flops = flops;
      } else {
        passes_.push_back(Pass::Ceiling);  // begun for older settings; theirs is known now, ours is not
      }
      break;
    }
    case Pass::Move:
      break;
  }
  if (passes_.empty()) now_.activity.clear();
  publish();
}

void Session::Worker::stop_with(RunState state, const std::string& message) {
  passes_.clear();
  pass_running_ = false;
  executor_.reset();
  serial_executor_.reset();
  now_.state = state;
  now_.message = message;
  now_.activity.clear();
  publish();
}

}  // namespace shardlens
