#include "engine/runtime/dropped.h"

#include "engine/device/cpu/dropout_mask.h"

namespace shardlens {
namespace {

/// Query heads of all ranks, and the first one of a rank.
struct HeadsOfAll {
  int64_t all = 0, first = 0;
};

HeadsOfAll heads_of(const Program& program, const Step& step, int rank) {
  const Tensor& q = program.tensor(input_of(program, step, Operand::Q));
  const bool grouped = input_of(program, step, Operand::Kv) != kNoTensor;
  const int dim = grouped ? 1 : 2;  // of the heads, or of the groups that share a key head
  const int64_t extent = q.shape[static_cast<size_t>(dim)], each = grouped ? q.shape[2] : 1;
  const bool cut = q.layout.kind == LayoutKind::Sharded && q.layout.dim == dim;
  return {extent * each, cut ? slice_of(q.layout, extent, program.tp(), rank).begin * each : 0};
}

}  // namespace

DropoutMask mask_of(const Program& program, const Attributes& attributes, int rank, uint64_t draw) {
  // Each pass has its own stream. Each rank has its own stream only if this mistake is planted.
  const RandomStream stream(program.settings.seed, attributes.stream);
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15, kOtherOdd = 0xC2B2AE3D27D4EB4F;
  const bool own = attributes.mask_draw == MaskDraw::OwnStreams;
  const uint64_t of_rank = own ? static_cast<uint64_t>(rank) * kOtherOdd : 0;
  return {attributes.dropout, stream.seed, stream.name_hash ^ (draw * kOdd) ^ of_rank};
}

std::vector<bool> dropped_probabilities(const Program& program, const Step& step, int rank, int64_t sequence,
                                        int64_t head, int64_t tokens, int64_t shown, uint64_t draw) {
  if (step.attributes.dropout <= 0) return {};
  const DropoutMask mask = mask_of(program, step.attributes, rank, draw);
  const HeadsOfAll heads = heads_of(program, step, rank);
  const bool misplaced = step.attributes.mask_draw == MaskDraw::OneStream;  // a planted mistake
  const int64_t index = misplaced ? head - heads.first : head;
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
