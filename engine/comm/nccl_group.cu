// How a group over NCCL starts, how it fails, and the thread that watches it.
#include "engine/comm/nccl_group.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/comm/comm.h"
#include "engine/device/cuda/cuda_order.h"
#include "engine/device/cuda/operation.cuh"

namespace shardlens {
namespace {

constexpr auto kWatchInterval = std::chrono::milliseconds(20);
// The extra time before the watch reports, if the other ranks are processes: by then the processes that can
// name the lost rank have reported.
constexpr double kSpokenForSeconds = 5;
// NCCL starts and connects a group within seconds.
constexpr double kStartSeconds = 60;
// How long the end of a group waits for NCCL: much longer than it takes to free communicators.
constexpr double kEndSeconds = 5;
constexpr auto kEndInterval = std::chrono::milliseconds(1);

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  cuda::check("a collective by NCCL", "cudaEventCreateWithFlags",
              cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

// Throws an Error if the GPU has failed, because then its work will never be done.
bool is_done(cudaEvent_t event) {
  const cudaError_t status = cudaEventQuery(event);
  if (status == cudaErrorNotReady) return false;
  cuda::check("a collective by NCCL", "cudaEventQuery", status);
  return true;
}

std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

void abort_comm(ncclComm_t comm) {
  nccl_library().abort(comm);
}

// Ends a communicator whose work is done.
void finish(ncclComm_t comm) {
  ncclResult_t state = nccl_library().finalize(comm);
  while (state == ncclInProgress) {
    std::this_thread::sleep_for(kEndInterval);
    state = NcclGroup::state_of(comm);
  }
  state == ncclSuccess ? static_cast<void>(nccl_library().destroy(comm)) : abort_comm(comm);
}

}  // namespace

ncclResult_t NcclGroup::state_of(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = nccl_library().async_error(comm, &state);
  return asked == ncclSuccess ? state : asked;
}

ncclComm_t NcclGroup::Member::take_comm() {
  const std::lock_guard lock(calling);
  return std::exchange(comm, nullptr);
}

void NcclGroup::Member::make_events(int count) {
  for (int i = 0; i < count; ++i) {
    const cudaEvent_t made = new_event();
    const std::lock_guard lock(mutex);
    spare.push_back(made);
  }
}

void NcclGroup::Member::take_events(Asked& of) {
  for (cudaEvent_t* const event : {&of.arrived, &of.done}) {
    {
      const std::lock_guard lock(mutex);
      if (!spare.empty()) {
        *event = spare.back();
        spare.pop_back();
        continue;
      }
    }
    *event = new_event();
  }
}

std::optional<NcclGroup::Asked> NcclGroup::Member::front() {
  const std::lock_guard lock(mutex);
  if (pending.empty()) return std::nullopt;
  return pending.front();
}

std::optional<NcclGroup::Asked> NcclGroup::Member::oldest_pending() {
  std::optional<Asked> oldest = front();
  while (oldest && oldest->begun && is_done(oldest->done)) {
    {
      const std::lock_guard lock(mutex);
      spare.push_back(oldest->arrived);
      spare.push_back(oldest->done);
      pending.pop_front();
    }
    oldest = front();
  }
  if (oldest && oldest->arrived_seconds < 0 && is_done(oldest->arrived)) {
    oldest->arrived_seconds = now_seconds();
    const std::lock_guard lock(mutex);
    pending.front().arrived_seconds = oldest->arrived_seconds;
  }
  return oldest;
}

NcclGroup::NcclGroup(int count, double patience, bool spins, std::unique_ptr<HostMeeting> elsewhere)
    : meeting_(std::move(elsewhere)),
      members_(meeting_ ? 1 : static_cast<size_t>(count)),
      ranks_(count),
      patience_seconds_(patience),
      barrier_(static_cast<int>(members_.size()), spins, patience) {
  for (auto& member : members_) member = std::make_shared<Member>();
}

NcclGroup::~NcclGroup() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  wake_.notify_all();
  if (watch_.joinable()) watch_.join();  // none of its calls waits
  ends_.end(kEndSeconds);
}

double NcclGroup::start_patience_seconds() const {
  return std::max(patience_seconds_, kStartSeconds);
}

ncclUniqueId NcclGroup::id() {
  const std::lock_guard lock(beginning_);
  if (id_) return *id_;
  ncclUniqueId made{};
  const bool makes = !meeting_ || meeting_->rank() == 0;
  if (makes && nccl_library().unique_id(&made) != ncclSuccess)
    throw run_error(std::string("NCCL could not start a group: ") + nccl_library().last_error(nullptr));
  if (meeting_) hand_out(made);
  id_ = made;
  watch_ = std::thread([this] { watch(); });
  return made;
}

void NcclGroup::hand_out(ncclUniqueId& id) {
  try {
    meeting_->hand_out(&id, sizeof id);
  } catch (const LostRanks& lost) {
    throw run_error(list_of(lost.ranks()) + " did not join the group in " +
                    seconds_text(lost.waited_seconds()));
  }
}

void NcclGroup::meet(int rank, const Request& request) {
  if (!meeting_) {
    member(rank).meets_for = request;
    pass(rank, request);
    const auto error =
        disagreement(ranks_, [this](int other) -> const Request& { return member(other).meets_for; });
    if (error) fail(*error);
    return throw_failure();
  }
  try {
    meeting_->meet(request);
  } catch (...) {
    throw_failure();  // the reason for giving the group up
    throw;
  }
}

void NcclGroup::part(int rank, const Request& request) {
  if (!meeting_) pass(rank, request);
}

void NcclGroup::pass(int rank, const Request& request) {
  const uint64_t meeting = ++member(rank).meetings;
  const auto late = [&](double) {
    std::vector<int> lost;
    for (int other = 0; other < ranks_; ++other)
      if (member(other).meetings < meeting) lost.push_back(other);
    if (!lost.empty()) fail(lost_ranks(lost, request));  // else the last rank has just come
  };
  if (!barrier_.pass(late)) throw_failure();
}

LostRanks NcclGroup::lost_ranks(const std::vector<int>& lost, const Request& request) const {
  return LostRanks(
      list_of(lost) + " did not come to the " + describe(request) + " in " + seconds_text(patience_seconds_),
      lost, patience_seconds_);
}

void NcclGroup::give_up(const std::exception_ptr& error, const std::string& why) {
  if (meeting_) meeting_->abort(why);
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = error;
  }
  barrier_.break_up();
  for (const auto& member : members_) {
    {
      const std::lock_guard lock(member->mutex);
      if (member->device != nullptr) member->device->order().fail(error);
    }
    ends_.begin([member] {
      if (const ncclComm_t comm = member->take_comm()) abort_comm(comm);
    });
  }
}

void NcclGroup::end(int rank, bool is_done, std::function<void()> free) {
  const std::shared_ptr<Member> member = members_[meeting_ ? 0 : static_cast<size_t>(rank)];
  ends_.begin([member, finishes = is_done && !has_failed(), free = std::move(free)] {
    if (const ncclComm_t comm = member->take_comm()) finishes ? finish(comm) : abort_comm(comm);
    free();
  });
}

void NcclGroup::fail_at_the_begin() {
  std::vector<int> lost;
  for (size_t rank = 0; rank < members_.size(); ++rank) {
    const std::lock_guard lock(members_[rank]->mutex);
    if (!members_[rank]->attached) lost.push_back(static_cast<int>(rank));
  }
  const std::string when = " in " + seconds_text(start_patience_seconds());
  if (lost.empty()) {
    fail(run_error("NCCL did not start" + when));
  } else {
    fail(run_error(list_of(lost) + " did not join the group" + when));
  }
}

bool NcclGroup::has_failed() {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void NcclGroup::throw_failure() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

std::optional<int> NcclGroup::failed_rank() {
  try {
    throw_failure();
  } catch (const FailedRank& failed) {
    return failed.rank();
  } catch (const std::exception&) {
    // It is of the whole group, or of ranks that did not come.
  }
  return std::nullopt;
}

// Returns the ranks that have not come to collective `number`.
std::vector<int> NcclGroup::missing(int64_t number) {
  std::vector<int> late;
  for (size_t rank = 0; rank < members_.size(); ++rank) {
    Member& member = *members_[rank];
    const std::lock_guard looking(member.looking);
    bool came = false;
    cudaEvent_t arrived = nullptr;
    {
      const std::lock_guard lock(member.mutex);
      came = member.asked > number;
      for (const Asked& asked : member.pending)
        if (asked.number == number) arrived = asked.arrived;
    }
    if (arrived != nullptr) came = cudaEventQuery(arrived) == cudaSuccess;
    if (!came) late.push_back(static_cast<int>(rank));
  }
  return late;
}

void NcclGroup::watch() {
  std::unique_lock lock(mutex_);
  while (!quit_ && !failure_) {
    wake_.wait_for(lock, kWatchInterval);
    lock.unlock();
    for (size_t place = 0; place < members_.size(); ++place)
      look_at(meeting_ ? meeting_->rank() : static_cast<int>(place));
    lock.lock();
  }
}

void NcclGroup::look_at(int rank) {
  Member& member = this->member(rank);
  const double patience = patience_seconds_ + (meeting_ ? kSpokenForSeconds : 0);
  std::optional<Asked> oldest;
  ncclResult_t error = ncclSuccess;
  try {
    const std::lock_guard looking(member.looking);
    int gpu = 0;
    {
      const std::unique_lock calling(member.calling, std::try_to_lock);
      if (!calling) return look_at_call(rank);
      const std::lock_guard lock(member.mutex);
      if (member.comm == nullptr || member.device == nullptr) return;
      gpu = member.device->gpu();
      error = state_of(member.comm);
    }
    cudaSetDevice(gpu);
    oldest = member.oldest_pending();
  } catch (const Error& broken) {
    return fail(FailedRank(broken.what(), rank));
  }
  const bool late =
      oldest && oldest->arrived_seconds >= 0 && now_seconds() - oldest->arrived_seconds > patience;
  if (speaks_of_another(error)) {
    if (member.left_seconds < 0) member.left_seconds = now_seconds();
    if (now_seconds() - member.left_seconds < kSpokenForSeconds) return;
  }
  if (is_error(error)) {
    fail(FailedRank("NCCL on rank " + std::to_string(rank) +
                        (oldest ? ", " + describe(oldest->request) : "") +
                        ": ncclCommGetAsyncError returned " + nccl_library().error_string(error),
                    rank));
  } else if (late) {
    const std::vector<int> lost = meeting_ ? std::vector<int>{} : missing(oldest->number);
    if (lost.empty()) {
      fail(run_error("the " + describe(oldest->request) + " was not done " + seconds_text(patience) +
                     " after all ranks had come to it"));
    } else {
      fail(lost_ranks(lost, oldest->request));
    }
  }
}

// A rank is in a call to NCCL.
void NcclGroup::look_at_call(int rank) {
  Member& member = this->member(rank);
  const double called_seconds = member.called_seconds;
  if (called_seconds < 0) return;  // it only asks for the state
  bool has_started = false;
  std::string what;
  {
    const std::lock_guard lock(member.mutex);
    has_started = member.device != nullptr;
    if (has_started && !member.pending.empty()) what = describe(member.pending.back().request);
  }
  const double patience = has_started ? patience_seconds_ : start_patience_seconds();
  if (now_seconds() - called_seconds <= patience) return;
  if (!has_started) return fail_at_the_begin();
  fail(run_error("NCCL on rank " + std::to_string(rank) + " did not return from its call for the " + what +
                 " in " + seconds_text(patience)));
}

}  // namespace shardlens
