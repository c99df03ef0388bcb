// Checks settings before anything is planned or allocated. Every refusal is a request Error that says what
// was wrong, with the figure, and the nearest choice that works.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/settings.h"

namespace shardlens {

/// The largest sizes that are accepted; a number above them is taken for a typing error.
inline constexpr int64_t kLargestLayers = 2'000;
inline constexpr int64_t kLargestHidden = 1 << 20;
inline constexpr int64_t kLargestFfn = 1 << 23;
inline constexpr int64_t kLargestVocab = 1 << 24;
inline constexpr int64_t kLargestPositions = 1 << 24;
inline constexpr int64_t kLargestBatch = 1 << 20;
inline constexpr int kLargestDegree = 4096;
/// The largest number of ranks that one process runs as threads.
inline constexpr int kMostLocalRanks = 64;
inline constexpr double kLongestTimeoutSeconds = 1e6;  ///< the longest wait for a rank
inline constexpr int kMostOverlapChunks = 64;          ///< parts of a row-parallel product

/// Checks the sizes of the model alone: positive, within the limits above, heads divide hidden. If it
/// proposes another number of heads, `ranks` divides that number.
void validate_model(const Model& model, int ranks = 1);

/// Checks everything that the planner relies on. Throws a request Error for the first problem.
void validate(const Settings& settings);

/// Calls validate(), and checks what this version can execute: the dtypes of runnable_dtypes(), D = 1 for one
/// layer, at most kMostLocalRanks ranks.
void validate_executable(const Settings& settings);

/// Returns the dtypes that a block of the model can compute in: the whole model in fp32, bf16, fp16 and fp64,
/// a part of it in fp32 and fp64.
std::vector<DType> runnable_dtypes(Block block);

/// Returns the tensor-parallel degrees that a block of the model can be cut into, ascending. With attention:
/// the divisors of the key heads, and those multiples of the key heads that divide the heads. If the policy
/// allows other cuts, also every T up to hidden. For the MLP alone: every T up to the smaller of hidden and
/// ffn. Degrees that do not divide evenly end at kMostLocalRanks.
std::vector<int> possible_degrees(const Model& model, Block block = Block::Layer,
                                  HeadsPolicy policy = HeadsPolicy::Strict);

/// Returns the possible degrees nearest to `tp`: one below and one above, if they exist. "4 or 6" for 5 of
/// 12.
std::vector<int> nearest_degrees(const Model& model, Block block, int tp,
                                 HeadsPolicy policy = HeadsPolicy::Strict);

/// Returns the bytes that a run of the settings needs in the memory that is checked.
using MemoryNeed = std::function<int64_t(const Settings&)>;

/// Describes that memory, for the message of a refusal.
struct MemoryPlace {
  std::string where;  ///< "GPU 0, where ranks 0, 1 need 1.20 GiB each"; empty: "2 ranks together", all ranks
  std::string
      remedy;  ///< what else helps than a smaller run: "or choose an emptier GPU by --gpu"; may be empty
  std::string limit = {};  ///< what limits it, if that is not the machine: "ulimit -v"
};

/// The refusal of what needs more memory, or time, than there is. It also has the settings that its message
/// proposes.
class TooLarge : public Error {
 public:
  TooLarge(const std::string& message, std::vector<Settings> fitting)
      : Error(ErrorKind::Request, message), fitting_(std::move(fitting)) {}
  const std::vector<Settings>& fitting() const { return fitting_; }

 private:
  std::vector<Settings> fitting_;
};

/// Throws TooLarge before any allocation if `settings` need more than `available_bytes`. The message
/// gives both figures and, for a whole model, the recompute setting that would make it fit. It also gives the
/// largest batch that fits; if not even one sequence fits, the largest sequence; else the smallest need.
/// `needed_bytes` must not decrease in batch or seq, and is called about 50 times at most.
void refuse_if_too_large(const Settings& settings, int64_t available_bytes, const MemoryNeed& needed_bytes,
                         const MemoryPlace& place = {});

}  // namespace shardlens
