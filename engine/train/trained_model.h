// One model while a TrainingSession trains it: its trainer, its curve, and those of its steps that can be
// looked into, shown as the studio shows any run.
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
  std::unique_ptr<Trainer> trainer;      ///< null once it has ended with a failure
  std::unique_ptr<Generator> generator;  ///< null until something is written
  bool validates = false;                ///< there is a validation text of a row or more
  std::vector<std::vector<StepEvent>>
      last_events;  ///< [rank][step] of the first replica, of the last step that nobody sampled
  int64_t events_step = 0;
  std::shared_ptr<const Snapshot> last_shown;  ///< the last step of all, sampled, or the one that failed
  int64_t shown_step = 0;
  std::shared_ptr<const TrainCurve> published;

  /// Gives its memory back; what was seen of it stays.
  void let_go() {
    generator.reset();
    trainer.reset();
  }
  bool goes_on() const { return trainer && curve.ended.empty() && !curve.done(); }
  /// What `before`'s curve says of the steps up to `step`, whose checkpoint this one goes on from.
  void keep_up_to(int64_t step, const TrainCurve& before);
  /// Saves the checkpoint of the step that was just made, where one is due. A disk that is full ends no
  /// training: the checkpoint before stands as it was.
  void save_if_due();
  /// Whether `wish` asks for a text after the step that was just made.
  bool writes_now(const WritingWish& wish) const;
  /// Writes a text with the present weights, the last of curve.texts; `goes_on` is asked whenever it grew.
  /// What does not let it be written is curve.writing_problem, and ends no training.
  void write(const WritingWish& wish, const std::function<bool()>& goes_on);
  /// The step that was just made, with its values; its times are those of the step that nobody sampled.
  void show_step(const Sampler& sampler, const std::string& machine, uint64_t version);
  /// The step that a rank ended: how far each of them came, and no values, for nobody looked at them.
  void show_failure(const RunFailed& error, const std::string& machine, uint64_t version);

 private:
  void write_windows(const WritingWish& wish, const std::function<bool()>& goes_on, WrittenText& written);
  Result result_on(const std::string& machine) const;
  Snapshot snapshot_of(Result result, uint64_t version) const;
};

}  // namespace shardlens
