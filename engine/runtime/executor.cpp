// The executor's rank threads and their control.
#include "engine/runtime/executor.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <thread>

#include "engine/config/clock.h"
#include "engine/config/error.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/feed.h"
#include "engine/runtime/side_lane.h"

namespace shardlens {
namespace {

// Of a run that nobody gave inputs: unscaled, fp16's small gradients would be zero.
constexpr double kFp16LossScale = 1024;

int threads_per_rank(const Settings& settings) {
  return settings.threads_per_rank > 0 ? settings.threads_per_rank
                                       : std::max(1, available_cores() / (settings.tp * settings.dp));
}

// There before step 0 and from pass to pass; changed by an optimizer or, of a cache, by new tokens.
bool is_lasting(const Tensor& tensor) {
  const bool lasts = tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::OptimizerState ||
                     tensor.kind == MemoryKind::KeyValueCache;
  return lasts && tensor.storage == kNoTensor;
}

// Where a plan puts what is lent, by name: offset and bytes on each rank.
using Places = std::map<std::string, std::vector<std::pair<int64_t, int64_t>>>;
Places lent_places(const Plan& plan) {
  Places places;
  for (const Tensor& tensor : plan.program.tensors) {
    if (!is_lasting(tensor) || !Arenas::is_lent(tensor.kind)) continue;
    const auto id = static_cast<size_t>(tensor.id);
    for (const MemoryPlan& rank : plan.memory)
      places[tensor.name].push_back({rank.offset[id], rank.bytes[id]});
  }
  return places;
}

// In how many copies the slices that are held more than once are held.
int most_copies(const Program& program) {
  int copies = 1;
  for (const Tensor& tensor : program.tensors) copies = std::max(copies, tensor.layout.copies);
  return copies;
}

bool is_input(const Tensor& tensor) {
  return tensor.kind == MemoryKind::Input && tensor.storage == kNoTensor;
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
  int index = 0;                               ///< among the T of its replica
  int replica = 0;                             ///< among the D
  std::unique_ptr<Communicator> communicator;  ///< of the T
  std::unique_ptr<Communicator> replicas;      ///< of the D
  std::unique_ptr<Communicator> holders;       ///< of those of the T that hold the same slices
  std::unique_ptr<Device> device;
  std::unique_ptr<Arenas> arenas;
  std::unique_ptr<RankTrace> trace;
  std::unique_ptr<SideLane> lane;  ///< null where no step runs beside the others
  std::map<StepId, double> holds;  ///< seconds it stands still before these steps
  uint64_t weights_of = 0;         ///< which feeding its weights come from
  bool ready = false;              ///< memory fed
  size_t claimed = 0;              ///< steps begun in this pass
  size_t done = 0;                 ///< steps finished in this pass
  BytesByKind high_water_bytes{};
  std::thread thread;
};

Executor::Executor(std::shared_ptr<const Plan> plan, Beside beside)
    : Executor(std::move(plan), beside, nullptr) {}

Executor::Executor(std::shared_ptr<const Plan> plan, const Executor& lender)
    : Executor(std::move(plan), lender.beside_, &lender) {}

Executor::Executor(std::shared_ptr<const Plan> plan, Beside beside, const Executor* lender)
    : plan_(std::move(plan)), beside_(beside), lender_(lender) {
  const Program& program = plan_->program;
  if (lender != nullptr && lent_places(*lender->plan_) != lent_places(*plan_))
    throw std::logic_error("a Program can only run over the memory of one that lays out the same weights");
  feed_ = std::make_unique<Feed>(program);
  behind_lane_ = steps_behind_lane(program);
  if (program.settings.block == Block::Model)
    inputs_.batch = std::make_shared<const Batch>(seeded_batch(program.settings));
  if (program.settings.dtype == DType::Fp16) inputs_.loss_scale = kFp16LossScale;
  const bool lanes =
      std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) { return step.beside; });
  const bool tp_lanes = std::any_of(program.steps.begin(), program.steps.end(),
                                    [](const Step& step) { return step.beside && step.axis == Axis::Tp; });
  const int world = program.ranks() * program.replicas();
  // Who waits for another rank beside a product of its own may not spin on the core that computes it.
  const int threads = tp_lanes ? 2 * world : world;
  std::vector<std::vector<std::unique_ptr<Communicator>>> replicas;  // [rank][replica]
  for (int r = 0; r < program.ranks(); ++r) replicas.push_back(make_local_group(program.replicas(), world));
  const int copies = most_copies(program);
  for (int d = 0; d < program.replicas(); ++d) {
    std::vector<std::unique_ptr<Communicator>> group = make_local_group(program.ranks(), threads);
    std::vector<std::unique_ptr<Communicator>> holders;
    for (int r = 0; r < program.ranks(); r += copies) {
      for (auto& one : make_local_group(copies, threads)) holders.push_back(std::move(one));
    }
    for (int r = 0; r < program.ranks(); ++r) {
      auto rank = std::make_unique<Rank>();
      rank->index = r;
      rank->replica = d;
      rank->communicator = std::move(group[static_cast<size_t>(r)]);
      rank->replicas = std::move(replicas[static_cast<size_t>(r)][static_cast<size_t>(d)]);
      rank->holders = std::move(holders[static_cast<size_t>(r)]);
      rank->trace = std::make_unique<RankTrace>(program.steps.size());
      if (lanes) rank->lane = std::make_unique<SideLane>();
      for (const Hold& hold : plan_->holds)
        if (hold.rank == d * program.ranks() + r) rank->holds[hold.step] += hold.seconds;
      ranks_.push_back(std::move(rank));
    }
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

std::vector<std::vector<StepEvent>> Executor::events(int ranks) const {
  std::vector<std::vector<StepEvent>> events;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankTrace& track = trace(rank);
    const auto finished = static_cast<std::ptrdiff_t>(track.finished());
    events.emplace_back(track.events().begin(), track.events().begin() + finished);
  }
  return events;
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
  if (plan_->program.settings.update) ++weights_of_;
}

void Executor::next_pass(PassInputs inputs) {
  const std::lock_guard lock(mutex_);
  rewind_locked();
  inputs_ = std::move(inputs);
}

void Executor::next_pass() {
  const std::lock_guard lock(mutex_);
  rewind_locked();
}

void Executor::set_inputs(PassInputs inputs) {
  const std::lock_guard lock(mutex_);
  inputs_ = std::move(inputs);
}

void Executor::read_tensor(int rank, TensorId tensor, void* host) const {
  const Rank& from = *ranks_[static_cast<size_t>(rank)];
  const Program& program = plan_->program;
  const int64_t bytes = local_bytes(program.tensor(tensor), program.ranks(), from.index);
  from.device->copy_to_host(host, from.arenas->at(tensor), static_cast<size_t>(bytes));
}

void Executor::write_tensor(int rank, TensorId tensor, const void* host) {
  Rank& to = *ranks_[static_cast<size_t>(rank)];
  const Program& program = plan_->program;
  const int64_t bytes = local_bytes(program.tensor(tensor), program.ranks(), to.index);
  to.device->copy_to_device(to.arenas->at(tensor), host, static_cast<size_t>(bytes));
}

void Executor::start(size_t target) {
  const std::lock_guard lock(mutex_);
  target = std::min(target, steps());
  if (target < position_locked()) {
    rewind_locked();
    if (plan_->program.settings.update) ++weights_of_;
  }
  if (ranks_[0]->claimed == 0) pass_begin_seconds_ = now_seconds();
  halting_ = false;
  target_ = target;
  wake_ranks_.notify_all();
}

void Executor::pause() {
  const std::lock_guard lock(mutex_);
  size_t furthest = 0;
  for (const auto& rank : ranks_) furthest = std::max(furthest, rank->claimed);
  target_ = std::min(target_, furthest);
  halting_ = true;
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

void Executor::cancel(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (!failure_) failure_ = Failure{ErrorKind::Cancelled, why};
  }
  abort_all(why);
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

void Executor::abort_all(const std::string& why) {
  for (const auto& rank : ranks_) {
    rank->communicator->abort(why);
    rank->replicas->abort(why);
    rank->holders->abort(why);
  }
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
  const std::string replica = program.replicas() == 1
                                  ? ""
                                  : fmt::format(" of replica {}", ranks_[static_cast<size_t>(rank)]->replica);
  const std::string message = fmt::format("rank {}{}, {}: {}", ranks_[static_cast<size_t>(rank)]->index,
                                          replica, where, error.what());
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (failure_) return;  // the others fail because the first one did
    failure_ = Failure{known ? known->kind() : ErrorKind::Run, message};
  }
  abort_all(message);
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

void Executor::show(const Rank& rank, StepId step, const Tensor& tensor) const {
  for (const auto& observer : observers_) {
    if (rank.replica == 0) {
      observer->on_tensor(rank.index, step, tensor, rank.arenas->at(tensor.id));
    } else {
      observer->on_replica_tensor(rank.replica, rank.index, step, tensor, rank.arenas->at(tensor.id));
    }
  }
}

// Before the first step of a pass: its inputs, and the weights where a pass before it moved them.
void Executor::feed_pass(Rank& rank, uint64_t weights_of) {
  const Program& program = plan_->program;
  const bool anew = rank.weights_of != weights_of;
  rank.weights_of = weights_of;
  for (const Tensor& tensor : program.tensors) {
    if (anew && is_lasting(tensor)) feed_->fill(tensor, rank.index, rank.arenas->at(tensor.id));
    if (is_input(tensor) && program.settings.block == Block::Model)
      feed_->fill_input(tensor, inputs_, rank.replica, rank.arenas->at(tensor.id));
  }
  for (const Tensor& tensor : program.tensors) {
    const bool shown = is_input(tensor) || (tensor.kind == MemoryKind::Weight && is_lasting(tensor));
    if (shown) show(rank, -1, tensor);
  }
}

void Executor::run_step(Rank& rank, StepId id, double begin_of_pass, double held_seconds) {
  const Program& program = plan_->program;
  const Step& step = program.step(id);
  const StepCost& cost = plan_->cost[static_cast<size_t>(rank.index)][static_cast<size_t>(id)];
  RankContext context{program,        rank.index,    rank.replica, *rank.device,   *rank.communicator,
                      *rank.replicas, *rank.holders, *rank.arenas, inputs_.numbers};
  StepEvent event;
  event.begin_seconds = now_seconds() - begin_of_pass;
  const CollectiveTimes times = execute(step, context);
  event.end_seconds = now_seconds() - begin_of_pass;
  if (is_collective(step.op)) {
    event.arrival_seconds = times.arrival_seconds - begin_of_pass;
    event.all_arrived_seconds = times.all_arrived_seconds - begin_of_pass;
    event.sent_bytes = times.sent_bytes;
  }
  event.held_seconds = held_seconds;
  event.flops = cost.flops;
  event.high_water_bytes = rank.arenas->high_water_bytes();
  rank.trace->publish(static_cast<size_t>(id), event);
  for (TensorId out : step.outputs) show(rank, id, program.tensor(out));
}

double Executor::stand_still(double seconds) {
  const double begin = now_seconds();
  std::unique_lock lock(mutex_);
  wake_ranks_.wait_for(lock, std::chrono::duration<double>(seconds),
                       [this] { return stopping_ || halting_; });
  return now_seconds() - begin;
}

// In the rank's own thread, or handed to the lane beside it.
void Executor::begin_step(Rank& rank, StepId id, double begin_of_pass) {
  const bool beside = plan_->program.step(id).beside;
  if (!beside && rank.lane && behind_lane_[static_cast<size_t>(id)]) rank.lane->drain();
  const auto late = rank.holds.find(id);
  const double held_seconds = late == rank.holds.end() ? 0 : stand_still(late->second);
  if (!beside) return run_step(rank, id, begin_of_pass, held_seconds);
  rank.lane->submit([this, &rank, id, begin_of_pass, held_seconds] {
    try {
      run_step(rank, id, begin_of_pass, held_seconds);
    } catch (const std::exception& error) {
      fail(rank.replica * plan_->program.ranks() + rank.index, id, error);
    }
  });
}

void Executor::rank_main(Rank& rank) {
  const Program& program = plan_->program;
  StepId at = -1;
  try {
    if (beside_ == Beside::AWindow) give_way_to_the_window();
    rank.device = make_cpu_device(threads_per_rank(program.settings));
    const auto place = static_cast<size_t>(rank.replica * program.ranks() + rank.index);
    const Arenas* lent = lender_ == nullptr ? nullptr : lender_->ranks_[place]->arenas.get();
    rank.arenas =
        std::make_unique<Arenas>(*rank.device, program, plan_->memory[static_cast<size_t>(rank.index)], lent);
    for (const Tensor& tensor : program.tensors) {
      const bool fed_once = is_input(tensor) && program.settings.block != Block::Model;
      const bool is_there = lender_ != nullptr && Arenas::is_lent(tensor.kind);
      if (fed_once || (is_lasting(tensor) && !is_there))
        feed_->fill(tensor, rank.index, rank.arenas->at(tensor.id));
    }
    std::unique_lock lock(mutex_);
    rank.ready = true;
    wake_waiters_.notify_all();
    for (;;) {
      if (rank.lane && rank.claimed >= target_ && rank.done < rank.claimed && !stopping_) {
        const uint64_t pass = pass_;
        lock.unlock();
        rank.lane->drain();
        lock.lock();
        if (pass == pass_) rank.done = rank.claimed;
        wake_waiters_.notify_all();
        continue;
      }
      wake_ranks_.wait(lock, [&] { return stopping_ || rank.claimed < target_; });
      if (stopping_) break;
      at = static_cast<StepId>(rank.claimed++);
      const uint64_t pass = pass_;
      const uint64_t weights_of = weights_of_;
      const double begin_of_pass = pass_begin_seconds_;
      lock.unlock();
      if (at == 0) feed_pass(rank, weights_of);
      begin_step(rank, at, begin_of_pass);
      lock.lock();
      rank.high_water_bytes = rank.arenas->high_water_bytes();
      const bool in_flight = rank.lane && rank.lane->is_busy();
      if (pass == pass_ && !in_flight) rank.done = static_cast<size_t>(at) + 1;
      if (rank.done >= target_) wake_waiters_.notify_all();
    }
  } catch (const std::exception& error) {
    fail(rank.replica * program.ranks() + rank.index, at, error);
  }
}

}  // namespace shardlens
