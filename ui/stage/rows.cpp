// Rows, their words and their heights.
#include "ui/stage/rows.h"

#include <algorithm>

namespace shardlens::ui::stage {
namespace {

bool is_kind(const Program& program, TensorId id, MemoryKind kind) {
  return id != kNoTensor && program.tensor(id).kind == kind;
}

bool is_last_dim(const Tensor& tensor) {
  return tensor.layout.kind == LayoutKind::Sharded && tensor.layout.dim >= tensor.row_dims;
}

// The words for where a product's weight is cut.
std::string product_note(const Tensor& weight) {
  if (weight.layout.kind != LayoutKind::Sharded) return "the same product on every rank";
  return weight.layout.dim < weight.row_dims ? "row-parallel" : "column-parallel";
}

std::string gradient_note(const Tensor& gradient) {
  switch (gradient.layout.kind) {
    case LayoutKind::Partial:
      return "each rank: its own share";
    case LayoutKind::Sharded:
      return "local: each rank its own slice";
    case LayoutKind::Replicated:
      return "the same on every rank";
  }
  return {};
}

std::string elementwise_note(const Tensor& tensor) {
  if (tensor.layout.kind != LayoutKind::Sharded) return "the same work on every rank";
  return is_last_dim(tensor) ? "local: complete columns" : "local: complete rows";
}

std::string heads_note(const Tensor& tensor) {
  return tensor.layout.kind == LayoutKind::Sharded ? "local: whole heads" : "every head on every rank";
}

Row row_of(const Program& program, const Step& step) {
  Row row;
  row.step = step.id;
  row.tensor = step.outputs.empty() ? kNoTensor : step.outputs[0];
  row.phase = step.phase;
  row.title = step.equation;
  row.note = note_of(program, step);
  if (is_collective(step.op)) {
    row.kind = RowKind::Band;
  } else if (step.op == Op::Identity || step.op == Op::Slice) {
    row.kind = RowKind::Line;
  } else if (is_kind(program, row.tensor, MemoryKind::WeightGradient)) {
    row.kind = RowKind::Compact;
  }
  for (const TensorId id : step.inputs) {
    if (!is_kind(program, id, MemoryKind::Weight)) continue;
    const bool vector = program.tensor(id).row_dims == 0 || matrix_shape(program.tensor(id)).rows == 1;
    TensorId& place = vector ? row.vector : row.matrix;
    if (place == kNoTensor) place = id;
  }
  return row;
}

Row input_row(const Tensor& tensor, Phase phase) {
  Row row;
  row.kind = RowKind::Input;
  row.tensor = tensor.id;
  row.phase = phase;
  row.title = tensor.symbol;
  row.note = phase == Phase::Forward ? "input, the same on every rank" : "from the next layer";
  return row;
}

}  // namespace

std::string note_of(const Program& program, const Step& step) {
  if (step.outputs.empty()) return {};
  const Tensor& out = program.tensor(step.outputs[0]);
  switch (step.op) {
    case Op::Linear:
      for (const TensorId id : step.inputs) {
        if (is_kind(program, id, MemoryKind::Weight)) return product_note(program.tensor(id));
      }
      return {};
    case Op::LinearGradInput:
    case Op::LinearGradWeight:
      return gradient_note(out);
    case Op::BiasAdd:
      return program.ranks() > 1 && out.layout == kReplicated ? "bias once, after the sum"
                                                              : elementwise_note(out);
    case Op::BiasGrad:
      return gradient_note(out);
    case Op::Gelu:
    case Op::GeluGrad:
      return elementwise_note(out);
    case Op::LayerNorm:
    case Op::LayerNormGrad:
      return "each token's hidden axis whole";
    case Op::Attention:
    case Op::AttentionGrad:
      return heads_note(out);
    case Op::Add:
      return step.phase == Phase::Forward ? "residual sum" : "both branches summed";
    case Op::Round:
      return "to integers, so that sums are exact";
    case Op::Identity:
      return "identity here";
    case Op::Slice:
      return "each rank keeps its own slice";
    case Op::AllReduce:
    case Op::ReduceScatter:
    case Op::AllGather:
    case Op::AllToAll:
      return to_string(step.op);
  }
  return {};
}

std::vector<Row> rows_of(const Program& program) {
  std::vector<Row> rows;
  std::vector<bool> known(program.tensors.size(), false);
  Phase phase = Phase::Forward;
  std::string block;
  for (const Step& step : program.steps) {
    if (step.phase != phase) {
      phase = step.phase;
      block.clear();
      Row divider;
      divider.kind = RowKind::Divider;
      divider.phase = phase;
      divider.title = "backward";
      rows.push_back(std::move(divider));
    }
    // A row's operands stand above it: what no step has written comes from outside.
    for (const TensorId id : step.inputs) {
      if (known[static_cast<size_t>(id)] || !is_kind(program, id, MemoryKind::Input)) continue;
      known[static_cast<size_t>(id)] = true;
      rows.push_back(input_row(program.tensor(id), phase));
    }
    for (const TensorId id : step.outputs) known[static_cast<size_t>(id)] = true;
    const bool headed = step.block == "attention" || step.block == "mlp";
    if (step.block != block) {
      block = step.block;
      if (headed) {
        Row heading;
        heading.kind = RowKind::Heading;
        heading.phase = phase;
        heading.title = block;
        rows.push_back(std::move(heading));
      }
    }
    rows.push_back(row_of(program, step));
  }
  return rows;
}

float row_height(RowKind kind, float zoom) {
  const float shrink = std::min(zoom, 1.0f);
  switch (kind) {
    case RowKind::Heading:
      return 20 * shrink;
    case RowKind::Divider:
      return 20 * shrink;
    case RowKind::Input:
    case RowKind::Tensor:
      return kTensorRow * zoom;
    case RowKind::Compact:
      return 40 * zoom;
    case RowKind::Band:
      return 32 * shrink;
    case RowKind::Line:
      return 16 * shrink;
  }
  return 0;
}

Stack stack_rows(const std::vector<Row>& rows, float zoom, float scale) {
  Stack stack;
  const float gap = kRowGap * scale * std::min(zoom, 1.0f);
  for (const Row& row : rows) {
    stack.top.push_back(stack.total);
    stack.height.push_back(row_height(row.kind, zoom) * scale);
    stack.total += stack.height.back() + gap;
  }
  return stack;
}

size_t Stack::at(float y) const {
  const auto after = std::upper_bound(top.begin(), top.end(), y);
  return after == top.begin() ? 0 : static_cast<size_t>(after - top.begin()) - 1;
}

float fitting_zoom(const std::vector<Row>& rows, float height, float scale, float least) {
  // Below 1 every height and every gap shrinks alike, so the whole does.
  const float whole = stack_rows(rows, 1, scale).total;
  return whole > 0 ? std::clamp(height / whole, least, 1.0f) : 1.0f;
}

}  // namespace shardlens::ui::stage
