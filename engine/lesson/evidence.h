// What expressions read: the plan of some settings, and what was measured when it ran. Nothing is planned or
// run before it is asked for; what is large is refused first (price.h); and the results are kept while there
// is room. Used by one thread at a time; another one may stop it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/program/fault.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/snapshot.h"
#include "engine/runtime/step_times.h"
#include "engine/train/experiments/break_report.h"
#include "engine/train/trainer.h"

namespace shardlens {

inline constexpr const char* kStoppedEvidence = "the lesson was closed before this was computed";
inline constexpr int64_t kMostKeptBytes = int64_t{256} << 20;  ///< of all results together

/// How a lesson trains these settings, a whole model: by loss(step), and where a scene shows the curve.
TrainOptions lesson_training(const Settings& settings, int64_t steps);

class Evidence {
 public:
  /// `stop`: the store's. Once it is requested, whatever plans or runs here throws a Cancelled Error.
  Evidence(const Settings& settings, std::optional<Fault> mistake, const std::stop_token& stop);

  const Settings& settings() const { return settings_; }
  const std::optional<Fault>& mistake() const { return mistake_; }

  /// The plan; with the mistake in it, if there is one. Throws a request Error if it cannot be planned, or if
  /// it is too large for a lesson.
  const Plan& plan();
  const Program& program() { return plan().program; }
  /// One pass, compared with T = 1: samples, errors, times. Not for a mistake. Throws a request Error if it
  /// is too large for a lesson or for this machine; so do the others that run.
  const Result& run();
  /// All values of the run on one rank. It runs once more for them, because few questions ask for them.
  const SerialReference& serial();
  /// The run with the mistake beside the sound one, trained for at least `steps` steps; 0: one pass. Only for
  /// a mistake.
  const BreakReport& broken(int64_t steps);
  /// What every rank held in the one pass: of the mistake's run, or of run().
  const SampleTable& samples();
  /// The loss of each of the first `steps` training steps, or more; of the broken run if a mistake is
  /// planted.
  const std::vector<double>& losses(int64_t steps);
  std::vector<double> sound_losses(int64_t steps);

  /// About the memory that the results take now.
  int64_t kept_bytes() const;

 private:
  void require_wanted() const;
  void check_size(int64_t steps);
  std::shared_ptr<const SerialReference> run_serial();

  const std::stop_token& stop_;
  Settings settings_;
  std::optional<Fault> mistake_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const Result> result_;
  std::shared_ptr<const SerialReference> serial_;
  std::optional<BreakReport> pass_report_, training_report_;
  std::vector<double> losses_;
};

/// The Evidence that was asked for, by its settings and mistake. What was not asked for in the longest time
/// is freed when all take more than kMostKeptBytes, unless somebody still holds it; if it is asked for again,
/// it is planned and run again.
class EvidenceStore {
 public:
  std::shared_ptr<Evidence> of(const Settings& settings, std::optional<Fault> mistake = {});
  /// From now on a request of `stop` ends what plans or runs, with a Cancelled Error.
  void stop_with(std::stop_token stop) { stop_ = std::move(stop); }
  int64_t kept_bytes() const;

 private:
  struct Kept {
    std::shared_ptr<Evidence> evidence;
    uint64_t asked = 0;  ///< when it was asked for last
  };
  void make_room();

  std::stop_token stop_;
  std::map<std::string, Kept> kept_;
  uint64_t asked_ = 0;
};

}  // namespace shardlens
