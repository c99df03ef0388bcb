// The matrices of the page "by hand" that a person types: X and dY, and each weight with its bias. Their
// outlines show what each rank holds of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/runtime/snapshot.h"
#include "ui/commands/keys_of_controls.h"
#include "ui/panels/parts.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

using lab::HandOperand;
constexpr float kOperandCellWidth = 34, kOperandCellHeight = 26, kOperandGap = 24;

/// What stands in one place of the page: a matrix, and the bias below it.
struct OperandStack {
  HandOperand matrix;
  std::optional<HandOperand> bias;
};
/// Two in a row, or all four in the order in which they are multiplied.
constexpr OperandStack kByTwo[] = {{HandOperand::X, {}},
                                   {HandOperand::Dy, {}},
                                   {HandOperand::Wfc, HandOperand::FcBias},
                                   {HandOperand::Wproj, HandOperand::ProjBias}};
constexpr OperandStack kByFour[] = {{HandOperand::X, {}},
                                    {HandOperand::Wfc, HandOperand::FcBias},
                                    {HandOperand::Wproj, HandOperand::ProjBias},
                                    {HandOperand::Dy, {}}};

class OperandDrawer {
 public:
  OperandDrawer(const Context& context, const lab::Worked* worked)
      : context_(context), worked_(worked), list_(ImGui::GetWindowDrawList()), type_(context) {}

  /// Draws one matrix with its name above. Returns the height.
  float draw(HandOperand operand, ImVec2 at, ImVec2 cell) {
    const std::string name = lab::to_string(operand);
    const auto& run = context_.view.of<HandRuns>().shown();
    const TensorId tensor = run ? tensor_of(run->program(), operand) : kNoTensor;
    const std::string layout = tensor == kNoTensor ? "" : to_string(run->program().tensor(tensor).layout);
    const float width = cell.x * static_cast<float>(lab::kHandSize);
    draw_text(list_, at, type_.strong, name);
    const float used = text_width(type_.strong, name) + context_.px(8);
    draw_text(list_, {at.x + width, at.y + type_.strong.size - type_.note.size}, type_.note,
              fitted(type_.note, layout, width - used), Align::Right);
    const HandGrid grid{{at.x, at.y + type_.strong.size + context_.px(4)}, cell, lab::rows_of(operand)};
    fill_rect(list_, grid.min, grid.max(), context_.theme.card);
    ImGui::PushID(name.c_str());
    for (int64_t row = 0; row < grid.rows; ++row)
      for (int64_t col = 0; col < lab::kHandSize; ++col) draw_cell(grid, {operand, row, col}, tensor);
    ImGui::PopID();
    if (tensor != kNoTensor)
      for (int rank = 0; rank < lab::kHandRanks; ++rank)
        outline_piece(context_, list_, grid, run->program(), tensor, rank);
    draw_marked(grid, operand);
    return grid.max().y - at.y;
  }

 private:
  void draw_cell(const HandGrid& grid, const HandCell& cell, TensorId tensor) {
    const Theme& theme = context_.theme;
    ByHandView& view = context_.view.of<ByHandView>();
    const ImVec2 min = grid.at(cell.row, cell.col), max{min.x + grid.cell.x, min.y + grid.cell.y};
    ImGui::SetCursorScreenPos(min);
    if (click_area(fmt::format("{},{}", cell.row, cell.col).c_str(), grid.cell)) {
      view.cell = cell;
      view.typed.clear();
      view.refused.clear();
      set_keys_of_controls(false);  // what is typed goes into the cell
    }
    const bool hovered = ImGui::IsItemHovered(), typed = view.cell == cell;
    if (is_read(tensor, cell.row, cell.col)) fill_rect(list_, min, max, faded(theme.forward, 0.35f));
    if (hovered || typed) fill_rect(list_, min, max, typed ? theme.window : theme.line);
    const bool unfinished = typed && !view.typed.empty() && view.typed == "-";
    const std::string text =
        unfinished ? "\u2212" : lab::hand_text(view.form.operands.at(cell.operand, cell.row, cell.col));
    draw_text(list_, {(min.x + max.x) / 2, (min.y + max.y - type_.mono.size) / 2}, type_.mono, text,
              Align::Centre);
  }

  /// The cell that takes the keys, above the outlines.
  void draw_marked(const HandGrid& grid, HandOperand operand) {
    const std::optional<HandCell>& cell = context_.view.of<ByHandView>().cell;
    if (!cell || cell->operand != operand) return;
    const ImVec2 min = grid.at(cell->row, cell->col);
    outline_rect(list_, min, {min.x + grid.cell.x, min.y + grid.cell.y}, context_.theme.forward, 0,
                 context_.px(2));
  }

  bool is_read(TensorId tensor, int64_t row, int64_t col) const {
    return worked_ != nullptr && tensor != kNoTensor &&
           std::any_of(worked_->reads.begin(), worked_->reads.end(), [&](const lab::HandRead& read) {
             return read.tensor == tensor && read.row == row && read.col == col;
           });
  }

  const Context& context_;
  const lab::Worked* worked_;
  ImDrawList* list_;
  const Type type_;
};

}  // namespace

float draw_hand_operands(const Context& context, const lab::Worked* worked, ImVec2 at, float width) {
  OperandDrawer drawer(context, worked);
  const float gap = context.px(kOperandGap), columns = static_cast<float>(lab::kHandSize);
  ImVec2 cell{std::round(context.px(kOperandCellWidth)), std::round(context.px(kOperandCellHeight))};
  const bool by_four = 4 * columns * cell.x + 3 * gap <= width;
  const size_t in_a_row = by_four ? 4 : 2;
  if (!by_four) cell.x = std::min(cell.x, std::floor((width - gap) / (2 * columns)));
  float y = at.y, below = at.y;
  for (size_t i = 0; i < std::size(kByTwo); ++i) {
    const OperandStack& stack = by_four ? kByFour[i] : kByTwo[i];
    if (i % in_a_row == 0) y = below + (i > 0 ? context.px(10) : 0);
    const ImVec2 place{at.x + static_cast<float>(i % in_a_row) * (columns * cell.x + gap), y};
    float end = place.y + drawer.draw(stack.matrix, place, cell);
    if (stack.bias) end += context.px(6) + drawer.draw(*stack.bias, {place.x, end + context.px(6)}, cell);
    below = std::max(below, end);
  }
  return below - at.y;
}

}  // namespace shardlens::ui
