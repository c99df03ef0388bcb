// FLOPs, bytes and alpha-beta time of a Program's steps.
#include "engine/cost/price.h"

#include <algorithm>

namespace shardlens {
namespace {

int64_t local_count(const Program& program, TensorId tensor, int rank) {
  return element_count(local_shape(program.tensor(tensor), program.ranks(), rank));
}

int64_t tokens_of(const Program& program, TensorId tensor) {
  return program.tensor(tensor).shape[0];
}

struct Flops {
  int64_t whole = 0;
  int64_t causal = 0;
};

// A product [m, k]·[k, n] is m·n·k multiplications and as many additions; one of its three matrices is a
// weight, so the FLOPs are twice the tokens times the weight's own elements on this rank.
Flops linear_flops(const Program& program, TensorId activation, TensorId weight, int rank) {
  const int64_t tokens = local_shape(program.tensor(activation), program.ranks(), rank)[0];
  const int64_t flops = 2 * tokens * local_count(program, weight, rank);
  return {flops, flops};
}

// `products` matrix products over pairs of positions: seq² of them, of which a causal mask leaves
// seq(seq+1)/2.
Flops attention_flops(const Program& program, TensorId context, const Attributes& attributes, int products,
                      int rank) {
  const int64_t seq = tokens_of(program, context) / attributes.batch;
  const int64_t per_key = 2 * products * local_count(program, context, rank);  // tokens · heads · head_dim
  Flops flops{per_key * seq, per_key * seq};
  if (attributes.causal) flops.causal = per_key / 2 * (seq + 1);
  return flops;
}

Flops flops_of(const Program& program, const Step& step, int rank) {
  switch (step.op) {
    case Op::Linear:
    case Op::LinearGradInput:
      return linear_flops(program, step.inputs[0], step.inputs[1], rank);
    case Op::LinearGradWeight:
      return linear_flops(program, step.inputs[0], step.outputs[0], rank);
    case Op::Attention:  // Q·Kᵀ and P·V
      return attention_flops(program, step.outputs[0], step.attributes, 2, rank);
    case Op::AttentionGrad: {  // dV, dP, dQ and dK, and Q·Kᵀ again where P was not kept
      const int products = program.settings.recompute == Recompute::Selective ? 5 : 4;
      const size_t context = program.settings.model.is_grouped() ? 3 : 2;
      return attention_flops(program, step.inputs[context], step.attributes, products, rank);
    }
    case Op::CachedAttention: {  // as if the cache were full after it: the last token sees all of it
      const int64_t tokens = tokens_of(program, step.outputs[0]), seq = tokens / step.attributes.batch;
      const int64_t room = tokens_of(program, step.inputs[2]) / step.attributes.batch;
      const int64_t per_key = 4 * local_count(program, step.outputs[0], rank) / tokens;  // heads · head_dim
      return {per_key * tokens * room, per_key * step.attributes.batch * (seq * room - seq * (seq - 1) / 2)};
    }
    default:
      return {};
  }
}

double compute_seconds(const StepCost& cost, const Program& program, const Step& step,
                       const Hardware& hardware) {
  if (hardware.is_calibrated()) {
    const double work = static_cast<double>(cost.flops > 0 ? cost.flops : cost.touched_bytes);
    if (work <= 0) return 0;
    const int ranks = program.ranks() * program.replicas();
    const DType dtype = program.settings.dtype;
    const auto bytes = static_cast<double>(cost.touched_bytes);
    const double rate = hardware.measured_rate(to_string(step.op), dtype, ranks, work);
    const double bringing =
        cost.flops > 0 ? hardware.measured_rate(operands_of(to_string(step.op)), dtype, ranks, bytes) : 0;
    if (rate > 0) return work / rate + (bringing > 0 ? bytes / bringing : 0);
  }
  // A product runs at the speed of what it multiplies, also where it sums into fp32.
  const double peak = cost.flops > 0 ? hardware.flops(program.tensor(step.inputs[0]).dtype) : 0;
  const double bandwidth = hardware.memory_bytes_per_second;
  if (bandwidth <= 0 || (cost.flops > 0 && peak <= 0)) return 0;
  const double arithmetic = cost.flops > 0 ? static_cast<double>(cost.flops) / peak : 0;
  return std::max(arithmetic, static_cast<double>(cost.touched_bytes) / bandwidth);
}

}  // namespace

Ring tp_ring(int tp, int dp, const Hardware& hardware) {
  const int node = hardware.ranks_per_node;
  const bool straddles = dp > 1 && node % tp != 0 && tp % node != 0;  // some groups begin in one node and
                                                                      // end in the next
  const bool crosses = hardware.nodes != 1 && (tp > node || (straddles && tp * dp > node));
  return {tp, crosses, straddles ? 2 : 1};
}

Ring dp_ring(int tp, int dp, const Hardware& hardware) {
  const int node = hardware.ranks_per_node;
  return {dp, hardware.nodes != 1 && tp * dp > node, std::min(tp, node)};
}

int ring_hops(Collective collective, int ranks) {
  return (collective == Collective::AllReduce ? 2 : 1) * (ranks - 1);
}

LinkRate link_of(Collective collective, const Ring& ring, const Hardware& hardware) {
  if (const LinkRate measured = hardware.measured_link(to_string(collective), ring.ranks);
      measured.bytes_per_second > 0)
    return measured;
  if (!ring.crosses_nodes) return {hardware.link_latency_seconds, hardware.link_bytes_per_second};
  return {hardware.node_latency_seconds,
          std::min(hardware.link_bytes_per_second, hardware.node_bytes_per_second / ring.sharing)};
}

double collective_seconds(Collective collective, int64_t sent_bytes, const Ring& ring,
                          const Hardware& hardware) {
  if (ring.ranks < 2 || collective == Collective::None || collective == Collective::Slice) return 0;
  const LinkRate link = link_of(collective, ring, hardware);
  if (link.bytes_per_second <= 0) return 0;
  return ring_hops(collective, ring.ranks) * link.latency_seconds +
         static_cast<double>(sent_bytes) / link.bytes_per_second;
}

namespace {

Ring ring_of(const Program& program, const Step& step, const Hardware& hardware) {
  if (step.axis == Axis::Dp) return dp_ring(program.ranks(), program.replicas(), hardware);
  // Neighbours that hold a slice are to a machine what the ranks of a narrower layer are.
  const int ranks = group_ranks(program, step);
  return tp_ring(ranks, program.ranks() / ranks * program.replicas(), hardware);
}

}  // namespace

std::vector<StepCost> price(const Program& program, const Hardware& hardware, int rank) {
  // Without its products a Program's time would be a number that no run comes near.
  const bool is_timed = hardware.flops(program.settings.dtype) > 0;
  std::vector<StepCost> costs;
  costs.reserve(program.steps.size());
  for (const Step& step : program.steps) {
    StepCost cost;
    const Flops flops = flops_of(program, step, rank);
    cost.flops = flops.whole;
    cost.causal_flops = flops.causal;
    cost.sent_bytes = sent_bytes(program, step.id);
    if (step.op == Op::Embedding || step.op == Op::EmbeddingGrad) {
      // Rows looked up, not the table; its gradient is zeroed whole.
      const TensorId rows = step.op == Op::Embedding ? step.outputs[0] : step.inputs[1];
      cost.touched_bytes = 2 * local_bytes(program.tensor(rows), program.ranks(), rank);
      if (step.op == Op::EmbeddingGrad && !step.attributes.accumulate)
        cost.touched_bytes += local_bytes(program.tensor(step.outputs[0]), program.ranks(), rank);
    } else if (step.op == Op::CacheAppend) {  // the new rows, not the cache
      const int64_t rows = local_bytes(program.tensor(step.inputs[0]), program.ranks(), rank);
      cost.touched_bytes = 2 * (program.settings.model.is_grouped() ? rows : rows / 3 * 2);
    } else if (step.op != Op::Identity && step.op != Op::Join) {
      for (const std::vector<TensorId>* tensors : {&step.inputs, &step.outputs}) {
        for (const TensorId id : *tensors)
          cost.touched_bytes += local_bytes(program.tensor(id), program.ranks(), rank);
      }
    }
    cost.predicted_seconds = !is_timed ? 0
                             : is_collective(step.op)
                                 ? collective_seconds(collective_of(step.op), cost.sent_bytes,
                                                      ring_of(program, step, hardware), hardware)
                                 : compute_seconds(cost, program, step, hardware);
    costs.push_back(cost);
  }
  return costs;
}

}  // namespace shardlens
