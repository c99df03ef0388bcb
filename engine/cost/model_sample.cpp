// Small models planned.
#include "engine/cost/model_sample.h"

#include <algorithm>
#include <map>

#include "engine/planner/planner.h"
#include "engine/planner/gradient_sums.h"

namespace shardlens {
namespace {

// Figures grow evenly from two layers and two parts of a batch on: the first ones differ from the others.
constexpr int64_t kBase = 2;

// figure(n), from figure(kBase) and figure(kBase + 1) where n is larger.
template <class Figure>
ModelSample along(int64_t n, const Figure& figure) {
  if (n <= kBase + 1) return figure(n);
  ModelSample sample = figure(kBase + 1), step = figure(kBase);
  step *= -1;
  step += sample;
  step *= n - kBase - 1;
  sample += step;
  return sample;
}

}  // namespace

void CostSum::add(const Step& step, const StepCost& cost) {
  flops += cost.flops;
  causal_flops += cost.causal_flops;
  touched_bytes += cost.touched_bytes;
  const bool among_replicas = step.axis == Axis::Dp;
  if (is_collective(step.op)) {
    ++(among_replicas ? dp_collectives : tp_collectives);
    (among_replicas ? dp_sent_bytes : tp_sent_bytes) += cost.sent_bytes;
  }
  (step.phase == Phase::Update ? update_seconds
   : among_replicas            ? dp_seconds
   : is_collective(step.op)    ? tp_seconds
                               : compute_seconds) += cost.predicted_seconds;
}

CostSum& CostSum::operator+=(const CostSum& other) {
  flops += other.flops;
  causal_flops += other.causal_flops;
  touched_bytes += other.touched_bytes;
  tp_collectives += other.tp_collectives;
  tp_sent_bytes += other.tp_sent_bytes;
  dp_collectives += other.dp_collectives;
  dp_sent_bytes += other.dp_sent_bytes;
  compute_seconds += other.compute_seconds;
  tp_seconds += other.tp_seconds;
  dp_seconds += other.dp_seconds;
  update_seconds += other.update_seconds;
  return *this;
}

CostSum& CostSum::operator*=(int64_t factor) {
  for (int64_t* figure : {&flops, &causal_flops, &touched_bytes, &tp_collectives, &tp_sent_bytes,
                          &dp_collectives, &dp_sent_bytes})
    *figure *= factor;
  for (double* seconds : {&compute_seconds, &tp_seconds, &dp_seconds, &update_seconds})
    *seconds *= static_cast<double>(factor);
  return *this;
}

CostSum sum_costs(const Program& program, const std::vector<StepCost>& costs) {
  CostSum sum;
  for (const Step& step : program.steps) sum.add(step, costs[static_cast<size_t>(step.id)]);
  return sum;
}

ModelSample& ModelSample::operator+=(const ModelSample& other) {
  sum += other.sum;
  for (size_t kind = 0; kind < memory_bytes.size(); ++kind) memory_bytes[kind] += other.memory_bytes[kind];
  return *this;
}

ModelSample& ModelSample::operator*=(int64_t factor) {
  sum *= factor;
  for (int64_t& bytes : memory_bytes) bytes *= factor;
  return *this;
}

Settings with_sizes(Settings settings, int64_t layers, int64_t parts) {
  settings.batch = settings.micro_batch() * settings.dp * parts;
  settings.micro_batches = static_cast<int>(parts);
  settings.model.layers = layers;
  settings.layer = 0;
  return settings;
}

ModelSample sample_of(const Program& program, const Hardware& hardware) {
  ModelSample sample;
  const std::vector<StepCost> costs = price(program, hardware, 0);
  for (const Step& step : program.steps)
    if (step.axis == Axis::Tp) sample.sum.add(step, costs[static_cast<size_t>(step.id)]);
  sample.memory_bytes = plan_memory(program, 0).arena_bytes;
  return sample;
}

ModelSample sample_model(const Settings& settings, int64_t layers, int64_t parts, const Hardware& hardware) {
  return along(layers, [&](int64_t some_layers) {
    return along(parts, [&](int64_t some_parts) {
      return sample_of(plan_model(with_sizes(settings, some_layers, some_parts)), hardware);
    });
  });
}

GradientBytes gradients_of(const Program& program) {
  struct Gradient {
    StepId completed = -1;
    int layer = -1;
    int64_t bytes = 0;
  };
  std::map<TensorId, Gradient> by_storage;  // a tied matrix's second gradient adds to the first
  for (const Step& step : program.steps) {
    if (step.phase == Phase::Update || step.axis == Axis::Dp) continue;
    for (const TensorId out : step.outputs) {
      const Tensor& tensor = program.tensor(out);
      if (tensor.kind == MemoryKind::WeightGradient)
        by_storage[storage_of(program, out)] = {step.id, step.layer, local_bytes(tensor, program.ranks(), 0)};
    }
  }
  std::vector<Gradient> gradients;
  for (const auto& [storage, gradient] : by_storage) gradients.push_back(gradient);
  std::stable_sort(gradients.begin(), gradients.end(),
                   [](const Gradient& a, const Gradient& b) { return a.completed < b.completed; });
  GradientBytes bytes;
  for (const Gradient& gradient : gradients) {
    std::vector<int64_t>& part = gradient.layer >= 0   ? bytes.layer
                                 : bytes.layer.empty() ? bytes.head
                                                       : bytes.embedding;
    part.push_back(gradient.bytes);
  }
  return bytes;
}

CostSum replica_costs(const GradientBytes& gradients, int64_t layers, const Settings& settings,
                      const Hardware& hardware) {
  CostSum sum;
  if (settings.dp == 1) return sum;
  std::vector<int64_t> bytes = gradients.head;
  for (int64_t layer = 0; layer < layers; ++layer)
    bytes.insert(bytes.end(), gradients.layer.begin(), gradients.layer.end());
  bytes.insert(bytes.end(), gradients.embedding.begin(), gradients.embedding.end());
  const std::vector<size_t> bucket = bucket_of(bytes);
  std::vector<int64_t> sent(bucket.back() + 1, 0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    sent[bucket[i]] += ring_sent_bytes(Collective::AllReduce, bytes[i], settings.dp);
    sum.touched_bytes += 2 * bytes[i];
  }
  const DType wide = settings.dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32;
  sent.push_back(ring_sent_bytes(Collective::AllReduce, element_bytes(wide), settings.dp));
  sum.touched_bytes += 2 * element_bytes(wide);
  const Ring ring = dp_ring(settings.tp, settings.dp, hardware);
  for (const int64_t one : sent) {
    ++sum.dp_collectives;
    sum.dp_sent_bytes += one;
    sum.dp_seconds += collective_seconds(Collective::AllReduce, one, ring, hardware);
  }
  return sum;
}

}  // namespace shardlens
