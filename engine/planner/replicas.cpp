// Each rank holds the gradients of its replica's rows; the sum over the replicas is the batch's. Buckets are
// filled in the order in which the backward pass completes gradients, last layer first.
#include "engine/planner/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardlens {
namespace {

struct Bucket {
  StepId after = -1;  // the step that completes its last gradient
  std::vector<TensorId> weights;
};

std::vector<Bucket> fill_buckets(Builder& b) {
  std::map<TensorId, StepId> completed;
  for (const Step& step : b.program().steps)
    for (const TensorId out : step.outputs) completed[out] = step.id;
  std::vector<TensorId> weights = b.weights();
  std::stable_sort(weights.begin(), weights.end(), [&](TensorId x, TensorId y) {
    return completed.at(b.newest_gradient(x)) < completed.at(b.newest_gradient(y));
  });
  std::vector<int64_t> bytes;
  for (const TensorId w : weights) bytes.push_back(local_bytes(b.tensor(b.newest_gradient(w)), b.ranks(), 0));
  const std::vector<size_t> bucket = bucket_of(bytes);
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (bucket[i] == buckets.size()) buckets.emplace_back();
    buckets.back().after = completed.at(b.newest_gradient(weights[i]));
    buckets.back().weights.push_back(weights[i]);
  }
  return buckets;
}

Step all_reduce(const std::string& name, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
  Step step;
  step.op = Op::AllReduce;
  step.phase = Phase::Backward;
  step.axis = Axis::Dp;
  step.block = "replicas";
  step.name = name;
  step.equation = "Σ over the replicas";
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  return step;
}

// Puts each step after the one it names and numbers all steps anew.
void insert(std::vector<Step>& steps, const std::vector<std::pair<StepId, Step>>& added) {
  std::vector<Step> result;
  std::vector<StepId> moved(steps.size());
  auto next = added.begin();
  for (Step& step : steps) {
    const StepId old = step.id;
    moved[static_cast<size_t>(old)] = static_cast<StepId>(result.size());
    result.push_back(std::move(step));
    for (; next != added.end() && next->first == old; ++next) result.push_back(next->second);
  }
  for (size_t i = 0; i < result.size(); ++i) {
    result[i].id = static_cast<StepId>(i);
    if (result[i].pair >= 0) result[i].pair = moved[static_cast<size_t>(result[i].pair)];
  }
  steps = std::move(result);
}

}  // namespace

std::vector<size_t> bucket_of(const std::vector<int64_t>& gradient_bytes) {
  std::vector<size_t> buckets;
  size_t bucket = 0;
  int64_t filled = 0;
  for (const int64_t bytes : gradient_bytes) {
    if (filled >= kBucketBytes) {
      ++bucket;
      filled = 0;
    }
    filled += bytes;
    buckets.push_back(bucket);
  }
  return buckets;
}

void reduce_over_replicas(Builder& b, TensorId loss, bool gradients) {
  if (b.settings().dp == 1) return;
  std::vector<std::pair<StepId, Step>> added;
  std::vector<Bucket> buckets;
  if (gradients) buckets = fill_buckets(b);
  for (size_t i = 0; i < buckets.size(); ++i) {
    std::vector<TensorId> before, after;
    for (const TensorId w : buckets[i].weights) {
      before.push_back(b.newest_gradient(w));
      after.push_back(b.sum_over_replicas(before.back()));
      b.supersede_gradient(w, after.back());
    }
    added.emplace_back(
        buckets[i].after,
        all_reduce(fmt::format("all-reduce gradients {} of {}", i + 1, buckets.size()), before, after));
  }
  added.emplace_back(b.program().steps.back().id,
                     all_reduce("all-reduce loss", {loss}, {b.sum_over_replicas(loss)}));
  insert(b.program().steps, added);
}

}  // namespace shardlens
