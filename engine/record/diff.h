// Two recordings side by side: what took longer, and where their values part.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/record/recording.h"

namespace shardlens {

/// A setting the two runs do not share; words as in the settings' JSON.
struct SettingDiff {
  std::string key;  ///< "split.mlp.fc"
  std::string a, b;
};

/// A step that both Programs have: of one name, layer and phase, the n-th of them. Times are means over the
/// passes that were looked at, of the slowest rank; waiting is left out of them and stands by itself.
struct StepDiff {
  StepId a = -1, b = -1;
  double a_seconds = 0, b_seconds = 0;
  double a_wait_seconds = 0, b_wait_seconds = 0;  ///< collectives only
  int64_t a_sent_bytes = 0, b_sent_bytes = 0;     ///< by each rank
};

/// All steps of one kind, also those that only one of the Programs has; times as a step's. Collectives that
/// go on beside other steps are a kind of their own: what they take and wait delays nobody by itself.
struct KindDiff {
  Op op = Op::Linear;
  bool beside = false;
  double a_seconds = 0, b_seconds = 0;
  double a_wait_seconds = 0, b_wait_seconds = 0;
};

/// A kind of memory on its fullest rank, high-water.
struct MemoryDiff {
  MemoryKind kind = MemoryKind::Input;
  int64_t a_bytes = 0, b_bytes = 0;
};

/// A metric that both runs have in passes they share.
struct MetricDiff {
  std::string name;
  /// Seconds, or something a second (FLOP/s too): never the same twice, and no sign of a parting.
  bool is_time = false;
  int64_t passes = 0;   ///< that have it in both
  int64_t first = -1;   ///< A's pass in which it differs first; -1: nowhere
  double a = 0, b = 0;  ///< there, or in the last pass where it differs nowhere
  double largest = 0;   ///< difference, of all passes
};

/// The first element of a piece, row by row, that is another in the two runs.
struct PartedElement {
  int64_t row = 0, col = 0;  ///< of the rank's piece, seen as a matrix
  double a = 0, b = 0;
  int64_t differing = 0;  ///< elements of the piece
  int64_t elements = 0;   ///< that it has
  double largest = 0;     ///< difference, of all of them
};

/// Where the values of the two runs are no longer the same: the first pass, and in it the first tensor in the
/// order of the steps, or a metric where no tensor of that pass is in both recordings.
struct Parting {
  int64_t a_pass = 0, b_pass = 0;
  std::string metric;  ///< empty: it is a tensor
  TensorId a_tensor = kNoTensor, b_tensor = kNoTensor;
  StepId a_step = -1;  ///< that writes the tensor in A; -1: it was fed
  int rank = 0;        ///< the first whose piece differs
  uint64_t a_hash = 0, b_hash = 0;
  int64_t differing = 0, compared = 0;  ///< tensors of this pass
  /// The piece on `rank`, in both; null where its sample cannot be read.
  std::shared_ptr<const TensorSample> a_piece, b_piece;
  std::optional<PartedElement> element;  ///< where both hold the piece's values
};

struct RecordingDiff {
  std::vector<SettingDiff> settings;
  bool same_program = false;  ///< step for step and tensor for tensor
  int64_t a_passes = 0, b_passes = 0;
  /// B's pass that belongs to A's pass 0; training steps are brought together by their number.
  int64_t b_offset = 0;
  int64_t shared_passes = 0;
  std::vector<StepDiff> steps;                         ///< in A's order
  std::vector<StepId> only_a, only_b;                  ///< steps
  std::vector<double> a_step_seconds, b_step_seconds;  ///< [step], as in `steps`, also of those only one has
  std::vector<KindDiff> kinds;
  int64_t a_sent_bytes = 0, b_sent_bytes = 0;     ///< by each rank in a pass
  int64_t timed_passes = 0;                       ///< shared passes whose times were looked at, evenly spread
  double a_pass_seconds = 0, b_pass_seconds = 0;  ///< mean, to the last rank's end, waiting included
  std::vector<MemoryDiff> memory;
  std::vector<BytesByKind> a_high_water_bytes, b_high_water_bytes;  ///< [rank, replica by replica]
  std::vector<MetricDiff> metrics;
  int64_t hashed_passes = 0;    ///< shared passes of which both hold hashes
  int64_t compared_hashes = 0;  ///< pieces of tensors whose hashes were compared, up to the parting
  int64_t cut_otherwise = 0;    ///< pieces sampled in both, but of tensors that lie differently on the ranks
  int64_t in_other_dtype = 0;   ///< and of tensors that are of another dtype
  std::optional<Parting> parting;

  /// Something was compared: hashes, or metrics that are values.
  bool compared_values() const;
  /// Why pieces that both hold were not compared, in a sentence each: an earlier parting may lie in them.
  std::vector<std::string> not_compared() const;
};

/// Reads what it needs of both. Throws what Recording throws, and a Cancelled Error when `stop` asks for it.
RecordingDiff diff_recordings(const Recording& a, const Recording& b, std::stop_token stop = {});

}  // namespace shardlens
