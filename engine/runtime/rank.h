// A rank that a RankTeam follows: what it computes with, how far it is, and how it runs steps. A step runs
// without the team's lock, in the rank's own thread or in its lane.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "engine/record/trace.h"
#include "engine/runtime/asked_steps.h"
#include "engine/runtime/rank_memory.h"
#include "engine/runtime/side_lane.h"
#include "engine/runtime/world.h"

namespace shardlens {

/// The collective that a rank began last, and if it is still inside.
struct RankMeeting {
  std::atomic<StepId> step = -1;
  std::atomic<bool> inside = false;
};

// Memory outlives the threads: a rank that failed must not free what another rank still reads in a
// collective.
struct Rank {
  /// `is_here`: it gets a thread in this process.
  Rank(const Plan& of_plan, int world_rank, bool is_here, RankGroups of_rank);

  const Plan& plan;
  const int index;    ///< among the T of its replica
  const int replica;  ///< among the D
  const bool here;    ///< false: it lives in another process, and the fields below are what is known of it
  int threads = 1;    ///< how many it may compute with
  std::unique_ptr<Device> device;  ///< outlives the fields below: they are attached to it or in its memory
  RankGroups groups;
  std::unique_ptr<RankMemory> memory;
  std::unique_ptr<RankTrace> trace;
  std::unique_ptr<SideLane> lane;       ///< null if no step is overlapped on a thread
  std::unique_ptr<AskedSteps> asked;    ///< null if its device does not work behind its calls
  std::map<StepId, double> delays;      ///< seconds that it stands still before these steps
  uint64_t weights_of = 0;              ///< the number of the feeding that its weights come from
  bool written = false;                 ///< from outside, since the last pass
  bool ready = false;                   ///< memory fed
  size_t claimed = 0;                   ///< steps begun in this pass
  size_t done = 0;                      ///< steps finished in this pass
  double claimed_seconds = 0;           ///< when it began its present step
  int core = -1;                        ///< the core on which it began this pass; -1: not known
  std::array<RankMeeting, 2> meetings;  ///< of its thread, and of its lane
  uint64_t reported = 0;                ///< in another process: the start() after which it last stood still
  BytesByKind high_water_bytes{};
  bool running = false;    ///< its thread has not ended
  bool abandoned = false;  ///< its thread is detached: no thread waits for its end any more
  std::thread thread;

  int world() const { return replica * plan.program.tp() + index; }
  bool is_meeting() const { return meetings[0].inside || meetings[1].inside; }

  /// Sets up what depends on the kind of the rank's device. `overlaps`: it may have a lane.
  void prepare(bool overlaps);
  /// True if a pass that nobody watches may be asked for as a whole: its device works behind its calls, and
  /// every pass is the same work. Only after prepare().
  bool repeats_passes() const { return repeats_; }
  /// Runs steps on the rank's device, or asks the device for them, and publishes the event of one that is
  /// done.
  void run_steps(std::span<const Step> steps, const PassNumbers& numbers, bool traced, double begin_of_pass,
                 double held_seconds);
  /// Copies the rank's slice of a tensor to `host`. If it came with the pass, the device is asked for
  /// nothing. Only while the rank stands still.
  void read(TensorId tensor, void* host) const;
  /// Waits until at most `left` steps are still asked of a device that works behind its calls.
  /// `last_arrival` returns when the last rank began a collective, on this process's clock.
  void look_up(size_t left, bool traced, double begin_of_pass,
               const std::function<double(StepId)>& last_arrival, StepId& at);
  /// Returns the collective that a group's failure belongs to, if this rank threw in `step`. If `step` is no
  /// collective, the rank waited for an earlier one that it had asked for. -1: it has been in none.
  StepId met_in(StepId step) const;
  /// Returns the world rank whose failure one of this rank's groups has, if one has (FailedRank).
  std::optional<int> failed_member() const;

 private:
  CollectiveTimes run(std::span<const Step> steps, const PassNumbers& numbers);
  void run_pass(RankContext& context);
  void publish_together(StepId first, StepId last, const StepEvent& all);
  const StepCost& cost_of(StepId id) const;
  size_t result_bytes() const;

  /// On a device that works behind its calls, of a Program that writes text: the logits, which the host reads
  /// after each pass. They are fetched with a pass that is not traced. kNoTensor: none.
  TensorId result_ = kNoTensor;
  bool result_came_ = false;  ///< with this pass
  bool repeats_ = false;
  bool captured_ = false;  ///< the device keeps the work of a pass
  int whole_passes_ = 0;   ///< asked for without that
};

}  // namespace shardlens
