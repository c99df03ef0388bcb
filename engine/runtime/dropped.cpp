#include "engine/runtime/dropped.h"

#include "engine/device/cpu/dropout_mask.h"

namespace shardlens {

DropoutMask mask_of(const Program& program, const Attributes& attributes, int rank, uint64_t draw) {
  // Each pass has its own stream. Each rank has its own stream only if this mistake is planted.
  const RandomStream stream(program.settings.seed, attributes.stream);
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15, kOtherOdd = 0xC2B2AE3D27D4EB4F;
  const bool own = attributes.mask_draw == MaskDraw::OwnStreams;
  const uint64_t of_rank = own ? static_cast<uint64_t>(rank) * kOtherOdd : 0;
  return {attributes.dropout, stream.seed, stream.name_hash ^ (draw * kOdd) ^ of_rank};
}

QueryHeads query_heads(const Program& program, const Tensor& q, bool grouped, int rank) {
  const Shape own = local_shape(q, program.tp(), rank);
  const auto first = [&](int dim) {
    if (q.layout.dim != dim) return int64_t{0};
    return slice_of(q.layout, q.shape[static_cast<size_t>(dim)], program.tp(), rank).begin;
  };
  if (!grouped) return {q.shape[2], first(2), own[2]};
  return {q.shape[1] * q.shape[2], first(1) * q.shape[2], own[1] * own[2]};
}

int64_t first_masked_head(const Attributes& attributes, const QueryHeads& heads) {
  return attributes.mask_draw == MaskDraw::OneStream ? 0 : heads.first;
}

std::vector<bool> dropped_probabilities(const Program& program, const Step& step, int rank, int64_t sequence,
                                        int64_t head, int64_t tokens, int64_t shown, uint64_t draw) {
  if (step.attributes.dropout <= 0) return {};
  const DropoutMask mask = mask_of(program, step.attributes, rank, draw);
  const bool grouped = input_of(program, step, Operand::Kv) != kNoTensor;
  const QueryHeads heads =
      query_heads(program, program.tensor(input_of(program, step, Operand::Q)), grouped, rank);
  const int64_t index = first_masked_head(step.attributes, heads) + head - heads.first;
  std::vector<bool> dropped;
  std::vector<float> row(static_cast<size_t>(shown));
  for (int64_t query = 0; query < shown; ++query) {
    row.assign(row.size(), 1.0f);
    cpu::drop(mask, ((sequence * tokens + query) * heads.all + index) * tokens, shown, row.data());
    for (const float kept : row) dropped.push_back(kept == 0);
  }
  return dropped;
}

}  // namespace shardlens
