// Makes batches from windows.
#include "engine/train/data/batch_source.h"

namespace shardlens {

Batch NextTokenBatches::rows(int64_t first, int64_t count) const {
  const int64_t seq = windows_.seq();
  const std::vector<int32_t> rows = windows_.rows(0, first + count, first, count);
  Batch batch;
  batch.tokens.reserve(static_cast<size_t>(count * seq));
  batch.labels.reserve(static_cast<size_t>(count * seq));
  for (int64_t row = 0; row < count; ++row) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * (seq + 1));
    batch.tokens.insert(batch.tokens.end(), begin, begin + static_cast<std::ptrdiff_t>(seq));
    batch.labels.insert(batch.labels.end(), begin + 1, begin + static_cast<std::ptrdiff_t>(seq + 1));
  }
  return batch;
}

std::shared_ptr<const BatchSource> make_batches(const std::shared_ptr<const TokenFile>& file,
                                                const Tokenizer& tokenizer, const Settings& settings,
                                                std::optional<uint64_t> seed) {
  if (!file) return nullptr;
  file->require_vocabulary(settings.model.vocab);
  if (settings.model.objective == Objective::NextToken)
    return std::make_shared<NextTokenBatches>(Windows(file, settings.seq, seed), settings.batch);
  // Masks are random, so there is always a seed.
  return std::make_shared<MaskedWordBatches>(BertSamples(file, tokenizer, settings.seq, seed.value_or(0)),
                                             settings.batch);
}

std::shared_ptr<const BatchSource> validation_batches(const TrainData& data, const Settings& settings) {
  const bool has_a_row = data.validation && data.validation->tokens() > settings.seq;
  return has_a_row ? make_batches(data.validation, *data.tokenizer, settings, std::nullopt) : nullptr;
}

}  // namespace shardlens
