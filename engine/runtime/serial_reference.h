// The values that a sharded run should have. A run on one rank leaves every value that it computed here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/runtime/observer.h"

namespace shardlens {

/// A whole tensor of a run on one rank, row-major.
struct SerialValue {
  DType dtype = DType::Fp32;
  std::vector<std::byte> bytes;
  int64_t count = 0;  ///< elements
  double rms = 0;     ///< root mean square of the elements; 0 of integers
};

/// All values of a run on one rank, by Tensor::value. It is also the observer that collects them.
class SerialReference : public StepObserver {
 public:
  bool wants(const Tensor& tensor) const override { return tensor.kind != MemoryKind::Workspace; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// Null if the serial run has no such value.
  const SerialValue* value(const std::string& name) const;
  const std::vector<std::byte>* find(const std::string& name) const;
  /// The elements of a value; empty if the serial run has no such value.
  std::vector<double> numbers(const std::string& name) const;

 private:
  std::map<std::string, SerialValue> values_;
};

}  // namespace shardlens
