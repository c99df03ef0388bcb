// The rank threads and their control.
#include "engine/runtime/rank_team.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/config/clock.h"
#include "engine/config/error.h"
#include "engine/device/work_behind.h"
#include "engine/program/meeting.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/feed.h"
#include "engine/runtime/side_lane.h"

namespace shardlens {
namespace {

// Of a run that nobody gave inputs: unscaled, fp16's small gradients would be zero.
constexpr double kFp16LossScale = 1024;

// How far a rank may ask ahead of a device that works behind its calls, in steps, and how many of them it
// waits for then: enough stay asked for to keep the device busy.
constexpr size_t kMostAsked = 256;
constexpr size_t kStillAsked = 128;

// How long ranks that are fed wait for the others, at most.
constexpr double kMostFedApartSeconds = 10;

// Of steps that are not traced every so many is marked, so that one of them is among those waited for.
constexpr size_t kUntracedPerMark = kMostAsked - kStillAsked;

// A step's marks on such a device.
size_t begin_slot(StepId id) {
  return 2 * static_cast<size_t>(id);
}
size_t end_slot(StepId id) {
  return begin_slot(id) + 1;
}
bool is_marked_untraced(StepId id) {
  return static_cast<size_t>(id) % kUntracedPerMark == kUntracedPerMark - 1;
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

bool is_input(const Tensor& tensor) {
  return tensor.kind == MemoryKind::Input && tensor.storage == kNoTensor;
}

// What the system knows of a thread's turn, as its call takes it; the C library has no name for it yet.
struct Turn {
  uint32_t size = sizeof(Turn), policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t slice_ns = 0, deadline_ns = 0, period_ns = 0;
};

// A rank computes on every core it gets; a window must not wait for it. At the lowest priority the ranks lose
// only what drawing takes. As a batch, a rank that wakes up puts nobody aside, and where its slice is the
// longest that the system has, whatever is not a rank has a shorter one and puts it aside at once. (Scheduled
// as idle, ranks would starve where a compiler runs, and frames were no sooner done: ui/platform/TRIED.md.)
void give_way_to_the_window() {
  constexpr int kLowestPriority = 19;
  Turn turn;
  turn.policy = SCHED_BATCH;
  turn.nice = kLowestPriority;
  turn.slice_ns = 100'000'000;
  if (syscall(SYS_sched_setattr, 0, &turn, 0) == 0) return;
  setpriority(PRIO_PROCESS, 0, kLowestPriority);
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

RankTeam::RankTeam(std::shared_ptr<const Plan> plan, Beside beside, std::shared_ptr<RankTeam> lender,
                   std::unique_ptr<Seats> seats)
    : plan_(std::move(plan)),
      beside_(beside),
      lender_(std::move(lender)),
      seats_(std::move(seats)),
      elsewhere_(std::make_unique<Elsewhere>(*this)) {
  const Program& program = plan_->program;
  if (lender_ && lent_places(*lender_->plan_) != lent_places(*plan_))
    throw std::logic_error("a Program can only run over the memory of one that lays out the same weights");
  feed_ = std::make_unique<Feed>(program);
  behind_lane_ = steps_behind_lane(program);
  if (program.settings.block == Block::Model)
    inputs_.batch = std::make_shared<const Batch>(seeded_batch(program.settings));
  if (program.settings.dtype == DType::Fp16) inputs_.loss_scale = kFp16LossScale;
  const bool tp_lanes = std::any_of(program.steps.begin(), program.steps.end(),
                                    [](const Step& step) { return step.beside && step.axis == Axis::Tp; });
  // Who waits for another rank beside a product of its own may not spin on the core that computes it.
  std::vector<RankGroups> groups = seats_->make_groups(tp_lanes);
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
  from.device->copy_to_host(host, from.arenas->at(tensor), static_cast<size_t>(bytes));
}

void RankTeam::write_tensor(int rank, TensorId tensor, const void* host) {
  Rank& to = *ranks_[static_cast<size_t>(rank)];
  const Program& program = plan_->program;
  const int64_t bytes = local_bytes(program.tensor(tensor), program.ranks(), to.index);
  if (!to.here) return seats_->write(rank, tensor, host, static_cast<size_t>(bytes));
  to.device->copy_to_device(to.arenas->at(tensor), host, static_cast<size_t>(bytes));
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
    wake_ranks_.notify_all();
    begin_seconds = pass_begin_seconds_;
    if (here_.size() == followed_.size()) return;  // nobody elsewhere to be told
    for (const auto& observer : observers_) {
      wanted.resize(plan_->program.tensors.size(), false);
      for (const Tensor& tensor : plan_->program.tensors)
        if (observer->wants(tensor)) wanted[static_cast<size_t>(tensor.id)] = true;
    }
  }
  seats_->start(start, target, *begin_seconds, std::move(wanted));
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
  return std::all_of(followed_.begin(), followed_.end(), [this](const Rank* rank) {
    return rank->ready && (rank->here ? rank->done >= target_ : rank->reported == starts_);
  });
}

// Of a rank here: fetched, where that is needed, if somebody wants it.
void RankTeam::show(Rank& rank, StepId step, const Tensor& tensor) const {
  const bool wanted = std::any_of(observers_.begin(), observers_.end(),
                                  [&](const auto& observer) { return observer->wants(tensor); });
  if (wanted) show(rank.replica, rank.index, step, tensor, host_copy(rank, tensor));
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

// The tensor's bytes where the host can read them: in place, or fetched.
const void* RankTeam::host_copy(Rank& rank, const Tensor& tensor) const {
  const void* data = rank.arenas->at(tensor.id);
  if (rank.device->host_visible() || data == nullptr) return data;
  if (rank.device->behind() != nullptr) rank.device->behind()->join_collectives();
  rank.device->copy_to_host(rank.staging.data(), data, slice_bytes(rank, tensor));
  return rank.staging.data();
}

// Has `fill` write the tensor's bytes, in place or where they are taken to the device from.
template <typename Fill>
void RankTeam::fill_tensor(Rank& rank, const Tensor& tensor, const Fill& fill) const {
  void* const data = rank.arenas->at(tensor.id);
  if (rank.device->host_visible() || data == nullptr) return fill(data);
  fill(rank.staging.data());
  rank.device->copy_to_device(data, rank.staging.data(), slice_bytes(rank, tensor));
}

size_t RankTeam::slice_bytes(const Rank& rank, const Tensor& tensor) const {
  return static_cast<size_t>(local_bytes(tensor, plan_->program.ranks(), rank.index));
}

// Before the first step of a pass: its inputs, and the weights where a pass before it moved them.
void RankTeam::feed_pass(Rank& rank, uint64_t pass, uint64_t weights_of) {
  const Program& program = plan_->program;
  const bool anew = rank.weights_of != weights_of;
  rank.weights_of = weights_of;
  const bool kept = !std::exchange(rank.written, false) && !anew;
  for (const auto& observer : observers_)
    if (rank.replica == 0) observer->on_pass(rank.index, pass, kept);
  for (const Tensor& tensor : program.tensors) {
    if (anew && is_lasting(tensor))
      fill_tensor(rank, tensor, [&](void* data) { feed_->fill(tensor, rank.index, data); });
    if (is_input(tensor) && program.settings.block == Block::Model)
      fill_tensor(rank, tensor, [&](void* data) { feed_->fill_input(tensor, inputs_, rank.replica, data); });
  }
  for (const Tensor& tensor : program.tensors) {
    const bool shown = is_input(tensor) || (tensor.kind == MemoryKind::Weight && is_lasting(tensor));
    if (shown) show(rank, -1, tensor);
  }
}

// When the pass began for which a rank was just fed. Where much had to be made it waits for the others, but
// not for ever: one that hangs is missed by those who meet without it.
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

void RankTeam::run_step(Rank& rank, StepId id, double begin_of_pass, double held_seconds) {
  const Program& program = plan_->program;
  const Step& step = program.step(id);
  const StepCost& cost = plan_->cost[static_cast<size_t>(rank.index)][static_cast<size_t>(id)];
  RankContext context{program,
                      rank.index,
                      rank.replica,
                      *rank.device,
                      *rank.groups.neighbours,
                      *rank.groups.copies,
                      *rank.groups.holders,
                      *rank.arenas,
                      inputs_.numbers};
  StepEvent event;
  event.held_seconds = held_seconds;
  event.flops = cost.flops;
  if (rank.device->behind() != nullptr) {
    ask_for_step(rank, step, context, event);
    for (TensorId out : step.outputs) show(rank, id, program.tensor(out));
    return;
  }
  if (traced_) event.begin_seconds = now_seconds() - begin_of_pass;
  const CollectiveTimes times = [&] {
    if (!is_collective(step.op)) return execute(step, context);
    Meeting& meeting = rank.meetings[step.beside ? 1 : 0];
    meeting.step = id;
    meeting.inside = true;
    const CollectiveTimes met = execute(step, context);
    meeting.inside = false;
    return met;
  }();
  if (traced_) {
    event.end_seconds = now_seconds() - begin_of_pass;
    if (is_collective(step.op)) {
      event.arrival_seconds = times.arrival_seconds - begin_of_pass;
      event.all_arrived_seconds = times.all_arrived_seconds - begin_of_pass;
      event.sent_bytes = times.sent_bytes;
    }
    event.high_water_bytes = rank.arenas->high_water_bytes();
    rank.trace->publish(static_cast<size_t>(id), event);
  }
  for (TensorId out : step.outputs) show(rank, id, program.tensor(out));
}

// On a device that works behind its calls: asked for and marked, to be looked up when it has been done.
void RankTeam::ask_for_step(Rank& rank, const Step& step, RankContext& context, StepEvent event) {
  WorkBehind& behind = *rank.device->behind();
  const bool meets = is_collective(step.op);
  if (meets) behind.begin_collective();
  if (traced_)
    behind.mark(begin_slot(step.id), meets && step.beside ? WorkOrder::Collectives : WorkOrder::Steps);
  if (meets) {  // it meets the others to ask
    Meeting& meeting = rank.meetings[0];
    meeting.step = step.id;
    meeting.inside = true;
    event.sent_bytes = execute(step, context).sent_bytes;
    meeting.inside = false;
  } else {
    execute(step, context);
  }
  if (traced_ || is_marked_untraced(step.id))
    behind.mark(end_slot(step.id), meets ? WorkOrder::Collectives : WorkOrder::Steps);
  if (meets && !step.beside) behind.join_collectives();
  event.high_water_bytes = rank.arenas->high_water_bytes();
  rank.asked.emplace_back(step.id, event);
}

// Looks up what was asked for, the oldest first, until no more than `left` steps are still asked for. `at` is
// the step it waits for.
void RankTeam::look_up(Rank& rank, size_t left, double begin_of_pass, StepId& at) {
  if (!traced_) return wait_for_untraced(rank, left, at);
  const Program& program = plan_->program;
  while (rank.asked.size() > left) {
    auto [id, event] = rank.asked.front();
    at = id;
    WorkBehind& behind = *rank.device->behind();
    event.begin_seconds = behind.marked_seconds(begin_slot(id)) - begin_of_pass;
    event.end_seconds = behind.marked_seconds(end_slot(id)) - begin_of_pass;
    if (is_collective(program.step(id).op)) {
      // It is over, so all who met in it had arrived, and their marks can be read.
      event.arrival_seconds = event.all_arrived_seconds = event.begin_seconds;
      const int world = rank.replica * program.ranks() + rank.index;
      for (const int other : meeting_of(program, program.step(id), world)) {
        const Rank* const met = ranks_[static_cast<size_t>(other)].get();
        if (met == nullptr || !met->here) continue;
        WorkBehind& theirs = *met->device->behind();
        const double arrival = theirs.marked_seconds(begin_slot(id)) - begin_of_pass;
        event.all_arrived_seconds = std::max(event.all_arrived_seconds, arrival);
      }
      event.all_arrived_seconds = std::min(event.all_arrived_seconds, event.end_seconds);
    }
    rank.trace->publish(static_cast<size_t>(id), event);
    rank.asked.pop_front();
  }
}

// The same where no step has marks of its own: all are waited for by a mark behind them, some by one among
// them.
void RankTeam::wait_for_untraced(Rank& rank, size_t left, StepId& at) {
  WorkBehind& behind = *rank.device->behind();
  if (left == 0 && !rank.asked.empty()) {
    at = rank.asked.back().first;
    behind.join_collectives();
    behind.mark(end_slot(at), WorkOrder::Steps);
    behind.wait_for_mark(end_slot(at));
    rank.asked.clear();
  }
  while (rank.asked.size() > left) {
    at = rank.asked.front().first;
    if (is_marked_untraced(at)) behind.wait_for_mark(end_slot(at));
    rank.asked.pop_front();
  }
}

double RankTeam::stand_still(double seconds) {
  const double begin = now_seconds();
  std::unique_lock lock(mutex_);
  wake_ranks_.wait_for(lock, std::chrono::duration<double>(seconds),
                       [this] { return stopping_ || halting_; });
  if (stopping_) throw Error(ErrorKind::Cancelled, "the run was given up while it stood still");
  return now_seconds() - begin;
}

// In the rank's own thread, or handed to the lane beside it.
void RankTeam::begin_step(Rank& rank, StepId id, double begin_of_pass) {
  const bool beside = plan_->program.step(id).beside;
  if (!beside && rank.lane && behind_lane_[static_cast<size_t>(id)]) rank.lane->drain();
  const auto late = rank.holds.find(id);
  WorkBehind* const behind = rank.device->behind();
  if (!beside && behind != nullptr && behind_lane_[static_cast<size_t>(id)]) behind->join_collectives();
  if (behind != nullptr && late != rank.holds.end()) rank.device->synchronize();
  const double held_seconds = late == rank.holds.end() ? 0 : stand_still(late->second);
  if (!beside || !rank.lane) return run_step(rank, id, begin_of_pass, held_seconds);
  rank.lane->submit([this, &rank, id, begin_of_pass, held_seconds] {
    try {
      run_step(rank, id, begin_of_pass, held_seconds);
    } catch (const std::exception& error) {
      fail(rank.replica * plan_->program.ranks() + rank.index, id, error);
    }
  });
}

// What depends on the kind of device that the rank has got.
void RankTeam::prepare(Rank& rank) {
  const Program& program = plan_->program;
  for (Communicator* group :
       {rank.groups.neighbours.get(), rank.groups.copies.get(), rank.groups.holders.get()})
    group->attach(*rank.device);
  if (!rank.device->host_visible()) {
    size_t largest = 0;
    for (const Tensor& tensor : program.tensors) largest = std::max(largest, slice_bytes(rank, tensor));
    rank.staging.resize(largest);
  }
  if (rank.device->behind() != nullptr) return rank.device->behind()->provide_marks(2 * program.steps.size());
  // A lane fetches into the same staging room as its rank, so it has one only where nothing is fetched.
  const bool lanes =
      std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) { return step.beside; });
  if (lanes && rank.device->host_visible()) rank.lane = std::make_unique<SideLane>();
}

void RankTeam::rank_main(Rank& rank) {
  const Program& program = plan_->program;
  StepId at = -1;
  try {
    if (beside_ == Beside::AWindow) give_way_to_the_window();
    const auto place = static_cast<size_t>(rank.replica * program.ranks() + rank.index);
    const int threads = program.settings.threads_per_rank;
    rank.device =
        seats_->make_device(static_cast<int>(place), threads > 0 ? threads : seats_->cores_per_rank());
    prepare(rank);
    const Arenas* lent = !lender_ ? nullptr : lender_->ranks_[place]->arenas.get();
    rank.arenas =
        std::make_unique<Arenas>(*rank.device, program, plan_->memory[static_cast<size_t>(rank.index)], lent);
    for (const Tensor& tensor : program.tensors) {
      const bool fed_once = is_input(tensor) && program.settings.block != Block::Model;
      const bool is_there = lender_ && Arenas::is_lent(tensor.kind);
      if (fed_once || (is_lasting(tensor) && !is_there))
        fill_tensor(rank, tensor, [&](void* data) { feed_->fill(tensor, rank.index, data); });
    }
    std::unique_lock lock(mutex_);
    rank.ready = true;
    wake_waiters_.notify_all();
    for (;;) {
      const bool goes_on = rank.lane || rank.device->behind() != nullptr;
      if (goes_on && rank.claimed >= target_ && rank.done < rank.claimed && !stopping_) {
        const uint64_t pass = pass_;
        const double begin_of_pass = pass_begin_seconds_;
        lock.unlock();
        if (rank.lane) rank.lane->drain();
        look_up(rank, 0, begin_of_pass, at);
        lock.lock();
        if (pass == pass_) rank.done = rank.claimed;
        wake_waiters_.notify_all();
        continue;
      }
      wake_ranks_.wait(lock, [&] { return stopping_ || rank.claimed < target_; });
      if (stopping_) break;
      at = static_cast<StepId>(rank.claimed++);
      rank.claimed_seconds = now_seconds();
      const uint64_t pass = pass_;
      const uint64_t weights_of = weights_of_;
      double begin_of_pass = pass_begin_seconds_;
      lock.unlock();
      if (at == 0) rank.has_clock = false;
      if (traced_ && rank.device->behind() != nullptr && !std::exchange(rank.has_clock, true))
        rank.device->behind()->set_clock();
      if (at == 0) {
        feed_pass(rank, pass, weights_of);
        begin_of_pass = begin_fed_pass();
      }
      begin_step(rank, at, begin_of_pass);
      if (rank.asked.size() > kMostAsked) look_up(rank, kStillAsked, begin_of_pass, at);
      lock.lock();
      rank.high_water_bytes = rank.arenas->high_water_bytes();
      const bool in_flight = (rank.lane && rank.lane->is_busy()) || !rank.asked.empty();
      if (pass == pass_ && !in_flight) rank.done = rank.claimed;
      if (rank.done >= target_) wake_waiters_.notify_all();
    }
  } catch (const std::exception& error) {
    fail(rank.replica * program.ranks() + rank.index, at, error);
  }
  come_to_rest(rank);
}

}  // namespace shardlens
