// The Traffic tab's figures, computed from a Plan and a Result alone: one row for every step that converts a
// layout, even if it sends nothing, and the sums of the rows.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "engine/runtime/step_times.h"

namespace shardlens::ui {

struct TrafficRow {
  StepId step = 0;
  Op op = Op::Identity;
  Phase phase = Phase::Forward;
  int layer = -1;           ///< of a whole model; -1 outside the layers
  bool overlapped = false;  ///< overlapped: the steps after it go on meanwhile
  Conjugate conjugate = Conjugate::None;
  std::string symbol;  ///< of what is converted: "dV", "6 gradients"
  Layout from, to;
  std::string shape;       ///< global: "[1024, 768]"; "several" for a bucket
  int64_t full_bytes = 0;  ///< S: converted_bytes()
  int64_t sent_bytes = 0;  ///< by each rank, ring figure
  std::string formula;     ///< sent_bytes written out: "2 × 3.00 MiB × 3/4"; empty when nothing is sent
  std::string why;         ///< reason_of()
  double predicted_seconds = 0;  ///< alpha-beta on the given hardware; 0: it states no links

  bool measured = false;            ///< the figures below are known
  double transfer_seconds = 0;      ///< slowest rank, from the last arrival to its end
  double wait_seconds = 0;          ///< the longest that a rank waited for the last one; for an overlapped
                                    ///< collective, that a rank's steps waited for it
  StepTimes mean{};                 ///< the same as the mean over the ranks
  int last_rank = 0;                ///< the one they waited for
  double bus_bytes_per_second = 0;  ///< sent_bytes / transfer_seconds, as nccl-tests defines bus bandwidth

  double beside_seconds = 0;  ///< as transfer_seconds, of this machine's run beside a recording; 0: none

  bool sends() const { return is_collective(op); }
};

/// Every conversion of the plan's Program in step order, with the time alpha-beta predicts on `hardware`;
/// `result` adds what was measured (null: nothing was). A result of another plan is ignored.
std::vector<TrafficRow> traffic_rows(const Plan& plan, const Result* result, const Hardware& hardware);

/// Adds the times of another run of the same Program.
void add_beside(std::vector<TrafficRow>& rows, const Result& beside);

/// The rows that are listed: the layers of a whole model send the same, so only layer `layer`.
std::vector<TrafficRow> rows_of_one_layer(const std::vector<TrafficRow>& rows, int layer);

/// Sums of rows. Transfers and waiting are means over the ranks, as on the page of times, because they are
/// parts of a pass.
struct TrafficTotal {
  int collectives = 0;
  int measured = 0;  ///< of them
  int64_t sent_bytes = 0;
  double transfer_seconds = 0;
  double wait_seconds = 0;
  double predicted_seconds = 0;
};
TrafficTotal total(const std::vector<TrafficRow>& rows, Phase phase);
TrafficTotal total(const std::vector<TrafficRow>& rows);

/// "2 all-reduces", "1 reduce-scatter and 3 all-gathers": the collectives of a phase in words; "nothing" for
/// none.
std::string in_words(const std::vector<TrafficRow>& rows, Phase phase);

/// The ring formula of a conversion with this run's figures; empty when it sends nothing.
std::string ring_formula(Collective collective, int64_t full_bytes, int ranks);

}  // namespace shardlens::ui
