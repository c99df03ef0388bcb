// The observer that reads windows of tensors: it copies the asked rows and columns of each rank's piece while
// a pass goes by. Runs are deterministic, so these are the values of the run that is shown.
#pragma once

#include <memory>
#include <vector>

#include "engine/runtime/observer.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/tensor_window.h"

namespace shardlens {

class WindowReader : public StepObserver {
 public:
  /// Leaves out windows that are not readable.
  WindowReader(const Program& program, const std::vector<TensorWindow>& windows);

  bool wants(const Tensor& tensor) const override;
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// Takes the values out of samples instead of a pass; false if these did not keep all of them.
  bool take(const SampleTable& samples);

  /// How many steps a pass needs to show all of the windows; at least one.
  size_t steps() const { return steps_; }
  /// The values by now, with those of the run on one rank; `serial` may be null. Call it after the pass.
  std::vector<std::shared_ptr<const WindowValues>> values(const SerialReference* serial) const;

 private:
  struct Read {
    TensorWindow shown;  ///< in the tensor that a step shows: `values.window`, or its place in the storage
    WindowValues values;
  };

  const Program& program_;
  size_t steps_ = 1;
  std::vector<Read> reads_;
};

/// The serial run's values in the window of the first replica's tensor; empty if it has no such tensor.
std::vector<double> serial_values(const Program& program, const SerialReference& serial,
                                  const TensorWindow& window);

}  // namespace shardlens
