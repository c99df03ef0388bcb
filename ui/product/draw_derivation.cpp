// Draws a derivation: formulas below each other with their relations in one column, remarks beside them, or
// below them where there is no room, and what follows the step.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/lesson/lesson_view.h"
#include "ui/panels/parts.h"
#include "ui/plan/seen_break.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/derivation_page.h"
#include "ui/product/math_box.h"
#include "ui/product/page.h"
#include "ui/widgets/copy_table.h"

namespace shardlens::ui {
namespace {

constexpr float kLargestSymbol = 42;  ///< of the page, pixels at scale 1
// Pixels at scale 1: smaller symbols scroll instead. A room reads the small letters beside them too.
constexpr float kLeastSymbol = 17.5F, kLeastInLecture = 22;
constexpr float kLeastRemark = 210;  ///< the width at scale 1 that a remark beside a formula needs
constexpr float kShrink = 0.93F;     ///< from one size to the next

struct SetLine {
  MathBox left, sign, right;
  bool has_left = false;
  std::string remark;
  ImU32 sign_colour = 0;
};

/// All lines at one size.
struct SetLines {
  std::vector<SetLine> lines;
  float size = 0;
  float left = 0, sign = 0, right = 0;  ///< the widths of the columns
  float formulas() const { return left + sign + right; }
};

MathBox narrowed(const Context& context, const Math& math, float size, float most) {
  MathBox box = set_math({context.fonts, context.theme, size}, math);
  while (box.width > most && size > context.px(7)) {
    size = std::min(size * kShrink, size * most / box.width);
    box = set_math({context.fonts, context.theme, size}, math);
  }
  return box;
}

/// `width`: lines that are wider at this size are set smaller, if it is above 0.
SetLines set_lines(const Context& context, const Derivation& derivation, float size, float width) {
  SetLines all;
  all.size = size;
  const MathStyle style{context.fonts, context.theme, size};
  const float gap = size * 0.5F;
  for (const DerivationLine& line : derivation.lines) {
    SetLine set;
    set.has_left = !line.left.empty();
    if (set.has_left) set.left = set_math(style, line.left.front());
    set.sign = set_sign(style, to_text(line.relation));
    set.remark = line.remark;
    all.left = std::max(all.left, set.left.width + gap);
    all.sign = std::max(all.sign, set.sign.width + gap);
    all.lines.push_back(std::move(set));
  }
  if (width > 0) all.left = std::min(all.left, width * 0.45F);
  for (size_t at = 0; at < all.lines.size(); ++at) {
    const Math& right = derivation.lines[at].right;
    SetLine& set = all.lines[at];
    set.right =
        width > 0 ? narrowed(context, right, size, width - all.left - all.sign) : set_math(style, right);
    if (width > 0 && set.left.width > all.left)
      set.left = narrowed(context, derivation.lines[at].left.front(), size, all.left);
    all.right = std::max(all.right, set.right.width);
  }
  return all;
}

/// Where the remarks stand, and how they are set.
struct Remarks {
  TextStyle style;
  bool beside = true;
  float x = 0, width = 0;
};

Remarks remarks_for(const Context& context, const SetLines& set, float width) {
  Remarks remarks;
  remarks.style = in(Type(context).body, context.theme.dim);
  remarks.style.size = std::max(context.px(kSmallSize), std::round(set.size * 0.66F));
  const float gap = set.size * 1.1F;
  remarks.beside = width - set.formulas() - gap >= context.px(kLeastRemark);
  remarks.x = remarks.beside ? set.formulas() + gap : set.left + set.sign;
  remarks.width = std::max(width - remarks.x, context.px(60));
  return remarks;
}

/// Draws the lines, or measures them without a list. Returns their height.
float draw_lines(const SetLines& set, const Remarks& remarks, ImDrawList* list, ImVec2 at) {
  float y = at.y;
  const float between = set.size * 0.3F;
  for (const SetLine& line : set.lines) {
    if (line.has_left && y > at.y) y += set.size * 0.16F;
    const float above = std::max({line.left.above, line.sign.above, line.right.above});
    const float below = std::max({line.left.below, line.sign.below, line.right.below});
    const float base = y + above;
    if (list != nullptr) {
      line.left.draw(list, {at.x, base});
      line.sign.draw(list, {at.x + set.left, base});
      line.right.draw(list, {at.x + set.left + set.sign, base});
    }
    float bottom = y + above + below;
    if (!line.remark.empty()) {
      const float height = wrapped_height(remarks.style, line.remark, remarks.width);
      float top = bottom + set.size * 0.12F;
      if (remarks.beside) top = std::max(y, base - set.size * 0.28F - height / 2);
      if (list != nullptr)
        draw_wrapped(list, {at.x + remarks.x, top}, remarks.style, line.remark, remarks.width);
      bottom = std::max(bottom, top + height);
    }
    y = bottom + between;
  }
  return y - at.y;
}

/// What follows the step. Returns its height.
float draw_what_follows(const Context& context, const Derivation& derivation, float size, ImDrawList* list,
                        ImVec2 at, float width) {
  const Type type(context);
  TextStyle then = in(type.strong, context.theme.text), why = in(type.body, context.theme.dim);
  then.size = why.size = std::max(context.px(kSmallSize), std::round(size * 0.68F));
  float y = at.y;
  const auto say = [&](const TextStyle& style, const std::string& text) {
    if (text.empty()) return;
    const float height = list != nullptr ? draw_wrapped(list, {at.x, y}, style, text, width)
                                         : wrapped_height(style, text, width);
    y += height + size * 0.25F;
  };
  say(then, derivation.then);
  say(why, derivation.why);
  return y - at.y;
}

float height_of(const Context& context, const Derivation& derivation, const SetLines& set, float width) {
  const Remarks remarks = remarks_for(context, set, width);
  return draw_lines(set, remarks, nullptr, {0, 0}) +
         draw_what_follows(context, derivation, set.size, nullptr, {0, 0}, width);
}

/// The derivation of this frame's plan and step.
struct KeptDerivation {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Derivation> derivation;
};

}  // namespace

std::shared_ptr<const Derivation> derivation_of_selection(const Context& context) {
  // The derivation of a planted mistake says where it is.
  if (keeps_findings_back(context) && seen_break(context)) return nullptr;
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  const StepId step = context.view.selected_step;
  if (!plan || step < 0 || static_cast<size_t>(step) >= plan->program.steps.size()) return nullptr;
  auto& kept = context.view.of<KeptDerivation>();
  if (kept.plan != plan || !kept.derivation || kept.derivation->step != step)
    kept = {plan, std::make_shared<const Derivation>(derive(plan->program, step))};
  return kept.derivation;
}

float draw_derivation_lines(const Context& context, const Derivation& derivation, ImVec2 at, float width,
                            float height, float most) {
  const float least = context.px(context.view.lecture ? kLeastInLecture : kLeastSymbol);
  SetLines set;
  for (float size = std::max(most, least);; size = std::max(size * kShrink, least)) {
    set = set_lines(context, derivation, size, 0);
    const bool fits = set.formulas() <= width;
    if (fits && (height <= 0 || height_of(context, derivation, set, width) <= height)) break;
    if (size > least) continue;
    if (!fits) set = set_lines(context, derivation, least, width);
    break;
  }
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const Remarks remarks = remarks_for(context, set, width);
  const float lines = draw_lines(set, remarks, list, at);
  return lines + draw_what_follows(context, derivation, set.size, list, {at.x, at.y + lines}, width);
}

void draw_derivation_page(const OpenedPage& page, const Rect& room) {
  const Context& context = page.context;
  const std::shared_ptr<const Derivation> derivation = derivation_of_selection(context);
  if (!derivation)
    return draw_missing(page, "Answer the lesson's question, and this page derives the step.", room);
  const ImVec2 size{room.max.x - room.min.x, room.max.y - room.min.y};
  ImGui::SetCursorScreenPos(room.min);
  if (ImGui::BeginChild("derivation lines", size)) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float bar = ImGui::GetStyle().ScrollbarSize, top = page.px(8);
    const float left = page.px(2);  // a line at the edge would be cut
    const float height =
        draw_derivation_lines(context, *derivation, {at.x + left, at.y + top}, size.x - bar - left,
                              size.y - 2 * top, page.px(kLargestSymbol));
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({1, height + top});
  }
  ImGui::EndChild();
}

void copy_as_latex(const Derivation& derivation) {
  copy_text(to_latex(derivation), "the derivation as LaTeX");
}

}  // namespace shardlens::ui
