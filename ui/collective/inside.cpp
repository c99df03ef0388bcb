// Opens and closes the view inside a collective, moves from hop to hop, and lays out the parts of the page.
#include "ui/collective/inside.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <cmath>

#include "engine/runtime/snapshot.h"
#include "ui/collective/parts.h"
#include "ui/commands/commands.h"
#include "ui/commands/walk.h"
#include "ui/frame/windows.h"
#include "ui/panels/bar/bar_chips.h"
#include "ui/panels/parts.h"
#include "ui/plan/shown_plan.h"
#include "ui/stage/meeting.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

using namespace collective;

constexpr float kRestAtFirst = 0.5f;  ///< of a hop's time, before the first hop of a playback

/// The next collective after `step` in this direction; -1: there is none.
StepId collective_beside(const Program& program, StepId step, int direction) {
  const auto steps = static_cast<StepId>(program.steps.size());
  for (StepId id = step + direction; id >= 0 && id < steps; id += direction)
    if (is_collective(program.step(id).op) && group_ranks(program, program.step(id)) > 1) return id;
  return -1;
}

void show_beside(const Context& context, int direction) {
  const Plan* plan = shown_plan(context.snapshot);
  if (plan == nullptr) return;
  const StepId step = collective_beside(plan->program, context.view.selected_step, direction);
  if (step >= 0) look_inside(context, step);
}

/// Lets the hop under way go on, and goes to the next one.
void play_on(const Context& context, const Inside& inside) {
  auto& view = context.view.of<CollectiveView>();
  if (!view.playing || !inside.drawn()) return;
  view.under_way += ImGui::GetIO().DeltaTime * view.hops_per_second / (view.hop == 0 ? kRestAtFirst : 1);
  if (view.under_way < 1) return;
  view.stand_at(inside.hop + 1);
  view.playing = view.hop <= inside.hops();
}

/// Draws the head: the way back, what is shown, and what is known about it. Returns its height.
float draw_head(const Context& context, const Inside& inside, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = std::round(context.px(48)), control = context.px(kControlHeight);
  const float middle = at.y + height / 2, pad = context.px(16);
  fill_rect(list, at, {at.x + width, at.y + height}, context.theme.panel);
  fill_rect(list, {at.x, at.y + height - 1}, {at.x + width, at.y + height}, context.theme.line);
  const std::string back = ICON_FA_CHEVRON_LEFT "  " + std::string(names_of(context.view.tab).window);
  ImGui::SetCursorScreenPos({at.x + pad, std::round(middle - control / 2)});
  if (draw_button(context, "back", back, ButtonLook::Plain, true, "Back (Esc)")) leave_collective(context);
  float x = at.x + pad + button_width(context, back) + context.px(16);
  const auto words = [&](const TextStyle& style, const std::string& text, float gap) {
    draw_text(list, {x, middle - style.size * 0.56f}, style, text);
    x += text_width(style, text) + context.px(gap);
  };
  const float right = at.x + width - pad;
  const std::vector<Chip> chips = chips_of(context, inside);
  const TextStyle title{context.fonts.bold, std::round(context.px(18)), context.theme.text};
  words(title, title_of(inside), 12);
  if (const std::string letter = stage::letter_of(inside.step().conjugate); !letter.empty())
    words({context.fonts.italic, std::round(context.px(20)), context.theme.communication}, letter, 16);
  const std::string what = equation_of(inside);
  // The chips shrink first, then the details, because the equation says what is summed.
  const auto chips_width = [&](ChipDetail detail) {
    float all = 0;
    for (const Chip& chip : chips) all += chip_width(context, chip, detail) + context.px(8);
    return all;
  };
  ChipDetail detail = ChipDetail::Full;
  const float least_words = text_width(type.mono, what) + context.px(24);
  for (const ChipDetail one :
       {ChipDetail::Full, ChipDetail::Short, ChipDetail::Least, ChipDetail::MarkOnly}) {
    detail = one;
    const float with_details =
        one == ChipDetail::Full ? text_width(type.note, details_of(inside).back()) + context.px(16) : 0;
    if (x + least_words + with_details + chips_width(one) <= right) break;
  }
  const float words_end = right - chips_width(detail) - context.px(8);
  if (x + text_width(type.mono, what) <= words_end) words(type.mono, what, 16);
  words(type.note, longest_fitting(type.note, details_of(inside), words_end - x), 0);
  x = right - chips_width(detail) + context.px(8);
  for (size_t i = 0; i < chips.size(); ++i) {
    ImGui::SetCursorScreenPos({x, std::round(middle - context.px(kChipHeight) / 2)});
    draw_chip(context, fmt::format("chip {}", i).c_str(), chips[i], detail);
    x += chip_width(context, chips[i], detail) + context.px(8);
  }
  return height;
}

/// Draws ring or tree at the left and the table of all chunks at the right; in a narrow window only the
/// former.
void draw_hops_page(const Context& context, const Inside& inside, const ChunkPictures& pictures,
                    const stage::Rect& room) {
  const Type type(context);
  if (!inside.drawn()) {
    draw_wrapped(ImGui::GetWindowDrawList(), {room.min.x, room.min.y + context.px(16)}, type.body,
                 fmt::format("{} ranks are too many to draw. The rule is the same for every number of ranks: "
                             "choose T = {} or less to see it hop by hop. Price and times below are those of "
                             "all {} ranks.",
                             inside.size(), kMostDrawn, inside.size()),
                 std::min(room.width(), context.px(640)));
    return;
  }
  const bool has_table = room.width() >= context.px(1000);
  const float table_width = std::clamp(room.width() * 0.36f, context.px(380), context.px(680));
  const float left_end = has_table ? room.max.x - table_width - context.px(24) : room.max.x;
  const stage::Rect left{room.min, {left_end, room.max.y}};
  if (inside.wiring == Wiring::Tree)
    draw_tree(context, inside, left);
  else
    draw_ring(context, inside, pictures, left);
  if (has_table) draw_table(context, inside, {{room.max.x - table_width, room.min.y}, room.max});
}

}  // namespace

bool can_look_inside(const Context& context) {
  return inside_of(context).plan != nullptr;
}

bool is_inside_collective(const Context& context) {
  return context.view.of<CollectiveView>().open && can_look_inside(context);
}

bool has_collective(const Context& context) {
  const Plan* plan = shown_plan(context.snapshot);
  return plan != nullptr && collective_beside(plan->program, -1, 1) >= 0;
}

std::string inside_hint() {
  return title_with_key(find_command("collective.inside"));
}

void look_inside(const Context& context, StepId step) {
  const Plan* plan = shown_plan(context.snapshot);
  if (plan == nullptr) return;
  show_step(context.view, plan->program, step);  // on the Stage, after the way back
  context.view.playing = false;
  reach_selection(context);
  auto& view = context.view.of<CollectiveView>();
  view.open = true;
  view.playing = view.price_first = false;
  view.stand_at(0);
}

void look_inside(const Context& context) {
  const Plan* plan = shown_plan(context.snapshot);
  if (plan == nullptr) return;
  StepId step = context.view.selected_step;
  if (!can_look_inside(context)) step = collective_beside(plan->program, step, 1);
  if (step < 0) step = collective_beside(plan->program, -1, 1);
  if (step >= 0) look_inside(context, step);
}

bool leave_collective(const Context& context) {
  auto& view = context.view.of<CollectiveView>();
  if (!view.open) return false;
  view.open = view.playing = false;
  context.view.focus_tab = true;
  return true;
}

void hop_forward(const Context& context) {
  const Inside inside = inside_of(context);
  if (!inside.drawn()) return;
  auto& view = context.view.of<CollectiveView>();
  view.playing = false;
  view.stand_at(std::min(inside.hop + 1, inside.hops() + 1));
}

void hop_back(const Context& context) {
  const Inside inside = inside_of(context);
  if (!inside.drawn()) return;
  auto& view = context.view.of<CollectiveView>();
  view.playing = false;
  view.stand_at(std::max(inside.hop - 1, 0));
}

void hop_to_first(const Context& context) {
  auto& view = context.view.of<CollectiveView>();
  view.playing = false;
  view.stand_at(0);
}

void hop_to_last(const Context& context) {
  const Inside inside = inside_of(context);
  if (!inside.drawn()) return;
  auto& view = context.view.of<CollectiveView>();
  view.playing = false;
  view.stand_at(inside.hops() + 1);
}

void play_or_stop_hops(const Context& context) {
  const Inside inside = inside_of(context);
  if (!inside.drawn()) return;
  auto& view = context.view.of<CollectiveView>();
  view.playing = !view.playing;
  view.under_way = 0;
  if (view.playing && inside.hop > inside.hops()) view.stand_at(0);
}

void show_next_collective(const Context& context) {
  show_beside(context, 1);
}

void show_previous_collective(const Context& context) {
  show_beside(context, -1);
}

void change_wiring(const Context& context) {
  const Inside inside = inside_of(context);
  if (!inside.plan || !inside.has_tree()) return;
  auto& view = context.view.of<CollectiveView>();
  view.wiring = view.wiring == Wiring::Ring ? Wiring::Tree : Wiring::Ring;
  view.playing = false;
  view.stand_at(0);
}

void draw_inside_collective(const Context& context, float left_edge, float top_edge) {
  const Inside inside = inside_of(context);
  if (!inside.plan) return;
  play_on(context, inside);
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 corner{viewport.Pos.x + left_edge, viewport.Pos.y + top_edge};
  const ImVec2 size{std::max(1.0f, viewport.Size.x - left_edge), std::max(1.0f, viewport.Size.y - top_edge)};
  ImGui::SetNextWindowPos(corner);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, context.theme.window);
  ImGui::Begin("Inside a collective", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  const float pad = context.px(20), width = size.x - 2 * pad;
  const float left = corner.x + pad, bottom = corner.y + size.y;
  const float top = corner.y + draw_head(context, inside, corner, size.x);
  const ChunkPictures& pictures = pictures_of(context, inside);

  // From the bottom: price and times, the line of hops, and the hops in what is left.
  const bool low = size.y < context.px(kLowWindow) || width < context.px(kNarrowWindow);
  const bool price_first = low && context.view.of<CollectiveView>().price_first;
  const float figures = low ? 0 : figures_height(context, inside, width);
  const float line = line_height(context, inside, width, low);
  const float line_top = bottom - figures - line;
  const stage::Rect page{{left, top + context.px(12)}, {left + width, line_top - context.px(12)}};
  if (price_first)
    draw_figures(context, inside, page);
  else
    draw_hops_page(context, inside, pictures, page);
  fill_rect(ImGui::GetWindowDrawList(), {corner.x, line_top}, {corner.x + size.x, line_top + line},
            context.theme.panel);
  draw_line_of_hops(context, inside, {{left, line_top}, {left + width, line_top + line}}, low);
  if (!low)
    draw_figures(context, inside,
                 {{left, line_top + line + context.px(12)}, {left + width, bottom - context.px(10)}});
  ImGui::End();
}

}  // namespace shardlens::ui
