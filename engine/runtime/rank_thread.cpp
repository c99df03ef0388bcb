// What a rank does in its own thread: it allocates and feeds its memory, and then claims and runs one step
// after the other.
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <utility>

#include "engine/config/clock.h"
#include "engine/config/error.h"
#include "engine/config/relax.h"
#include "engine/device/cpu/cores.h"
#include "engine/program/meeting.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/gpu_room.h"
#include "engine/runtime/rank_team.h"

namespace shardlens {
namespace {

// The longest time that ranks that are fed wait for the others.
constexpr double kMostFedApartSeconds = 10;

// True for tensors that exist before step 0 and last from pass to pass; an optimizer changes them, and new
// tokens change a cache.
bool is_lasting(const Tensor& tensor) {
  const bool lasts = tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::OptimizerState ||
                     tensor.kind == MemoryKind::KeyValueCache;
  return lasts && tensor.storage == kNoTensor;
}

bool is_input(const Tensor& tensor) {
  return tensor.kind == MemoryKind::Input && tensor.storage == kNoTensor;
}

std::atomic<bool> is_beside_a_window = false;

// The scheduling attributes of a thread, as the system call takes them; the C library has no name for them
// yet.
struct Turn {
  uint32_t size = sizeof(Turn), policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t slice_ns = 0, deadline_ns = 0, period_ns = 0;
};

// A rank computes on every core that it gets, and a window must not wait for it. At the lowest priority the
// ranks lose only the time that drawing takes. A SCHED_BATCH thread that wakes up preempts no other thread. A
// rank has the longest slice that the system allows; every other thread has a shorter one and preempts a rank
// at once. (With SCHED_IDLE, ranks would starve while a compiler runs, and frames were done no sooner:
// ui/platform/TRIED.md.)
void give_way_to_the_window() {
  constexpr int kLowestPriority = 19;
  Turn turn;
  turn.policy = SCHED_BATCH;
  turn.nice = kLowestPriority;
  turn.slice_ns = 100'000'000;
  if (syscall(SYS_sched_setattr, 0, &turn, 0) == 0) return;
  setpriority(PRIO_PROCESS, 0, kLowestPriority);
}

// Ranks that end a step together want the lock together, each for a tenth of a microsecond. The lock is soon
// free, and to sleep for it takes fifty times as long.
void lock_soon(std::unique_lock<std::mutex>& lock) {
  constexpr int kTries = 200;
  for (int tries = 0; tries < kTries && !lock.owns_lock(); ++tries)
    if (!lock.try_lock()) relax();
  if (!lock.owns_lock()) lock.lock();
}

}  // namespace

void set_beside_a_window(bool is) {
  is_beside_a_window = is;
}

// Shows a tensor of a rank in this process to the observers that want it; fetches it first if needed.
void RankTeam::show(Rank& rank, StepId step, const Tensor& tensor) const {
  const bool wanted = std::any_of(observers_.begin(), observers_.end(),
                                  [&](const auto& observer) { return observer->wants(tensor); });
  if (wanted) show(rank.replica, rank.index, step, tensor, host_copy(rank, tensor));
}

// Returns the tensor's bytes where the host can read them: in place, or fetched.
const void* RankTeam::host_copy(Rank& rank, const Tensor& tensor) const {
  const void* data = rank.arenas->at(tensor.id);
  if (data == nullptr || !is_staged(rank, tensor)) return data;
  if (rank.device->behind() != nullptr) rank.device->behind()->join_collectives();
  fetch(rank, tensor, rank.staging.data());
  return rank.staging.data();
}

// Lets `fill` write the tensor's bytes, in place or in the staging room from which they are copied to the
// device.
template <typename Fill>
void RankTeam::fill_tensor(Rank& rank, const Tensor& tensor, const Fill& fill) const {
  void* const data = rank.arenas->at(tensor.id);
  if (data == nullptr || !is_staged(rank, tensor)) return fill(data);
  fill(rank.staging.data());
  put(rank, tensor, rank.staging.data());
}

// True if the host cannot read or write the tensor in place: it is in device memory or stored in panels.
bool RankTeam::is_staged(const Rank& rank, const Tensor& tensor) const {
  return !rank.device->host_visible() || rank.arenas->panel_cols(tensor.id) > 0;
}

Panels RankTeam::panels(const Rank& rank, const Tensor& tensor) const {
  const MatrixShape own = local_matrix_shape(tensor, plan_->program.ranks(), rank.index);
  return {own.rows, own.cols, rank.arenas->panel_cols(tensor.id)};
}

void RankTeam::fetch(const Rank& rank, const Tensor& tensor, void* host) const {
  const void* const data = rank.arenas->at(tensor.id);
  const Panels own = panels(rank, tensor);
  if (own) return out_of_panels(own, element_bytes(tensor.dtype), {0, own.cols}, data, host);
  rank.device->copy_to_host(host, data, slice_bytes(rank, tensor));
}

void RankTeam::put(const Rank& rank, const Tensor& tensor, const void* host) const {
  void* const data = rank.arenas->at(tensor.id);
  const Panels own = panels(rank, tensor);
  if (own) return into_panels(own, element_bytes(tensor.dtype), host, data);
  rank.device->copy_to_device(data, host, slice_bytes(rank, tensor));
}

size_t RankTeam::slice_bytes(const Rank& rank, const Tensor& tensor) const {
  return static_cast<size_t>(local_bytes(tensor, plan_->program.ranks(), rank.index));
}

// Ranks that are woken together may find themselves on one core. The kernel leaves them there for as long as
// a short pass takes, so one rank waits for the other. The rank that begins the pass later moves.
void RankTeam::take_core_locked(Rank& rank) {
  rank.core = cpu::current_core();
  std::vector<int> taken;
  for (const Rank* const other : here_)
    if (other != &rank && other->claimed > 0) taken.push_back(other->core);
  if (rank.core < 0 || std::find(taken.begin(), taken.end(), rank.core) == taken.end()) return;
  cpu::move_off_cores(taken);
  rank.core = cpu::current_core();
}

// Feeds the tensors that last, with their values before the first step; without `lent` it leaves out what
// another team's memory holds.
void RankTeam::feed_lasting(Rank& rank, bool lent) const {
  const auto is_fed = [&](const Tensor& tensor) {
    return is_lasting(tensor) && (lent || !Arenas::is_lent(tensor.kind));
  };
  for (const Tensor& tensor : plan_->program.tensors) {
    if (!is_fed(tensor)) continue;
    if (feed_->is_zero(tensor)) {
      void* const data = rank.arenas->at(tensor.id);
      if (data != nullptr) rank.device->set_zero(data, slice_bytes(rank, tensor));
    } else if (const Tensor* const weight = feed_->weight_of(tensor)) {
      feed_master(rank, tensor, is_fed(*weight) ? weight : nullptr);
    } else if (feed_->master_of(tensor) == nullptr) {  // else it is fed with its master
      fill_tensor(rank, tensor, [&](void* data) { feed_->fill(tensor, rank.index, rank.threads, data); });
    }
  }
}

// Feeds the fp32 copy of a 16-bit weight, and the weight: the values are drawn or read once for both.
// `weight` may be null.
void RankTeam::feed_master(Rank& rank, const Tensor& master, const Tensor* weight) const {
  fill_tensor(rank, master, [&](void* wide) {
    feed_->fill(master, rank.index, rank.threads, wide);
    if (weight == nullptr) return;
    const auto round = [&](void* data) {
      feed_->round_master(*weight, rank.index, rank.threads, wide, data);
    };
    if (!is_staged(rank, *weight)) return round(rank.arenas->at(weight->id));
    // The staging room may hold the copy.
    const auto own = std::make_unique_for_overwrite<std::byte[]>(slice_bytes(rank, *weight));
    round(own.get());
    put(rank, *weight, own.get());
  });
}

// Runs before the first step of a pass: feeds its inputs, and the weights if an earlier pass changed them.
void RankTeam::feed_pass(Rank& rank, uint64_t pass, uint64_t weights_of) {
  const Program& program = plan_->program;
  const bool anew = rank.weights_of != weights_of;
  rank.weights_of = weights_of;
  const bool kept = !std::exchange(rank.written, false) && !anew;
  for (const auto& observer : observers_)
    if (rank.replica == 0) observer->on_pass(rank.index, pass, kept);
  if (anew) feed_lasting(rank, true);
  for (const Tensor& tensor : program.tensors) {
    if (is_input(tensor) && program.settings.block == Block::Model)
      fill_tensor(rank, tensor, [&](void* data) { feed_->fill_input(tensor, inputs_, rank.replica, data); });
  }
  for (const Tensor& tensor : program.tensors) {
    const bool shown = is_input(tensor) || (tensor.kind == MemoryKind::Weight && is_lasting(tensor));
    if (shown) show(rank, -1, tensor);
  }
}

// Returns when the pass began for which a rank was just fed. If memory or weights had to be made, the rank
// waits for the others, but not for ever: the collectives of the other ranks detect a rank that hangs.
double RankTeam::begin_fed_pass() {
  std::unique_lock lock(mutex_);
  if (!begins_when_fed_) return pass_begin_seconds_;
  const double most = std::min(timeout_seconds(plan_->program.settings), kMostFedApartSeconds);
  if (++fed_ < here_.size())
    wake_ranks_.wait_for(lock, std::chrono::duration<double>(most),
                         [this] { return stopping_ || !begins_when_fed_; });
  if (std::exchange(begins_when_fed_, false)) {
    pass_begin_seconds_ = now_seconds();
    wake_ranks_.notify_all();
  }
  return pass_begin_seconds_;
}

// The end of the steps that the rank asks its device for with one call, starting with the next step that it
// claims: steps between which no data is looked at, and at most up to the target.
size_t RankTeam::end_of_call_locked(const Rank& rank) const {
  const std::vector<Step>& steps = plan_->program.steps;
  size_t end = rank.claimed + 1;
  if (traced_ || !rank.asked) return end;
  while (end < target_ && may_run_together(steps[end - 1], steps[end]) &&
         !rank.holds.contains(static_cast<StepId>(end)))
    ++end;
  return end;
}

// Runs steps on the rank's device; for a collective it also notes where this rank is.
CollectiveTimes RankTeam::run(Rank& rank, std::span<const Step> steps) {
  const Step& step = steps.front();
  RankContext context{plan_->program,          rank.index,          rank.replica,         *rank.device,
                      *rank.groups.neighbours, *rank.groups.copies, *rank.groups.holders, *rank.arenas,
                      inputs_.numbers};
  if (steps.size() > 1) {
    execute_together(steps, context);
    return {};
  }
  if (!is_collective(step.op)) return execute(step, context);
  Meeting& meeting = rank.meetings[step.beside && !rank.asked ? 1 : 0];  // it meets the others while it asks
  meeting.step = step.id;
  meeting.inside = true;
  const CollectiveTimes times = execute(step, context);
  meeting.inside = false;
  return times;
}

void RankTeam::run_steps(Rank& rank, std::span<const Step> steps, double begin_of_pass, double held_seconds) {
  const Program& program = plan_->program;
  const Step& step = steps.front();
  StepEvent event;
  event.held_seconds = held_seconds;
  event.flops = plan_->cost[static_cast<size_t>(rank.index)][static_cast<size_t>(step.id)].flops;
  if (rank.asked) {
    rank.asked->ask(steps, traced_, [&] {
      event.sent_bytes = run(rank, steps).sent_bytes;
      event.high_water_bytes = rank.arenas->high_water_bytes();
      return event;
    });
  } else {
    if (traced_) event.begin_seconds = now_seconds() - begin_of_pass;
    const CollectiveTimes times = run(rank, steps);
    if (traced_) {
      event.end_seconds = now_seconds() - begin_of_pass;
      if (is_collective(step.op)) {
        event.arrival_seconds = times.arrival_seconds - begin_of_pass;
        event.all_arrived_seconds = times.all_arrived_seconds - begin_of_pass;
        event.sent_bytes = times.sent_bytes;
      }
      event.high_water_bytes = rank.arenas->high_water_bytes();
      rank.trace->publish(static_cast<size_t>(step.id), event);
    }
  }
  for (const Step& done : steps)
    for (const TensorId out : done.outputs) show(rank, done.id, program.tensor(out));
}

// Waits until at most `left` steps are still asked of a device that works behind its calls.
void RankTeam::look_up(Rank& rank, size_t left, double begin_of_pass, StepId& at) {
  if (!traced_) return rank.asked->look_up_untraced(left, at);
  rank.asked->look_up(left, at, [&](StepId id, StepEvent event) {
    event.begin_seconds -= begin_of_pass;
    event.end_seconds -= begin_of_pass;
    if (is_collective(plan_->program.step(id).op)) {
      event.arrival_seconds = event.begin_seconds;
      event.all_arrived_seconds =
          std::min(std::max(event.begin_seconds, last_arrival(rank, id) - begin_of_pass), event.end_seconds);
    }
    rank.trace->publish(static_cast<size_t>(id), event);
  });
}

// When the last of the ranks here began a collective that is over: all its ranks had arrived, and their marks
// can be read.
double RankTeam::last_arrival(const Rank& rank, StepId id) const {
  const Program& program = plan_->program;
  double last = 0;
  for (const int other : meeting_of(program, program.step(id), rank.replica * program.ranks() + rank.index)) {
    const Rank* const met = ranks_[static_cast<size_t>(other)].get();
    if (met == nullptr || !met->here) continue;
    try {
      last = std::max(last, met->asked->began_seconds(id));
    } catch (const std::exception&) {
      // The other rank's device has failed; that rank reports it.
    }
  }
  return last;
}

double RankTeam::stand_still(double seconds) {
  const double begin = now_seconds();
  std::unique_lock lock(mutex_);
  wake_ranks_.wait_for(lock, std::chrono::duration<double>(seconds),
                       [this] { return stopping_ || halting_; });
  if (stopping_)
    throw Error(ErrorKind::Cancelled, "the run was given up while the rank was held up on purpose");
  return now_seconds() - begin;
}

// Begins steps in the rank's own thread, or hands them to its lane.
void RankTeam::begin_steps(Rank& rank, std::span<const Step> steps, double begin_of_pass) {
  const StepId id = steps.front().id;
  const bool beside = steps.front().beside;
  const bool waits = std::any_of(steps.begin(), steps.end(), [this](const Step& step) {
    return !step.beside && behind_lane_[static_cast<size_t>(step.id)];
  });
  if (waits && rank.lane) rank.lane->drain();
  const auto late = rank.holds.find(id);
  WorkBehind* const behind = rank.device->behind();
  if (waits && behind != nullptr) behind->join_collectives();
  if (behind != nullptr && late != rank.holds.end()) rank.device->synchronize();
  const double held_seconds = late == rank.holds.end() ? 0 : stand_still(late->second);
  if (!beside || !rank.lane) return run_steps(rank, steps, begin_of_pass, held_seconds);
  rank.lane->submit([this, &rank, id, steps, begin_of_pass, held_seconds] {
    try {
      run_steps(rank, steps, begin_of_pass, held_seconds);
    } catch (const std::exception& error) {
      fail(rank.replica * plan_->program.ranks() + rank.index, id, error);
    }
  });
}

// Sets up what depends on the kind of the rank's device.
void RankTeam::prepare(Rank& rank) {
  const Program& program = plan_->program;
  const int own = rank.replica * program.ranks() + rank.index;
  const auto attach = [&](Communicator& group, int apart) {
    try {
      group.attach(*rank.device);
    } catch (const FailedRank& failed) {
      const int who = own + (failed.rank() - group.rank()) * apart;
      throw RunFailed(failed.kind(), failed_message(program, who, -1, failed.what()), {{who}, -1, false});
    }
  };
  attach(*rank.groups.neighbours, 1);
  attach(*rank.groups.copies, program.ranks());
  attach(*rank.groups.holders, 1);
  rank.groups.neighbours->make_room(packed_copy_bytes(program, rank.index));
  size_t largest = 0;
  for (const Tensor& tensor : program.tensors)
    if (is_staged(rank, tensor)) largest = std::max(largest, slice_bytes(rank, tensor));
  rank.staging.resize(largest);
  if (rank.device->behind() != nullptr) {
    rank.asked = std::make_unique<AskedSteps>(program, *rank.device->behind());
    return;
  }
  // A lane would fetch into the same staging room as its rank, so a rank has a lane only if nothing is
  // fetched.
  const bool lanes =
      std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) { return step.beside; });
  if (lanes && rank.device->host_visible()) rank.lane = std::make_unique<SideLane>();
}

// A rank has done all the steps that it may. If passes follow one another, the last rank to come begins the
// next pass.
void RankTeam::come_to_target(std::unique_lock<std::mutex>& lock) {
  if (next_ != nullptr && !failure_) {
    const bool all = std::all_of(here_.begin(), here_.end(),
                                 [this](const Rank* one) { return one->ready && one->done >= target_; });
    if (!all) return;
    asking_next_ = true;
    const PassSource& next = *next_;
    lock.unlock();
    std::optional<PassInputs> inputs;
    std::exception_ptr failed;
    try {
      inputs = next();
    } catch (...) {
      failed = std::current_exception();
    }
    if (inputs) {
      next_pass(std::move(*inputs));
      start(steps());
    }
    lock_soon(lock);
    asking_next_ = false;
    if (inputs && !failure_) return;
    next_ = nullptr;
    next_failed_ = failed;
  }
  wake_waiters_.notify_all();
}

// Spins for the time that choosing the next pass's inputs takes, if that needs no core that a rank here uses.
void RankTeam::watch_for_next_pass(std::unique_lock<std::mutex>& lock) const {
  constexpr double kWatchSeconds = 300e-6;
  constexpr int kLooksPerTime = 32;
  if (static_cast<int>(here_.size()) > available_cores()) return;
  const uint64_t seen = starts_;
  lock.unlock();
  const double end = now_seconds() + kWatchSeconds;
  const auto begun = [&] { return starts_ != seen; };
  while (!begun() && now_seconds() < end) {
    for (int look = 0; look < kLooksPerTime && !begun(); ++look) relax();
    if (!begun()) std::this_thread::yield();
  }
  lock_soon(lock);
}

void RankTeam::rank_main(Rank& rank) {
  const Program& program = plan_->program;
  StepId at = -1;
  try {
    if (is_beside_a_window) give_way_to_the_window();
    const auto place = static_cast<size_t>(rank.replica * program.ranks() + rank.index);
    const int threads = program.settings.threads_per_rank;
    rank.threads = threads > 0 ? threads : seats_->cores_per_rank();
    rank.device = seats_->make_device(static_cast<int>(place), rank.threads);
    const Arenas* lent = !lender_ ? nullptr : lender_->ranks_[place]->arenas.get();
    rank.arenas =
        std::make_unique<Arenas>(*rank.device, program, plan_->memory[static_cast<size_t>(rank.index)], lent);
    prepare(rank);
    for (const Tensor& tensor : program.tensors) {
      if (is_input(tensor) && program.settings.block != Block::Model)
        fill_tensor(rank, tensor, [&](void* data) { feed_->fill(tensor, rank.index, rank.threads, data); });
    }
    feed_lasting(rank, lender_ == nullptr);
    std::unique_lock lock(mutex_);
    rank.ready = true;
    wake_waiters_.notify_all();
    for (;;) {
      const bool goes_on = rank.lane || rank.asked;
      if (goes_on && rank.claimed >= target_ && rank.done < rank.claimed && !stopping_) {
        const uint64_t pass = pass_;
        const double begin_of_pass = pass_begin_seconds_;
        lock.unlock();
        if (rank.lane) rank.lane->drain();
        if (rank.asked) look_up(rank, 0, begin_of_pass, at);
        lock.lock();
        if (pass == pass_) rank.done = rank.claimed;
        wake_waiters_.notify_all();
        continue;
      }
      if (next_ != nullptr && rank.claimed >= target_ && !stopping_) watch_for_next_pass(lock);
      wake_ranks_.wait(lock, [&] { return stopping_ || rank.claimed < target_; });
      if (stopping_) break;
      if (rank.claimed == 0) take_core_locked(rank);
      at = static_cast<StepId>(rank.claimed);
      const auto steps =
          std::span(program.steps).subspan(rank.claimed, end_of_call_locked(rank) - rank.claimed);
      rank.claimed += steps.size();
      rank.claimed_seconds = now_seconds();
      const uint64_t pass = pass_;
      const uint64_t weights_of = weights_of_;
      double begin_of_pass = pass_begin_seconds_;
      lock.unlock();
      if (rank.asked) rank.asked->keep_time(at, traced_);
      if (at == 0) {
        feed_pass(rank, pass, weights_of);
        begin_of_pass = begin_fed_pass();
      }
      begin_steps(rank, steps, begin_of_pass);
      if (rank.asked && rank.asked->size() > AskedSteps::kMost)
        look_up(rank, AskedSteps::kStill, begin_of_pass, at);
      lock_soon(lock);
      rank.high_water_bytes = rank.arenas->high_water_bytes();
      const bool in_flight = (rank.lane && rank.lane->is_busy()) || (rank.asked && !rank.asked->empty());
      if (pass == pass_ && !in_flight) rank.done = rank.claimed;
      if (rank.done >= target_) come_to_target(lock);
    }
  } catch (const std::exception& error) {
    fail(rank.replica * program.ranks() + rank.index, at, error);
  }
  come_to_rest(rank);
}

}  // namespace shardlens
