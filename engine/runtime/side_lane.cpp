// The lane's queue and its thread.
#include "engine/runtime/side_lane.h"

#include <set>

namespace shardlens {

std::vector<bool> steps_behind_lane(const Program& program) {
  // Rows that are worked on by themselves are no other rows' business.
  const auto place_of = [&](TensorId id) {
    while (program.tensor(id).storage != kNoTensor && !is_row_view(program, program.tensor(id)))
      id = program.tensor(id).storage;
    return static_cast<size_t>(id);
  };
  std::vector<bool> in_lane(program.tensors.size(), false);  // by place
  std::set<Axis> axes_in_lane;
  std::vector<bool> behind(program.steps.size(), false);
  for (const Step& step : program.steps) {
    if (step.beside) axes_in_lane.insert(step.axis);
    if (!step.beside && is_collective(step.op) && axes_in_lane.contains(step.axis))
      behind[static_cast<size_t>(step.id)] = true;
    for (const std::vector<TensorId>* tensors : {&step.inputs, &step.outputs}) {
      for (const TensorId id : *tensors) {
        if (step.beside) in_lane[place_of(id)] = true;
        if (!step.beside && in_lane[place_of(id)]) behind[static_cast<size_t>(step.id)] = true;
      }
    }
  }
  return behind;
}

SideLane::SideLane() : thread_([this] { main(); }) {}

SideLane::~SideLane() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SideLane::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void SideLane::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && !running_; });
}

bool SideLane::is_busy() const {
  const std::lock_guard lock(mutex_);
  return running_ || !jobs_.empty();
}

void SideLane::main() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return quit_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    running_ = true;
    lock.unlock();
    job();
    lock.lock();
    running_ = false;
    changed_.notify_all();
  }
}

}  // namespace shardlens
