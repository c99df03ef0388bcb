// A small cache for what is derived from a plan or a result and needed in every frame.
#pragma once

#include <list>
#include <utility>

namespace shardlens::ui {

/// Keeps the answers to the last `kKept` keys. `Key` holds everything the answer depends on. Plans and
/// results are compared by address, so the key keeps them alive as long as their answer.
template <class Key, class Value, size_t kKept = 1>
class Cache {
 public:
  /// The answer to `key`; calls `make` only if it is not cached. A new answer replaces the least recently
  /// used one. The reference stays valid until kKept other keys have been asked for.
  template <class Make>
  const Value& of(const Key& key, const Make& make) {
    for (auto known = known_.begin(); known != known_.end(); ++known) {
      if (known->first != key) continue;
      known_.splice(known_.begin(), known_, known);
      return known_.front().second;
    }
    known_.emplace_front(key, make());
    if (known_.size() > kKept) known_.pop_back();
    return known_.front().second;
  }

 private:
  std::list<std::pair<Key, Value>> known_;
};

/// The most plans that are shown side by side.
constexpr size_t kPlansAtOnce = 6;

}  // namespace shardlens::ui
