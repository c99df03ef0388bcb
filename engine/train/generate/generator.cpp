// Runs passes over a growing text.
#include "engine/train/generate/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/runtime/not_finite.h"
#include "engine/runtime/plan.h"
#include "engine/train/model_state.h"

namespace shardlens {
namespace {

// A longer prompt is run in several passes, which limits the memory that a pass needs in addition to weights
// and cache.
constexpr int64_t kLongestPass = 256;

Settings one_text(Settings settings) {
  if (settings.model.objective != Objective::NextToken)
    throw request_error(
        fmt::format("{} is an encoder and cannot write text; choose a GPT model", settings.model.title));
  settings.block = Block::Model;
  settings.dp = 1;
  settings.batch = 1;
  settings.micro_batches = 1;
  settings.cache_tokens = settings.seq;
  return settings;
}

/// 0 if all logits are numbers, else one that is not.
double odd_one_of(const std::vector<double>& logits) {
  int64_t odd = 0;  // counted, because a search that ends early takes longer
  for (const double logit : logits) odd += std::isfinite(logit) ? 0 : 1;
  if (odd == 0) return 0;
  return *std::find_if(logits.begin(), logits.end(), [](double logit) { return !std::isfinite(logit); });
}

}  // namespace

Generator::Generator(Settings settings) : settings_(one_text(std::move(settings))) {
  check_runnable(*plan_of(std::min(kLongestPass, capacity())));
  set_plan(one_token_, plan_of(1));
  one_token_.executor = std::make_unique<Executor>(one_token_.plan);
  one_token_.executor->wait();
  set_traced(false);
}

void Generator::set_plan(Pass& pass, std::shared_ptr<const Plan> plan) {
  pass.plan = std::move(plan);
  pass.logits = kept_result(pass.plan->program, Role::Logits);
}

void Generator::take_weights(const Executor& from, const Program& program) {
  copy_weights(from, program, *one_token_.executor, one_token_.plan->program);
}

std::shared_ptr<const Plan> Generator::plan_of(int64_t new_tokens) const {
  Settings settings = settings_;
  settings.seq = new_tokens;
  return make_plan(plan_program(settings));
}

PassInputs Generator::inputs_of(std::span<const int32_t> tokens) const {
  Batch batch;
  batch.tokens.assign(tokens.begin(), tokens.end());
  batch.positions.resize(tokens.size());
  std::iota(batch.positions.begin(), batch.positions.end(), static_cast<int32_t>(length_));
  PassInputs inputs;
  inputs.batch = std::make_shared<const Batch>(std::move(batch));
  return inputs;
}

void Generator::run(Pass& pass, std::span<const int32_t> tokens) {
  const PassInputs inputs = inputs_of(tokens);
  pass.executor->next_pass(inputs);
  pass.executor->start(pass.executor->steps());
  pass.executor->wait();
  require_numbers(pass, inputs, logits_after(pass));
  length_ += static_cast<int64_t>(tokens.size());
}

// The pass can be run again, because it writes the same rows of the cache.
void Generator::require_numbers(Pass& pass, const PassInputs& inputs, const std::vector<double>& logits) {
  require_finite(odd_one_of(logits), "a logit of the next token", *pass.executor, pass.plan->program, inputs);
}

const std::vector<double>& Generator::logits_after(const Pass& pass) {
  const Program& program = pass.plan->program;
  const Tensor& tensor = program.tensor(pass.logits);
  logits_.resize(static_cast<size_t>(tensor.shape[1]));
  for (int rank = 0; rank < program.tp(); ++rank) {
    slice_.resize(static_cast<size_t>(local_bytes(tensor, program.tp(), rank)));
    pass.executor->read_tensor(rank, tensor.id, slice_.data());
    for (const Placement& place : placements(tensor, program.tp(), rank))
      elements_of(tensor.dtype, slice_.data() + place.local_cols.begin * element_bytes(tensor.dtype),
                  static_cast<size_t>(place.cols.size()), logits_.data() + place.cols.begin);
    if (tensor.layout.kind == LayoutKind::Replicated) break;
  }
  logits_.resize(static_cast<size_t>(program.settings.model.vocab));  // without padding
  return logits_;
}

void Generator::require_fits(std::span<const int32_t> tokens) const {
  const int64_t words = settings_.model.vocab;
  for (const int32_t id : tokens) {
    if (id < 0 || id >= words)
      throw request_error(fmt::format("token {} is outside the model's vocabulary of {} tokens", id, words));
  }
  const auto added = static_cast<int64_t>(tokens.size());
  if (added == 0) throw request_error("there is no token to continue from; give at least one");
  if (length() + added > capacity()) {
    throw request_error(
        fmt::format("a text of {} tokens is longer than the {} tokens that fit; give a shorter prompt",
                    length() + added, capacity()));
  }
}

void Generator::write(const Choose& choose) {
  bool is_fed = true;  // true if feed() appended the last token
  std::optional<PassInputs> last;
  one_token_.executor->run_passes([&]() -> std::optional<PassInputs> {
    if (!is_fed) {
      if (odd_one_of(logits_after(one_token_)) != 0) return std::nullopt;  // said below, between passes
      ++length_;
    }
    const std::optional<int32_t> token = choose(logits_);
    if (!token) return std::nullopt;
    is_fed = false;
    const std::span<const int32_t> tokens(&*token, 1);
    require_fits(tokens);
    last = inputs_of(tokens);
    return last;
  });
  if (last) require_numbers(one_token_, *last, logits_);
}

const std::vector<double>& Generator::feed(std::span<const int32_t> tokens) {
  require_fits(tokens);
  Pass many;  // reused: all parts of a long prompt except the last have the same length
  for (;;) {
    const int64_t count = std::min(kLongestPass, static_cast<int64_t>(tokens.size()));
    if (count > 1 && (!many.plan || many.plan->program.settings.seq != count)) {
      many.executor.reset();
      set_plan(many, plan_of(count));
      many.executor = std::make_unique<Executor>(many.plan, *one_token_.executor);
      many.executor->set_traced(false);
    }
    Pass& pass = count > 1 ? many : one_token_;
    run(pass, tokens.first(static_cast<size_t>(count)));
    tokens = tokens.subspan(static_cast<size_t>(count));
    if (tokens.empty()) return logits_;
  }
}

}  // namespace shardlens
