// Generates text token by token, on T ranks. Each rank caches the keys and values of its own heads, so that a
// pass computes only the new tokens: the prompt in one pass or a few, then one token per pass. The passes are
// Programs of different lengths that share the same weights and the same cache.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/runtime/executor.h"

namespace shardlens {

class Generator {
 public:
  /// Settings of a GPT model. settings.seq is the longest text that the cache has room for. Batch and D are
  /// taken as 1. Throws a request Error for an encoder and for settings that cannot be run.
  ///
  /// A text ends at the last of the model's positions. A sliding window would move every kept token to
  /// another position, and all keys and values would have to be computed again for each token. To continue a
  /// text, begin a new one from the end of the old one.
  explicit Generator(Settings settings);

  /// Appends tokens and returns the logits of the next token, [vocab]. The next call overwrites them. Throws
  /// a request Error if the text becomes longer than capacity() or if a token is not in the model's
  /// vocabulary. Throws a run Error that names step and tensor if a logit is no number; the generator can
  /// then not be used any more.
  const std::vector<double>& feed(std::span<const int32_t> tokens);

  /// Chooses the next token from its logits [vocab]; nothing ends the text.
  using Choose = std::function<std::optional<int32_t>(const std::vector<double>& logits)>;
  /// Continues the fed text token by token. Each token is appended as feed() does, and `choose` is called for
  /// the next one, usually on a rank's own thread (Executor::run_passes()). Throws what feed() and `choose`
  /// throw; the text then has the tokens whose passes had ended.
  void write(const Choose& choose);

  /// Copies the weights of `from`, which runs `program` of the same model on the same T and must be idle.
  void take_weights(const Executor& from, const Program& program);
  /// Traces the passes over one token from now on, or not; not traced at the beginning, because on a GPU the
  /// events cost more than a short step. See Executor::set_traced().
  void set_traced(bool traced) { one_token_.executor->set_traced(traced); }
  /// The next token fed is the first of a new text.
  void begin_anew() { length_ = 0; }

  int64_t length() const { return length_; }  ///< tokens fed so far
  int64_t capacity() const { return settings_.cache_tokens; }
  const Plan& plan() const { return *one_token_.plan; }  ///< the plan of a pass over one token
  /// The executor of passes over one token. Its memory holds the weights and the cache.
  const Executor& executor() const { return *one_token_.executor; }

 private:
  /// A Program over a number of new tokens, ready to run.
  struct Pass {
    std::shared_ptr<const Plan> plan;
    std::unique_ptr<Executor> executor;
    TensorId logits = kNoTensor;
  };

  std::shared_ptr<const Plan> plan_of(int64_t new_tokens) const;
  static void set_plan(Pass& pass, std::shared_ptr<const Plan> plan);
  void require_fits(std::span<const int32_t> tokens) const;
  PassInputs inputs_of(std::span<const int32_t> tokens) const;
  void run(Pass& pass, std::span<const int32_t> tokens);
  void require_numbers(Pass& pass, const PassInputs& inputs, const std::vector<double>& logits);
  const std::vector<double>& logits_after(const Pass& pass);

  Settings settings_;
  int64_t length_ = 0;
  Pass one_token_;
  // Kept between passes, because the system would otherwise allocate and free memory of this size each time.
  std::vector<double> logits_;
  std::vector<std::byte> slice_;
};

}  // namespace shardlens
