// Implements byte-level byte-pair encoding.
#include "engine/train/tokenizer/bpe.h"

#include <queue>
#include <tuple>

namespace shardlens {
namespace {

constexpr size_t kCachedPieces = size_t{1} << 16;
constexpr size_t kCachedPieceBytes = 64;

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// A piece as a doubly linked list of tokens; merging keeps the left node and removes the right one.
struct Node {
  int32_t id;
  int32_t previous, next;  // -1: none
};

// A possible merge at a node. Lowest rank first, then from left to right.
struct Candidate {
  uint32_t rank;
  int32_t at;
  int32_t left, right, merged;  // its pair then: it is stale if the nodes have other ids now
  bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
};

constexpr int32_t kRemoved = -1;

}  // namespace

Bpe::Bpe(const std::array<int32_t, 256>& byte_ids, const std::vector<Merge>& merges) : byte_ids_(byte_ids) {
  rules_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    rules_[pair_key(merge.left, merge.right)] = {static_cast<uint32_t>(rank), merge.merged};
  }
}

const Bpe::Rule* Bpe::rule(int32_t left, int32_t right) const {
  const auto found = rules_.find(pair_key(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

std::vector<int32_t> Bpe::merge(std::string_view piece) const {
  std::vector<Node> nodes;
  nodes.reserve(piece.size());
  for (size_t i = 0; i < piece.size(); ++i) {
    const auto at = static_cast<int32_t>(i);
    nodes.push_back({byte_ids_[static_cast<uint8_t>(piece[i])], at - 1, i + 1 < piece.size() ? at + 1 : -1});
  }
  const auto node = [&](int32_t at) -> Node& { return nodes[static_cast<size_t>(at)]; };

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto propose = [&](int32_t at) {
    if (at < 0 || node(at).next < 0) return;
    const int32_t left = node(at).id, right = node(node(at).next).id;
    if (const Rule* found = rule(left, right)) candidates.push({found->rank, at, left, right, found->merged});
  };
  for (size_t i = 0; i + 1 < nodes.size(); ++i) propose(static_cast<int32_t>(i));

  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Node& left = node(best.at);
    if (left.id != best.left || left.next < 0 || node(left.next).id != best.right) continue;
    Node& right = node(left.next);
    left.id = best.merged;
    left.next = right.next;
    right.id = kRemoved;
    if (left.next >= 0) node(left.next).previous = best.at;
    propose(left.previous);
    propose(best.at);
  }

  std::vector<int32_t> ids;
  for (int32_t at = piece.empty() ? -1 : 0; at >= 0; at = node(at).next) ids.push_back(node(at).id);
  return ids;
}

void Bpe::encode(std::string_view piece, std::vector<int32_t>& ids) const {
  const auto append = [&](const std::vector<int32_t>& found) {
    ids.insert(ids.end(), found.begin(), found.end());
  };
  if (piece.size() > kCachedPieceBytes) return append(merge(piece));
  const std::string key(piece);
  {
    const std::lock_guard lock(mutex_);
    const auto found = cache_.find(key);
    if (found != cache_.end()) return append(found->second);
  }
  std::vector<int32_t> merged = merge(piece);
  append(merged);
  const std::lock_guard lock(mutex_);
  if (cache_.size() < kCachedPieces) cache_.emplace(key, std::move(merged));
}

}  // namespace shardlens
