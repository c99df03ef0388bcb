// Makes the rows, their texts and their heights.
#include "ui/stage/rows.h"

#include <algorithm>

namespace shardlens::ui::stage {
namespace {

constexpr float kCalloutLine = 16, kCalloutLeaders = 26;  ///< a line of its words; the room of its leaders

bool is_kind(const Program& program, TensorId id, MemoryKind kind) {
  return id != kNoTensor && program.tensor(id).kind == kind;
}

// Returns the part of the equation that computes the drawn tensor: the second half of "R = X + O + b; N =
// LayerNorm(R)", the first clause of "C = P · V,  P = softmax(…)". The tooltip and the Inspector show all.
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
  if (program.tp() == 1 && row.note == kSameNote) row.note = "one rank does it all";
  if (is_collective(step.op)) {
    row.kind = RowKind::Band;
  } else if (is_conversion(step.op)) {
    row.kind = RowKind::Line;
  } else if (is_kind(program, row.tensor, MemoryKind::WeightGradient)) {
    row.kind = RowKind::Compact;
  }
  // A norm's gain and shift are not drawn: they are equal on every rank, and would hide what is cut.
  if (step.part == Part::Norm) return row;
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

std::string divider_title(Phase phase) {
  // Forward steps after backward ones: the batch is run in parts.
  return phase == Phase::Forward ? "forward, the next part of the batch" : to_string(phase);
}

/// True if `id` comes from outside the shown steps and gets a row: X, or the gradient from the next layer.
bool comes_from_outside(const Program& program, TensorId id) {
  if (is_row_view(program, program.tensor(id))) return false;  // the tensor with all rows has the row
  const MemoryKind kind = program.tensor(id).kind;
  return kind == MemoryKind::Input || kind == MemoryKind::KeyValueCache || kind == MemoryKind::Activation ||
         kind == MemoryKind::ActivationGradient;
}

class RowList {
 public:
  explicit RowList(const Program& program) : program_(program), known_(program.tensors.size(), false) {}

  void add(const Step& step, const Sections* sections) {
    if (step.phase != phase_) begin_phase(step.phase);
    // A row's operands are above it. An operand that no earlier step wrote comes from outside.
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
    if (step.part != part_) begin_part(step.part);
    if (!rows.empty()) rows.back().hands_over = hands_over(rows.back(), step);
    rows.push_back(row_of(program_, step));
  }

  std::vector<Row> rows;

 private:
  bool hands_over(const Row& row, const Step& next) const {
    if (program_.tp() == 1 || row.kind != RowKind::Tensor || is_conversion(next.op)) return false;
    return program_.tensor(row.tensor).layout.kind == LayoutKind::Sharded &&
           std::find(next.inputs.begin(), next.inputs.end(), row.tensor) != next.inputs.end();
  }

  void begin_phase(Phase phase) {
    phase_ = phase;
    part_ = Part::None;
    if (rows.empty()) return;  // no divider before the first step of a part
    Row divider;
    divider.kind = RowKind::Divider;
    divider.phase = phase;
    divider.title = divider_title(phase);
    rows.push_back(std::move(divider));
  }

  void begin_part(Part part) {
    part_ = part;
    if (part != Part::Attention && part != Part::Mlp) return;
    Row heading;
    heading.kind = RowKind::Heading;
    heading.phase = phase_;
    heading.title = to_string(part);
    rows.push_back(std::move(heading));
  }

  const Program& program_;
  std::vector<bool> known_;
  Phase phase_ = Phase::Forward;
  Part part_ = Part::None;
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

void show_left_out(std::vector<Row>& rows, const Program& program, size_t row) {
  rows[row].kind = RowKind::LeftOut;
  Row kept = rows[row];
  const Tensor& tensor = program.tensor(kept.tensor);
  kept.kind = RowKind::Kept;
  kept.title = tensor.symbol;
  kept.note = tensor.layout == kReplicated ? "each rank keeps its term" : "each rank keeps what it has";
  rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(row) + 1, std::move(kept));
}

void keep_only(std::vector<Row>& rows, StepId first, StepId last) {
  auto begin = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.step >= first; });
  const auto end = std::find_if(rows.rbegin(), rows.rend(), [&](const Row& row) {
                     return row.step >= 0 && row.step <= last;
                   }).base();
  if (begin >= end) return;
  while (begin != rows.begin() && (begin - 1)->step < 0) --begin;
  rows = std::vector<Row>(begin, end);
}

float row_height(RowKind kind, float zoom) {
  const float shrink = std::min(zoom, 1.0f);
  switch (kind) {
    case RowKind::Heading:
    case RowKind::Divider:
      return std::max(14.0f, 20 * shrink);
    case RowKind::Input:
    case RowKind::Tensor:
    case RowKind::Kept:
      return kTensorRow * zoom;
    case RowKind::LeftOut:
      return std::max(24.0f, 40 * shrink);
    case RowKind::Compact:
      return 40 * zoom;
    case RowKind::Band:
      return std::max(20.0f, 32 * shrink);
    case RowKind::Line:
      return std::max(8.0f, 16 * shrink);
    case RowKind::Callout:
      return kCalloutLeaders + kCalloutLine;
  }
  return 0;
}

Stack stack_rows(const std::vector<Row>& rows, float zoom, float scale) {
  Stack stack;
  const float shrink = scale * std::min(zoom, 1.0f);
  bool on_plate = false;
  for (const Row& row : rows) {
    if (row.lit != on_plate) stack.total += kPlatePad * shrink;
    on_plate = row.lit;
    stack.top.push_back(stack.total);
    stack.height.push_back((row_height(row.kind, zoom) + kCalloutLine * static_cast<float>(row.lines - 1)) *
                           scale);
    stack.total += stack.height.back() + kRowGap * shrink;
  }
  if (on_plate) stack.total += kPlatePad * shrink;
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
