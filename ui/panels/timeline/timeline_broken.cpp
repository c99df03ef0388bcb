// Marks on the Timeline what a planted mistake does: from where on values are wrong, and where a collective
// is missing.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "ui/panels/timeline/timeline.h"
#include "ui/panels/timeline/track_sizes.h"
#include "ui/stage/meeting.h"

namespace shardlens::ui {
namespace {

/// From the first rank's begin to the last rank's end.
std::optional<Stretch> time_of(const Events& ranks, StepId step) {
  const auto id = static_cast<size_t>(step);
  Stretch time{std::numeric_limits<double>::max(), 0};
  for (const std::vector<StepEvent>& rank : ranks) {
    if (id >= rank.size()) continue;
    time.begin = std::min(time.begin, rank[id].begin_seconds);
    time.end = std::max(time.end, rank[id].end_seconds);
  }
  if (time.begin > time.end) return std::nullopt;
  return time;
}

/// The line through the tracks, and its words on the axis above them: there they cover no step.
void draw_missing(const Context& context, const std::string& words, float x, float top, float bottom) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 amber = context.theme.communication;
  draw_dashed_line(list, {x, top}, {x, bottom}, amber, std::max(1.0f, context.px(2)), context.px(4));
  const TextStyle style = timeline_text(context, context.fonts.bold, kSmallSize, amber);
  const float width = text_width(style, words) + context.px(8);
  const ImVec2 low = list->GetClipRectMin(), high = list->GetClipRectMax();
  // Left of the line if there is room, because the playhead often stands at its right.
  const float before = x - context.px(4) - width, axis = top - context.px(kAxisHeight);
  const float left = before >= low.x ? before : std::min(x + context.px(4), high.x - width);
  list->PushClipRect({low.x, axis}, high);
  fill_rect(list, {left, axis}, {left + width, axis + style.size + context.px(2)}, context.theme.panel,
            context.px(3));
  draw_text(list, {left + context.px(4), axis + context.px(1)}, style, words);
  list->PopClipRect();
}

}  // namespace

void draw_wrong_times(const Context& context, const SeenBreak& seen, const Tracks& tracks,
                      const std::function<float(double)>& x, float top, float bottom) {
  if (seen.side() == BreakSide::Sound || !tracks.plan) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float tooth = context.px(3), near = context.px(8);
  std::optional<std::pair<float, float>> torn;  // the stretch so far; neighbours are joined
  const auto finish = [&] {
    if (torn)
      draw_torn_line(list, {torn->first, bottom}, {std::max(torn->second, torn->first + 4 * tooth), bottom},
                     context.theme.text, std::max(1.0f, context.px(1.5f)), tooth);
    torn.reset();
  };
  for (const Step& step : tracks.plan->program.steps) {
    const std::optional<Stretch> time = time_of(tracks.ranks(), step.id);
    if (!time) continue;
    const Step* const missing = seen.left_out(step.id);
    if (missing != nullptr) {
      const std::string letter = stage::letter_of(missing->conjugate);
      const std::string what =
          letter.empty() ? to_string(missing->op) : letter + "'s " + to_string(missing->op);
      draw_missing(context, what + " left out", x(time->begin), top, bottom);
    }
    const bool wrong =
        std::any_of(step.outputs.begin(), step.outputs.end(), [&](TensorId id) { return seen.is_wrong(id); });
    if (!wrong) continue;
    const float begin = x(time->begin), end = x(time->end);
    if (torn && begin - torn->second > near) finish();
    torn = torn ? std::pair{torn->first, std::max(torn->second, end)} : std::pair{begin, end};
  }
  finish();
}

}  // namespace shardlens::ui
