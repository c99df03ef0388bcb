// One split at several degrees T. The weights that a rank holds fall as 1/T, what is whole on every rank does
// not, the number of collectives stays, and the error against T = 1 stays at the level of rounding. Each
// degree is planned, then really run, compared with its serial run, and timed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/fault.h"
#include "engine/runtime/measure/measured_run.h"
#include "engine/runtime/parity.h"

namespace shardlens {

struct SweepPoint {
  int tp = 1;
  std::string refused;  ///< why this T cannot be planned, run or compared; figures that are missing for that
                        ///< reason are 0
  // planned
  int64_t weight_bytes = 0;             ///< of the rank that has the most
  int64_t replicated_weight_bytes = 0;  ///< the part of them in weights that are whole on every rank
  double ideal_weight_bytes = 0;        ///< all weights at T = 1, divided by T
  int forward_collectives = 0;          ///< of one layer, among its T ranks
  int backward_collectives = 0;
  int64_t sent_bytes = 0;        ///< by each rank, in the whole pass
  double predicted_seconds = 0;  ///< of the pass; 0: the preset does not state its speed
  // measured
  bool measured = false;
  int64_t measured_weight_bytes = 0;  ///< of the same rank
  double measured_seconds = 0;        ///< of the fastest pass
  bool agrees = false;
  double worst_relative_error = 0;
  double bound = 0;
  std::string worst_tensor;  ///< empty if all are equal to the last bit
  std::string first_broken;  ///< in step order; empty if all agree
  Coverage coverage;         ///< the tensors that were compared

  bool planned() const { return weight_bytes > 0; }
};

struct Sweep {
  Settings settings;  ///< the T in it does not matter
  std::string predicted_on;
  std::string measured_on;
  std::vector<SweepPoint> points;

  /// True if every degree that ran agrees with T = 1, and at least one ran.
  bool agrees() const;
};

/// The degrees that are swept if no others are asked for.
inline const std::vector<int> kSweptDegrees{1, 2, 4, 8, 16};

/// Returns the degrees up to the largest of kSweptDegrees that the settings' model can be cut into: all that
/// divide its heads, or those of kSweptDegrees where any T is possible.
std::vector<int> swept_degrees(const Settings& settings);

class Sweeper {
 public:
  /// Plans every degree; `fault` is planted in each Program first.
  Sweeper(const Settings& settings, const std::vector<int>& degrees, std::optional<Fault> fault = {});

  const Sweep& sweep() const { return sweep_; }
  bool is_done() const { return next_ == sweep_.points.size(); }
  int next_degree() const { return sweep_.points[next_].tp; }
  /// Runs the next degree, or records why it cannot run. Throws a Cancelled Error if the wish is stopped.
  /// This must outlive the Job.
  Job<> run_next(RunWish wish);

 private:
  Program program_at(int tp) const;
  void plan(SweepPoint& point);
  Job<> run(SweepPoint& point, RunWish wish);
  Job<std::shared_ptr<const SerialReference>> serial_at(const Settings& settings, const Plan& sharded,
                                                        RunWish wish);

  Sweep sweep_;
  std::optional<Fault> fault_;
  size_t next_ = 0;
  std::shared_ptr<const SerialReference> serial_;
  Settings serial_settings_;  ///< of serial_: degrees with equal serial settings are compared with one run
};

}  // namespace shardlens
