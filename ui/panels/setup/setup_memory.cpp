// Memory per rank in one bar: the bytes of the fullest rank, by kind, and a line at the hardware's memory if
// it is near.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>

#include "engine/config/hardware.h"
#include "engine/config/hardware_file.h"
#include "engine/runtime/snapshot.h"
#include "ui/panels/parts.h"
#include "ui/panels/setup/setup.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/form.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr std::array<MemoryKind, kMemoryKinds> kOrder{
    MemoryKind::Weight,        MemoryKind::WeightGradient, MemoryKind::OptimizerState,
    MemoryKind::KeyValueCache, MemoryKind::Activation,     MemoryKind::ActivationGradient,
    MemoryKind::Input,         MemoryKind::Workspace};

/// The rank that holds most, and whether the figure was measured.
struct Fullest {
  BytesByKind bytes{};
  size_t rank = 0;
  bool measured = false;
};

Fullest fullest_rank(const Snapshot& snapshot) {
  Fullest fullest;
  const auto consider = [&fullest](const BytesByKind& bytes, size_t rank) {
    if (rank == 0 || total_bytes(bytes) > total_bytes(fullest.bytes)) {
      fullest.bytes = bytes;
      fullest.rank = rank;
    }
  };
  fullest.measured = snapshot.result && !snapshot.stale() && !snapshot.result->high_water_bytes.empty();
  if (fullest.measured) {
    const auto& ranks = snapshot.result->high_water_bytes;
    for (size_t rank = 0; rank < ranks.size(); ++rank) consider(ranks[rank], rank);
  } else if (snapshot.plan) {
    const auto& ranks = snapshot.plan->memory;
    for (size_t rank = 0; rank < ranks.size(); ++rank) consider(ranks[rank].arena_bytes, rank);
  }
  return fullest;
}

}  // namespace

void draw_memory_per_rank(const Context& context, const Settings& wanted) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle small{context.fonts.body, context.px(kSmallSize), theme.dim};
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  heading(context, "Memory per rank");
  if (!context.snapshot.plan) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_text(list, at, small, "no plan");
    ImGui::Dummy({0, context.px(24)});
    return;
  }
  const Fullest fullest = fullest_rank(context.snapshot);
  draw_text(list, {top.x + width, top.y + context.px(14)}, small,
            fullest.measured ? how_known(context.snapshot) : "estimated", Align::Right);

  // On this machine the ranks share one memory.
  const Hardware& hardware = find_hardware(wanted.hardware);
  const bool shared = wanted.hardware == kThisMachine;
  const double line = static_cast<double>(hardware.memory_bytes) / (shared ? std::max(wanted.tp, 1) : 1);
  const double total = static_cast<double>(total_bytes(fullest.bytes));
  const bool line_is_near = line > 0 && total > line / 12;
  const double scale = line_is_near ? std::max(total, line) * 1.06 : total * 1.06;

  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = context.px(20);
  fill_rect(list, at, {at.x + width, at.y + height}, theme.ghost, context.px(2));
  float x = at.x;
  for (const MemoryKind kind : kOrder) {
    const int64_t bytes = fullest.bytes[static_cast<size_t>(kind)];
    if (bytes <= 0 || scale <= 0) continue;
    const float end = x + static_cast<float>(static_cast<double>(bytes) / scale) * width;
    fill_rect(list, {x, at.y}, {std::max(x + 1, end - context.px(1)), at.y + height},
              kind_colour(theme, kind));
    ImGui::SetCursorScreenPos({x, at.y});
    ImGui::InvisibleButton(to_string(kind).c_str(), {std::max(1.0f, end - x), height});
    if (ImGui::IsItemHovered()) {
      show_tooltip(context, to_string(kind) + ": " + bytes_text(static_cast<double>(bytes)));
    }
    x = end;
  }
  if (line_is_near) {
    const float line_x = at.x + static_cast<float>(line / scale) * width;
    list->AddLine({line_x, at.y - context.px(3)}, {line_x, at.y + height + context.px(3)}, theme.text,
                  context.px(2));
  }
  std::string text = bytes_text(total);
  if (line > 0) {
    text += fmt::format(" of {}", bytes_text(line));
    text += line_is_near ? fmt::format(" ({})", format_percent(total / line))
                         : fmt::format(", {} of {}", format_percent(total / line),
                                       shared ? "a rank's share" : hardware.title);
  }
  const float words = draw_wrapped(list, {at.x, at.y + height + context.px(6)}, small, text, width);
  ImGui::SetCursorScreenPos({at.x, at.y + height + words + context.px(6 + 13)});
  ImGui::Dummy({0, 0});
}

}  // namespace shardlens::ui
