// The page "by hand": two ranks, matrices of 4 × 4 whose numbers a person types, and every number of the run.
// Beside a lesson all of it stands in one column that scrolls.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/panels/parts.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/program/program_pages.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kOperandsWidth = 306;
constexpr float kLeastOperands = 262;  ///< in a page that is a little too narrow
constexpr float kPartsGap = 20;
constexpr float kScrollBar = 16;
constexpr float kMostOfNumber = 0.4f;  ///< of the height; the rest of the written number scrolls
/// In a lower page the choices stand below the operands. There, and in one column, the explanation is left
/// out.
constexpr float kLeastHigh = 460;
constexpr float kOperandsAndNumber = 660;  ///< the height at which both fit below each other
constexpr float kLeastOutcome = 300;       ///< the width at which the outcome stands beside the title

std::string outcome_words(const lab::HandRun& run) {
  const StepId wrong = run.first_wrong();
  if (wrong < 0) return "Every number is that of one rank.";
  return fmt::format("Wrong from the step \"{}\" on, where underlined.",
                     lab::equation_of(run.program(), run.program().step(wrong)));
}

/// What was refused, or whether the run is right. Returns the height.
float draw_outcome(const Context& context, const lab::HandRun* run, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  const ByHandView& view = context.view.of<ByHandView>();
  const std::string& failed = context.view.of<HandRuns>().failed();
  const std::string words = !view.refused.empty() ? as_sentence(view.refused) + "."
                            : !failed.empty()     ? as_sentence(failed)
                            : run != nullptr      ? outcome_words(*run)
                                                  : "Running …";
  const bool said = !view.refused.empty() || !failed.empty();
  const bool right = run != nullptr && run->first_wrong() < 0;
  const ImU32 colour = said ? theme.communication : right ? theme.agreement : theme.text;
  return draw_wrapped(ImGui::GetWindowDrawList(), at, in(type.body, colour), words, width) + context.px(8);
}

/// Draws what `draw` draws from the cursor, in a window that scrolls if it is higher than `size`.
template <class Draw>
void scrolled_part(const char* id, ImVec2 at, ImVec2 size, const Draw& draw) {
  ImGui::SetCursorScreenPos(at);
  if (ImGui::BeginChild(id, size)) {
    const ImVec2 top = ImGui::GetCursorScreenPos();
    const float height = draw(top, ImGui::GetContentRegionAvail().x);
    ImGui::SetCursorScreenPos({top.x, top.y + height});
    ImGui::Dummy({0, 0});
  }
  ImGui::EndChild();
}

/// The page's parts, which stand beside each other where there is room.
class HandPage {
 public:
  explicit HandPage(const Context& context) : context_(context), view_(context.view.of<ByHandView>()) {
    HandRuns& runs = context.view.of<HandRuns>();
    const ImGuiIO& io = ImGui::GetIO();
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) stop_keys();  // the click may be on another cell
    view_.changes.chose(view_.form, io.MouseDown[0] ? io.MouseClickedTime[0] : 0);
    runs.follow(view_.form);
    run_ = runs.shown();
    if (!run_) return;
    const HandNumber number = shown_number(view_, *run_);
    worked_ = lab::work_out(*run_, number.step, number.tensor, number.row, number.col);
  }

  void draw() {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool low = room.y < context_.px(kLeastHigh);
    const float steps = run_ ? steps_width(context_, *run_, lab::kHandRanks) + context_.px(kScrollBar) : 0;
    const bool narrow = room.x < context_.px(kOperandsWidth + kPartsGap) + steps;
    operands_ = context_.px(narrow ? kLeastOperands : kOperandsWidth);
    const bool in_one_column = room.x < operands_ + context_.px(kPartsGap) + steps;
    draw_head(low || in_one_column);
    const ImVec2 at = ImGui::GetCursorScreenPos(), below = ImGui::GetContentRegionAvail();
    if (in_one_column) return draw_below_each_other(at, below);
    const float choices = low ? 0 : draw_hand_choices(context_, at, below.x);
    draw_beside_each_other({at.x, at.y + choices}, {below.x, below.y - choices}, low);
  }

 private:
  /// Keys are commands again, as everywhere.
  void stop_keys() {
    view_.cell.reset();
    view_.typed.clear();
    view_.refused.clear();
    view_.reads_keys = false;
  }

  void draw_head(bool low) {
    const Type type(context_);
    const float pages = program_pages_width(context_) + context_.px(16);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ImGui::GetContentRegionAvail().x - pages;
    const float name = text_width(type.title, kTitle) + context_.px(20);
    page_head(
        context_, kTitle,
        low ? ""
            : "Two ranks really run one MLP block. Click a cell and type whole numbers from \u22129 to 9; "
              "Tab, Enter and arrows go on, Ctrl+V pastes rows. Click a number to see its sum.",
        pages);
    const ImVec2 end = ImGui::GetCursorScreenPos();
    const bool beside = room - name >= context_.px(kLeastOutcome);
    const ImVec2 outcome = beside ? ImVec2{at.x + name, at.y + type.title.size - type.body.size} : end;
    const float height = draw_outcome(context_, run_.get(), outcome, beside ? room - name : room + pages);
    ImGui::SetCursorScreenPos({end.x, std::max(end.y, outcome.y + height) + context_.px(4)});
  }

  float draw_operands(ImVec2 at, float width) {
    return draw_hand_operands(context_, run_ ? &worked_ : nullptr, at, width);
  }
  float draw_number(ImVec2 at, float width) {
    return run_ ? draw_hand_number(context_, worked_, at, width) : 0;
  }
  float draw_steps(ImVec2 at, float width) {
    return run_ ? draw_hand_steps(context_, *run_, worked_, at, width) : 0;
  }

  /// The written number stands below the operands if it fits there, else above the steps.
  void draw_beside_each_other(ImVec2 at, ImVec2 room, bool low) {
    const float gap = context_.px(kPartsGap);
    const bool on_the_left = room.y >= context_.px(kOperandsAndNumber);
    scrolled_part("operands", at, {operands_, room.y}, [&](ImVec2 from, float width) {
      float height = draw_operands(from, width) + context_.px(14);
      if (on_the_left) height += draw_number({from.x, from.y + height}, width);
      if (low) height += draw_hand_choices(context_, {from.x, from.y + height}, width);
      return height;
    });
    const ImVec2 right{at.x + operands_ + gap, at.y};
    const float width = room.x - operands_ - gap;
    const float number = on_the_left ? 0 : draw_apart(right, {width, room.y});
    scrolled_part("steps", {right.x, right.y + number}, {width, room.y - number},
                  [&](ImVec2 from, float inside) { return draw_steps(from, inside); });
  }

  /// The written number stays in view at the top of `room`, with a rule below it. Returns the height, which a
  /// shorter number keeps: what was clicked below it stays under the mouse.
  float draw_apart(ImVec2 at, ImVec2 room) {
    if (!run_) return 0;
    if (std::exchange(view_.number_room.width, room.x) != room.x) view_.number_room.height = 0;
    const float own = std::ceil(hand_number_height(context_, worked_, room.x, room.y * kMostOfNumber));
    const float height = view_.number_room.height =
        std::min(std::max(own, view_.number_room.height), std::max(own, room.y * kMostOfNumber));
    scrolled_part("number", at, {room.x, height},
                  [&](ImVec2 from, float inside) { return draw_number(from, inside); });
    rule(context_, {at.x, at.y + height}, room.x);
    return height + std::ceil(context_.px(8));
  }

  void draw_below_each_other(ImVec2 at, ImVec2 room) {
    const float number = draw_apart(at, room);
    scrolled_part("page", {at.x, at.y + number}, {room.x, room.y - number}, [&](ImVec2 from, float width) {
      float height = draw_operands(from, width) + context_.px(12);
      height += draw_steps({from.x, from.y + height}, width) + context_.px(12);
      return height + draw_hand_choices(context_, {from.x, from.y + height}, width);
    });
  }

  static constexpr const char* kTitle = "By hand";
  const Context& context_;
  ByHandView& view_;
  std::shared_ptr<const lab::HandRun> run_;
  lab::Worked worked_;
  float operands_ = 0;  ///< the width of their column
};

}  // namespace

void draw_program_by_hand(const Context& context) {
  HandPage(context).draw();
}

}  // namespace shardlens::ui
