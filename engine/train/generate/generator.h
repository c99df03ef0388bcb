// Writing text token by token, on T ranks. Each rank keeps the keys and values of its own heads, so that a
// pass computes the new tokens alone: the prompt in one pass or a few, then one token a pass. The passes are
// Programs of different lengths over the same weights and the same cache.
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
  /// Settings of a GPT model; settings.seq is the longest text, which the cache has room for; batch and D are
  /// taken as 1. Throws a request Error for an encoder and for what cannot be run.
  ///
  /// A text ends where the model's positions do. To slide on, every token kept would have to move to another
  /// position and all keys and values be computed again, for each token: whoever wants that begins a new text
  /// from the end of the old one.
  explicit Generator(Settings settings);

  /// Appends tokens and returns the logits of the one that follows, [vocab]; the next call writes its own
  /// there. Throws a request Error when the text grows longer than capacity() or a token is not the model's.
  const std::vector<double>& feed(std::span<const int32_t> tokens);

  /// The token that follows, of its logits [vocab], or nothing: the text ends.
  using Choose = std::function<std::optional<int32_t>(const std::vector<double>& logits)>;
  /// Goes on from what was fed, token after token: each is appended as feed() would, and `choose` is asked
  /// for the next, mostly on a rank's own thread (Executor::run_passes()). Throws as feed() does, and what
  /// `choose` throws; the text then has the tokens whose pass had ended.
  void write(const Choose& choose);

  /// Copies the weights of `from`, which runs `program` of the same model on the same T and stands idle.
  void take_weights(const Executor& from, const Program& program);
  /// The next token fed is the first of a new text.
  void begin_anew() { length_ = 0; }

  int64_t length() const { return length_; }  ///< tokens fed so far
  int64_t capacity() const { return settings_.cache_tokens; }
  const Plan& plan() const { return *one_token_.plan; }  ///< of a pass over one token
  /// Runs passes over one token; its memory holds the weights and the cache.
  const Executor& executor() const { return *one_token_.executor; }

 private:
  /// A Program over a number of new tokens, ready to run.
  struct Pass {
    std::shared_ptr<const Plan> plan;
    std::unique_ptr<Executor> executor;
  };

  std::shared_ptr<const Plan> plan_of(int64_t new_tokens) const;
  void require_fits(std::span<const int32_t> tokens) const;
  PassInputs inputs_of(std::span<const int32_t> tokens) const;
  void run(Pass& pass, std::span<const int32_t> tokens);
  const std::vector<double>& logits_after(const Pass& pass);

  Settings settings_;
  int64_t length_ = 0;
  Pass one_token_;
  // Kept, since memory of this size is the system's to give and to take back each time.
  std::vector<double> logits_;
  std::vector<std::byte> slice_;
};

}  // namespace shardlens
