// Compares two recordings: which steps took longer, and where the values first differ.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/record/recording.h"

namespace shardlens {

/// A setting that differs between the two runs. Words as in the settings' JSON.
struct SettingDiff {
  std::string key;  ///< "split.mlp.fc"
  std::string a, b;
};

/// A step that both Programs have: the n-th step of the same name, layer and phase. Times are means over the
/// passes that were read, of the slowest rank. Waiting is not part of them; it is counted separately.
struct StepDiff {
  StepId a = -1, b = -1;
  double a_seconds = 0, b_seconds = 0;
  double a_wait_seconds = 0, b_wait_seconds = 0;  ///< collectives only
  int64_t a_sent_bytes = 0, b_sent_bytes = 0;     ///< by each rank
};

/// All steps of one kind, including those that only one of the Programs has, with times as in StepDiff.
/// Overlapped collectives are a kind of their own, because their time and waiting alone delay no rank.
struct KindDiff {
  Op op = Op::Linear;
  bool overlapped = false;
  double a_seconds = 0, b_seconds = 0;
  double a_wait_seconds = 0, b_wait_seconds = 0;
};

/// A kind of memory on the rank that holds the most of it, high-water.
struct MemoryDiff {
  MemoryKind kind = MemoryKind::Input;
  int64_t a_bytes = 0, b_bytes = 0;
};

/// A metric that both runs have in passes they share.
struct MetricDiff {
  std::string name;
  /// Seconds, or a rate per second (FLOP/s too). Such a metric differs in every run, so it does not count as
  /// a difference of values.
  bool is_time = false;
  int64_t passes = 0;   ///< passes that have it in both
  int64_t first = -1;   ///< A's first pass in which it differs; -1: none
  double a = 0, b = 0;  ///< the values in pass `first`, or in the last pass if none differs
  double largest = 0;   ///< largest difference over all passes
};

/// The first element of a piece, row by row, that differs between the two runs.
struct PartedElement {
  int64_t row = 0, col = 0;  ///< in the rank's piece as a matrix
  double a = 0, b = 0;
  int64_t differing = 0;  ///< number of elements that differ
  int64_t elements = 0;   ///< number of elements of the piece
  double largest = 0;     ///< largest difference of an element
};

/// Where the values of the two runs first differ: the first pass, and in it the first tensor in the order of
/// the steps. If no tensor of that pass is in both recordings, it is a metric.
struct Parting {
  int64_t a_pass = 0, b_pass = 0;
  std::string metric;  ///< empty: it is a tensor
  TensorId a_tensor = kNoTensor, b_tensor = kNoTensor;
  StepId a_step = -1;  ///< the step of A that writes the tensor; -1: it is an input
  int rank = 0;        ///< the first rank whose piece differs
  uint64_t a_hash = 0, b_hash = 0;
  int64_t differing = 0, compared = 0;  ///< numbers of tensors of this pass
  /// The piece on `rank`, in both runs; null if its sample cannot be read.
  std::shared_ptr<const TensorSample> a_piece, b_piece;
  std::optional<PartedElement> element;  ///< if both hold the piece's values
};

struct RecordingDiff {
  std::vector<SettingDiff> settings;
  bool same_program = false;  ///< step for step and tensor for tensor
  int64_t a_passes = 0, b_passes = 0;
  /// B's pass that corresponds to A's pass 0. Training steps are matched by their number.
  int64_t b_offset = 0;
  int64_t shared_passes = 0;
  std::vector<StepDiff> steps;                         ///< in A's order
  std::vector<StepId> only_a, only_b;                  ///< steps
  std::vector<double> a_step_seconds, b_step_seconds;  ///< [step], including steps that only one has
  std::vector<KindDiff> kinds;
  int64_t a_sent_bytes = 0, b_sent_bytes = 0;  ///< by each rank in a pass
  int64_t timed_passes = 0;  ///< shared and traced passes whose times were read, evenly spread
  double a_pass_seconds = 0, b_pass_seconds = 0;  ///< mean, up to the last rank's end, waiting included
  std::vector<MemoryDiff> memory;
  std::vector<BytesByKind> a_high_water_bytes, b_high_water_bytes;  ///< [rank, replica by replica]
  std::vector<MetricDiff> metrics;
  int64_t hashed_passes = 0;    ///< shared passes with hashes in both
  int64_t compared_hashes = 0;  ///< pieces whose hashes were compared, up to the first difference
  int64_t cut_otherwise = 0;    ///< pieces sampled in both, but with another layout of the tensor
  int64_t in_other_dtype = 0;   ///< pieces sampled in both, but with another dtype of the tensor
  int64_t in_one = 0;           ///< tensors of a pass whose hashes only one of the recordings has
  int replicas = 1;             ///< D; only the first replica's values are recorded
  std::optional<Parting> parting;

  /// True if something was compared: hashes, or metrics that are values.
  bool compared_values() const;
  /// Says what was not compared, and why, in a sentence each. An earlier difference may be in it.
  std::vector<std::string> not_compared() const;
};

/// Reads what it needs from both recordings. Throws what Recording throws, and a Cancelled Error if `stop` is
/// requested.
RecordingDiff diff_recordings(const Recording& a, const Recording& b, std::stop_token stop = {});

}  // namespace shardlens
