// Makes batches from the seed, and checks batches.
#include "engine/runtime/batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/device/philox.h"

namespace shardlens {
namespace {

constexpr int kPredictedEvery = 7;  // BERT's seeded batch: about the 15 % the paper masks

void check(const std::vector<int32_t>& ids, const std::string& what, int64_t rows, int64_t cols,
           int64_t lowest, int64_t highest, bool may_be_ignored) {
  if (static_cast<int64_t>(ids.size()) != rows * cols) {
    throw request_error(
        fmt::format("{}: {} values, but batch {} × {} needs {}", what, ids.size(), rows, cols, rows * cols));
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const int32_t id = ids[i];
    if ((id >= lowest && id <= highest) || (may_be_ignored && id == kIgnoredLabel)) continue;
    throw request_error(fmt::format("{}: {} in row {}, column {} is outside {} to {}{}", what, id,
                                    static_cast<int64_t>(i) / cols, static_cast<int64_t>(i) % cols, lowest,
                                    highest, may_be_ignored ? " and is not -100 (ignored)" : ""));
  }
}

// Softmax over no key at all is not defined.
void check_that_all_attend(const std::vector<int32_t>& attention_mask, int64_t cols) {
  for (auto row = attention_mask.begin(); row != attention_mask.end(); row += cols) {
    if (std::any_of(row, row + cols, [](int32_t there) { return there != 0; })) continue;
    throw request_error(
        fmt::format("attention mask: row {} is 0 everywhere, so it has nothing to attend to; give 1 for "
                    "tokens and 0 only for padding",
                    (row - attention_mask.begin()) / cols));
  }
}

}  // namespace

Batch seeded_batch(const Settings& settings) {
  const int64_t count = settings.batch * settings.seq;
  const bool bert = settings.model.objective == Objective::MaskedWords;
  std::vector<uint32_t> words(static_cast<size_t>(count + settings.batch));
  fill_words(RandomStream(settings.seed, "tokens"), 0, count + settings.batch, words.data());
  const auto id = [&](int64_t i) {
    return static_cast<int32_t>((static_cast<uint64_t>(words[static_cast<size_t>(i)]) *
                                 static_cast<uint64_t>(settings.model.vocab)) >>
                                32);
  };
  Batch batch;
  for (int64_t row = 0; row < settings.batch; ++row) {
    for (int64_t col = 0; col < settings.seq; ++col) {
      const int64_t i = row * (settings.seq + 1) + col;
      batch.tokens.push_back(id(i));
      const bool predicted = !bert || i % kPredictedEvery == 0;
      batch.labels.push_back(predicted ? id(i + 1) : kIgnoredLabel);
    }
    // Not half of each label: their gradients would almost cancel.
    if (bert) batch.sentence_labels.push_back(row % 3 == 2 ? 1 : 0);
  }
  return batch;
}

Batch padded_batch(const Settings& settings, Batch batch) {
  const auto tokens = static_cast<size_t>(settings.batch * settings.seq);
  const auto fill = [&](std::vector<int32_t>& ids, size_t size, int32_t value) {
    if (!ids.empty() && ids.size() < size) ids.resize(size, value);
  };
  fill(batch.tokens, tokens, 0);
  fill(batch.labels, tokens, kIgnoredLabel);
  fill(batch.token_types, tokens, 0);
  fill(batch.attention_mask, tokens, 1);
  fill(batch.sentence_labels, static_cast<size_t>(settings.batch), kIgnoredLabel);
  return batch;
}

void check_batch(const Settings& settings, const Batch& batch) {
  const int64_t rows = settings.batch, cols = settings.seq;
  const int64_t last = settings.model.vocab - 1;
  check(batch.tokens, "tokens", rows, cols, 0, last, false);
  check(batch.labels, "labels", rows, cols, 0, last, true);
  if (!batch.token_types.empty()) check(batch.token_types, "token types", rows, cols, 0, 1, false);
  if (!batch.attention_mask.empty()) check(batch.attention_mask, "attention mask", rows, cols, 0, 1, false);
  check_that_all_attend(batch.attention_mask, cols);
  if (!batch.sentence_labels.empty()) check(batch.sentence_labels, "sentence labels", rows, 1, 0, 1, true);
}

}  // namespace shardlens
