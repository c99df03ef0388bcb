// Runs a model twice from the same seed on the same batches, once sound and once with a planted fault, and
// compares the broken run's passes at a few steps. It does not touch anything else that runs.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "engine/train/experiments/break_report.h"
#include "engine/train/experiments/right_values.h"
#include "engine/train/trainer.h"

namespace shardlens {

/// What is trained, and for how long.
struct BreakRequest {
  Settings settings;  ///< a whole model is trained; one layer runs a single pass
  Fault fault = Fault::SkipF;
  int64_t steps = 50;
  double learning_rate = 1e-3;      ///< after a warm-up of five steps; not decayed
  bool keeps_passes = false;        ///< each BreakProbe keeps its BreakPass, for pictures and hashes
  std::optional<int> replica = {};  ///< where the fault is planted; none: in all of them
};

class BreakRun {
 public:
  /// Plans, plants and checks; the first step allocates. `batches` may be null if nothing is trained (one
  /// layer, or no steps: then one pass of the seeded batch is compared). Throws a request Error if the fault
  /// cannot be planted, which names what it needs, and if the machine has not enough memory for both runs.
  BreakRun(const BreakRequest& request, std::shared_ptr<const BatchSource> batches, const std::string& text);

  /// Runs one more step of both runs. Compares it in steps 1, 2, 5, 10, 20, 50 and so on, and in the last
  /// step. The broken run ends if its loss is no longer a number.
  void step();
  Job<> step_in_pieces();  ///< the same
  bool done() const { return report_.done(); }
  const BreakReport& report() const { return report_; }

  /// Stops what runs, from any thread: step() throws a Cancelled Error.
  void cancel();

 private:
  /// Puts what has been made in its place, where cancel() finds it. Throws a Cancelled Error if that was
  /// called before.
  template <class Runner>
  void place(std::unique_ptr<Runner>& where, std::unique_ptr<Runner> made);
  Job<> allocate_trainings();
  Job<> allocate(std::unique_ptr<Executor>& executor, std::shared_ptr<const Plan> plan);
  void let_go(std::unique_ptr<Executor>& executor);
  bool is_looked_into(int64_t step) const;
  int64_t probes_wanted() const;
  Job<std::shared_ptr<BreakProbe>> look(int64_t step);
  Job<> train_once();

  BreakReport report_;
  std::shared_ptr<const Plan> sound_plan_;
  bool keeps_passes_ = false;
  BreakRequest request_;
  std::shared_ptr<const BatchSource> batches_;  ///< null if nothing is trained
  std::unique_ptr<Trainer> sound_, broken_;     ///< null if nothing is trained
  // Both Programs once more, for the passes that are looked into. They get the trained weights, and the
  // trainings go on as if nobody had looked. If nothing is trained, each is there only for its own pass: two
  // large layers need not fit into memory side by side.
  std::unique_ptr<Executor> sound_pass_, broken_pass_;
  std::mutex mutex_;  ///< cancel() comes from any thread
  bool is_cancelled_ = false;
};

}  // namespace shardlens
