// Each rank holds the gradients of its own tokens, each replica those of its own rows. Their sums are the
// gradients of the whole batch. Buckets are filled in the order in which the backward pass completes
// gradients, last layer first.
#include "engine/planner/gradient_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardlens {
namespace {

struct Bucket {
  StepId after = -1;  // the step that completes its last gradient
  std::vector<TensorId> weights;
};

// The step that completes each of `weights`' gradients, with the weight, in the order of the steps.
std::vector<std::pair<StepId, TensorId>> completions(Builder& b, const std::vector<TensorId>& weights) {
  std::map<TensorId, StepId> written;
  for (const Step& step : b.program().steps)
    for (const TensorId out : step.outputs) written[out] = step.id;
  std::vector<std::pair<StepId, TensorId>> result;
  for (const TensorId w : weights) result.emplace_back(written.at(b.newest_gradient(w)), w);
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& other) { return a.first < other.first; });
  return result;
}

std::vector<Bucket> fill_buckets(Builder& b) {
  const auto completed = completions(b, b.weights());
  std::vector<int64_t> bytes;  // on rank 0
  for (const auto& [step, w] : completed)
    bytes.push_back(local_bytes(b.tensor(b.newest_gradient(w)), b.tp(), 0));
  const std::vector<size_t> bucket = bucket_of(bytes);
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < completed.size(); ++i) {
    if (bucket[i] == buckets.size()) buckets.emplace_back();
    buckets.back().after = completed[i].first;
    buckets.back().weights.push_back(completed[i].second);
  }
  return buckets;
}

Step all_reduce(Axis axis, const std::string& name, std::vector<TensorId> inputs,
                std::vector<TensorId> outputs) {
  Step step;
  step.id = -1;  // until insert() numbers the steps
  step.op = Op::AllReduce;
  step.phase = Phase::Backward;
  step.axis = axis;
  step.overlapped = axis == Axis::Dp;  // the backward pass goes on while a bucket is sent
  step.part = axis == Axis::Dp ? Part::Replicas : Part::Gradients;
  step.name = name;
  step.equation = axis == Axis::Dp ? "Σ over the replicas" : "Σ over the ranks' tokens";
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  return step;
}

// Inserts each step after the step whose id it is paired with.
void insert(std::vector<Step>& steps, const std::vector<std::pair<StepId, Step>>& added) {
  std::vector<Step> result;
  auto next = added.begin();
  for (Step& step : steps) {
    const StepId id = step.id;
    result.push_back(std::move(step));
    for (; next != added.end() && next->first == id; ++next) result.push_back(next->second);
  }
  renumber(result);
  steps = std::move(result);
}

}  // namespace

std::string replica_value(const Builder& b, const std::string& name) {
  return b.settings().dp > 1 ? name + "@replica" : name;
}

std::string part_value(const Builder& b, const std::string& name) {
  return replica_value(b, b.settings().micro_batches > 1 ? name + ".part" : name);
}

void reduce_over_ranks(Builder& b) {
  std::vector<TensorId> partial;
  for (const TensorId w : b.weights())
    if (b.has_gradient(w) && b.tensor(b.newest_gradient(w)).layout.kind == LayoutKind::Partial)
      partial.push_back(w);
  const auto copies = [&](TensorId w) { return b.tensor(w).layout.copies; };
  std::vector<Bucket> buckets;
  for (const auto& [step, w] : completions(b, partial)) {
    const auto layer_of = [&](StepId id) { return b.program().step(id).layer; };
    const bool joins = !buckets.empty() && layer_of(buckets.back().after) == layer_of(step) &&
                       copies(buckets.back().weights.back()) == copies(w);
    if (!joins) buckets.emplace_back();
    buckets.back().after = step;
    buckets.back().weights.push_back(w);
  }
  std::vector<std::pair<StepId, Step>> added;
  for (const Bucket& bucket : buckets) {
    std::vector<TensorId> before, after;
    for (const TensorId w : bucket.weights) {
      before.push_back(b.newest_gradient(w));
      after.push_back(b.sum_over_ranks(before.back()));
      if (b.settings().dp > 1) b.rename(before.back(), replica_value(b, b.tensor(before.back()).name));
      b.supersede_gradient(w, after.back());
    }
    const int layer = b.program().step(bucket.after).layer;
    const std::string where = layer >= 0 ? fmt::format(" of layer {}", layer) : "";
    const bool of_slices = copies(bucket.weights.front()) > 1;
    const std::string what = of_slices ? "all-reduce key and value gradients" : "all-reduce gradients";
    Step step = all_reduce(Axis::Tp, what + where, before, after);
    if (of_slices) step.equation = "Σ over the ranks with the same key heads";
    step.layer = layer;
    added.emplace_back(bucket.after, std::move(step));
  }
  insert(b.program().steps, added);
}

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
        all_reduce(Axis::Dp, fmt::format("all-reduce gradients {} of {}", i + 1, buckets.size()), before,
                   after));
  }
  added.emplace_back(b.program().steps.back().id,
                     all_reduce(Axis::Dp, "all-reduce loss", {loss}, {b.sum_over_replicas(loss)}));
  insert(b.program().steps, added);
}

}  // namespace shardlens
