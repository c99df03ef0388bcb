// One model while a TrainingSession trains it: its trainer, its curve, and the steps that can be shown in the
// studio like any run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/run_failure.h"
#include "engine/runtime/sampler.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/generate/generator.h"
#include "engine/train/gradient_norms.h"
#include "engine/train/train_snapshot.h"
#include "engine/train/trainer.h"

namespace shardlens {

struct TrainedModel {
  TrainCurve curve;
  std::shared_ptr<GradientNorms> norms;
  std::unique_ptr<Trainer> trainer;      ///< null after it has ended with a failure
  std::unique_ptr<Generator> generator;  ///< null until a text is written
  bool whole = true;                     ///< false: a step was broken off, so the weights may be half new
  bool validates = false;                ///< true if the validation text has at least one row
  std::vector<std::vector<StepEvent>>
      last_events;  ///< [rank][step] of the first replica, of the last step that was not sampled
  int64_t events_step = 0;
  std::shared_ptr<const Snapshot> last_shown;  ///< the last step, sampled, or the one that failed
  int64_t shown_step = 0;
  std::shared_ptr<const TrainCurve> published;

  /// Frees its memory. Its curve and shown steps stay.
  void let_go() {
    generator.reset();
    trainer.reset();
  }
  bool goes_on() const { return trainer && curve.ended.empty() && !curve.done(); }
  /// Copies from `before` what belongs to the steps up to `step`, whose checkpoint this model continues from.
  void keep_up_to(int64_t step, const TrainCurve& before);
  /// Saves the checkpoint of the step that was just done, if one is due. If saving fails, for example on a
  /// full disk, training continues and the previous checkpoint is unchanged.
  void save_if_due();
  /// Saves the steps since the last checkpoint. `free_folder()` names the folder of a model that has none.
  void save_rest(const std::function<std::string()>& free_folder);
  /// True if `wish` requires a text after the step that was just done.
  bool writes_now(const WritingWish& wish) const;
  /// Writes a text with the present weights, as the last of curve.texts. `goes_on` is called after each token
  /// and returns false to stop. If it cannot be written, curve.writing_problem says why, and training
  /// continues.
  void write(const WritingWish& wish, const std::function<bool()>& goes_on);
  /// Shows the step that was just done, with its values. Its times are those of the last step that was not
  /// sampled.
  void show_step(const Sampler& sampler, uint64_t version);
  /// Shows the step in which a rank failed: how far each rank came, without values, because no observer read
  /// them.
  void show_failure(const RunFailed& error, uint64_t version);

 private:
  void save();
  void write_windows(const WritingWish& wish, const std::function<bool()>& goes_on, WrittenText& written);
  Result begun_result() const;
  Snapshot snapshot_of(Result result, uint64_t version) const;
};

}  // namespace shardlens
