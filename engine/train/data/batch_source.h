// Where a training step's batch comes from: a pure function of the step, whatever T and D, so that a resumed
// run reads on where it stopped.
#pragma once

#include <memory>
#include <optional>

#include "engine/runtime/batch.h"
#include "engine/train/data/bert_samples.h"
#include "engine/train/data/train_data.h"
#include "engine/train/data/windows.h"

namespace shardlens {

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  /// The batch of step `step` >= 0, settings.batch rows for all replicas together.
  virtual Batch batch(int64_t step) const = 0;
  /// Batches until every row has been read once, at least 1.
  virtual int64_t batches() const = 0;
};

/// Rows of a text; the label of each token is the next one.
class NextTokenBatches : public BatchSource {
 public:
  NextTokenBatches(Windows windows, int64_t rows) : windows_(std::move(windows)), rows_(rows) {}
  Batch batch(int64_t step) const override;
  int64_t batches() const override;

 private:
  Windows windows_;
  int64_t rows_;
};

/// What BERT trains on: masked words and the order of two parts.
class MaskedWordBatches : public BatchSource {
 public:
  MaskedWordBatches(BertSamples samples, int64_t rows) : samples_(std::move(samples)), rows_(rows) {}
  Batch batch(int64_t step) const override { return samples_.batch(step, rows_); }
  int64_t batches() const override;

 private:
  BertSamples samples_;
  int64_t rows_;
};

/// The batches `settings.model` trains on; null without a file. Without a seed rows come in the order of the
/// text (GPT). Throws a request Error when the tokenizer or the text does not fit the model.
std::shared_ptr<const BatchSource> make_batches(const std::shared_ptr<const TokenFile>& file,
                                                const Tokenizer& tokenizer, const Settings& settings,
                                                std::optional<uint64_t> seed);

/// Those of the part of a text that is kept for validation, in the text's order; null where it is shorter
/// than one row.
std::shared_ptr<const BatchSource> validation_batches(const TrainData& data, const Settings& settings);

}  // namespace shardlens
