// The laboratory "What a sum allows": runs one operation twice, once on the whole operand and once on what
// each rank holds of it, and compares. The question is the same for every operation and layout: is f of the
// sum the sum of f (Partial), and is f of the whole f of the pieces, put together (Sharded)? Both runs use
// the CPU device's own kernels and seeded numbers, in fp32. Whether a way is exact, differs by rounding or is
// wrong is measured each time; only the reason is written down, with the operation.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/laboratory/bench.h"
#include "engine/program/layout.h"
#include "engine/program/operation.h"

namespace shardlens::lab {

/// One way to run an operation on ranks: what each rank holds of the operand X, what it computes, and how the
/// results become one.
struct Way {
  Layout layout;     ///< of X
  std::string name;  ///< what else decides: "b on every rank"; empty if nothing does
  Joined joined = Joined::Summed;
  std::string why;       ///< one sentence about this operation: why the way is right or wrong
  bool is_right = true;  ///< what `why` says; a test compares it with the runs
  /// What rank `rank` computes from `held`, its part of X.
  std::function<Numbers(const Bench& bench, const Numbers& held, int rank)> on_rank;
};

struct Experiment {
  std::string name;     ///< "LayerNorm"
  std::string formula;  ///< "Y = γ ∘ (X − mean) / std + β"
  std::string operand;  ///< what X is: "the activations", "the gradient of the output"
  std::vector<Op> ops;  ///< the engine's operations that it runs
  std::function<Numbers(const Bench& bench, const Numbers& x)> whole;
  std::vector<Way> ways;
};

/// All experiments, in the order in which a layer and then the loss and the optimizer use them.
std::span<const Experiment> experiments();

enum class Verdict {
  Exact,     ///< no number differs
  Rounding,  ///< only the order of the additions differs
  Wrong,
};
/// "exact", "rounding", "wrong"
std::string to_string(Verdict verdict);

/// The largest difference that counts as rounding, as a fraction of the largest number.
inline constexpr double kRounding = 1e-5;
inline constexpr int kFewestRanks = 2, kMostRanks = 8;

struct Outcome {
  int ranks = 0;
  Numbers x;                     ///< the whole operand
  std::vector<Numbers> held;     ///< each rank's part of it
  std::vector<Numbers> results;  ///< of each rank
  Numbers together;              ///< the results as one
  Numbers whole;                 ///< of one rank that has the whole operand
  Numbers difference;            ///< together - whole
  double largest_difference = 0;
  double largest_number = 0;  ///< of all results
  Verdict verdict = Verdict::Exact;
};

/// Runs one way of an experiment on `ranks` ranks, from kFewestRanks to kMostRanks. It takes less than a
/// millisecond. The same arguments give the same bits.
Outcome run(const Experiment& experiment, const Way& way, int ranks);

/// "f(X0) + f(X1) + … against f(X0 + X1 + …)": what a way compares.
std::string question_of(const Way& way);

}  // namespace shardlens::lab
