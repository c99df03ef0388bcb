// How a team's run ends early: a rank that threw, a rank that did not come, and threads that never end.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/config/clock.h"
#include "engine/device/work_behind.h"
#include "engine/program/meeting.h"
#include "engine/runtime/rank_team.h"

namespace shardlens {
namespace {

// How often a thread that waits for the ranks looks for progress. It counts looks, not the clock: while the
// whole process is stopped, no rank is late.
constexpr double kLookSeconds = 0.5;
// If some ranks live in other processes: how often it looks, how long a report of one rank about another is
// not yet believed (in general, and after this process was told to end), and after how long a process counts
// as silent, since it should send all the time.
constexpr double kLookElsewhereSeconds = 0.1, kRumourSeconds = 0.3, kToldRumourSeconds = 0.15;
constexpr double kSilentSeconds = 1;
// A wait without an end: as long as a clock can hold.
constexpr double kForeverSeconds = 1e9;

// How long to wait for a rank that is known to hang: it may be about to end.
constexpr double kMomentSeconds = 0.2;

std::atomic<int> abandoned_count{0};

}  // namespace

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
    std::optional<Failure> late = believed_locked();
    if (!late && rumours_.empty())
      late = late_at_the_end_locked(std::min(now_seconds() - begin, kLookSeconds));
    if (late) {
      lock.unlock();
      fail(std::move(*late));
      lock.lock();
    } else if (now_seconds() >= end) {
      return false;
    }
  }
}

void RankTeam::wait() {
  while (!wait_for(kForeverSeconds)) {
  }
}

std::vector<Whereabouts> RankTeam::whereabouts_locked(const std::vector<int>& ranks) const {
  std::vector<Whereabouts> all;
  for (const int number : ranks) {
    const Rank* const rank = ranks_[static_cast<size_t>(number)].get();
    if (rank == nullptr || !rank->here) continue;
    Whereabouts one;
    one.rank = number;
    one.step = static_cast<StepId>(rank->claimed) - 1;
    one.is_inside = rank->done < rank->claimed;
    one.seconds = now_seconds() - rank->claimed_seconds;
    if (const auto hold = rank->holds.find(one.step); hold != rank->holds.end())
      one.held_seconds = hold->second;
    all.push_back(one);
  }
  return all;
}

// The ranks that have finished wait for the end of a run like for a collective. A rank is lost if it is still
// in a step of its own and no rank has made progress for the whole time-out. While a rank waits in a
// collective, that rank reports which one is missing. The position of a rank in another process is unknown
// until it stands still: the ranks that wait for it there have twice the time to report it.
std::optional<RankTeam::Failure> RankTeam::late_at_the_end_locked(double looked_seconds) {
  size_t progress = pass_;
  std::vector<int> late;
  bool meets = false;
  for (const Rank* const rank : here_) {
    progress += rank->claimed + rank->done + (rank->ready ? 1 : 0);
    meets |= rank->is_meeting();
    if (!rank->ready || rank->done < target_)
      late.push_back(rank->replica * plan_->program.ranks() + rank->index);
  }
  if (progress != std::exchange(seen_progress_, progress)) stalled_seconds_ = 0;
  stalled_seconds_ += looked_seconds;
  bool awaited = !late.empty() && late.size() < here_.size();
  double patience = timeout_seconds(plan_->program.settings);
  if (late.empty() && !all_are_here()) {
    for (const Rank* const rank : followed_) {
      if (!rank->here && !(rank->ready && rank->reported == starts_))
        late.push_back(rank->replica * plan_->program.ranks() + rank->index);
    }
    awaited = !late.empty();
    patience *= 2;
  }
  if (!awaited || meets || stalled_seconds_ < patience) return std::nullopt;
  Failure failure;
  failure.what = RunFailure{late, static_cast<StepId>(target_) - 1, true};
  failure.message =
      lost_at_the_end_message(plan_->program, *failure.what, stalled_seconds_, whereabouts_locked(late));
  return failure;
}

// A rank that did not come may itself be waiting, in another group, for the lost one: if two waits began
// nearly together, the wrong time-out may end first.
void RankTeam::find_lost_locked(RunFailure& failure) const {
  const Program& program = plan_->program;
  const auto rank_of = [this](int number) { return ranks_[static_cast<size_t>(number)].get(); };
  // The ranks that have not come to the collective that `number` waits in, on its thread or in its lane.
  const auto missed_by = [&](int number, size_t lane, StepId step) {
    std::vector<int> missing;
    for (const int other : meeting_of(program, program.step(step), number)) {
      const Rank* const rank = rank_of(other);
      if (rank != nullptr && rank->here && rank->meetings[lane].step < step) missing.push_back(other);
    }
    return missing;
  };
  for (size_t hop = 0; hop < ranks_.size(); ++hop) {
    bool moved = false;
    for (const int number : failure.ranks) {
      const Rank* const victim = rank_of(number);
      if (victim == nullptr) continue;
      for (size_t lane = 0; lane < victim->meetings.size() && !moved; ++lane) {
        const StepId step = victim->meetings[lane].step;
        if (!victim->meetings[lane].inside) continue;
        std::vector<int> missing = missed_by(number, lane, step);
        if (missing.empty()) continue;
        failure.ranks = std::move(missing);
        failure.step = step;
        moved = true;
      }
      if (moved) break;
    }
    if (!moved) return;
  }
}

// The collective that a group's failure belongs to, if `rank` threw in `step`. If `step` is no collective,
// the rank waited for an earlier one that it had asked for. -1: it has been in none.
StepId RankTeam::met_in(int rank, StepId step) const {
  if (step >= 0 && is_collective(plan_->program.step(step).op)) return step;
  StepId last = -1;
  for (const Meeting& meeting : ranks_[static_cast<size_t>(rank)]->meetings)
    last = std::max(last, meeting.step.load());
  return last;
}

// Handles what `rank` threw in `step`. A rank that waited for another in vain reports the other rank, and so
// does a rank that heard of another's failure.
void RankTeam::fail(int rank, StepId step, const std::exception& error) {
  const Program& program = plan_->program;
  Failure failure;
  const StepId met = met_in(rank, step);
  const auto* const lost = dynamic_cast<const LostRanks*>(&error);
  const auto* const failed = dynamic_cast<const FailedRank*>(&error);
  if (lost != nullptr && met >= 0) {
    RunFailure what{{}, met, true};
    const std::vector<int> members = meeting_of(program, program.step(met), rank);
    for (const int place : lost->ranks()) what.ranks.push_back(members[static_cast<size_t>(place)]);
    const std::lock_guard lock(mutex_);
    find_lost_locked(what);
    failure.message = lost_message(program, what, lost->waited_seconds(), whereabouts_locked(what.ranks));
    if (std::any_of(what.ranks.begin(), what.ranks.end(), [this](int one) { return seats_->has_ended(one); }))
      failure.message +=
          what.ranks.size() == 1 ? "; its process has ended" : "; one of their processes has ended";
    failure.what = std::move(what);
  } else if (failed != nullptr && met >= 0) {
    const std::vector<int> members = meeting_of(program, program.step(met), rank);
    const int who = members[static_cast<size_t>(failed->rank())];
    failure.what = RunFailure{{who}, met, false};
    failure.message = failed_message(program, who, met, failed->what());
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
void RankTeam::hear(int rank, Failure failure) {
  if (all_are_here() || !failure.what || !failure.what->lost) return fail(std::move(failure));
  const std::lock_guard lock(mutex_);
  if (rumours_.empty()) first_rumour_seconds_ = now_seconds();
  rumours_.emplace_back(rank, std::move(failure));
  wake_waiters_.notify_all();
}

// A rank is lost if its process has ended or is silent; a rank that reports is not lost.
std::optional<RankTeam::Failure> RankTeam::believed_locked() const {
  if (rumours_.empty()) return std::nullopt;
  for (const auto& [from, failure] : rumours_) {
    const std::vector<int>& lost = failure.what->ranks;
    if (std::any_of(lost.begin(), lost.end(), [this](int rank) { return seats_->has_ended(rank); }))
      return failure;
  }
  const bool told = seats_->is_told_to_end();
  if (now_seconds() - first_rumour_seconds_ < (told ? kToldRumourSeconds : kRumourSeconds))
    return std::nullopt;
  const auto is_silent = [this](int rank) { return seats_->silent_seconds(rank) > kSilentSeconds; };
  const auto speaks = [this](int rank) {
    return std::any_of(rumours_.begin(), rumours_.end(), [&](const auto& one) { return one.first == rank; });
  };
  for (const auto& [from, failure] : rumours_) {
    const std::vector<int>& lost = failure.what->ranks;
    if (std::any_of(lost.begin(), lost.end(), is_silent)) return failure;
  }
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (!is_silent(rank) || speaks(rank)) continue;
    Failure failure = rumours_.front().second;
    failure.message =
        fmt::format("{} is lost: its process has sent nothing for {:.1f} s, and others wait: {}",
                    rank_text(plan_->program, rank), seats_->silent_seconds(rank), failure.message);
    failure.what->ranks = {rank};
    return failure;
  }
  for (const auto& [from, failure] : rumours_) {
    const std::vector<int>& lost = failure.what->ranks;
    if (std::none_of(lost.begin(), lost.end(), speaks)) return failure;
  }
  return rumours_.front().second;
}

void RankTeam::fail(Failure failure) {
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

void RankTeam::disband() {
  cancel("the run was given up");
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

int abandoned_ranks() {
  return abandoned_count;
}

}  // namespace shardlens
