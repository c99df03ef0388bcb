// Every step's time, predicted and measured, and what the kinds of steps add up to, read out of a Plan and
// its Result. Nothing here draws.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "engine/runtime/step_times.h"

namespace shardlens::ui {

/// Beside: what goes on beside the others' time and is no part of their sum.
enum class TimeKind { Product, Attention, ElementWise, Collective, Beside };
inline constexpr std::array<TimeKind, 5> kTimeKinds{
    TimeKind::Product, TimeKind::Attention, TimeKind::ElementWise, TimeKind::Collective, TimeKind::Beside};
TimeKind time_kind(const Step& step);
/// "matrix products", "attention", "element-wise and norms", "collectives", "beside the steps"
std::string to_string(TimeKind kind);

struct TimeRow {
  StepId step = 0;
  std::string name;
  TimeKind kind = TimeKind::ElementWise;
  Phase phase = Phase::Forward;
  int layer = -1;
  double predicted_seconds = 0;  ///< 0: not known
  double measured_seconds = 0;   ///< the slowest rank's, as all but the means, waiting left out
  double waited_seconds = 0;     ///< collectives: the longest that a rank waited for another; of one beside
                                 ///< the steps, that a rank's steps waited for it
  double beside_seconds = 0;     ///< as measured_seconds, of this machine's run beside a recording; 0: none
  StepTimes mean{};              ///< over the ranks
  double mean_beside_seconds = 0;
};

/// Every step that takes time, in order; empty where the result was not timed. `beside`: another run of the
/// same Program, or null.
std::vector<TimeRow> time_rows(const Plan& plan, const Result& result, const Result* beside = nullptr);

/// Where no step of the wanted plan is timed: what goes on or stands in the way, and what to do.
std::string why_not_timed(const Snapshot& snapshot);

/// Those outside the layers and in layer `layer`; all where there are no layers.
std::vector<TimeRow> times_of_one_layer(const std::vector<TimeRow>& rows, int layer);

/// What an average rank spent: every step's slowest rank summed would be more than the pass.
struct TimeTotal {
  int steps = 0;
  double predicted_seconds = 0, measured_seconds = 0, waited_seconds = 0, beside_seconds = 0;
};
TimeTotal total(const std::vector<TimeRow>& rows, TimeKind kind);

/// One time against another: "+12 %", and where it is more than twice or less than half of it, of which
/// percents give no idea, "× 3.1" or "÷ 224".
std::string difference_text(double seconds, double other_seconds);

/// Where more ranks compute than there are cores, what a prediction on `hardware`, this machine, leaves out;
/// else empty.
std::string short_of_cores(const Settings& settings, const Hardware& hardware);

}  // namespace shardlens::ui
