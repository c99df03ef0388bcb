// The inputs of one pass of a whole model: one batch of token ids for all replicas, and the numbers that
// change from pass to pass. Each rank takes the rows of its replica (paper, Figure 8: ranks of one
// tensor-parallel group see the same tokens).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/config/settings.h"
#include "engine/runtime/execute.h"

namespace shardlens {

/// A label that is left out of the loss.
inline constexpr int32_t kIgnoredLabel = -100;

/// Row-major [batch, seq]. An empty field has its usual meaning: token types 0, attention everywhere, no
/// sentence labels.
struct Batch {
  std::vector<int32_t> tokens;
  std::vector<int32_t> labels;           ///< kIgnoredLabel: not in the loss
  std::vector<int32_t> positions;        ///< in the sequence; if empty 0, 1, 2 and so on
  std::vector<int32_t> token_types;      ///< BERT
  std::vector<int32_t> attention_mask;   ///< BERT: 0 at padding
  std::vector<int32_t> sentence_labels;  ///< BERT, [batch]
};

/// Draws uniform tokens from the settings' seed. GPT's labels are the next tokens; BERT predicts every
/// seventh token.
Batch seeded_batch(const Settings& settings);

/// Returns `batch` with rows added up to settings.batch. The added rows count in no loss; they are for a
/// number of sequences that the replicas do not divide.
Batch padded_batch(const Settings& settings, Batch batch);

/// Throws a request Error if sizes or ids do not fit the settings; the message names the row, the column and
/// the value.
void check_batch(const Settings& settings, const Batch& batch);

/// The inputs of one pass: the batch, and the numbers of the optimizer, of dropout and of loss scaling.
struct PassInputs {
  std::shared_ptr<const Batch> batch;
  PassNumbers numbers;
  double loss_scale = 1;
};

}  // namespace shardlens
