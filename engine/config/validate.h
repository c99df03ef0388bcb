// What can be planned and run, decided before anything is planned or allocated. Every refusal is a request
// Error that says what was wrong, with the figure, and the nearest choice that works.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens {

/// The largest sizes that are taken seriously; beyond them a number is a typing error.
inline constexpr int64_t kLargestLayers = 10'000;
inline constexpr int64_t kLargestHidden = 1 << 20;
inline constexpr int64_t kLargestFfn = 1 << 23;
inline constexpr int64_t kLargestVocab = 1 << 24;
inline constexpr int64_t kLargestPositions = 1 << 24;
inline constexpr int64_t kLargestBatch = 1 << 20;
inline constexpr int kLargestDegree = 4096;
/// Ranks that one process runs as threads.
inline constexpr int kMostLocalRanks = 64;
inline constexpr double kLongestTimeoutSeconds = 1e6;  ///< that ranks wait for one of them
inline constexpr int kMostOverlapChunks = 64;          ///< parts a row-parallel product is made in

/// Sizes of the model alone: positive, within the limits above, heads divide hidden. Other numbers of heads
/// that are offered are such as `ranks` divide.
void validate_model(const Model& model, int ranks = 1);

/// Everything the planner relies on. Throws a request Error on the first thing that is wrong.
void validate(const Settings& settings);

/// validate(), and what this version executes: fp32 or fp64, D = 1, at most kMostLocalRanks ranks.
void validate_executable(const Settings& settings);

/// What a block of the model can compute in: all of it in fp32, bf16, fp16 and fp64, a part of it in fp32 and
/// fp64.
std::vector<DType> runnable_dtypes(Block block);

/// The tensor-parallel degrees a block of the model can be cut into, ascending: where there is attention, the
/// divisors of the key heads and the multiples of them that divide the heads, and, with a policy that lets
/// them be cut otherwise, every T up to hidden; of the MLP alone every T up to the smaller of hidden and ffn.
/// What does not divide ends at kMostLocalRanks.
std::vector<int> possible_degrees(const Model& model, Block block = Block::Layer,
                                  HeadsPolicy policy = HeadsPolicy::Strict);

/// The possible degrees nearest to `tp`: one below and one above where there are both. "4 or 6" for 5 of 12.
std::vector<int> nearest_degrees(const Model& model, Block block, int tp,
                                 HeadsPolicy policy = HeadsPolicy::Strict);

/// Bytes that a run of the settings needs where memory is looked at.
using MemoryNeed = std::function<int64_t(const Settings&)>;

/// Where that is, for the words of a refusal.
struct MemoryPlace {
  std::string
      where;  ///< "GPU 0, where ranks 0, 1 need 1.20 GiB each"; empty: "2 ranks together", all there are
  std::string remedy;  ///< what helps beside a smaller run: "or choose an emptier GPU by --gpu"; may be empty
};

/// Throws a request Error before any allocation if `settings` need more than `available_bytes`: names both
/// figures, of a whole model what it would have to compute again to fit, and the largest batch that fits or,
/// where not even one sequence does, the largest sequence, or the smallest need. `needed_bytes` must not
/// decrease in batch or seq, and is asked about 50 times at most.
void refuse_if_too_large(const Settings& settings, int64_t available_bytes, const MemoryNeed& needed_bytes,
                         const MemoryPlace& place = {});

}  // namespace shardlens
