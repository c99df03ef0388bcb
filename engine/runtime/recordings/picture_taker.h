// The observer that takes a recording's pictures: of the tensors whose turn it is, with the time each took
// its rank and takes to be written, which its budget goes by.
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
  /// Of a pass's time, once the first pass is paid for. With what pictures drive out of the caches, which nobody
  /// can account for, a recorded run is to stay under 1 % slower.
  double budget_share = 0.0075;
  int64_t extent = 64;         ///< at most so many rows and columns in a picture; fewer for a large model
};

/// "off", "all", "0.75 % of step time"
std::string to_string(const PictureOptions& options);

/// Samples of the first replica. What one of another replica holds is the same but for its own batch.
class PictureTaker : public StepObserver {
 public:
  PictureTaker(const Program& program, const PictureOptions& options);

  void on_pass(int rank, uint64_t pass, bool weights_kept) override;
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  bool wants(const Tensor& tensor) const override;

  /// What was taken in the pass that has just ended in `pass_seconds`; the next one begins with nothing. Each
  /// sample will take `writing_seconds` of a processor to write, which ranks that have them all go without:
  /// the budget pays for that too. Call while the ranks stand still.
  SampleTable take(double pass_seconds, double writing_seconds = 0);
  /// What the pass taken last cost the rank it cost most.
  double seconds() const { return seconds_; }

 private:
  struct Taken {
    std::shared_ptr<const TensorSample> sample;
    double seconds = 0;
  };

  // A rank's weights as they were last seen, by the tensor that is their memory.
  struct Weights {
    std::optional<uint64_t> pass;
    bool known = false;  // the present pass began with them
    std::vector<std::shared_ptr<const TensorSample>> samples;
  };

  std::shared_ptr<const TensorSample> known_sample(int rank, StepId step, const Tensor& tensor) const;

  const Program program_;
  std::optional<PictureBudget> budget_;  ///< none: every tensor in every pass
  std::vector<SampleDetail> details_;
  std::vector<std::vector<Taken>> taken_;  ///< [rank][tensor]; each written by one thread of its rank
  std::vector<Weights> weights_;           ///< [rank], likewise
  double seconds_ = 0;
};

}  // namespace shardlens
