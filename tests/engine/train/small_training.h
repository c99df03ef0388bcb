// A training run of milliseconds: a model of 53 words learns rows that count upward.
#pragma once

#include <cmath>
#include <map>

#include "engine/train/model_state.h"
#include "engine/train/trainer.h"
#include "tests/engine/small_model.h"

namespace shardlens::testing {

/// Row r of step k counts upward by r % 3 + 1 from a start that follows from (k, r).
class CountingBatches : public BatchSource {
 public:
  explicit CountingBatches(const Settings& settings) : settings_(settings) {}
  Batch batch(int64_t step) const override { return rows(step * settings_.batch, settings_.batch); }
  Batch rows(int64_t first, int64_t count) const override {
    const bool bert = settings_.model.objective == Objective::MaskedWords;
    Batch batch;
    for (int64_t index = first; index < first + count; ++index) {
      const int64_t step = index / settings_.batch, row = index % settings_.batch;
      const int64_t start = (step * settings_.batch + row) * 7919;
      for (int64_t i = 0; i < settings_.seq; ++i) {
        batch.tokens.push_back(word(start + i * (row % 3 + 1)));
        const bool predicted = !bert || (i + row + step) % 4 == 0;
        batch.labels.push_back(predicted ? word(start + (i + 1) * (row % 3 + 1)) : kIgnoredLabel);
      }
      if (bert) batch.sentence_labels.push_back(static_cast<int32_t>((row + step) % 2));
    }
    return batch;
  }
  int64_t row_count() const override { return 2 * settings_.batch; }

 private:
  int32_t word(int64_t n) const { return static_cast<int32_t>(n % settings_.model.vocab); }
  Settings settings_;
};

inline TrainOptions small_training(const Settings& settings, int64_t steps) {
  TrainOptions options;
  options.settings = settings;
  options.schedule = {3e-3, 1e-4, 3, 10, Decay::Cosine};
  options.steps = steps;
  return options;
}

inline Trainer small_trainer(const TrainOptions& options) {
  const auto source = std::make_shared<CountingBatches>(options.settings);
  return Trainer(options, source, source);
}

/// Every parameter and everything the optimizer keeps, whole, by name.
inline std::map<std::string, std::vector<std::byte>> lasting_state(const Trainer& trainer) {
  std::map<std::string, std::vector<std::byte>> state;
  const Program& program = trainer.plan().program;
  for (const TensorId id : lasting_tensors(program))
    state[program.tensor(id).name] = read_whole(trainer.executor(), program, id);
  return state;
}

/// Counts what the trainer tells.
struct Told : TrainObserver {
  std::vector<StepReport> steps;
  std::vector<ValidationReport> validations;
  std::vector<int64_t> saved;
  std::vector<std::string> failed;
  void on_step(const StepReport& report) override { steps.push_back(report); }
  void on_validation(const ValidationReport& report) override { validations.push_back(report); }
  void on_saved(const std::string&, int64_t step) override { saved.push_back(step); }
  void on_save_failed(const std::string& why) override { failed.push_back(why); }
};

}  // namespace shardlens::testing
