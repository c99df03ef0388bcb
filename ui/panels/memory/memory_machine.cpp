// The page This machine: its memory as the machine reports it (a GPU's by the driver, the main memory by the
// operating system), beside what the plan holds there. It also shows how the GPUs reach each other.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/units.h"
#include "engine/runtime/session/machine_watch.h"
#include "engine/runtime/snapshot.h"
#include "ui/panels/machine_rows.h"
#include "ui/panels/memory/memory_pages.h"
#include "ui/panels/parts.h"

namespace shardlens::ui {
namespace {

constexpr float kBarHeight = 22;

std::string memory_text(int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

/// Draws a bar of `total` with `filled` of it in `colour`, and the words below it. Returns the height it
/// took.
float draw_share(const Context& context, ImVec2 at, float width, int64_t filled, int64_t total, ImU32 colour,
                 const std::string& words) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = context.px(kBarHeight);
  fill_rect(list, at, {at.x + width, at.y + height}, context.theme.card, context.px(3));
  outline_rect(list, at, {at.x + width, at.y + height}, context.theme.faint, context.px(3));
  if (filled > 0 && total > 0) {
    const double share = std::min(1.0, static_cast<double>(filled) / static_cast<double>(total));
    const float end = at.x + std::max(context.px(2), static_cast<float>(share) * width);
    fill_rect(list, at, {end, at.y + height}, colour, context.px(3));
  }
  const float y = at.y + height + context.px(4);
  const float text = draw_wrapped(list, {at.x, y}, in(type.body, context.theme.text), words, width);
  return height + context.px(4) + text;
}

std::string told_words(const MemoryRow& row) {
  if (row.total_bytes <= 0) return "asking …";
  if (row.used_bytes < 0)
    return fmt::format("{} in total; {} does not report how much of it is in use",
                       memory_text(row.total_bytes), row.teller);
  std::string words = fmt::format("{} in use, {} free of {}, says {}", memory_text(row.used_bytes),
                                  memory_text(row.free_bytes()), memory_text(row.total_bytes), row.teller);
  if (row.process_bytes >= 0) words += fmt::format("; this program holds {}", memory_text(row.process_bytes));
  return words;
}

std::string planned_words(const MemoryRow& row) {
  if (row.ranks.empty()) return "Our accounting: no rank of this plan computes here";
  const std::string words = fmt::format("Our accounting: {} on {}, as planned",
                                        memory_text(row.planned_bytes), ranks_text(row.ranks));
  if (!row.is_exceeded()) return words;
  return fmt::format("{}; that is {:.3g} × the memory there is", words,
                     static_cast<double>(row.planned_bytes) / static_cast<double>(row.total_bytes));
}

float draw_memory_row(const Context& context, const MemoryRow& row, ImVec2 at, float width) {
  const Type type(context);
  draw_text(ImGui::GetWindowDrawList(), at, type.figure, fitted(type.figure, row.name, width));
  float y = at.y + type.figure.size + context.px(8);
  y += draw_share(context, {at.x, y}, width, std::max<int64_t>(0, row.used_bytes), row.total_bytes,
                  mixed(context.theme.card, context.theme.text, 0.45f), told_words(row)) +
       context.px(10);
  y +=
      draw_share(context, {at.x, y}, width, row.planned_bytes, row.total_bytes,
                 row.is_exceeded() ? context.theme.communication : context.theme.forward, planned_words(row));
  return y - at.y + context.px(24);
}

}  // namespace

void draw_memory_machine(const Context& context) {
  page_head(context, "This machine",
            "Above: what the machine reports. Below, on the same scale: what this plan holds there. Besides, "
            "this program keeps the values of the serial run that it compared with, and Train's last "
            "results.",
            context.px(kPageChoices));
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const MachineRows rows = machine_rows(context.machine, context.snapshot.plan.get());
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  float y = at.y + context.px(16);
  for (const MemoryRow& row : rows.memories) y += draw_memory_row(context, row, {at.x, y}, width);
  if (!rows.no_gpu.empty())
    y += draw_wrapped(list, {at.x, y}, type.strong, rows.no_gpu, width) + context.px(12);
  if (!rows.links.empty()) {
    draw_text(list, {at.x, y}, type.strong, "How the GPUs reach each other");
    y += type.strong.size + context.px(6);
    for (const std::string& line : rows.links)
      y += draw_wrapped(list, {at.x, y}, type.body, line, width) + context.px(4);
  }
  y += context.px(20);
  y += draw_machine_models(context, {at.x, y}, width);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, y - at.y});
}

}  // namespace shardlens::ui
