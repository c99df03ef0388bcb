// The batches of training steps. A batch depends only on the step, for any T and D, so that a resumed run
// continues with the same rows.
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
  /// The rows [first, first + count), counted over all batches. They do not depend on the size of a batch.
  virtual Batch rows(int64_t first, int64_t count) const = 0;
  /// The number of rows in which everything is read once, at least 1.
  virtual int64_t row_count() const = 0;
};

/// Rows of a text; the label of each token is the next one.
class NextTokenBatches : public BatchSource {
 public:
  NextTokenBatches(Windows windows, int64_t rows) : windows_(std::move(windows)), rows_(rows) {}
  Batch batch(int64_t step) const override { return rows(step * rows_, rows_); }
  Batch rows(int64_t first, int64_t count) const override;
  int64_t row_count() const override { return windows_.count(); }

 private:
  Windows windows_;
  int64_t rows_;
};

/// The batches that BERT trains on: masked words and the order of two parts.
class MaskedWordBatches : public BatchSource {
 public:
  MaskedWordBatches(BertSamples samples, int64_t rows) : samples_(std::move(samples)), rows_(rows) {}
  Batch batch(int64_t step) const override { return samples_.batch(step, rows_); }
  Batch rows(int64_t first, int64_t count) const override {
    return samples_.rows(0, first + count, first, count);
  }
  int64_t row_count() const override { return samples_.count(); }

 private:
  BertSamples samples_;
  int64_t rows_;
};

/// The batches that `settings.model` trains on; null without a file. Without a seed, rows come in the order
/// of the text (GPT). Throws a request Error if the tokenizer or the text does not fit the model.
std::shared_ptr<const BatchSource> make_batches(const std::shared_ptr<const TokenFile>& file,
                                                const Tokenizer& tokenizer, const Settings& settings,
                                                std::optional<uint64_t> seed);

/// The batches of the validation part of a text, in the text's order; null if it is shorter than one row.
std::shared_ptr<const BatchSource> validation_batches(const TrainData& data, const Settings& settings);

}  // namespace shardlens
