// What a comparison covers: how many tensors of a Program were compared, and which were left out, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "engine/record/tensor_parity.h"

namespace shardlens {

/// Why a tensor is not compared.
enum class LeftOut {
  Scratch,     ///< workspace, whose bytes mean nothing after its step
  Kept,        ///< moments, master weights, caches as they were before the pass: no step shows them
  ByRows,      ///< no step writes it as a whole: its rows are compared, or the tensor whose rows it is
  PartOfASum,  ///< a replica's sum over some of its parts of the batch: one rank adds up other rows
  Unmatched,   ///< the other run has no such value, or this run did not show it on every rank
};
/// "optimizer state and caches that no step shows"
std::string to_string(LeftOut reason);

/// The reason that the Program itself gives, [tensor]; nothing for a tensor that can be compared.
std::vector<std::optional<LeftOut>> reasons_to_leave_out(const Program& program);

struct LeftOutGroup {
  LeftOut reason = LeftOut::Unmatched;
  std::vector<TensorId> tensors;
};

struct Coverage {
  int64_t compared = 0;                ///< tensors, on all ranks and replicas
  std::vector<LeftOutGroup> left_out;  ///< in the order of the enum; a group has at least one tensor

  int64_t left_out_count() const;
  int64_t tensors() const { return compared + left_out_count(); }  ///< of the Program
};

/// Counts every tensor of the Program once, as compared or as left out.
Coverage coverage_of(const Program& program, const ParityTable& parity);

/// "rank 1 of replica 0", "the sum over the ranks of replica 1": where TensorParity says that a difference
/// is. Empty if it is not known.
std::string place_words(int replica, int rank);

/// "294 of 409 tensors"
std::string compared_words(const Coverage& coverage);
/// One line for each group: "104 left out: optimizer state and caches that no step shows". A few tensors
/// without a counterpart are named.
std::vector<std::string> left_out_lines(const Program& program, const Coverage& coverage);

}  // namespace shardlens
