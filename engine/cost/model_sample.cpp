// Plans small models and extrapolates from them.
#include "engine/cost/model_sample.h"

#include <algorithm>
#include <map>

#include "engine/planner/gradient_sums.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

// From this many layers and parts of a batch on, figures grow evenly: the first ones differ from the others.
constexpr int64_t kEvenLayers = kLowestLayers, kEvenParts = 2;

// Returns figure(n); if n is larger than even + 1, it is extrapolated from figure(even) and figure(even + 1).
template <class Figure>
ModelSample along(int64_t n, int64_t even, const Figure& figure) {
  if (n <= even + 1) return figure(n);
  ModelSample sample = figure(even + 1), step = figure(even);
  step *= -1;
  step += sample;
  step *= n - even - 1;
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
  return along(layers, kEvenLayers, [&](int64_t some_layers) {
    return along(parts, kEvenParts, [&](int64_t some_parts) {
      return sample_of(plan_model(with_sizes(settings, some_layers, some_parts)), hardware);
    });
  });
}

Gradients gradients_of(const Program& program, const std::vector<StepCost>& costs) {
  struct Gradient {
    StepId completed = -1;
    int layer = -1;
    int64_t bytes = 0;
  };
  std::map<TensorId, Gradient> by_storage;              // a tied matrix's second gradient adds to the first
  std::vector<double> ends(program.steps.size(), 0.0);  // [step], for steps that are not overlapped
  double clock = 0, layer_begin = -1, layer_end = 0;
  for (const Step& step : program.steps) {
    if (step.phase == Phase::Update || step.axis == Axis::Dp) continue;
    const bool in_layer = step.phase == Phase::Backward && step.layer >= 0;
    if (in_layer && layer_begin < 0) layer_begin = clock;
    clock += costs[static_cast<size_t>(step.id)].predicted_seconds;
    ends[static_cast<size_t>(step.id)] = clock;
    if (in_layer) layer_end = clock;
    for (const TensorId out : step.outputs) {
      const Tensor& tensor = program.tensor(out);
      if (tensor.kind == MemoryKind::WeightGradient)
        by_storage[storage_of(program, out)] = {step.id, step.layer, local_bytes(tensor, program.ranks(), 0)};
    }
  }
  std::vector<Gradient> in_order;
  for (const auto& [storage, gradient] : by_storage) in_order.push_back(gradient);
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const Gradient& a, const Gradient& b) { return a.completed < b.completed; });
  Gradients gradients;
  gradients.layer.seconds = layer_end - layer_begin;
  gradients.embedding.seconds = clock - layer_end;
  for (const Gradient& gradient : in_order) {
    const auto add_to = [&](Gradients::Part& part, double end) {
      part.gradients.push_back({gradient.bytes, end - ends[static_cast<size_t>(gradient.completed)]});
    };
    if (gradient.layer >= 0) {
      add_to(gradients.layer, layer_end);
    } else if (gradients.layer.gradients.empty()) {
      add_to(gradients.head, layer_begin);
    } else {
      add_to(gradients.embedding, clock);
    }
  }
  return gradients;
}

namespace {

// One all-reduce among the replicas.
struct Bucket {
  int64_t gradient_bytes = 0, sent_bytes = 0;
  double seconds = 0;
  double left_seconds = 0;  // of the backward pass, at the moment when it can begin
};

// Returns the buckets of the gradients, and last the loss.
std::vector<Bucket> buckets_of(const Gradients& gradients, int64_t layers, const Settings& settings,
                               const Hardware& hardware) {
  using Gradient = Gradients::Part::One;
  std::vector<Gradient> all;
  const size_t of_layers = static_cast<size_t>(layers) * gradients.layer.gradients.size();
  all.reserve(gradients.head.gradients.size() + of_layers + gradients.embedding.gradients.size());
  const auto add = [&](const Gradients::Part& part, double behind_seconds) {
    for (const Gradient& one : part.gradients) all.push_back({one.bytes, one.left_seconds + behind_seconds});
  };
  const auto below = [&](int64_t some_layers) {
    return static_cast<double>(some_layers) * gradients.layer.seconds + gradients.embedding.seconds;
  };
  add(gradients.head, below(layers));
  for (int64_t layer = layers; layer-- > 0;) add(gradients.layer, below(layer));
  add(gradients.embedding, 0);
  std::vector<int64_t> bytes;
  bytes.reserve(all.size());
  for (const Gradient& one : all) bytes.push_back(one.bytes);
  const std::vector<size_t> bucket = bucket_of(bytes);
  std::vector<Bucket> buckets(bucket.back() + 1);
  for (size_t i = 0; i < all.size(); ++i) {
    Bucket& into = buckets[bucket[i]];
    into.gradient_bytes += all[i].bytes;
    into.sent_bytes += ring_sent_bytes(Collective::AllReduce, all[i].bytes, settings.dp);
    into.left_seconds = all[i].left_seconds;
  }
  const DType wide = settings.dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32;
  buckets.push_back(
      {element_bytes(wide), ring_sent_bytes(Collective::AllReduce, element_bytes(wide), settings.dp)});
  const Ring ring = dp_ring(settings.tp, settings.dp, hardware);
  for (Bucket& one : buckets)
    one.seconds = collective_seconds(Collective::AllReduce, one.sent_bytes, ring, hardware);
  return buckets;
}

}  // namespace

ReplicaCosts replica_costs(const Gradients& gradients, int64_t layers, const Settings& settings,
                           const Hardware& hardware) {
  ReplicaCosts costs;
  if (settings.dp == 1) return costs;
  const std::vector<Bucket> buckets = buckets_of(gradients, layers, settings, hardware);
  double lane_free = -buckets.front().left_seconds;  // from the end of the backward pass
  for (const Bucket& one : buckets) {
    costs.sum.touched_bytes += 2 * one.gradient_bytes;
    ++costs.sum.dp_collectives;
    costs.sum.dp_sent_bytes += one.sent_bytes;
    costs.sum.dp_seconds += one.seconds;
    lane_free = std::max(lane_free, -one.left_seconds) + one.seconds;
  }
  costs.wait_seconds = lane_free;
  return costs;
}

}  // namespace shardlens
