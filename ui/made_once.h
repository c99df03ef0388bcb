// What follows from something and is asked for in every frame, made once: as long as the same is asked for,
// the same answer is given.
#pragma once

#include <list>
#include <utility>

namespace shardlens::ui {

/// `Key`: all that the answer follows from; a plan or a result is the same when it is the same object, so it
/// is kept as long as its answer is. `kKept`: so many answers, where a few plans are looked at side by side.
template <class Key, class Value, size_t kKept = 1>
class MadeOnce {
 public:
  /// The answer to `key`, from `make` unless it is known; a new one takes the place of the one that was asked
  /// for the longest time ago. Stays where it is until kKept others have been asked for.
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

/// For as many plans as are looked at side by side.
constexpr size_t kBesideEachOther = 6;

}  // namespace shardlens::ui
