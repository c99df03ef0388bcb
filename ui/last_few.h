// What follows from a plan and is asked for in every frame, made once: the last few answers are remembered,
// since a few plans may be looked at side by side.
#pragma once

#include <list>

namespace shardlens::ui {

template <class Value>
class LastFew {
 public:
  /// The remembered value that `is_it`, else a new one from `make`, which takes the oldest one's place. Stays
  /// where it is until kKept others have been asked for.
  template <class IsIt, class Make>
  const Value& of(const IsIt& is_it, const Make& make) {
    for (auto value = values_.begin(); value != values_.end(); ++value) {
      if (!is_it(*value)) continue;
      values_.splice(values_.begin(), values_, value);
      return values_.front();
    }
    values_.push_front(make());
    if (values_.size() > kKept) values_.pop_back();
    return values_.front();
  }

 private:
  static constexpr size_t kKept = 6;
  std::list<Value> values_;
};

}  // namespace shardlens::ui
