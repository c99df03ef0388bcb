// The observer that takes a recording's pictures, of the tensors whose turn it is. It measures the time that
// each picture takes the rank, with the copy from its device, and the time to write it; the budget depends on
// these.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/picture_budget.h"
#include "engine/record/sample.h"
#include "engine/runtime/observer.h"

namespace shardlens {

struct PictureOptions {
  enum class Taken { Off, UnderBudget, All };
  Taken taken = Taken::UnderBudget;
  /// The share of a pass's time, after the first pass's debt is paid. Pictures also evict data from the
  /// caches, which cannot be counted; with that, a recorded run should stay under 1 % slower.
  double budget_share = 0.0075;
  int64_t extent = 64;  ///< the most rows and columns in a picture; fewer for a large model
};

/// "off", "all", "0.75 % of step time"
std::string to_string(const PictureOptions& options);

/// Takes samples of the first replica. The other replicas hold the same, except for their own batches.
class PictureTaker : public StepObserver {
 public:
  PictureTaker(const Program& program, const PictureOptions& options);

  void on_pass(int rank, uint64_t pass, bool weights_kept) override;
  void on_copy(int rank, const Tensor& tensor, double seconds) override;
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  bool wants(const Tensor& tensor) const override;

  /// Returns what was taken in the pass that has just ended, in `pass_seconds`; the next pass begins empty.
  /// To write a sample takes `writing_seconds` of a processor. If the ranks use all processors they lose that
  /// time, so the budget pays for it too. Call while the ranks stand still.
  SampleTable take(double pass_seconds, double writing_seconds = 0);
  /// The picture time of the last pass, of the rank with the most.
  double seconds() const { return seconds_; }

 private:
  struct Taken {
    std::shared_ptr<const TensorSample> sample;
    double seconds = 0;
  };

  // A rank's weights when they were last seen, by the tensor that owns their memory.
  struct Weights {
    std::optional<uint64_t> pass;
    bool known = false;  // the present pass began with them
    std::vector<std::shared_ptr<const TensorSample>> samples;
  };

  std::shared_ptr<const TensorSample> known_sample(int rank, StepId step, const Tensor& tensor) const;

  const Program program_;
  std::optional<PictureBudget> budget_;  ///< none: every tensor in every pass
  std::vector<SampleDetail> details_;
  std::vector<std::vector<Taken>> taken_;  ///< [rank][tensor]; only one thread of each rank writes it
  std::vector<Weights> weights_;           ///< [rank]; the same
  double seconds_ = 0;
};

}  // namespace shardlens
