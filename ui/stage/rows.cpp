// Rows, their words and their heights.
#include "ui/stage/rows.h"

#include <algorithm>

namespace shardlens::ui::stage {
namespace {

constexpr const char* kSame = "same on every rank";

bool is_kind(const Program& program, TensorId id, MemoryKind kind) {
  return id != kNoTensor && program.tensor(id).kind == kind;
}

bool is_last_dim(const Tensor& tensor) {
  return tensor.layout.kind == LayoutKind::Sharded && tensor.layout.dim >= tensor.row_dims;
}

// The words for where a product's weight is cut.
std::string product_note(const Tensor& weight) {
  if (weight.layout.kind != LayoutKind::Sharded) return kSame;
  return weight.layout.dim < weight.row_dims ? "row-parallel" : "column-parallel";
}

std::string gradient_note(const Tensor& gradient) {
  switch (gradient.layout.kind) {
    case LayoutKind::Partial:
      return "each rank: its own share";
    case LayoutKind::Sharded:
      return "local: its own slice";
    case LayoutKind::Replicated:
      return kSame;
  }
  return {};
}

std::string elementwise_note(const Tensor& tensor) {
  if (tensor.layout.kind != LayoutKind::Sharded) return kSame;
  return is_last_dim(tensor) ? "local: whole columns" : "local: whole rows";
}

std::string heads_note(const Tensor& tensor) {
  return tensor.layout.kind == LayoutKind::Sharded ? "local: whole heads" : "every head";
}

// Of what the step computes, the tensor that is drawn: of "R = X + O + b; N = LayerNorm(R)" the second
// half, and of "C = P · V,  P = softmax(…)" the first clause. The tooltip and the Inspector show all.
std::string drawn_equation(const Program& program, const Step& step) {
  if (step.outputs.empty()) return step.equation;
  const std::string own = program.tensor(step.outputs[0]).symbol + " =";
  const size_t next = step.equation.find("; ");
  const bool is_second = next != std::string::npos && step.equation.compare(next + 2, own.size(), own) == 0;
  const std::string equation = is_second ? step.equation.substr(next + 2) : step.equation;
  return equation.substr(0, std::min(equation.find("; "), equation.find(",  ")));
}

Row row_of(const Program& program, const Step& step) {
  Row row;
  row.step = step.id;
  row.tensor = step.outputs.empty() ? kNoTensor : step.outputs[0];
  row.phase = step.phase;
  row.title = drawn_equation(program, step);
  row.note = note_of(program, step);
  if (program.ranks() == 1 && row.note == kSame) row.note = "one rank does it all";
  if (is_collective(step.op)) {
    row.kind = RowKind::Band;
  } else if (step.op == Op::Identity || step.op == Op::Slice) {
    row.kind = RowKind::Line;
  } else if (is_kind(program, row.tensor, MemoryKind::WeightGradient)) {
    row.kind = RowKind::Compact;
  }
  // A norm's gain and shift are the same on every rank and would only be in the way of what is cut.
  if (step.block == "norm") return row;
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
  row.note = phase == Phase::Forward ? "input" : "from the next layer";
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
      if (step.inputs.size() > 2) return "bias and residual sum";
      return program.ranks() > 1 && out.layout == kReplicated ? "bias, after the sum" : elementwise_note(out);
    case Op::BiasGrad:
      return gradient_note(out);
    case Op::Gelu:
    case Op::GeluGrad:
      return elementwise_note(out);
    case Op::LayerNorm:
      return step.inputs.size() > 3 ? step.equation.substr(0, step.equation.find("; ")) : "each token whole";
    case Op::LayerNormGrad:
      return step.inputs.size() % 2 == 1 ? "each token whole, then sum" : "each token whole";
    case Op::LayerNormSums:
    case Op::LayerNormGradSums:
      return "two numbers a token";
    case Op::LayerNormApply:
    case Op::LayerNormGradApply:
      return "its own slice, by the sums";
    case Op::Attention:
    case Op::AttentionGrad:
    case Op::CachedAttention:
      return heads_note(out);
    case Op::CacheAppend:
      return "rows of the new tokens";
    case Op::Add:
      return step.phase == Phase::Forward ? "residual sum" : "both branches summed";
    case Op::Embedding:
      return out.layout.kind == LayoutKind::Partial ? "zeros for rows of others" : "rows by token";
    case Op::EmbeddingGrad:
      return "rows summed by token";
    case Op::FirstToken:
    case Op::FirstTokenGrad:
      return "first token of each sequence";
    case Op::Tanh:
    case Op::TanhGrad:
      return elementwise_note(out);
    case Op::Dropout:
      return "one mask for all T";
    case Op::VocabMax:
      return "largest of its own columns";
    case Op::TargetLogit:
      return "zero where another rank owns it";
    case Op::SumExp:
      return "over its own columns";
    case Op::CrossEntropy:
      return "one number a token suffices";
    case Op::CrossEntropyGrad:
      return "local: nothing is sent";
    case Op::SquareSum:
      return out.layout.kind == LayoutKind::Partial ? "of its own slices" : "counted once";
    case Op::ClipFactor:
      return "one number for all ranks";
    case Op::AdamW:
      return "its own slice, nothing sent";
    case Op::Round:
      return "integers: sums are exact";
    case Op::Identity:
      return "identity here";
    case Op::Slice:
      return "each rank keeps its own slice";
    case Op::AllReduce:
    case Op::ReduceScatter:
    case Op::AllGather:
    case Op::AllToAll:
      return to_string(step.op);
    case Op::Join:
      return "all rows are there: nothing moves";
  }
  return {};
}

namespace {

std::string divider_title(Phase phase) {
  // Forward steps after backward ones: the batch is run in parts.
  return phase == Phase::Forward ? "forward, the next part of the batch" : to_string(phase);
}

/// Whether `id` comes from outside the steps shown and is worth a row: X, the gradient from the next layer.
bool comes_from_outside(const Program& program, TensorId id) {
  if (is_row_view(program, program.tensor(id))) return false;  // what it is rows of stands there
  const MemoryKind kind = program.tensor(id).kind;
  return kind == MemoryKind::Input || kind == MemoryKind::KeyValueCache || kind == MemoryKind::Activation ||
         kind == MemoryKind::ActivationGradient;
}

class RowList {
 public:
  explicit RowList(const Program& program) : program_(program), known_(program.tensors.size(), false) {}

  void add(const Step& step, const Sections* sections) {
    if (step.phase != phase_) begin_phase(step.phase);
    // A row's operands stand above it: what no step has written comes from outside.
    for (const TensorId id : step.inputs) {
      if (known_[static_cast<size_t>(id)] || !comes_from_outside(program_, id)) continue;
      known_[static_cast<size_t>(id)] = true;
      Row row = input_row(program_.tensor(id), phase_);
      const StepId from = sections ? sections->producers[static_cast<size_t>(id)] : -1;
      row.from = from;
      if (from >= 0) row.note = "from " + sections->of(from).title;
      rows.push_back(std::move(row));
    }
    for (const TensorId id : step.outputs) known_[static_cast<size_t>(id)] = true;
    if (step.block != block_) begin_block(step.block);
    rows.push_back(row_of(program_, step));
  }

  std::vector<Row> rows;

 private:
  void begin_phase(Phase phase) {
    phase_ = phase;
    block_.clear();
    if (rows.empty()) return;  // of a part that has steps of one phase only
    Row divider;
    divider.kind = RowKind::Divider;
    divider.phase = phase;
    divider.title = divider_title(phase);
    rows.push_back(std::move(divider));
  }

  void begin_block(const std::string& block) {
    block_ = block;
    if (block != "attention" && block != "mlp") return;
    Row heading;
    heading.kind = RowKind::Heading;
    heading.phase = phase_;
    heading.title = block;
    rows.push_back(std::move(heading));
  }

  const Program& program_;
  std::vector<bool> known_;
  Phase phase_ = Phase::Forward;
  std::string block_;
};

}  // namespace

std::vector<Row> rows_of(const Program& program) {
  RowList list(program);
  for (const Step& step : program.steps) list.add(step, nullptr);
  return std::move(list.rows);
}

std::vector<Row> rows_of(const Program& program, const Sections& sections, int section) {
  RowList list(program);
  for (const StepId step : sections.list[static_cast<size_t>(section)].steps)
    list.add(program.step(step), &sections);
  return std::move(list.rows);
}

float row_height(RowKind kind, float zoom) {
  const float shrink = std::min(zoom, 1.0f);
  switch (kind) {
    case RowKind::Heading:
    case RowKind::Divider:
      return std::max(14.0f, 20 * shrink);
    case RowKind::Input:
    case RowKind::Tensor:
      return kTensorRow * zoom;
    case RowKind::Compact:
      return 40 * zoom;
    case RowKind::Band:
      return std::max(20.0f, 32 * shrink);
    case RowKind::Line:
      return std::max(8.0f, 16 * shrink);
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
  const auto total = [&](float zoom) { return stack_rows(rows, zoom, scale).total; };
  float fits = least, too_large = 1;
  if (total(too_large) <= height) return too_large;
  for (int halving = 0; halving < 12; ++halving) {
    const float middle = (fits + too_large) / 2;
    (total(middle) <= height ? fits : too_large) = middle;
  }
  return fits;
}

}  // namespace shardlens::ui::stage
