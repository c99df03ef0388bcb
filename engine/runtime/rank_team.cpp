// First the calls that the rest of the engine makes to the rank threads: go on, stand still, begin again.
// Then what a rank does in its own thread: it allocates and feeds its memory, and then claims and runs one
// step after the other. Last how a run ends early: a rank that threw, a rank that did not come, and threads
// that never end.
#include "engine/runtime/rank_team.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/cpu_pause.h"
#include "engine/base/error.h"
#include "engine/base/threads.h"
#include "engine/base/waiting.h"
#include "engine/comm/uncertain_calls.h"
#include "engine/device/cpu/cores.h"
#include "engine/device/gpu_plugin.h"
#include "engine/device/work_behind.h"
#include "engine/program/collective_group.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/rank_priority.h"

namespace shardlens {
namespace {

// The longest time that ranks that are fed wait for the others.
constexpr double kMostFedApartSeconds = 10;

// How often a thread that waits for the ranks looks for progress. It counts looks, not the clock: while the
// whole process is stopped, no rank is late.
constexpr double kLookSeconds = 0.5;
// The same if some ranks live in other processes.
constexpr double kLookElsewhereSeconds = 0.1;

// How long to wait for a rank that is known to hang: it may be about to end.
constexpr double kMomentSeconds = 0.2;

std::atomic<int> abandoned_count{0};

// The first collective from `step` on; -1 if there is none.
StepId next_collective(const Program& program, StepId step) {
  const auto found = std::find_if(program.steps.begin() + step, program.steps.end(),
                                  [](const Step& one) { return is_collective(one.op); });
  return found == program.steps.end() ? -1 : found->id;
}

// Ranks that end a step together want the lock together, each for a tenth of a microsecond. The lock is soon
// free, and to sleep for it takes fifty times as long.
void lock_soon(std::unique_lock<std::mutex>& lock) {
  constexpr int kTries = 200;
  for (int tries = 0; tries < kTries && !lock.owns_lock(); ++tries)
    if (!lock.try_lock()) cpu_pause();
  if (!lock.owns_lock()) lock.lock();
}

}  // namespace

struct RankTeam::Elsewhere : SeatsListener {
  explicit Elsewhere(RankTeam& team) : team_(team) {}

  void on_report(const RankReport& report) override {
    const std::lock_guard lock(team_.mutex_);
    Rank& rank = *team_.ranks_[static_cast<size_t>(report.rank)];
    for (size_t step = rank.trace->finished(); step < report.events.size(); ++step)
      rank.trace->publish(step, report.events[step]);
    rank.claimed = rank.done = report.events.size();
    rank.high_water_bytes = report.high_water_bytes;
    rank.reported = report.start;
    rank.ready = true;
    team_.wake_waiters_.notify_all();
  }

  void on_tensor_elsewhere(int rank, StepId step, TensorId tensor, const void* data) override {
    const Rank& from = *team_.ranks_[static_cast<size_t>(rank)];
    try {
      team_.show(from.replica, from.index, step, team_.plan_->program.tensor(tensor), data);
    } catch (const std::exception& error) {
      team_.fail(rank, step, error);
    }
  }

  void on_failure_elsewhere(int rank, ErrorKind kind, const std::string& message,
                            const std::optional<RunFailure>& what) override {
    team_.hear(rank, TeamFailure{kind, message, what});
  }

 private:
  RankTeam& team_;
};

RankTeam::RankTeam(std::shared_ptr<const Plan> plan, std::shared_ptr<Team> lender,
                   std::unique_ptr<Seats> seats)
    : Team(std::move(plan), std::move(lender), std::move(seats)),
      elsewhere_(std::make_unique<Elsewhere>(*this)),
      finder_(plan_->program, *seats_, ranks_) {
  for (const auto& rank : ranks_) {
    if (!rank) continue;
    followed_.push_back(rank.get());
    if (rank->here) here_.push_back(rank.get());
  }
}

// All communicators end before any device: those of a group end together.
RankTeam::~RankTeam() {
  for (Rank* const rank : here_) rank->groups = {};
}

void RankTeam::begin() {
  seats_->open(*elsewhere_);
  for (Rank* rank : here_) rank->running = true;
  try {
    std::vector<std::thread> threads = start_threads(
        "the ranks", static_cast<int>(here_.size()),
        [team = shared_from_this()](int i) { team->rank_main(*team->here_[static_cast<size_t>(i)]); });
    for (size_t i = 0; i < here_.size(); ++i) here_[i]->thread = std::move(threads[i]);
  } catch (const std::exception&) {
    {
      const std::lock_guard lock(mutex_);
      for (Rank* rank : here_) rank->running = false;
    }
    disband();
    throw;
  }
}

BytesByKind RankTeam::high_water_bytes(int rank) const {
  const std::lock_guard lock(mutex_);
  return ranks_[static_cast<size_t>(rank)]->high_water_bytes;
}

void RankTeam::observe(std::vector<std::shared_ptr<StepObserver>> observers) {
  const std::lock_guard lock(mutex_);
  observers_ = std::move(observers);
}

void RankTeam::set_traced(bool traced) {
  const std::lock_guard lock(mutex_);
  traced_ = traced || !all_are_here();  // the others' events are the report that a pass is over
}

void RankTeam::rewind_locked() {
  ++pass_;
  target_ = 0;
  for (Rank* rank : followed_) {
    rank->claimed = rank->done = 0;
    for (RankMeeting& meeting : rank->meetings) meeting.step = -1;
    rank->trace->reset();  // all ranks stand still
  }
}

void RankTeam::rewind() {
  seats_->rewind();
  const std::lock_guard lock(mutex_);
  rewind_locked();
  if (plan_->program.settings.update) ++weights_of_;
}

void RankTeam::next_pass() {
  seats_->next_pass();
  const std::lock_guard lock(mutex_);
  rewind_locked();
}

void RankTeam::run_passes(const PassSource& next) {
  wait();  // only the rank's thread decides if it has a lane
  const bool at_once = all_are_here() && std::none_of(here_.begin(), here_.end(),
                                                      [](const Rank* rank) { return rank->lane != nullptr; });
  std::optional<PassInputs> inputs = next();
  for (; inputs && !at_once; inputs = next()) {
    next_pass(std::move(*inputs));
    start(steps());
    wait();
  }
  if (!inputs) return;
  next_pass(std::move(*inputs));
  {
    const std::lock_guard lock(mutex_);
    next_ = &next;
  }
  start(steps());
  const auto leave = [this] {
    std::unique_lock lock(mutex_);
    next_ = nullptr;
    wake_waiters_.wait(lock, [this] { return !asking_next_; });
    return std::exchange(next_failed_, nullptr);
  };
  try {
    wait();
  } catch (...) {
    leave();
    throw;
  }
  if (const std::exception_ptr failed = leave()) std::rethrow_exception(failed);
}

void RankTeam::set_inputs(PassInputs inputs) {
  seats_->set_inputs(inputs);
  const std::lock_guard lock(mutex_);
  inputs_ = std::move(inputs);
}

void RankTeam::read_tensor(int rank, TensorId tensor, void* host) const {
  const Rank& from = *ranks_[static_cast<size_t>(rank)];
  const Program& program = plan_->program;
  const int64_t bytes = local_bytes(program.tensor(tensor), program.tp(), from.index);
  if (!from.here) return seats_->read(rank, tensor, host, static_cast<size_t>(bytes));
  from.read(tensor, host);
}

void RankTeam::write_tensor(int rank, TensorId tensor, const void* host) {
  Rank& to = *ranks_[static_cast<size_t>(rank)];
  const Program& program = plan_->program;
  const int64_t bytes = local_bytes(program.tensor(tensor), program.tp(), to.index);
  if (!to.here) return seats_->write(rank, tensor, host, static_cast<size_t>(bytes));
  to.memory->put(program.tensor(tensor), host);
  to.device->synchronize();  // another team may run over this memory next, on a device of its own
  to.written = true;
}

void RankTeam::start(size_t target) {
  start_at(target, std::nullopt);
}

void RankTeam::start(size_t target, double begin_seconds) {
  start_at(target, begin_seconds);
}

void RankTeam::start_at(size_t target, std::optional<double> begin_seconds) {
  std::vector<bool> wanted;
  uint64_t start = 0;
  {
    const std::lock_guard lock(mutex_);
    target = std::min(target, steps());
    if (target < position_locked()) {
      rewind_locked();
      if (plan_->program.settings.update) ++weights_of_;
    }
    if (here_.front()->claimed == 0) {
      pass_begin_seconds_ = begin_seconds.value_or(now_seconds());
      begins_when_fed_ = all_are_here() && std::any_of(here_.begin(), here_.end(), [this](const Rank* rank) {
                           return !rank->ready || rank->weights_of != weights_of_;
                         });
      fed_ = 0;
    }
    halting_ = false;
    target_ = target;
    start = ++starts_;
    begin_seconds = pass_begin_seconds_;
    if (!all_are_here()) {
      wanted.resize(plan_->program.tensors.size(), false);
      for (const auto& observer : observers_)
        for (const Tensor& tensor : plan_->program.tensors)
          if (observer->wants(tensor)) wanted[static_cast<size_t>(tensor.id)] = true;
    }
  }
  wake_ranks_.notify_all();  // not before: a thread that wakes up needs the lock
  if (!all_are_here()) seats_->start(start, target, *begin_seconds, std::move(wanted));
}

void RankTeam::pause() {
  const std::lock_guard lock(mutex_);
  if (here_.size() < followed_.size()) return;
  size_t furthest = 0;
  for (const Rank* rank : followed_) furthest = std::max(furthest, rank->claimed);
  target_ = std::min(target_, furthest);
  halting_ = true;
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

void RankTeam::cancel(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (!failure_) failure_ = TeamFailure{ErrorKind::Cancelled, why, {}};
  }
  abort_all(why);
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

// Ends ranks that stand still, without giving up their groups. Returns false if a rank does not stand still.
bool RankTeam::end_idle() {
  const std::lock_guard lock(mutex_);
  const bool idle =
      !failure_ && idle_locked() &&
      std::all_of(here_.begin(), here_.end(), [](const Rank* rank) { return rank->done == rank->claimed; });
  if (!idle || !all_are_here()) return false;
  stopping_ = true;
  failure_ = TeamFailure{ErrorKind::Cancelled, "the run has ended", {}};
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
  return true;
}

void RankTeam::abort_all(const std::string& why) {
  for (const Rank* rank : here_) {
    rank->groups.layer->abort(why);
    rank->groups.replicas->abort(why);
    rank->groups.same_slice->abort(why);
  }
  seats_->cancel(why);
}

size_t RankTeam::position_locked() const {
  size_t position = steps();
  for (const Rank* rank : followed_) position = std::min(position, rank->done);
  return position;
}

size_t RankTeam::position() const {
  const std::lock_guard lock(mutex_);
  return position_locked();
}

bool RankTeam::idle_locked() const {
  if (failure_) return true;
  if (next_ != nullptr) return false;
  return std::all_of(followed_.begin(), followed_.end(), [this](const Rank* rank) {
    return rank->ready && (rank->here ? rank->done >= target_ : rank->reported == starts_);
  });
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
// claims: steps between which no data is looked at, and at most up to the target. It may be the whole pass.
size_t RankTeam::end_of_call_locked(const Rank& rank) const {
  const std::vector<Step>& steps = steps_of(plan_->program, rank.replica);
  size_t end = rank.claimed + 1;
  if (!rank.asked) return end;
  const bool whole = !traced_ && rank.claimed == 0 && target_ == steps.size();
  if (whole && rank.repeats_passes() && observers_.empty()) return target_;
  const auto left = std::span(steps).subspan(rank.claimed, target_ - rank.claimed);
  const size_t joined = rank.claimed + count_together(plan_->program, left, traced_ || !observers_.empty());
  while (end < joined && !rank.delays.contains(static_cast<StepId>(end))) ++end;
  return end;
}

void RankTeam::run_steps(Rank& rank, std::span<const Step> steps, double begin_of_pass, double held_seconds) {
  rank.run_steps(steps, inputs_.numbers, traced_, begin_of_pass, held_seconds);
  for (const Step& done : steps)
    for (const TensorId out : done.outputs) show(rank, done.id, plan_->program.tensor(out));
}

// Waits until at most `left` steps are still asked of a device that works behind its calls.
void RankTeam::look_up(Rank& rank, size_t left, double begin_of_pass, StepId& at) {
  rank.look_up(
      left, traced_, begin_of_pass, [&](StepId id) { return last_arrival(rank, id); }, at);
}

// When the last of the ranks here began a collective that is over: all its ranks had arrived, and their marks
// can be read.
double RankTeam::last_arrival(const Rank& rank, StepId id) const {
  const Program& program = plan_->program;
  double last = 0;
  for (const int other : ranks_of_group(program, program.step(id), rank.world())) {
    const Rank* const met = ranks_[static_cast<size_t>(other)].get();
    if (met == nullptr || !met->here) continue;
    try {
      last = std::max(last, met->asked->began_seconds(id));  // infinity: later than this rank was done
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
  const bool overlapped = steps.front().overlapped;
  const bool waits = std::any_of(steps.begin(), steps.end(), [this](const Step& step) {
    return !step.overlapped && behind_lane_[static_cast<size_t>(step.id)];
  });
  if (waits && rank.lane) rank.lane->drain();
  const auto late = rank.delays.find(id);
  if (waits && rank.asked) rank.asked->join_collectives();
  if (rank.asked && late != rank.delays.end()) {
    rank.device->synchronize();
    rank.asked->break_off();
  }
  const double held_seconds = late == rank.delays.end() ? 0 : stand_still(late->second);
  if (!overlapped || !rank.lane) return run_steps(rank, steps, begin_of_pass, held_seconds);
  rank.lane->submit([this, &rank, id, steps, begin_of_pass, held_seconds] {
    try {
      run_steps(rank, steps, begin_of_pass, held_seconds);
    } catch (const std::exception& error) {
      fail(rank.world(), id, error);
    }
  });
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
  if (static_cast<int>(here_.size()) > available_cores()) return;
  const uint64_t seen = starts_;
  lock.unlock();
  watch(kWatchSeconds, [&] { return starts_ != seen; });
  lock_soon(lock);
}

void RankTeam::rank_main(Rank& rank) {
  const Program& program = plan_->program;
  const std::vector<Step>& own_steps = steps_of(program, rank.replica);
  StepId at = -1;
  try {
    take_rank_priority();
    make_memory(rank, true);
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
        if (rank.done >= target_)
          come_to_target(lock);
        else
          wake_waiters_.notify_all();
        continue;
      }
      if (next_ != nullptr && rank.claimed >= target_ && !stopping_) watch_for_next_pass(lock);
      wake_ranks_.wait(lock, [&] { return stopping_ || rank.claimed < target_; });
      if (stopping_) break;
      if (rank.claimed == 0) take_core_locked(rank);
      at = static_cast<StepId>(rank.claimed);
      const auto steps = std::span(own_steps).subspan(rank.claimed, end_of_call_locked(rank) - rank.claimed);
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
      rank.high_water_bytes = rank.memory->arenas().high_water_bytes();
      const bool in_flight = (rank.lane && rank.lane->is_busy()) || (rank.asked && !rank.asked->empty());
      if (pass == pass_ && !in_flight) rank.done = rank.claimed;
      if (rank.done >= target_) come_to_target(lock);
    }
  } catch (const std::exception& error) {
    fail(rank.world(), at, error);
  }
  come_to_rest(rank);
}

// Memory is freed after the threads have ended: by then no work that was asked for may still use it.
void RankTeam::come_to_rest(Rank& rank) {
  try {
    if (rank.device && rank.device->behind() != nullptr) rank.device->synchronize();
  } catch (const std::exception&) {
    // The cause of the failure was already reported.
  }
  if (rank.lane) rank.lane->drain();
  const std::lock_guard lock(mutex_);
  rank.running = false;
  if (rank.abandoned) --abandoned_count;
  wake_waiters_.notify_all();
}

void RankTeam::throw_failure_locked() const {
  if (!failure_->what) throw Error(failure_->kind, failure_->message);
  throw RunFailed(failure_->kind, failure_->message, *failure_->what);
}

bool RankTeam::wait_for(double seconds) {
  std::unique_lock lock(mutex_);
  const double end = now_seconds() + seconds;
  for (;;) {
    if (failure_) throw_failure_locked();
    const double begin = now_seconds();
    const double most = all_are_here() ? kLookSeconds : kLookElsewhereSeconds;
    const double look = std::clamp(end - begin, 0.0, most);
    if (wake_waiters_.wait_for(lock, std::chrono::duration<double>(look), [this] { return idle_locked(); })) {
      if (failure_) throw_failure_locked();
      return true;
    }
    std::optional<TeamFailure> late = finder_.believed();
    if (!late && !finder_.has_reports())
      late = finder_.late_at_the_end(target_, pass_, starts_, std::min(now_seconds() - begin, kLookSeconds));
    if (late) {
      lock.unlock();
      fail(std::move(*late));
      lock.lock();
    } else if (now_seconds() >= end) {
      return false;
    }
  }
}

// Handles what `rank` threw in `step`. A rank that waited for another in vain reports the other rank, and so
// does a rank that heard of another's failure.
void RankTeam::fail(int rank, StepId step, const std::exception& error) {
  const Program& program = plan_->program;
  TeamFailure failure;
  const StepId met = ranks_[static_cast<size_t>(rank)]->met_in(step);
  const auto* const lost = dynamic_cast<const LostRanks*>(&error);
  const auto* const failed = dynamic_cast<const FailedRank*>(&error);
  // A rank can hear of another's failure before it has been in a collective: the step is then its next one.
  const StepId in = failed != nullptr && met < 0 && step >= 0 ? next_collective(program, step) : met;
  if (lost != nullptr && met >= 0) {
    const std::lock_guard lock(mutex_);
    failure = finder_.missed_in(met, rank, *lost);
  } else if (failed != nullptr) {
    const StepId at = in >= 0 ? in : step;
    const int who = ranks_[static_cast<size_t>(rank)]->failed_member().value_or(rank);
    failure.what = RunFailure{{who}, at, false};
    failure.message = failed_message(program, who, at, failed->what());
  } else if (const auto* of_all = dynamic_cast<const RunFailed*>(&error)) {
    failure.kind = of_all->kind();
    failure.what = of_all->failure();
    failure.message = of_all->what();
  } else {
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known != nullptr) failure.kind = known->kind();
    failure.what = RunFailure{{rank}, step, false};
    failure.message = failed_message(program, rank, step, error.what());
  }
  hear(rank, std::move(failure));
}

// Takes a failure that rank `rank` reports.
void RankTeam::hear(int rank, TeamFailure failure) {
  if (all_are_here() || !failure.what || !failure.what->lost) return fail(std::move(failure));
  const std::lock_guard lock(mutex_);
  finder_.add_report(rank, std::move(failure));
  wake_waiters_.notify_all();
}

void RankTeam::fail(TeamFailure failure) {
  const std::string message = failure.message;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (failure_) return;  // the others fail because the first one did
    failure_ = std::move(failure);
  }
  abort_all(message);
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

void RankTeam::disband() {
  if (!end_idle()) cancel("the run was given up");
  std::vector<std::thread> ended;
  {
    std::unique_lock lock(mutex_);
    const bool lost = failure_->what && failure_->what->lost;
    const double patience =
        lost ? kMomentSeconds : std::min(timeout_seconds(plan_->program.settings), kForeverSeconds);
    wake_waiters_.wait_for(lock, std::chrono::duration<double>(patience), [this] {
      return std::none_of(here_.begin(), here_.end(), [](const Rank* rank) { return rank->running; });
    });
    for (Rank* const rank : here_) {
      if (!rank->thread.joinable()) continue;
      if (rank->running) {
        rank->abandoned = true;
        ++abandoned_count;
        rank->thread.detach();
      } else {
        ended.push_back(std::move(rank->thread));
      }
    }
  }
  for (std::thread& thread : ended) thread.join();
  seats_->close();
}

int abandoned_threads() {
  return abandoned_count + UncertainCalls::hanging() + hanging_gpu_calls();
}

}  // namespace shardlens
