// Which bytes of an arena are taken at which steps. It finds the lowest free bytes for a tensor in a time
// that hardly grows with the number of tensors: a Program of many layers or micro-batches has hundreds of
// thousands.
//
// The steps are the leaves of a binary tree. A tensor that is alive from one step to another covers a few
// whole subtrees; their roots know its bytes, and so do all nodes above them. Bytes that touch are kept as
// one range.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/layout.h"
#include "engine/program/program.h"

namespace shardlens {

class TakenBytes {
 public:
  /// Of a Program of `steps` steps. Lifetimes are as in MemoryPlan: from -1 (before the first step) to
  /// `steps` (after the last one).
  explicit TakenBytes(StepId steps) : moments_(steps + 2), nodes_(1) {}

  /// Marks `bytes` as taken from step `first` to step `last`, both included.
  void take(const Range& bytes, StepId first, StepId last);

  /// Returns the lowest offset, at least `from`, of `bytes` bytes that are free from step `first` to `last`.
  int64_t lowest_free(int64_t from, int64_t bytes, StepId first, StepId last) const;

 private:
  /// Ascending; no two ranges touch.
  using Ranges = std::vector<Range>;
  static constexpr int kNone = -1;

  struct Node {
    Ranges whole;  ///< taken during all of the node's steps, by tensors that cover just this subtree
    Ranges some;   ///< taken during some of the node's steps
    int early = kNone, late = kNone;
  };
  /// The steps [begin, end) below a node, counted from 0 for "before the first step".
  struct Span {
    int begin = 0, end = 0;
  };

  void take(int node, Span span, Span alive, const Range& bytes);
  void collect(int node, Span span, Span alive, std::vector<const Ranges*>& met) const;

  int moments_;
  std::vector<Node> nodes_;  ///< the first one is the root; a node is there once something is taken below it
};

}  // namespace shardlens
