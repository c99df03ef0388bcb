// Every step's time, predicted and measured, and the sums for each kind of step, read from a Plan and its
// Result. Nothing here draws.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "engine/runtime/step_times.h"

namespace shardlens::ui {

/// Beside: overlapped steps, whose time is no part of the others' sum.
enum class TimeKind { Product, Attention, ElementWise, Collective, Overlapped };
inline constexpr std::array<TimeKind, 5> kTimeKinds{TimeKind::Product, TimeKind::Attention,
                                                    TimeKind::ElementWise, TimeKind::Collective,
                                                    TimeKind::Overlapped};
TimeKind time_kind(const Step& step);
/// "matrix products", "attention", "element-wise and norms", "collectives", "overlapped"
std::string to_string(TimeKind kind);

struct TimeRow {
  StepId step = 0;
  std::string name;
  TimeKind kind = TimeKind::ElementWise;
  Phase phase = Phase::Forward;
  int layer = -1;
  double predicted_seconds = 0;  ///< 0: not known
  double measured_seconds = 0;   ///< the slowest rank's, like all but the means; without waiting
  double waited_seconds = 0;  ///< collectives: the longest that a rank waited for another; for an overlapped
                              ///< one, that a rank's steps waited for it
  double beside_seconds = 0;  ///< as measured_seconds, of this machine's run beside a recording; 0: none
  StepTimes mean{};           ///< over the ranks
  double mean_beside_seconds = 0;
};

/// Every step that takes time, in order; empty if the result was not timed. `beside`: another run of the
/// same Program, or null.
std::vector<TimeRow> time_rows(const Plan& plan, const Result& result, const Result* beside = nullptr);

/// Why no step of the wanted plan is timed, and what to do.
std::string why_not_timed(const Snapshot& snapshot);

/// The rows outside the layers and in layer `layer`; all rows if there are no layers.
std::vector<TimeRow> times_of_one_layer(const std::vector<TimeRow>& rows, int layer);

/// The mean over the ranks, because the sum of every step's slowest rank would be more than the pass.
struct TimeTotal {
  int steps = 0;
  double predicted_seconds = 0, measured_seconds = 0, waited_seconds = 0, beside_seconds = 0;
};
TimeTotal total(const std::vector<TimeRow>& rows, TimeKind kind);

/// One time against another: "+12 %". If it is more than twice or less than half of the other, "× 3.1" or "÷
/// 224", because large percents are hard to read.
std::string difference_text(double seconds, double other_seconds);

/// If there are more ranks than cores: what a prediction on `hardware`, this machine, leaves out. Else empty.
std::string short_of_cores(const Settings& settings, const Hardware& hardware);

}  // namespace shardlens::ui
