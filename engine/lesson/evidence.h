// What expressions read: the plan of some settings, and what was measured when it ran. Nothing is planned or
// run before it is asked for; what is large is refused first (price.h); and the results are kept while there
// is room. Used by one thread at a time; another one may stop it.
//
// An expression asks in the middle of its evaluation, and gets what ran there and then. Where workers take
// turns that could hold up a frame for seconds, so it can also be run later: the evaluation ends with NotYet,
// the run is done in pieces, and the evaluation begins anew, with what is there now.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "engine/base/job.h"
#include "engine/base/one_run.h"
#include "engine/program/fault.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/snapshot.h"
#include "engine/runtime/step_times.h"
#include "engine/train/experiments/break_report.h"
#include "engine/train/trainer.h"

namespace shardlens {

inline constexpr const char* kStoppedEvidence = "the lesson was closed before this was computed";
/// Of all results together; less in a page (engine/record/sample.h).
inline constexpr int64_t kMostKeptBytes = (sizeof(void*) == 4 ? int64_t{32} : int64_t{256}) << 20;

/// How a lesson trains these settings, a whole model: by loss(step), and where a scene shows the curve.
TrainOptions lesson_training(const Settings& settings, int64_t steps);

/// Thrown through an evaluation that asked for what is to be run later. It is no error: nobody but whoever
/// began the evaluation may catch it.
struct NotYet {};

class Evidence;

/// What evaluations have asked for and is run later. All of it belongs to one evaluation, until forget().
class LaterRuns {
 public:
  /// False: what is asked for is run at once.
  bool is_wanted = false;

  /// Runs `job`, which is about `evidence`, at once. Or, if later runs are wanted, keeps it and throws
  /// NotYet; asked for again, after it has failed, throws what it threw. `what` and `steps` name it.
  void need(const std::shared_ptr<Evidence>& evidence, int what, int64_t steps, Job<> job);
  /// Does a piece. Returns true if nothing is left: the evaluation can begin anew.
  bool go_on();
  /// So that it is not freed before the evaluation has come to its end.
  void hold(const std::shared_ptr<Evidence>& evidence) {
    if (is_wanted) held_.push_back(evidence);
  }
  void forget();

 private:
  using Name = std::tuple<const Evidence*, int, int64_t>;
  std::map<Name, std::exception_ptr> failures_;
  std::vector<std::shared_ptr<Evidence>> held_;
  Name name_;                 ///< of the job
  OneRun one_run_;            ///< while there is a job
  std::optional<Job<>> job_;  ///< last: it uses the evidence
};

class Evidence : public std::enable_shared_from_this<Evidence> {
 public:
  /// `stop` and `later`: the store's. Once `stop` is requested, whatever plans or runs here throws a
  /// Cancelled Error.
  Evidence(const Settings& settings, std::optional<Fault> mistake, const std::stop_token& stop,
           LaterRuns& later);

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
  void need(int what, int64_t steps, Job<> job) {
    later_.need(shared_from_this(), what, steps, std::move(job));
  }
  Job<std::shared_ptr<const SerialReference>> run_serial();
  Job<> run_once();
  Job<> run_for_serial();
  Job<> run_broken(int64_t steps);
  Job<> train(int64_t steps);

  const std::stop_token& stop_;
  LaterRuns& later_;
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
  LaterRuns& later() { return later_; }
  int64_t kept_bytes() const;

 private:
  struct Kept {
    std::shared_ptr<Evidence> evidence;
    uint64_t asked = 0;  ///< when it was asked for last
  };
  void make_room();

  std::stop_token stop_;
  LaterRuns later_;
  std::map<std::string, Kept> kept_;
  uint64_t asked_ = 0;
};

}  // namespace shardlens
