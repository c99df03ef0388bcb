// Runs a model twice from the same seed on the same batches, once sound and once with a fault planted, and
// looks into the broken run's passes at a few steps. Beside whatever else runs: nothing of it is touched.
#pragma once

#include <memory>

#include "engine/runtime/parity.h"
#include "engine/train/experiments/break_report.h"
#include "engine/train/trainer.h"

namespace shardlens {

/// What is trained, and for how long.
struct BreakRequest {
  Settings settings;  ///< a whole model is trained; of one layer a single pass is run
  Fault fault = Fault::SkipF;
  int64_t steps = 50;
  double learning_rate = 1e-3;  ///< after a warm-up of five steps; not decayed
};

class BreakRun {
 public:
  /// Plans, plants, checks and allocates. `batches` may be null where nothing is trained (one layer, or no
  /// steps: then a pass of the seeded batch is looked into). Throws a request Error when the fault has no
  /// opportunity, naming what it needs, and when the machine has no room for both runs.
  BreakRun(const BreakRequest& request, std::shared_ptr<const BatchSource> batches, const std::string& text);

  /// One more step of both runs, looked into where it is time: in steps 1, 2, 5, 10, 20, 50 and so on and in
  /// the last. A broken run whose loss is no number any more ends there.
  void step();
  bool done() const { return report_.done(); }
  const BreakReport& report() const { return report_; }

  /// Gives up what runs, from any thread: step() throws a Cancelled Error.
  void cancel();

 private:
  bool is_looked_into(int64_t step) const;
  std::shared_ptr<const SerialReference> right_values();
  void take_probe(int64_t step, const ParityCheck& check);
  void look_once();
  void train_once();

  BreakReport report_;
  std::shared_ptr<const Plan> sound_plan_;
  std::unique_ptr<Trainer> sound_, broken_;  ///< null where nothing is trained
  std::unique_ptr<Executor> reference_;      ///< the sound Program, for what is looked into
  std::unique_ptr<Executor> one_pass_;       ///< the broken one, where nothing is trained
};

}  // namespace shardlens
