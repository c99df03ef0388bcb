// Writing text token by token, on T ranks: a forward pass over the whole text for each token.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/runtime/executor.h"

namespace shardlens {

class Generator {
 public:
  /// Settings of a GPT model; settings.seq is the longest text, batch and D are taken as 1. Throws a request
  /// Error for an encoder and for what cannot be run.
  explicit Generator(Settings settings);

  /// Appends tokens and returns the logits of the one that follows, [vocab]. Throws a request Error when the
  /// text grows longer than capacity() or a token is not the model's.
  std::vector<double> feed(std::span<const int32_t> tokens);

  int64_t length() const { return static_cast<int64_t>(text_.size()); }  ///< tokens fed so far
  int64_t capacity() const { return capacity_; }
  const Plan& plan() const { return *plan_; }

 private:
  void run_pass(const Batch& batch);
  std::vector<double> logits_of_row(int64_t row) const;

  int64_t capacity_;
  std::vector<int32_t> text_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Executor> executor_;
  TensorId logits_ = kNoTensor;
};

}  // namespace shardlens
