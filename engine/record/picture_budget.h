// How many pictures a recording may take. The first pass is pictured whole, so that there is something to see
// and every picture's price is known. From then on each pass earns a share of its time, and spends it on the
// next tensors in turn: a dear one is waited for, none is left out, and what the first pass cost is paid back
// before anything else.
#pragma once

#include <cstddef>
#include <vector>

namespace shardlens {

class PictureBudget {
 public:
  /// `share` of a pass's time, such as 0.01. `order`: the tensors that may be pictured, as they come in turn.
  PictureBudget(double share, std::vector<int> order, size_t tensors);

  /// By TensorId: what the next pass pictures.
  const std::vector<bool>& wanted() const { return wanted_; }
  /// A pass is over, which took so long, and the picture of each tensor in it. By TensorId; 0 where there was
  /// none.
  void pass_done(double pass_seconds, const std::vector<double>& picture_seconds);

 private:
  double share_;
  std::vector<int> order_;
  std::vector<bool> wanted_;
  std::vector<double> price_seconds_;  ///< of a picture, when it was last taken
  double earned_seconds_ = 0;          ///< and not spent; negative: owed
  size_t turn_ = 0;                    ///< in order_
};

}  // namespace shardlens
