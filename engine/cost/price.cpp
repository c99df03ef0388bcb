// Computes FLOPs, bytes and alpha-beta time of a Program's steps.
#include "engine/cost/price.h"

#include <algorithm>
#include <stdexcept>

namespace shardlens {
namespace {

int64_t local_count(const Program& program, TensorId tensor, int rank) {
  return element_count(local_shape(program.tensor(tensor), program.tp(), rank));
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
  const int64_t tokens = local_shape(program.tensor(activation), program.tp(), rank)[0];
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

// A new token attends to the cache. The count assumes that the cache is full after the last new token, so
// this token sees all of it.
Flops cached_attention_flops(const Program& program, const Step& step, TensorId context, TensorId keys,
                             int rank) {
  const int64_t tokens = tokens_of(program, context), seq = tokens / step.attributes.batch;
  const int64_t room = tokens_of(program, keys) / step.attributes.batch;
  const int64_t per_key = 4 * local_count(program, context, rank) / tokens;  // heads · head_dim
  return {per_key * tokens * room, per_key * step.attributes.batch * (seq * room - seq * (seq - 1) / 2)};
}

// Returns the number of matrix products in attention: Q·Kᵀ and P·V; for its gradient dV, dP, dQ and dK, and
// Q·Kᵀ again if P was not kept.
int attention_products(const Program& program, const Step& step) {
  if (operation(step.op).pass == OpPass::Forward) return 2;
  return program.settings.recompute == Recompute::Selective ? 5 : 4;
}

Flops flops_of(const Program& program, const Step& step, int rank) {
  const auto input = [&](Operand operand) { return input_of(program, step, operand); };
  const auto output = [&](Operand operand) { return output_of(program, step, operand); };
  switch (operation(step.op).kind) {
    case OpKind::Product: {
      const TensorId weight = input(Operand::Weight);
      return linear_flops(program, step.inputs[0], weight != kNoTensor ? weight : output(Operand::WeightGrad),
                          rank);
    }
    case OpKind::Attention: {
      const TensorId made = output(Operand::Context), keys = input(Operand::Keys);
      const TensorId context = made != kNoTensor ? made : input(Operand::Context);
      if (keys != kNoTensor) return cached_attention_flops(program, step, context, keys, rank);
      return attention_flops(program, context, step.attributes, attention_products(program, step), rank);
    }
    case OpKind::ElementWise:
    case OpKind::RowCopy:
    case OpKind::Conversion:
    case OpKind::Alias:
      return {};
  }
  return {};
}

// Returns the bytes that a copy of rows reads and writes. A lookup touches rows, not the whole table; its
// gradient also sets the whole table to zero. A cache stores the new rows.
int64_t copied_bytes(const Program& program, const Step& step, int rank) {
  const auto bytes = [&](TensorId id) { return local_bytes(program.tensor(id), program.tp(), rank); };
  switch (step.op) {
    case Op::Embedding:
      return 2 * bytes(output_of(program, step, Operand::Y));
    case Op::EmbeddingGrad: {
      const int64_t rows = 2 * bytes(input_of(program, step, Operand::Dy));
      const int64_t table = bytes(output_of(program, step, Operand::TableGrad));
      return step.attributes.accumulate ? rows : rows + table;
    }
    case Op::CacheAppend: {
      const int64_t rows = bytes(input_of(program, step, Operand::NewKv));
      return 2 * (program.settings.model.is_grouped() ? rows : rows / 3 * 2);
    }
    default:
      throw std::logic_error("price.cpp has no cost for the rows that " + to_string(step.op) + " copies");
  }
}

int64_t touched_bytes(const Program& program, const Step& step, int rank) {
  const OpKind kind = operation(step.op).kind;
  if (kind == OpKind::RowCopy) return copied_bytes(program, step, rank);
  if (kind == OpKind::Alias || step.op == Op::Identity) return 0;
  int64_t bytes = 0;
  for (const std::vector<TensorId>* tensors : {&step.inputs, &step.outputs})
    for (const TensorId id : *tensors) bytes += local_bytes(program.tensor(id), program.tp(), rank);
  return bytes;
}

double compute_seconds(const StepCost& cost, const Program& program, const Step& step,
                       const Hardware& hardware) {
  if (hardware.is_calibrated()) {
    const double work = static_cast<double>(cost.flops > 0 ? cost.flops : cost.touched_bytes);
    if (work <= 0) return 0;
    const int ranks = program.tp() * program.dp();
    const DType dtype = program.settings.dtype;
    const auto bytes = static_cast<double>(cost.touched_bytes);
    const double rate = hardware.measured_rate(to_string(step.op), dtype, ranks, work);
    const double bringing =
        cost.flops > 0 ? hardware.measured_rate(operands_of(to_string(step.op)), dtype, ranks, bytes) : 0;
    if (rate > 0) return work / rate + (bringing > 0 ? bytes / bringing : 0);
  }
  // A product runs at the speed of its operands' dtype, also if it sums into fp32.
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

Ring ring_of(const Program& program, const Step& step, const Hardware& hardware) {
  if (step.axis == Axis::Dp) return dp_ring(program.tp(), program.dp(), hardware);
  // Neighbouring ranks that hold the same slice are placed like a tensor-parallel group of that size.
  const int ranks = group_ranks(program, step);
  return tp_ring(ranks, program.tp() / ranks * program.dp(), hardware);
}

std::vector<StepCost> price(const Program& program, const Hardware& hardware, int rank) {
  // Without the speed of products, a predicted time would be far too small, so none is given.
  const bool is_timed = hardware.flops(program.settings.dtype) > 0;
  std::vector<StepCost> costs;
  costs.reserve(program.steps.size());
  for (const Step& step : program.steps) {
    StepCost cost;
    const Flops flops = flops_of(program, step, rank);
    cost.flops = flops.whole;
    cost.causal_flops = flops.causal;
    cost.sent_bytes = sent_bytes(program, step.id);
    cost.touched_bytes = touched_bytes(program, step, rank);
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
