// Finds lost ranks: by the collective that they did not come to, by reports, and by the end of a run.
#include "engine/runtime/lost_rank_finder.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/program/collective_group.h"

namespace shardlens {
namespace {

// How long a report of one rank about another is not yet believed (in general, and after this process was
// told to end), and after how long a process counts as silent, since it should send all the time.
constexpr double kReportSeconds = 0.3, kToldReportSeconds = 0.15;
constexpr double kSilentSeconds = 1;

}  // namespace

TeamFailure LostRankFinder::missed_in(StepId met, int rank, const LostRanks& error) const {
  TeamFailure failure;
  RunFailure what{{}, met, true};
  const std::vector<int> members = ranks_of_group(program_, program_.step(met), rank);
  for (const int place : error.ranks()) what.ranks.push_back(members[static_cast<size_t>(place)]);
  find_lost(what);
  failure.message = lost_message(program_, what, error.waited_seconds(), whereabouts(what.ranks));
  if (std::any_of(what.ranks.begin(), what.ranks.end(), [this](int one) { return seats_.has_ended(one); }))
    failure.message +=
        what.ranks.size() == 1 ? "; its process has ended" : "; one of their processes has ended";
  failure.what = std::move(what);
  return failure;
}

// A rank that did not come may itself be waiting, in another group, for the lost one: if two waits began
// nearly together, the wrong time-out may end first.
void LostRankFinder::find_lost(RunFailure& failure) const {
  const auto rank_of = [this](int number) { return ranks_[static_cast<size_t>(number)].get(); };
  // The ranks that have not come to the collective that `number` waits in, on its thread or in its lane.
  const auto missed_by = [&](int number, size_t lane, StepId step) {
    std::vector<int> missing;
    for (const int other : ranks_of_group(program_, program_.step(step), number)) {
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

std::vector<Whereabouts> LostRankFinder::whereabouts(const std::vector<int>& ranks) const {
  std::vector<Whereabouts> all;
  for (const int number : ranks) {
    const Rank* const rank = ranks_[static_cast<size_t>(number)].get();
    if (rank == nullptr || !rank->here) continue;
    Whereabouts one;
    one.rank = number;
    one.step = static_cast<StepId>(rank->claimed) - 1;
    one.is_inside = rank->done < rank->claimed;
    one.seconds = now_seconds() - rank->claimed_seconds;
    if (const auto hold = rank->delays.find(one.step); hold != rank->delays.end())
      one.held_seconds = hold->second;
    all.push_back(one);
  }
  return all;
}

void LostRankFinder::add_report(int rank, TeamFailure failure) {
  if (reports_.empty()) first_report_seconds_ = now_seconds();
  reports_.emplace_back(rank, std::move(failure));
}

std::optional<TeamFailure> LostRankFinder::believed() const {
  if (reports_.empty()) return std::nullopt;
  for (const auto& [from, failure] : reports_) {
    const std::vector<int>& lost = failure.what->ranks;
    if (std::any_of(lost.begin(), lost.end(), [this](int rank) { return seats_.has_ended(rank); }))
      return failure;
  }
  const bool told = seats_.is_told_to_end();
  if (now_seconds() - first_report_seconds_ < (told ? kToldReportSeconds : kReportSeconds))
    return std::nullopt;
  const auto is_silent = [this](int rank) { return seats_.silent_seconds(rank) > kSilentSeconds; };
  const auto speaks = [this](int rank) {
    return std::any_of(reports_.begin(), reports_.end(), [&](const auto& one) { return one.first == rank; });
  };
  for (const auto& [from, failure] : reports_) {
    const std::vector<int>& lost = failure.what->ranks;
    if (std::any_of(lost.begin(), lost.end(), is_silent)) return failure;
  }
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (!is_silent(rank) || speaks(rank)) continue;
    TeamFailure failure = reports_.front().second;
    failure.message =
        fmt::format("{} is lost: its process has sent nothing for {:.1f} s, and others wait: {}",
                    rank_text(program_, rank), seats_.silent_seconds(rank), failure.message);
    failure.what->ranks = {rank};
    return failure;
  }
  for (const auto& [from, failure] : reports_) {
    const std::vector<int>& lost = failure.what->ranks;
    if (std::none_of(lost.begin(), lost.end(), speaks)) return failure;
  }
  return reports_.front().second;
}

// The ranks that have finished wait for the end of a run like for a collective. A rank is lost if it is still
// in a step of its own and no rank has made progress for the whole time-out. While a rank waits in a
// collective, that rank reports which one is missing. The position of a rank in another process is unknown
// until it stands still: the ranks that wait for it there have twice the time to report it.
std::optional<TeamFailure> LostRankFinder::late_at_the_end(size_t target, uint64_t pass, uint64_t start,
                                                           double looked_seconds) {
  size_t progress = pass;
  size_t here = 0;
  std::vector<int> late;
  std::vector<int> late_elsewhere;
  bool meets = false;
  bool all_are_here = true;
  for (const auto& rank : ranks_) {
    if (!rank) continue;
    if (!rank->here) {
      all_are_here = false;
      if (!(rank->ready && rank->reported == start)) late_elsewhere.push_back(rank->world());
      continue;
    }
    ++here;
    progress += rank->claimed + rank->done + (rank->ready ? 1 : 0);
    meets |= rank->is_meeting();
    if (!rank->ready || rank->done < target) late.push_back(rank->world());
  }
  if (progress != std::exchange(seen_progress_, progress)) stalled_seconds_ = 0;
  stalled_seconds_ += looked_seconds;
  bool awaited = !late.empty() && late.size() < here;
  double patience = timeout_seconds(program_.settings);
  if (late.empty() && !all_are_here) {
    late = std::move(late_elsewhere);
    awaited = !late.empty();
    patience *= 2;
  }
  if (!awaited || meets || stalled_seconds_ < patience) return std::nullopt;
  TeamFailure failure;
  failure.what = RunFailure{late, static_cast<StepId>(target) - 1, true};
  failure.message = lost_at_the_end_message(program_, *failure.what, stalled_seconds_, whereabouts(late));
  return failure;
}

}  // namespace shardlens
