// Dims out-of-date panels and writes the notice.
#include "ui/frame/notice.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <vector>

#include "engine/base/counted.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/setup/delays.h"
#include "ui/panels/setup/setup.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kDimming = 0.55f;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// Draws over the current window: the child that begins last is above the other children, and below popups.
void over_the_window(const auto& draw) {
  const ImVec2 min = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  ImGui::SetCursorScreenPos(min);
  ImGui::BeginChild("##above", size, ImGuiChildFlags_None,
                    ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoDecoration |
                        ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoSavedSettings);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(min, min + size);
  draw(list, min, min + size);
  list->PopClipRect();
  ImGui::EndChild();
}

std::string block_words(Block block) {
  const bool named = block == Block::Model || block == Block::Mlp;
  return (named ? "the " : "") + block_title(block);
}

/// True if the card in Setup already shows why nothing runs.
bool told_in_setup(const Context& context) {
  return !context.view.setup_hidden && context.snapshot.state != RunState::Cancelled;
}

}  // namespace

bool has_stopped(const Snapshot& snapshot) {
  return snapshot.state == RunState::Refused || snapshot.state == RunState::Failed ||
         snapshot.state == RunState::Cancelled;
}

std::string difference(const Settings& of, const Settings& from) {
  std::vector<std::string> parts;
  if (!(of.model == from.model)) parts.push_back(of.model.title);
  if (of.block != from.block) parts.push_back(block_words(of.block));
  if (of.layer != from.layer) parts.push_back(fmt::format("layer {}", of.layer));
  if (of.tp != from.tp) parts.push_back(fmt::format("T = {}", of.tp));
  if (!(of.split == from.split)) parts.push_back(fmt::format("split {}", of.split.name));
  if (of.dtype != from.dtype) parts.push_back(to_string(of.dtype));
  if (of.batch != from.batch || of.seq != from.seq)
    parts.push_back(fmt::format("{} \u00D7 {}", of.batch, of.seq));
  if (of.backend != from.backend) parts.push_back(to_string(of.backend));
  if (of.tf32 != from.tf32) parts.push_back(of.tf32 ? "products in TF32" : "products in fp32");
  if (of.fusion != from.fusion) parts.push_back("fused steps " + to_string(of.fusion));
  if (of.hardware != from.hardware) parts.push_back(fmt::format("hardware {}", of.hardware));
  if (of.dp != from.dp) parts.push_back(fmt::format("D = {}", of.dp));
  if (of.micro_batches != from.micro_batches)
    parts.push_back(fmt::format("{} micro-batches", of.micro_batches));
  if (of.recompute != from.recompute) parts.push_back("recompute " + to_string(of.recompute));
  if (of.overlap_chunks != from.overlap_chunks)
    parts.push_back(fmt::format("products reduced in {}", counted(of.overlap_chunks, "part", "parts")));
  if (of.dropout != from.dropout) parts.push_back(fmt::format("dropout {}", of.dropout));
  if (of.seed != from.seed) parts.push_back(fmt::format("seed {}", of.seed));
  if (of.delays != from.delays) parts.push_back("with " + delays_phrase(of));
  if (of.timeout_seconds != from.timeout_seconds)
    parts.push_back(of.timeout_seconds == 0 ? "ranks that wait for ever"
                                            : fmt::format("ranks lost after {} s", of.timeout_seconds));
  if (parts.empty() && !(of == from)) parts.push_back("other settings");
  return joined(parts);
}

std::string notice(const Snapshot& snapshot) {
  return notice(snapshot, snapshot.settings);
}

std::string notice(const Snapshot& snapshot, const Settings& wanted) {
  const bool stopped = has_stopped(snapshot);
  const bool told = shown_failure(snapshot) != nullptr;  // the strip under the Bar shows the reason
  if (!shows_stale(snapshot)) return stopped && !told ? as_sentence(snapshot.message) : std::string();
  const Settings& shown = snapshot.result->plan->program.settings;
  std::string shown_parts = difference(shown, wanted);
  std::string text =
      "Out of date: this is " + (shown_parts.empty() ? std::string("an earlier run") : shown_parts) + ". ";
  if (stopped) return text + as_sentence(snapshot.message);
  // Newer settings are only planned after the running ones have stopped.
  const bool runs = snapshot.state != RunState::Planning && wanted == snapshot.settings;
  const std::string next = difference(wanted, shown);
  return text + (runs ? "Running " : "Planning ") + (next.empty() ? "again" : next) + " \u2026";
}

std::string no_plan_words(const Context& context) {
  if (!has_stopped(context.snapshot)) return "Planning.";
  return fmt::format("These settings have no plan to show{}.",
                     told_in_setup(context) ? ": Setup shows why" : "");
}

void dim_stale_result(const Context& context) {
  if (!shows_stale(context.snapshot)) return;
  over_the_window([&](ImDrawList* list, ImVec2 min, ImVec2 max) {
    fill_rect(list, min, max, faded(context.theme.window, kDimming));
  });
}

void draw_notice(const Context& context) {
  if (!has_stopped(context.snapshot) || told_in_setup(context)) return;
  const std::string line = notice(context.snapshot, context.wanted());
  if (line.empty()) return;
  const TextStyle words{context.fonts.bold, context.px(kSmallSize), context.theme.text};
  const float padding = context.px(12), margin = context.px(16);
  const float width =
      std::min(text_width(words, line) + 1, ImGui::GetWindowWidth() - 2 * margin - 2 * padding);
  if (width < context.px(48)) return;
  const float height = wrapped_height(words, line, width) + 2 * padding;
  // The page goes on below its end, so that what the line covers can be scrolled out from under it.
  const ImVec2 end = ImGui::GetCurrentWindow()->DC.CursorMaxPos;
  ImGui::SetCursorScreenPos({ImGui::GetCursorScreenPos().x, end.y});
  ImGui::Dummy({1, height + margin});
  over_the_window([&](ImDrawList* list, ImVec2 min, ImVec2 max) {
    const ImVec2 corner{(min.x + max.x - width) / 2 - padding, max.y - height - margin};
    const ImVec2 far{corner.x + width + 2 * padding, corner.y + height};
    fill_rect(list, corner, far, context.theme.card, context.px(4));
    outline_rect(list, corner, far, context.theme.dim, context.px(4));
    draw_wrapped(list, {corner.x + padding, corner.y + padding}, words, line, width);
  });
}

}  // namespace shardlens::ui
