// What a small BERT learns from bytes: rows of a text of which 15 % are to be found again. Of those 80 % are
// hidden behind the mask, 10 % become another byte and 10 % stay as they are (Devlin et al. 2019).
#pragma once

#include "engine/train/batch_source.h"

namespace shardlens {

class MaskedBatches : public BatchSource {
 public:
  /// `mask`: the id that hides a token; ids below it replace one. Which tokens are masked is a pure function
  /// of (seed, step, place).
  MaskedBatches(Windows windows, int64_t rows, int32_t mask, uint64_t seed)
      : windows_(std::move(windows)), rows_(rows), mask_(mask), seed_(seed) {}

  Batch batch(int64_t step) const override;
  int64_t batches() const override;

 private:
  Windows windows_;
  int64_t rows_;
  int32_t mask_;
  uint64_t seed_;
};

}  // namespace shardlens
