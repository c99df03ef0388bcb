// The page of this layer's memory on each rank: planned by liveness before the run, beside the most that each
// arena held in the run, and the bytes over the steps. Planned and measured bytes are of the same arenas, so
// they must be equal to the byte. The page says whether they are. Its words do without "liveness" and
// "arena".
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/runtime/snapshot.h"
#include "ui/frame/notice.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/memory/memory_pages.h"
#include "ui/panels/parts.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/format.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace {

constexpr float kClassSide = 232;  ///< the width of a rank's bytes beside the bars, in front of a class

std::string in_unit(double bytes, ByteUnit unit) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), bytes / unit.bytes < 9.995 ? "%.2f" : "%.1f", bytes / unit.bytes);
  return text.data();
}

/// The measured high-water marks that belong to the plan shown, or null.
const std::vector<BytesByKind>* measured(const Snapshot& snapshot) {
  if (!snapshot.result || snapshot.stale()) return nullptr;
  const auto& marks = snapshot.result->high_water_bytes;
  return marks.size() == snapshot.plan->memory.size() ? &marks : nullptr;
}

/// `named`: each part that has room says its kind, because the list of kinds may be below the window.
void draw_bar(const Context& context, const BytesByKind& bytes, float x0, float x1, float base, float scale,
              bool is_plan, bool named) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Type type(context);
  float below = base;
  double sum = 0;
  for (MemoryKind kind : kStackOrder) {
    if (bytes_of(bytes, kind) == 0) continue;
    sum += static_cast<double>(bytes_of(bytes, kind));
    const float above = std::round(base - static_cast<float>(sum) * scale);
    const ImU32 colour = kind_colour(theme, kind);
    if (is_plan) {
      fill_rect(list, {x0, above}, {x1, below}, faded(colour, 0.28f));
      draw_dashed_rect(list, {x0 + 0.5f, above + 0.5f}, {x1 - 0.5f, below - 0.5f}, colour, 1, context.px(3));
    } else {
      fill_rect(list, {x0, above}, {x1, below - (below - above > 3 ? 1.0f : 0.0f)}, colour);
    }
    const TextStyle words = in(type.note, is_plan ? theme.text : legible_on(theme, colour));
    if (named && below - above >= words.size + context.px(2) &&
        text_width(words, to_string(kind)) <= x1 - x0 - context.px(4))
      draw_text(list, {(x0 + x1) / 2, (above + below - words.size) / 2}, words, to_string(kind),
                Align::Centre);
    below = above;
  }
}

/// Draws a pair of bars for each rank: planned (dashed) and measured (solid).
void draw_ranks(const Context& context, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Plan& plan = *context.snapshot.plan;
  const std::vector<BytesByKind>* marks = measured(context.snapshot);
  double top = 1;
  for (const MemoryPlan& memory : plan.memory)
    top = std::max(top, static_cast<double>(total_bytes(memory.arena_bytes)));
  const ByteUnit unit = unit_for(top);
  const float axis = context.px(48), feet = context.px(30), head = context.px(46);
  const ImVec2 plot_min(min.x + axis, min.y + context.px(10)),
      plot_max(min.x + size.x, min.y + size.y - feet);
  const float scale = (plot_max.y - plot_min.y - head) / static_cast<float>(top);
  draw_text(list, {min.x, min.y - context.px(12)}, type.note, std::string(unit.name) + " per rank");
  const double shown = top / unit.bytes;  // no line crosses the figures above the bars
  for (double tick : round_ticks(Stretch{0, shown}, std::max(3, static_cast<int>(size.y / context.px(48))))) {
    const float y = std::round(plot_max.y - static_cast<float>(tick * unit.bytes) * scale) + 0.5f;
    list->AddLine({plot_min.x, y}, {plot_max.x, y}, tick > 0 ? faded(theme.line, 0.6f) : theme.line, 1);
    std::array<char, 32> label{};
    std::snprintf(label.data(), label.size(), "%g", std::abs(tick));
    draw_text(list, {plot_min.x - context.px(8), y - type.mono_note.size / 2}, type.mono_note, label.data(),
              Align::Right);
  }
  const size_t ranks = plan.memory.size();
  const float slot = (plot_max.x - plot_min.x) / static_cast<float>(ranks);
  const float bar = std::min(slot * 0.34f, context.px(72)), gap = std::min(context.px(6), slot * 0.06f);
  for (size_t rank = 0; rank < ranks; ++rank) {
    const float centre = plot_min.x + slot * (static_cast<float>(rank) + 0.5f);
    const BytesByKind& planned = plan.memory[rank].arena_bytes;
    draw_bar(context, planned, std::round(centre - gap / 2 - bar), std::round(centre - gap / 2), plot_max.y,
             scale, true, rank == 0 && marks == nullptr);
    if (marks)
      draw_bar(context, (*marks)[rank], std::round(centre + gap / 2), std::round(centre + gap / 2 + bar),
               plot_max.y, scale, false, rank == 0);
    const double total = static_cast<double>(total_bytes(planned));
    const float top_y =
        plot_max.y - static_cast<float>(total) * scale - type.figure.size - type.note.size - context.px(8);
    const std::string amount = in_unit(total, unit);
    const TextStyle figure = text_width(type.figure, amount) < slot - 4 ? type.figure : type.note;
    draw_text(list, {centre, top_y}, figure, amount, Align::Centre);
    const bool equal = marks && (*marks)[rank] == planned;
    const std::string verdict = !marks  ? std::string("planned")
                                : equal ? std::string("= ") + how_known(context.snapshot)
                                        : "differs";
    draw_text(list, {centre, top_y + figure.size + context.px(1)},
              in(type.note, !marks  ? theme.dim
                            : equal ? theme.agreement
                                    : theme.communication),
              text_width(type.note, verdict) < slot ? verdict
              : equal                               ? "="
                                                    : "",
              Align::Centre);
    // the rank itself
    const std::string name = slot > context.px(56) ? "rank " + std::to_string(rank) : std::to_string(rank);
    ImGui::SetCursorScreenPos({plot_min.x + slot * static_cast<float>(rank), plot_min.y});
    ImGui::PushID("rank bars");
    if (ImGui::InvisibleButton(("rank " + std::to_string(rank)).c_str(), {slot, min.y + size.y - plot_min.y}))
      select_rank_or_all(context.view, static_cast<int>(rank));
    ImGui::PopID();
    const bool taken = context.view.selected_rank == static_cast<int>(rank);
    const float label_y = plot_max.y + context.px(8);
    fill_rect(list, {std::round(centre - bar - gap / 2), plot_max.y + context.px(2)},
              {std::round(centre + bar + gap / 2), plot_max.y + context.px(5)}, theme.ranks[rank % 8]);
    draw_text(list, {centre, label_y},
              taken ? type.strong : in(type.note, ImGui::IsItemHovered() ? theme.text : theme.dim), name,
              Align::Centre);
  }
}

/// Draws the exact bytes of one rank by kind. Returns the height it took.
float draw_kinds(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Plan& plan = *context.snapshot.plan;
  const size_t rank = explained_rank(context);
  const std::vector<BytesByKind>* marks = measured(context.snapshot);
  const BytesByKind& planned = plan.memory[rank].arena_bytes;
  const float right = at.x + width, mark_width = context.px(22);
  const float column = context.px(100), measured_x = right - mark_width, planned_x = measured_x - column;
  const std::string how = how_known(context.snapshot);
  TextTable copied{
      {{"rank " + std::to_string(rank)}, {"planned bytes", Align::Right}, {how + " bytes", Align::Right}},
      {}};
  float y = at.y;
  draw_text(list, {at.x, y + context.px(3)}, type.strong, "Bytes of rank " + std::to_string(rank));
  const float head_y = y;
  y += context.px(32);
  draw_text(list, {planned_x, y}, type.note, "planned", Align::Right);
  draw_text(list, {measured_x, y}, type.note, how, Align::Right);
  y += context.px(24);
  auto row = [&](const std::string& name, ImU32 swatch, int64_t plan_bytes, int64_t run_bytes, bool strong) {
    if (swatch)
      fill_rect(list, {at.x, y + context.px(2)}, {at.x + context.px(10), y + context.px(16)}, swatch,
                context.px(2));
    draw_text(list, {at.x + context.px(20), y}, strong ? type.strong : type.body, name);
    const TextStyle figures{context.fonts.mono, type.mono.size, theme.text};
    draw_text(list, {planned_x, y + context.px(1)}, in(figures, strong ? theme.text : theme.dim),
              grouped_text(plan_bytes), Align::Right);
    if (marks) {
      const bool equal = plan_bytes == run_bytes;
      draw_text(list, {measured_x, y + context.px(1)}, figures, grouped_text(run_bytes), Align::Right);
      draw_text(list, {right, y + context.px(1)}, in(figures, equal ? theme.agreement : theme.communication),
                equal ? "=" : "≠", Align::Right);
    } else {
      draw_text(list, {measured_x, y + context.px(1)}, in(figures, theme.dim), "not yet", Align::Right);
    }
    copied.rows.push_back({name, grouped_text(plan_bytes), marks ? grouped_text(run_bytes) : "not yet"});
    y += context.px(26);
  };
  for (MemoryKind kind : kStackOrder)
    row(to_string(kind), kind_colour(theme, kind), bytes_of(planned, kind),
        marks ? bytes_of((*marks)[rank], kind) : 0, false);
  rule(context, {at.x, y}, width);
  y += context.px(8);
  row("total", 0, total_bytes(planned), marks ? total_bytes((*marks)[rank]) : 0, true);
  const MakeTable make = [&] { return copied; };
  copy_button(context, "copy bytes", {right, head_y}, make);
  copyable_table("bytes", at, {right, y}, make);
  const bool equal = marks && (*marks)[rank] == planned;
  std::string says =
      !marks  ? "This plan has not run yet. Its bytes are planned."
      : equal ? "Equal to the byte: planned before the run, " + how + " on " +
                    context.snapshot.result->machine + "."
      : context.snapshot.state == RunState::Done || context.snapshot.result->replayed
          ? "Planned and " + how + " differ."
          : "The run is now after step " + std::to_string(context.snapshot.position) + ": measured so far.";
  y += draw_wrapped(list, {at.x, y + context.px(6)}, in(type.note, equal ? theme.agreement : theme.dim), says,
                    width) +
       context.px(10);
  const std::string borrowed = explain_borrowing(plan.memory[rank]);
  if (!borrowed.empty())
    y += draw_wrapped(list, {at.x, y}, in(type.note, theme.dim), borrowed, width) + context.px(10);
  return y - at.y;
}

/// A rank's bytes as a class reads them, in the order of the bar: what it has none of is left out, and so are
/// the last digits. Returns the height it took.
float draw_kinds_in_class(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const size_t rank = explained_rank(context);
  const MemoryPlan& memory = context.snapshot.plan->memory[rank];
  const float right = at.x + width;
  float y = at.y;
  draw_text(list, {at.x, y}, type.strong, fmt::format("Rank {}", rank));
  y += type.strong.size + context.px(12);
  const auto row = [&](const TextStyle& style, const std::string& name, int64_t bytes) {
    draw_text(list, {at.x + context.px(20), y}, style, name);
    draw_text(list, {right, y}, in(type.mono, theme.text), bytes_text(static_cast<double>(bytes)),
              Align::Right);
    y += type.body.size + context.px(10);
  };
  for (auto kind = kStackOrder.rbegin(); kind != kStackOrder.rend(); ++kind) {
    const int64_t bytes = bytes_of(memory.arena_bytes, *kind);
    if (bytes == 0) continue;
    fill_rect(list, {at.x, y}, {at.x + context.px(10), y + type.body.size}, kind_colour(theme, *kind),
              context.px(2));
    row(in(type.body, theme.text), to_string(*kind), bytes);
  }
  rule(context, {at.x, y}, width);
  y += context.px(8);
  row(type.strong, "total", total_bytes(memory.arena_bytes));
  y += context.px(6);
  y += draw_wrapped(list, {at.x, y}, type.note, explain_borrowing(memory), width);
  return y - at.y;
}

/// What the ranks have a part of; empty: each has all of it.
std::string shared_words(const Program& program) {
  const char* const what = program.settings.block == Block::Model ? "model" : "layer";
  if (program.tp() == 1) return {};
  if (program.dp() == 1) return fmt::format(" The {} ranks share one {}.", program.tp(), what);
  return fmt::format(" Each of {} replicas holds the whole {}, shared by its {} ranks.", program.dp(), what,
                     program.tp());
}

/// The activations in one figure, wherever they lie: some are in bytes that the bars count as weight
/// gradients.
void draw_held_activations(const Context& context) {
  const size_t rank = explained_rank(context);
  const int64_t held = bytes_of(context.snapshot.plan->memory[rank].held_bytes, MemoryKind::Activation);
  if (held == 0) return;
  const Type type(context);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const std::string words = fmt::format("Activations: {} on rank {}, the most at once.",
                                        bytes_text(static_cast<double>(held)), rank);
  const float height =
      draw_wrapped(ImGui::GetWindowDrawList(), {at.x, at.y + context.px(4)}, type.body, words, width);
  ImGui::Dummy({width, height + context.px(8)});
}

}  // namespace

size_t explained_rank(const Context& context) {
  const int selected = context.view.selected_rank;
  const size_t ranks = context.snapshot.plan->memory.size();
  return selected >= 0 && static_cast<size_t>(selected) < ranks ? static_cast<size_t>(selected) : 0;
}

ByteUnit unit_for(double top_bytes) {
  if (top_bytes >= 1024.0 * 1024 * 1024) return {1024.0 * 1024 * 1024, "GiB"};
  if (top_bytes >= 1024.0 * 1024) return {1024.0 * 1024, "MiB"};
  if (top_bytes >= 1024.0) return {1024.0, "KiB"};
  return {};
}

void draw_memory_layer(const Context& context) {
  const Plan* const plan = context.snapshot.plan.get();
  const bool is_model = plan != nullptr && plan->program.settings.block == Block::Model;
  page_head(
      context, is_model ? "The model, rank by rank" : "This layer, rank by rank",
      std::string("Dashed: planned before the run, from the steps that write and read each tensor. Solid: "
                  "the most that was held while it ran.") +
          (plan ? shared_words(plan->program) : ""),
      context.px(kPageChoices));
  if (!context.snapshot.plan) {
    const Type type(context);
    draw_wrapped(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), type.body, no_plan_words(context),
                 ImGui::GetContentRegionAvail().x);
    return;
  }
  draw_held_activations(context);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (is_class(context.view)) {  // nothing is below the edge
    const float side = context.px(kClassSide), main = room.x - side - context.px(20), top = context.px(16);
    draw_ranks(context, {at.x, at.y + top}, {main, std::max(context.px(210), room.y - top)});
    draw_kinds_in_class(context, {at.x + room.x - side, at.y}, side - context.px(4));
    return;
  }
  const bool beside = room.x > context.px(860);
  const float side = beside ? context.px(352) : room.x, gap = context.px(28);
  const float main = beside ? room.x - side - gap : room.x;
  const float steps = std::max(context.px(170), room.y * 0.4f);
  float bars = std::max(context.px(210), room.y - steps - context.px(36));
  float y = at.y + context.px(16);
  if (beside)
    bars = std::max(bars,
                    draw_kinds(context, {at.x + main + gap, at.y + context.px(10)}, side) - context.px(16));
  draw_ranks(context, {at.x, y}, {main, bars});
  y += bars + context.px(20);
  if (!beside) y += draw_kinds(context, {at.x, y}, side) + context.px(12);
  draw_live_bytes(context, {at.x, y}, {room.x, steps});
  y += steps;
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({room.x, y - at.y});
}

}  // namespace shardlens::ui
