// The tree of taken bytes.
#include "engine/planner/taken_bytes.h"

#include <algorithm>

namespace shardlens {
namespace {

// Adds `bytes` to ascending ranges of which no two touch.
void add(std::vector<Range>& ranges, Range bytes) {
  const auto first = std::lower_bound(ranges.begin(), ranges.end(), bytes.begin,
                                      [](const Range& range, int64_t begin) { return range.end < begin; });
  auto last = first;
  for (; last != ranges.end() && last->begin <= bytes.end; ++last) {
    bytes.begin = std::min(bytes.begin, last->begin);
    bytes.end = std::max(bytes.end, last->end);
  }
  if (first == last) {
    ranges.insert(first, bytes);
  } else {
    *first = bytes;
    ranges.erase(first + 1, last);
  }
}

}  // namespace

void TakenBytes::take(const Range& bytes, StepId first, StepId last) {
  if (bytes.size() > 0) take(0, {0, moments_}, {first + 1, last + 2}, bytes);
}

void TakenBytes::take(int node, Span span, Span alive, const Range& bytes) {
  const auto at = static_cast<size_t>(node);
  add(nodes_[at].some, bytes);
  if (alive.begin <= span.begin && span.end <= alive.end) return add(nodes_[at].whole, bytes);
  const int middle = span.begin + (span.end - span.begin) / 2;
  for (const bool early : {true, false}) {
    const Span half = early ? Span{span.begin, middle} : Span{middle, span.end};
    if (alive.begin >= half.end || alive.end <= half.begin) continue;
    int child = early ? nodes_[at].early : nodes_[at].late;
    if (child == kNone) {
      child = static_cast<int>(nodes_.size());
      nodes_.emplace_back();
      (early ? nodes_[at].early : nodes_[at].late) = child;
    }
    take(child, half, alive, bytes);
  }
}

// Gathers all that is taken at some step of `alive`.
void TakenBytes::collect(int node, Span span, Span alive, std::vector<const Ranges*>& met) const {
  if (node == kNone || alive.begin >= span.end || alive.end <= span.begin) return;
  const Node& here = nodes_[static_cast<size_t>(node)];
  if (alive.begin <= span.begin && span.end <= alive.end) {
    met.push_back(&here.some);
    return;
  }
  if (!here.whole.empty()) met.push_back(&here.whole);
  const int middle = span.begin + (span.end - span.begin) / 2;
  collect(here.early, {span.begin, middle}, alive, met);
  collect(here.late, {middle, span.end}, alive, met);
}

int64_t TakenBytes::lowest_free(int64_t from, int64_t bytes, StepId first, StepId last) const {
  std::vector<const Ranges*> met;
  collect(0, {0, moments_}, {first + 1, last + 2}, met);
  int64_t offset = from;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Ranges* const ranges : met) {
      const auto next = std::upper_bound(ranges->begin(), ranges->end(), offset,
                                         [](int64_t at, const Range& range) { return at < range.end; });
      if (next == ranges->end() || next->begin >= offset + bytes) continue;
      offset = next->end;
      moved = true;
    }
  }
  return offset;
}

}  // namespace shardlens
