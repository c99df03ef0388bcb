// Passes over a text that grows.
#include "engine/train/generator.h"

#include <fmt/format.h>

#include <cstring>

#include "engine/config/error.h"
#include "engine/planner/planner.h"
#include "engine/runtime/plan.h"
#include "engine/train/model_state.h"

namespace shardlens {
namespace {

Settings one_text(Settings settings) {
  if (settings.model.architecture != Architecture::Gpt)
    throw request_error(
        fmt::format("{} is an encoder and writes no text; choose a GPT model", settings.model.title));
  settings.block = Block::Model;
  settings.dp = 1;
  settings.batch = 1;
  settings.micro_batches = 1;
  return settings;
}

}  // namespace

Generator::Generator(Settings settings) : capacity_(settings.seq) {
  settings = one_text(std::move(settings));
  plan_ = make_plan(plan_evaluation(settings));
  check_runnable(*plan_);
  executor_ = std::make_unique<Executor>(plan_);
  executor_->wait();
  for (const Tensor& tensor : plan_->program.tensors)
    if (tensor.name == "logits") logits_ = tensor.id;
}

void Generator::run_pass(const Batch& batch) {
  PassInputs inputs;
  inputs.batch = std::make_shared<const Batch>(batch);
  executor_->next_pass(inputs);
  executor_->start(executor_->steps());
  executor_->wait();
}

std::vector<double> Generator::logits_of_row(int64_t row) const {
  const Tensor& tensor = plan_->program.tensor(logits_);
  const std::vector<std::byte> whole = read_whole(*executor_, plan_->program, logits_);
  const auto words = static_cast<size_t>(plan_->program.settings.model.vocab);
  const auto first = static_cast<size_t>(row * tensor.shape[1]);
  std::vector<double> logits(words);
  for (size_t i = 0; i < words; ++i) logits[i] = element_of(tensor.dtype, whole.data(), first + i);
  return logits;
}

std::vector<double> Generator::feed(std::span<const int32_t> tokens) {
  const int64_t words = plan_->program.settings.model.vocab;
  for (const int32_t id : tokens) {
    if (id < 0 || id >= words)
      throw request_error(fmt::format("token {} is not one of the {} of the model", id, words));
  }
  const auto added = static_cast<int64_t>(tokens.size());
  if (added == 0) throw request_error("there is no token to go on from; give at least one");
  if (length() + added > capacity_) {
    throw request_error(
        fmt::format("a text of {} tokens is longer than the {} there is room for; give a shorter prompt",
                    length() + added, capacity_));
  }
  text_.insert(text_.end(), tokens.begin(), tokens.end());
  Batch batch;
  batch.tokens = text_;
  batch.tokens.resize(static_cast<size_t>(capacity_), 0);  // what comes later is seen by no token before it
  batch.labels.assign(static_cast<size_t>(capacity_), kIgnoredLabel);
  run_pass(batch);
  return logits_of_row(length() - 1);
}

}  // namespace shardlens
