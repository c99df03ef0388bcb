// Masking, by position.
#include "engine/train/masked_batches.h"

#include <algorithm>

#include "engine/device/philox.h"

namespace shardlens {
namespace {

constexpr double kWord = 4294967296.0;  // 2^32
constexpr double kMasked = 0.15, kHidden = 0.8, kReplaced = 0.1;

}  // namespace

Batch MaskedBatches::batch(int64_t step) const {
  const int64_t seq = windows_.seq();
  const std::vector<int32_t> rows = windows_.batch(step, rows_);
  const RandomStream stream(seed_, "masked tokens");
  const auto places = static_cast<size_t>(rows_ * seq);
  // Three words a place: whether it is masked, how, and by which other token.
  std::vector<uint32_t> words(3 * places);
  fill_words(stream, step * static_cast<int64_t>(words.size()), static_cast<int64_t>(words.size()),
             words.data());
  Batch batch;
  batch.tokens.resize(places);
  batch.labels.assign(places, kIgnoredLabel);
  for (size_t place = 0; place < places; ++place) {
    const int64_t row = static_cast<int64_t>(place) / seq, column = static_cast<int64_t>(place) % seq;
    const int32_t token = rows[static_cast<size_t>(row * (seq + 1) + column)];
    const double how = words[3 * place + 1] / kWord;
    batch.tokens[place] = token;
    if (words[3 * place] / kWord >= kMasked) continue;
    batch.labels[place] = token;
    if (how < kHidden) {
      batch.tokens[place] = mask_;
    } else if (how < kHidden + kReplaced) {
      batch.tokens[place] = static_cast<int32_t>(words[3 * place + 2] % static_cast<uint32_t>(mask_));
    }
  }
  return batch;
}

int64_t MaskedBatches::batches() const {
  return std::max<int64_t>(1, windows_.count() / rows_);
}

}  // namespace shardlens
