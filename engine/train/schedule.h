// The learning rate of each step: a linear warm-up, then a decay (paper, section 4: cosine for GPT-2, linear
// for BERT). It depends only on the step, so that a resumed run continues with the same rates.
//
// The rates are those of transformers' get_..._schedule_with_warmup(), with one difference in counting: step
// s, counted from 1, has the rate of their factor at s. A PyTorch loop that steps its scheduler after the
// optimizer uses their factor at s - 1 for the same update. So here the first step of a warm-up trains
// already, and there it has the rate 0; the step at the end of a decay has the lowest rate here, and the step
// after it there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shardlens {

enum class Decay { Constant, Linear, Cosine };
std::string to_string(Decay decay);          ///< "constant", "linear", "cosine"
Decay parse_decay(const std::string& text);  ///< throws a request Error that lists the words

struct Schedule {
  double peak = 3e-4;    ///< the rate at the end of the warm-up
  double lowest = 0;     ///< the rate at the end of the decay and after it
  int64_t warmup = 0;    ///< steps in which the rate rises from peak / warmup to peak
  int64_t steps = 1000;  ///< the step at which the decay has reached `lowest`
  Decay decay = Decay::Cosine;

  /// The rate of step `step`, counted from 1.
  double rate(int64_t step) const;
  /// The first step from which all rates are 0, so that nothing is learned any more; nothing if there is
  /// none.
  std::optional<int64_t> end_of_learning() const;
  bool operator==(const Schedule&) const = default;
};

/// Throws a request Error if the rates or counts are not possible.
void validate(const Schedule& schedule);

}  // namespace shardlens
