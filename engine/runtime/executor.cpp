// The executor's rank threads and their control.
#include "engine/runtime/executor.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/config/error.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/feed.h"

namespace shardlens {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int threads_per_rank(const Settings& settings) {
  return settings.threads_per_rank > 0 ? settings.threads_per_rank
                                       : std::max(1, available_cores() / settings.tp);
}

// Weights and inputs: there before step 0.
bool is_fed(const Tensor& tensor) {
  return (tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::Input) &&
         tensor.storage == kNoTensor;
}

// A rank computes on every core it gets; a window must not wait for it. At the lowest priority the scheduler
// lets a thread that draws go first at once, and the ranks lose only what drawing takes.
void give_way_to_the_window() {
  constexpr int kLowestPriority = 19;
  setpriority(PRIO_PROCESS, 0, kLowestPriority);
}

}  // namespace

// Memory outlives the threads: a rank that failed may not free what another is still reading in a collective.
struct Executor::Rank {
  int index = 0;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Device> device;
  std::unique_ptr<Arenas> arenas;
  std::unique_ptr<RankTrace> trace;
  bool ready = false;  ///< memory fed
  size_t claimed = 0;  ///< steps begun in this pass
  size_t done = 0;     ///< steps finished in this pass
  BytesByKind high_water_bytes{};
  std::thread thread;
};

Executor::Executor(std::shared_ptr<const Plan> plan, Beside beside)
    : plan_(std::move(plan)), beside_(beside) {
  const Program& program = plan_->program;
  feed_ = std::make_unique<Feed>(program);
  std::vector<std::unique_ptr<Communicator>> communicators = make_local_group(program.ranks());
  for (int r = 0; r < program.ranks(); ++r) {
    auto rank = std::make_unique<Rank>();
    rank->index = r;
    rank->communicator = std::move(communicators[static_cast<size_t>(r)]);
    rank->trace = std::make_unique<RankTrace>(program.steps.size());
    ranks_.push_back(std::move(rank));
  }
  try {
    for (auto& rank : ranks_) rank->thread = std::thread([this, &rank] { rank_main(*rank); });
  } catch (const std::exception& error) {
    cancel("a rank's thread could not be started");
    for (auto& rank : ranks_) {
      if (rank->thread.joinable()) rank->thread.join();
    }
    throw run_error(fmt::format("{} rank threads could not be started: {}", program.ranks(), error.what()));
  }
}

Executor::~Executor() {
  cancel("the run was given up");
  for (auto& rank : ranks_) rank->thread.join();
}

CommunicatorInfo Executor::communicator() const {
  return ranks_[0]->communicator->info();
}

const RankTrace& Executor::trace(int rank) const {
  return *ranks_[static_cast<size_t>(rank)]->trace;
}

BytesByKind Executor::high_water_bytes(int rank) const {
  const std::lock_guard lock(mutex_);
  return ranks_[static_cast<size_t>(rank)]->high_water_bytes;
}

void Executor::observe(std::vector<std::shared_ptr<StepObserver>> observers) {
  const std::lock_guard lock(mutex_);
  observers_ = std::move(observers);
}

void Executor::rewind_locked() {
  ++pass_;
  target_ = 0;
  for (auto& rank : ranks_) {
    rank->claimed = rank->done = 0;
    rank->trace->reset();  // all ranks stand still
  }
}

void Executor::rewind() {
  const std::lock_guard lock(mutex_);
  rewind_locked();
}

void Executor::start(size_t target) {
  const std::lock_guard lock(mutex_);
  target = std::min(target, steps());
  if (target < position_locked()) rewind_locked();
  if (ranks_[0]->claimed == 0) pass_begin_seconds_ = now_seconds();
  target_ = target;
  wake_ranks_.notify_all();
}

void Executor::pause() {
  const std::lock_guard lock(mutex_);
  size_t furthest = 0;
  for (const auto& rank : ranks_) furthest = std::max(furthest, rank->claimed);
  target_ = std::min(target_, furthest);
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

void Executor::cancel(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (!failure_) failure_ = Failure{ErrorKind::Cancelled, why};
  }
  ranks_[0]->communicator->abort(why);
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

size_t Executor::position_locked() const {
  size_t position = steps();
  for (const auto& rank : ranks_) position = std::min(position, rank->done);
  return position;
}

size_t Executor::position() const {
  const std::lock_guard lock(mutex_);
  return position_locked();
}

bool Executor::idle_locked() const {
  if (failure_) return true;
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [this](const auto& rank) { return rank->ready && rank->done >= target_; });
}

bool Executor::wait_for(double seconds) {
  std::unique_lock lock(mutex_);
  const bool idle =
      wake_waiters_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return idle_locked(); });
  if (failure_) throw Error(failure_->kind, failure_->message);
  return idle;
}

void Executor::wait() {
  std::unique_lock lock(mutex_);
  wake_waiters_.wait(lock, [this] { return idle_locked(); });
  if (failure_) throw Error(failure_->kind, failure_->message);
}

void Executor::fail(int rank, StepId step, const std::exception& error) {
  const Program& program = plan_->program;
  const auto* known = dynamic_cast<const Error*>(&error);
  const std::string where =
      step < 0 ? "before step 0"
               : fmt::format("step {} ({}: {})", step, program.step(step).name, program.step(step).equation);
  const std::string message = fmt::format("rank {}, {}: {}", rank, where, error.what());
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (failure_) return;  // the others fail because the first one did
    failure_ = Failure{known ? known->kind() : ErrorKind::Run, message};
  }
  ranks_[static_cast<size_t>(rank)]->communicator->abort(message);
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

void Executor::show_fed_tensors(Rank& rank) {
  for (const Tensor& tensor : plan_->program.tensors) {
    if (!is_fed(tensor)) continue;
    for (const auto& observer : observers_)
      observer->on_tensor(rank.index, -1, tensor, rank.arenas->at(tensor.id));
  }
}

void Executor::run_step(Rank& rank, StepId id, double begin_of_pass) {
  const Program& program = plan_->program;
  const Step& step = program.step(id);
  const StepCost& cost = plan_->cost[static_cast<size_t>(rank.index)][static_cast<size_t>(id)];
  RankContext context{program, rank.index, *rank.device, *rank.communicator, *rank.arenas};
  StepEvent event;
  event.begin_seconds = now_seconds() - begin_of_pass;
  const CollectiveTimes times = execute(step, context);
  event.end_seconds = now_seconds() - begin_of_pass;
  if (is_collective(step.op)) {
    event.arrival_seconds = times.arrival_seconds - begin_of_pass;
    event.all_arrived_seconds = times.all_arrived_seconds - begin_of_pass;
    event.sent_bytes = cost.sent_bytes;
  }
  event.flops = cost.flops;
  event.high_water_bytes = rank.arenas->high_water_bytes();
  rank.trace->publish(event);
  for (const auto& observer : observers_) {
    for (TensorId out : step.outputs)
      observer->on_tensor(rank.index, id, program.tensor(out), rank.arenas->at(out));
  }
}

void Executor::rank_main(Rank& rank) {
  const Program& program = plan_->program;
  StepId at = -1;
  try {
    if (beside_ == Beside::AWindow) give_way_to_the_window();
    rank.device = make_cpu_device(threads_per_rank(program.settings));
    rank.arenas =
        std::make_unique<Arenas>(*rank.device, program, plan_->memory[static_cast<size_t>(rank.index)]);
    for (const Tensor& tensor : program.tensors) {
      if (is_fed(tensor)) feed_->fill(tensor, rank.index, rank.arenas->at(tensor.id));
    }
    std::unique_lock lock(mutex_);
    rank.ready = true;
    wake_waiters_.notify_all();
    for (;;) {
      wake_ranks_.wait(lock, [&] { return stopping_ || rank.claimed < target_; });
      if (stopping_) break;
      at = static_cast<StepId>(rank.claimed++);
      const uint64_t pass = pass_;
      const double begin_of_pass = pass_begin_seconds_;
      lock.unlock();
      if (at == 0) show_fed_tensors(rank);
      run_step(rank, at, begin_of_pass);
      lock.lock();
      rank.high_water_bytes = rank.arenas->high_water_bytes();
      if (pass == pass_) rank.done = static_cast<size_t>(at) + 1;
      if (rank.done >= target_) wake_waiters_.notify_all();
    }
  } catch (const std::exception& error) {
    fail(rank.index, at, error);
  }
}

}  // namespace shardlens
