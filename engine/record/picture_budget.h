// Limits the time that a recording spends on pictures. The first pass pictures every tensor, so that there is
// something to see and the price of every picture is known. From then on each pass earns a share of its time
// and spends it on the next tensors in turn. The budget saves up for an expensive picture, so no tensor is
// left out. The cost of the first pass is paid back before anything else.
#pragma once

#include <cstddef>
#include <vector>

namespace shardlens {

class PictureBudget {
 public:
  /// `share`: the share of a pass's time, such as 0.01. `order`: the tensors that may be pictured, in turn.
  PictureBudget(double share, std::vector<int> order, size_t tensors);

  /// By TensorId: the tensors that the next pass pictures.
  const std::vector<bool>& wanted() const { return wanted_; }
  /// Call after each pass with its time and the time of each tensor's picture in it, by TensorId; 0 if there
  /// was none.
  void pass_done(double pass_seconds, const std::vector<double>& picture_seconds);

 private:
  double share_;
  std::vector<int> order_;
  std::vector<bool> wanted_;
  std::vector<double> price_seconds_;  ///< the price of a picture when it was last taken
  double earned_seconds_ = 0;          ///< earned but not spent; negative: owed
  size_t turn_ = 0;                    ///< the next index in order_
};

}  // namespace shardlens
