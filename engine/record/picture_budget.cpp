// Implements how passes earn time and spend it on pictures.
#include "engine/record/picture_budget.h"

#include <algorithm>
#include <utility>

namespace shardlens {

PictureBudget::PictureBudget(double share, std::vector<int> order, size_t tensors)
    : share_(share), order_(std::move(order)), wanted_(tensors, false), price_seconds_(tensors, 0) {
  for (const int tensor : order_) wanted_[static_cast<size_t>(tensor)] = true;
}

void PictureBudget::pass_done(double pass_seconds, const std::vector<double>& picture_seconds) {
  double round_seconds = 0;  // the cost of picturing every tensor once
  earned_seconds_ += share_ * pass_seconds;
  for (const int tensor : order_) {
    const auto id = static_cast<size_t>(tensor);
    if (wanted_[id]) {
      price_seconds_[id] = picture_seconds[id];
      earned_seconds_ -= picture_seconds[id];
    }
    round_seconds += price_seconds_[id];
  }
  // Savings are limited to one round, because a pass takes each picture at most once.
  earned_seconds_ = std::min(earned_seconds_, round_seconds);
  std::fill(wanted_.begin(), wanted_.end(), false);
  double left = earned_seconds_;
  for (size_t taken = 0; taken < order_.size(); ++taken) {
    const auto next = static_cast<size_t>(order_[turn_]);
    if (left <= 0 || price_seconds_[next] > left) break;
    left -= price_seconds_[next];
    wanted_[next] = true;
    turn_ = (turn_ + 1) % order_.size();
  }
}

}  // namespace shardlens
