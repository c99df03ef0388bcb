// The samples that BERT trains on: rows "[CLS] A [SEP] B [SEP] padding". A and B are neighbouring parts of
// one document, in their order or swapped (sentence order prediction). 15 % of their tokens are hidden, and
// the model must find them.
//
// A document is cut into stretches of seq - 3 tokens. The rest at its end is a stretch too if it has 16
// tokens. A stretch is divided into A and B at the first word that begins at or after a random place in its
// middle half. Of the chosen spans (engine/train/data/masking.h; none reaches from A into B) 80 % become
// [MASK], 10 % become random tokens, and 10 % stay as they are. All of them are labels.
//
// Row r of step k depends only on (seed, k * batch + r), as with Windows. Each epoch has another order of the
// stretches and other masks.
#pragma once

#include <memory>
#include <vector>

#include "engine/runtime/batch.h"
#include "engine/train/data/masking.h"
#include "engine/train/data/token_file.h"

namespace shardlens {

class BertSamples {
 public:
  static constexpr int32_t kInOrder = 0, kSwapped = 1;  ///< sentence labels

  /// Throws a request Error if the file was not made with this tokenizer, the tokenizer has no [CLS], [SEP],
  /// [MASK] and [PAD], seq is below 16, or no document has a stretch.
  BertSamples(std::shared_ptr<const TokenFile> file, const Tokenizer& tokenizer, int64_t seq, uint64_t seed);

  int64_t count() const { return static_cast<int64_t>(stretches_.size()); }  ///< samples in an epoch
  int64_t seq() const { return seq_; }

  /// Rows [first_row, first_row + rows) of the global batch of a step, all parts of a Batch filled.
  Batch rows(int64_t step, int64_t batch, int64_t first_row, int64_t rows) const;
  Batch batch(int64_t step, int64_t batch) const { return rows(step, batch, 0, batch); }

 private:
  struct Stretch {
    int64_t begin;  // in the file's tokens
    int32_t count;
  };
  void append_sample(uint64_t index, Batch& out) const;

  std::shared_ptr<const TokenFile> file_;
  WordStarts word_starts_;
  int64_t seq_;
  uint64_t seed_;
  int32_t classify_, separator_, mask_, pad_;
  std::vector<int32_t> ordinary_;  // ids from which a random token is drawn
  std::vector<Stretch> stretches_;
};

}  // namespace shardlens
