// The calls that the rest of the engine makes to the rank threads: go on, stand still, begin again.
// rank_thread.cpp holds what a rank does in its own thread, rank_team_failure.cpp what happens when a rank
// fails.
#include "engine/runtime/rank_team.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/config/clock.h"
#include "engine/config/error.h"
#include "engine/program/beside.h"
#include "engine/runtime/checksum.h"
#include "engine/runtime/feed.h"

namespace shardlens {
namespace {

// For a run without given inputs: unscaled, fp16's small gradients would be zero.
constexpr double kFp16LossScale = 1024;

// The places of lent tensors in a plan, by name: offset and bytes on each rank.
using Places = std::map<std::string, std::vector<std::pair<int64_t, int64_t>>>;
Places lent_places(const Plan& plan) {
  Places places;
  for (const Tensor& tensor : plan.program.tensors) {
    if (tensor.storage != kNoTensor || !Arenas::is_lent(tensor.kind)) continue;
    const auto id = static_cast<size_t>(tensor.id);
    for (const MemoryPlan& rank : plan.memory)
      places[tensor.name].push_back({rank.offset[id], rank.bytes[id]});
  }
  return places;
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
    team_.hear(rank, Failure{kind, message, what});
  }

 private:
  RankTeam& team_;
};

RankTeam::RankTeam(std::shared_ptr<const Plan> plan, std::shared_ptr<RankTeam> lender,
                   std::unique_ptr<Seats> seats)
    : plan_(std::move(plan)),
      lender_(std::move(lender)),
      seats_(std::move(seats)),
      elsewhere_(std::make_unique<Elsewhere>(*this)) {
  const Program& program = plan_->program;
  if (lender_ && lent_places(*lender_->plan_) != lent_places(*plan_))
    throw std::logic_error(
        "a Program can run over another Program's memory only if both lay out the same weights");
  feed_ = std::make_unique<Feed>(program);
  // Borrowed weights were already checked against their checksum by the team that lends them.
  const std::string& weights = program.settings.weights_path;
  if (!lender_ && !weights.empty()) require_as_saved(weights);
  behind_lane_ = steps_behind_lane(program);
  if (program.settings.block == Block::Model)
    inputs_.batch = std::make_shared<const Batch>(seeded_batch(program.settings));
  if (program.settings.dtype == DType::Fp16) inputs_.loss_scale = kFp16LossScale;
  std::vector<RankGroups> groups = seats_->make_groups();
  for (int world = 0; world < program.ranks() * program.replicas(); ++world) {
    const bool here = seats_->is_here(world);
    ranks_.push_back(here || seats_->commands() ? std::make_unique<Rank>() : nullptr);
    if (!ranks_.back()) continue;
    Rank& rank = *ranks_.back();
    followed_.push_back(&rank);
    if (here) here_.push_back(&rank);
    rank.index = world % program.ranks();
    rank.replica = world / program.ranks();
    rank.here = here;
    rank.groups = std::move(groups[static_cast<size_t>(world)]);
    rank.trace = std::make_unique<RankTrace>(program.steps.size());
    for (const Hold& hold : plan_->holds)
      if (hold.rank == world) rank.holds[hold.step] += hold.seconds;
  }
}

RankTeam::~RankTeam() = default;

void RankTeam::begin() {
  seats_->open(*elsewhere_);
  try {
    for (Rank* rank : here_) {
      rank->running = true;
      rank->thread = std::thread([team = shared_from_this(), rank] { team->rank_main(*rank); });
    }
  } catch (const std::exception& error) {
    {
      const std::lock_guard lock(mutex_);
      for (Rank* rank : here_) rank->running = rank->running && rank->thread.joinable();
    }
    disband();
    throw run_error(fmt::format("{} rank threads could not be started: {}", here_.size(), error.what()));
  }
}

CommunicatorInfo RankTeam::communicator() const {
  return seats_->announce(here_.front()->groups.neighbours->info());
}

const RankTrace& RankTeam::trace(int rank) const {
  return *ranks_[static_cast<size_t>(rank)]->trace;
}

std::vector<std::vector<StepEvent>> RankTeam::events(int ranks) const {
  std::vector<std::vector<StepEvent>> events;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankTrace& track = trace(rank);
    const auto finished = static_cast<std::ptrdiff_t>(track.finished());
    events.emplace_back(track.events().begin(), track.events().begin() + finished);
  }
  return events;
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
  traced_ = traced;
}

void RankTeam::rewind_locked() {
  ++pass_;
  target_ = 0;
  for (Rank* rank : followed_) {
    rank->claimed = rank->done = 0;
    for (Meeting& meeting : rank->meetings) meeting.step = -1;
    rank->trace->reset();  // all ranks stand still
  }
}

void RankTeam::rewind() {
  seats_->rewind();
  const std::lock_guard lock(mutex_);
  rewind_locked();
  if (plan_->program.settings.update) ++weights_of_;
}

void RankTeam::next_pass(PassInputs inputs) {
  next_pass();
  set_inputs(std::move(inputs));
}

void RankTeam::next_pass() {
  seats_->next_pass();
  const std::lock_guard lock(mutex_);
  rewind_locked();
}

void RankTeam::run_passes(const PassSource& next) {
  wait();  // only the rank's thread decides if it has a lane, and what its device is
  const bool at_once = all_are_here() && std::none_of(here_.begin(), here_.end(), [](const Rank* rank) {
                         return rank->lane || rank->asked;
                       });
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
  const int64_t bytes = local_bytes(program.tensor(tensor), program.ranks(), from.index);
  if (!from.here) return seats_->read(rank, tensor, host, static_cast<size_t>(bytes));
  fetch(from, program.tensor(tensor), host);
}

void RankTeam::write_tensor(int rank, TensorId tensor, const void* host) {
  Rank& to = *ranks_[static_cast<size_t>(rank)];
  const Program& program = plan_->program;
  const int64_t bytes = local_bytes(program.tensor(tensor), program.ranks(), to.index);
  if (!to.here) return seats_->write(rank, tensor, host, static_cast<size_t>(bytes));
  put(to, program.tensor(tensor), host);
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
    if (!failure_) failure_ = Failure{ErrorKind::Cancelled, why, {}};
  }
  abort_all(why);
  wake_ranks_.notify_all();
  wake_waiters_.notify_all();
}

void RankTeam::abort_all(const std::string& why) {
  for (const Rank* rank : here_) {
    rank->groups.neighbours->abort(why);
    rank->groups.copies->abort(why);
    rank->groups.holders->abort(why);
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

void RankTeam::show(int replica, int rank, StepId step, const Tensor& tensor, const void* data) const {
  for (const auto& observer : observers_) {
    if (!observer->wants(tensor)) continue;
    if (replica == 0) {
      observer->on_tensor(rank, step, tensor, data);
    } else {
      observer->on_replica_tensor(replica, rank, step, tensor, data);
    }
  }
}

}  // namespace shardlens
