// One head of an opened attention: where it lies in the step's tensors, its scores and its probabilities.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/record/sample.h"
#include "engine/runtime/tensor_window.h"
#include "ui/context.h"

namespace shardlens::ui {

/// Where the parts of one head of one sequence lie in the tensors of the step.
struct HeadPlaces {
  int64_t sequences = 1, tokens = 1, shown = 1;  ///< `shown` of a sequence's tokens
  int64_t heads = 1, features = 1;
  TensorId q = kNoTensor, k = kNoTensor, p = kNoTensor;  ///< p: kNoTensor if only row statistics are kept
  int64_t key_group = 1;                                 ///< heads that share a key
  int64_t first_key_column = 0;

  TensorWindow queries(int64_t sequence, int64_t head) const {
    return window(q, sequence, head * features, features);
  }
  TensorWindow keys(int64_t sequence, int64_t head) const {
    return window(k, sequence, first_key_column + head / key_group * features, features);
  }
  TensorWindow probabilities(int64_t sequence, int64_t head) const {
    return window(p, sequence, head * tokens, shown);
  }

 private:
  TensorWindow window(TensorId id, int64_t sequence, int64_t column, int64_t columns) const {
    const int64_t row = sequence * tokens;
    return {id, {row, row + shown}, {column, column + columns}};
  }
};

HeadPlaces places_of(const Program& program, const Step& step);

/// The rank that computes a head, or -1.
int rank_of_head(const Program& program, const Step& step, const HeadPlaces& places, int64_t head);
/// True if every rank computes every head.
bool is_everywhere(const Program& program, const Step& step);

/// One head of one sequence: scores computed here from the run's Q and K, and probabilities.
struct Head {
  int64_t tokens = 0;
  std::vector<double> scores, probabilities;
  std::vector<bool> dropped;  ///< of the probabilities, by dropout; empty: none, or not known
  Picture scores_picture, probabilities_picture;
  double largest_score = 0, usual_probability = 0;  ///< for the colours
  bool computed_here = false;  ///< the probabilities too: the run kept only row statistics
};

/// Null while its values are not known; then `why` says why.
std::shared_ptr<const Head> head_of(const Context& context, const HeadPlaces& places, const Step& step,
                                    int rank, int64_t sequence, int64_t head, std::string& why);

}  // namespace shardlens::ui
