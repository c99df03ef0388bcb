// Runs a forward pass and reads its results.
#include "engine/train/forward_pass.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/planner/planner.h"
#include "engine/runtime/not_finite.h"
#include "engine/runtime/plan.h"
#include "engine/train/model_state.h"

namespace shardlens {
namespace {

Settings in_one_part(Settings settings) {
  settings.micro_batches = 1;
  return settings;
}

int64_t counted_labels(const std::vector<int32_t>& labels) {
  return static_cast<int64_t>(labels.size()) - std::count(labels.begin(), labels.end(), kIgnoredLabel);
}

double mean_of(double sum, int64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace

LossSums& LossSums::operator+=(const LossSums& other) {
  nats += other.nats;
  tokens += other.tokens;
  order_nats += other.order_nats;
  orders += other.orders;
  return *this;
}

double LossSums::mean() const {
  const LossParts parts = mean_parts();
  return parts.words + parts.sentences;
}

LossParts LossSums::mean_parts() const {
  return {mean_of(nats, tokens), mean_of(order_nats, orders)};
}

// Gathers two numbers per token that the fused loss reduces anyway, the maximum and the label's logit. If
// they are equal, the label is the likeliest token.
ForwardPass::ForwardPass(const Settings& settings)
    : plan_(make_plan(plan_evaluation(in_one_part(settings)))),
      largest_and_target_(std::make_shared<Gather>(plan_->program.tp(), [](const Tensor& tensor) {
        return (tensor.role == Role::RowMaximum || tensor.role == Role::TargetLogit) &&
               tensor.layout.kind != LayoutKind::Partial;
      })) {
  check_runnable(*plan_);
  executor_ = std::make_unique<Executor>(plan_);
  executor_->observe({largest_and_target_});
  executor_->wait();
  loss_ = kept_result(plan_->program, Role::Loss);
}

void ForwardPass::take_weights(const Executor& from, const Program& program) {
  copy_weights(from, program, *executor_, plan_->program);
}

LossSums ForwardPass::run(Batch rows) {
  LossSums sums;
  sums.tokens = counted_labels(rows.labels);
  sums.orders = counted_labels(rows.sentence_labels);
  PassInputs inputs;
  inputs.batch = std::make_shared<const Batch>(padded_batch(settings(), std::move(rows)));
  executor_->next_pass(inputs);
  executor_->start(executor_->steps());
  executor_->wait();
  const double loss = read_scalar(*executor_, plan_->program, loss_);
  require_finite(loss, "the loss of these rows", *executor_, plan_->program, inputs);
  const LossParts parts = read_loss_parts(*executor_, plan_->program).value_or(LossParts{loss, 0});
  sums.nats = parts.words * static_cast<double>(sums.tokens);
  sums.order_nats = parts.sentences * static_cast<double>(sums.orders);
  return sums;
}

bool ForwardPass::likeliest(const std::string& module, int64_t place) const {
  const int64_t per_replica = largest_and_target_->tensors().at(module + ".max").shape[0];
  const auto replica = static_cast<int>(place / per_replica);
  const auto at = static_cast<size_t>(place % per_replica);
  const auto& tensors = largest_and_target_->tensors(replica);
  const GatheredTensor& largest = tensors.at(module + ".max");
  const GatheredTensor& target = tensors.at(module + ".target");
  const auto element = static_cast<size_t>(element_bytes(largest.dtype));
  return std::memcmp(largest.bytes.data() + at * element, target.bytes.data() + at * element, element) == 0;
}

}  // namespace shardlens
