// Ranks that take turns. A call leaves its request, its pointers and its work; the last rank's call does the
// work of all, in rank order. A rank may bring several calls before the others come, such as those of a
// bucket of gradients: they are done one after the other.
#include "engine/comm/lockstep.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/comm/carried.h"
#include "engine/comm/direct.h"

namespace shardlens {
namespace {

class LockstepCommunicator;

/// What a rank has brought to a collective.
struct Brought {
  Request request;
  const void* in = nullptr;
  void* out = nullptr;
  std::function<int64_t()> work;
};

struct TurnGroup {
  explicit TurnGroup(int ranks) : brought(static_cast<size_t>(ranks)), members(static_cast<size_t>(ranks)) {}

  /// Only the first failure is kept. abort() may come from another thread.
  void fail(const Error& error) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = error;
    has_failed = true;
  }
  void throw_failure() {
    if (!has_failed) return;
    const std::lock_guard lock(mutex);
    throw Error(*failure);
  }

  std::vector<std::deque<Brought>> brought;    ///< [rank]: to collectives that are not done
  std::vector<LockstepCommunicator*> members;  ///< [rank]
  std::mutex mutex;
  std::atomic<bool> has_failed = false;
  std::optional<Error> failure;
};

class LockstepCommunicator final : public DirectCommunicator<LockstepCommunicator> {
 public:
  LockstepCommunicator(std::shared_ptr<TurnGroup> group, int rank)
      : DirectCommunicator(rank, static_cast<int>(group->members.size())), group_(std::move(group)) {
    group_->members[static_cast<size_t>(rank)] = this;
  }

  CommunicatorInfo info() const override {
    return {"lockstep", fmt::format("{} in turns on one thread", counted(ranks(), "rank"))};
  }

  void abort(const std::string& why) override { group_->fail(Error(ErrorKind::Cancelled, why)); }

 private:
  friend DirectCommunicator;

  template <class Work>
  CollectiveTimes collective(const Request& request, const void* in, void* out, const Work& work) {
    check_request(request);
    group_->throw_failure();
    CollectiveTimes times;
    times.arrival_seconds = times.all_arrived_seconds = now_seconds();
    times.sent_bytes = carried_bytes(request, ranks(), rank_);
    group_->brought[static_cast<size_t>(rank_)].push_back({request, in, out, work});
    if (std::none_of(group_->brought.begin(), group_->brought.end(),
                     [](const auto& calls) { return calls.empty(); }))
      do_for_all(request);
    times.done_seconds = now_seconds();
    return times;
  }

  void do_for_all(const Request& request) {
    const auto of = [this](int rank) -> Brought& {
      return group_->brought[static_cast<size_t>(rank)].front();
    };
    if (const auto error =
            disagreement(ranks(), [&](int rank) -> const Request& { return of(rank).request; })) {
      group_->fail(*error);
      throw Error(*error);
    }
    for (LockstepCommunicator* const member : group_->members)
      for (int other = 0; other < ranks(); ++other) {
        member->ins_[static_cast<size_t>(other)] = of(other).in;
        member->outs_[static_cast<size_t>(other)] = of(other).out;
      }
    for (int rank = 0; rank < ranks(); ++rank) {
      if (!request.is_empty()) of(rank).work();
    }
    for (auto& calls : group_->brought) calls.pop_front();
  }

  const std::shared_ptr<TurnGroup> group_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_lockstep_group(int ranks) {
  if (ranks < 1) throw request_error(fmt::format("a group of {} ranks: give 1 or more", ranks));
  const auto group = std::make_shared<TurnGroup>(ranks);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank)
    communicators.push_back(std::make_unique<LockstepCommunicator>(group, rank));
  return communicators;
}

}  // namespace shardlens
