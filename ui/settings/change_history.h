// The values that a person chose one after another, such as the settings that were run, so that a change can
// be undone and redone.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace shardlens::ui {

template <class Value>
class ChangeHistory {
 public:
  /// Call it when `value` is chosen. `grip` identifies one press of the mouse button and is 0 if no button is
  /// pressed: all changes during one drag count as one change.
  void chose(const Value& value, double grip) {
    const bool was_refused = std::exchange(refused_, false);
    if (!values_.empty() && value == values_[at_])
      return;  // the same again, or what undo() or redo() returned
    const bool goes_on = grip != 0 && grip == grip_ && !was_refused && can_undo() && !can_redo();
    grip_ = grip;
    if (!values_.empty()) values_.resize(goes_on ? at_ : at_ + 1);
    values_.push_back(value);
    at_ = values_.size() - 1;
  }

  /// Call it when `value` turns out to be impossible: undo and redo then pass over it.
  void refused(const Value& value) {
    if (refused_ || values_.empty() || values_[at_] != value) return;
    if (at_ == 0) return values_.clear();
    values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(at_));
    --at_;
    refused_ = true;
  }

  size_t at() const { return at_; }  ///< the index of the present value
  bool can_undo() const { return refused_ || at_ > 0; }
  bool can_redo() const { return !refused_ && at_ + 1 < values_.size(); }
  /// True if undo() would return `value`.
  bool would_undo_to(const Value& value) const { return can_undo() && values_[before()] == value; }
  /// Return the value to use now. Call them only if can_undo() or can_redo().
  const Value& undo() {
    at_ = before();
    refused_ = false;
    return values_[at_];
  }
  const Value& redo() { return values_[++at_]; }

 private:
  size_t before() const { return refused_ ? at_ : at_ - 1; }

  std::vector<Value> values_;  ///< in the order they were chosen
  size_t at_ = 0;              ///< index of the present value; if that was refused, of the one before
  bool refused_ = false;       ///< the present value is impossible, and not in the list
  double grip_ = 0;
};

}  // namespace shardlens::ui
