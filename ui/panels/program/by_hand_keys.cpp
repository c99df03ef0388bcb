// Keys of the page "by hand". A cell that was clicked takes digits and signs; Tab, Enter and arrows go to the
// next one. A number that was clicked lets the arrows go from number to number.
#include <fmt/format.h>
#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/error.h"
#include "engine/runtime/snapshot.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/program/program_view.h"

namespace shardlens::ui {
namespace {

constexpr int64_t kLastColumn = lab::kHandSize - 1;

/// Puts typed or pasted text into the cell. Refused text changes nothing but the message.
bool put_text(ByHandView& view, const std::string& text) {
  try {
    lab::type_into(view.form.operands, view.cell->operand, view.cell->row, view.cell->col, text);
    view.refused.clear();
    return true;
  } catch (const Error& error) {
    view.refused = error.what();
    return false;
  }
}

void type_sign(ByHandView& view, ImWchar sign) {
  std::array<char, 5> bytes{};
  ImTextCharToUtf8(bytes.data(), sign);
  std::string text = bytes.data();
  if (text == "\u2212") text = "-";
  if (view.typed.empty())
    view.before_typing = view.form.operands.at(view.cell->operand, view.cell->row, view.cell->col);
  if (text == "-" && view.typed.empty()) {  // no number yet
    view.typed = text;
    view.refused.clear();
    return;
  }
  if (put_text(view, view.typed + text)) {
    view.typed += text;
    return;
  }
  // Of a refused 12 the 1 does not stay either.
  view.form.operands.at(view.cell->operand, view.cell->row, view.cell->col) = view.before_typing;
  view.typed.clear();
}

/// Goes to another cell: `by` cells on in reading order, through all matrices.
void go_to_next(ByHandView& view, int64_t by) {
  HandCell& cell = *view.cell;
  int64_t index = 0, count = 0;
  for (size_t i = 0; i < lab::kHandOperands; ++i) {
    const auto operand = static_cast<lab::HandOperand>(i);
    if (operand == cell.operand) index = count + cell.row * lab::kHandSize + cell.col;
    count += lab::rows_of(operand) * lab::kHandSize;
  }
  index = (index + by + count) % count;
  for (size_t i = 0; i < lab::kHandOperands; ++i) {
    const auto operand = static_cast<lab::HandOperand>(i);
    const int64_t cells = lab::rows_of(operand) * lab::kHandSize;
    if (index < cells) {
      cell = {operand, index / lab::kHandSize, index % lab::kHandSize};
      break;
    }
    index -= cells;
  }
  view.typed.clear();
}

void move_cell(ByHandView& view, int64_t rows, int64_t cols) {
  HandCell& cell = *view.cell;
  cell.row = std::clamp<int64_t>(cell.row + rows, 0, lab::rows_of(cell.operand) - 1);
  cell.col = std::clamp<int64_t>(cell.col + cols, 0, kLastColumn);
  view.typed.clear();
}

struct HandArrow {
  ImGuiKey key;
  int rows, cols;
};
constexpr HandArrow kHandArrows[] = {{ImGuiKey_UpArrow, -1, 0},
                                     {ImGuiKey_DownArrow, 1, 0},
                                     {ImGuiKey_LeftArrow, 0, -1},
                                     {ImGuiKey_RightArrow, 0, 1}};

/// True if a key is pressed that writes something. Such a key must not be a command as well, even if its sign
/// comes a frame later.
bool is_writing() {
  const std::pair<ImGuiKey, ImGuiKey> ranges[] = {{ImGuiKey_Space, ImGuiKey_Space},
                                                  {ImGuiKey_0, ImGuiKey_Z},
                                                  {ImGuiKey_Apostrophe, ImGuiKey_GraveAccent},
                                                  {ImGuiKey_Keypad0, ImGuiKey_KeypadEqual}};
  for (const auto& [first, last] : ranges)
    for (int key = first; key <= last; ++key)
      if (ImGui::IsKeyPressed(static_cast<ImGuiKey>(key))) return true;
  return false;
}

bool take_keys_to_cell(ByHandView& view) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool plain = io.KeyMods == ImGuiMod_None, shifted = io.KeyMods == ImGuiMod_Shift;
  if (ImGui::IsKeyChordPressed(ImGuiMod_Ctrl | ImGuiKey_V)) {
    const char* const pasted = ImGui::GetClipboardText();
    put_text(view, pasted != nullptr ? pasted : "");
    view.typed.clear();
    return true;
  }
  if (ImGui::IsKeyChordPressed(ImGuiMod_Ctrl | ImGuiKey_C)) {
    ImGui::SetClipboardText(lab::typed_text(view.form.operands, view.cell->operand).c_str());
    return true;
  }
  if (!plain && !shifted) return false;
  for (const HandArrow& arrow : kHandArrows)
    if (plain && ImGui::IsKeyPressed(arrow.key)) return move_cell(view, arrow.rows, arrow.cols), true;
  if (plain && ImGui::IsKeyPressed(ImGuiKey_Home)) return move_cell(view, 0, -lab::kHandSize), true;
  if (plain && ImGui::IsKeyPressed(ImGuiKey_End)) return move_cell(view, 0, lab::kHandSize), true;
  if (ImGui::IsKeyPressed(ImGuiKey_Tab)) return go_to_next(view, shifted ? -1 : 1), true;
  if (ImGui::IsKeyPressed(ImGuiKey_Enter) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter))
    return move_cell(view, shifted ? -1 : 1, 0), true;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) {
    view.cell.reset();
    view.typed.clear();
    view.refused.clear();
    return true;
  }
  if (ImGui::IsKeyPressed(ImGuiKey_Delete) || ImGui::IsKeyPressed(ImGuiKey_Backspace)) {
    put_text(view, "0");
    view.typed.clear();
    return true;
  }
  bool any = is_writing();
  for (const ImWchar sign : io.InputQueueCharacters) {
    if (sign <= ' ') continue;
    type_sign(view, sign);
    any = true;
  }
  return any;
}

bool take_keys_to_number(ByHandView& view, const lab::HandRun& run) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.KeyMods != ImGuiMod_None) return false;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) return view.reads_keys = false, true;
  const HandNumber at = shown_number(view, run);
  if (at.step < 0) return false;
  const MatrixShape shape = matrix_shape(run.program().tensor(at.tensor));
  for (const HandArrow& arrow : kHandArrows) {
    if (!ImGui::IsKeyPressed(arrow.key)) continue;
    view.row = std::clamp<int64_t>(at.row + arrow.rows, 0, shape.rows - 1);
    view.col = std::clamp<int64_t>(at.col + arrow.cols, 0, shape.cols - 1);
    return true;
  }
  return false;
}

std::string choice_text(const lab::HandChoice& choice) {
  return fmt::format("Wfc {}, Wproj {}, X and Y {}, {}, {}", to_string(choice.fc), to_string(choice.proj),
                     to_string(choice.stream), choice.gelu ? "GeLU" : "no GeLU",
                     choice.mistake ? facts_of(*choice.mistake).title : "no mistake");
}

}  // namespace

bool shows_by_hand(const ViewState& view) {
  return view.tab == Tab::Program && view.of<ProgramView>().page == ProgramPage::ByHand;
}

bool take_keys_to_hand(const Context& context) {
  ByHandView& view = context.view.of<ByHandView>();
  if (!shows_by_hand(context.view)) {  // another page ends what was being typed
    view.cell.reset();
    view.typed.clear();
    return view.reads_keys = false;
  }
  if (view.cell) return take_keys_to_cell(view);
  const auto& run = context.view.of<HandRuns>().shown();
  return view.reads_keys && run && take_keys_to_number(view, *run);
}

void take_hand_form(const Context& context, const char* what, const HandForm& form) {
  ByHandView& view = context.view.of<ByHandView>();
  const HandForm before = std::exchange(view.form, form);
  view.typed.clear();
  view.refused.clear();
  int changed = 0;
  std::string words;
  for (size_t i = 0; i < lab::kHandOperands; ++i) {
    const auto operand = static_cast<lab::HandOperand>(i);
    for (int64_t row = 0; row < lab::rows_of(operand); ++row)
      for (int64_t col = 0; col < lab::kHandSize; ++col) {
        const int value = form.operands.at(operand, row, col);
        if (value == before.operands.at(operand, row, col)) continue;
        ++changed;
        words = fmt::format("{}, row {}, column {}, is {}", lab::to_string(operand), row, col,
                            lab::hand_text(value));
      }
  }
  if (changed > 1) words = fmt::format("{} numbers", changed);
  if (changed == 0) words = choice_text(form.choice);
  context.view.told = fmt::format("{}: {}", what, words);
}

}  // namespace shardlens::ui
