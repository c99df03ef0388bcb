// The figures above the Traffic table: what a rank sends in all and in each phase, and how long it takes.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "engine/base/counted.h"
#include "engine/cost/pass_time.h"
#include "engine/runtime/snapshot.h"
#include "ui/collective/inside.h"
#include "ui/panels/memory/memory_figures.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/parts.h"
#include "ui/panels/traffic/traffic_parts.h"
#include "ui/plan/cache.h"
#include "ui/plan/shown_plan.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

/// One figure of the summary: drawn large, with its label above and a note below. If the row is too long, the
/// short note replaces the note.
struct Figure {
  std::string label;
  ImU32 edge = 0;
  std::string figure, note, short_note;
};

float figure_width(const Context& context, const Figure& figure, const std::string& note) {
  const Type type(context);
  return context.px(12) + std::max({text_width(type.note, figure.label),
                                    text_width(type.figure, figure.figure), text_width(type.note, note)});
}

/// What rank 0 computes against what it communicates in the whole pass, estimated on `hardware`.
const ComputeRatio& ratio_of(const std::shared_ptr<const Plan>& plan, const Hardware& hardware) {
  // This machine's figures change when it is calibrated.
  static Cache<std::tuple<std::shared_ptr<const Plan>, std::string, double>, ComputeRatio> known;
  return known.of({plan, hardware.name, hardware.flops(plan->program.settings.dtype)},
                  [&] { return compute_ratio(plan->program, price(plan->program, hardware, 0)); });
}

std::vector<Figure> figures_of(const Context& context, const std::vector<TrafficRow>& rows) {
  const Theme& theme = context.theme;
  const TrafficTotal forward = total(rows, Phase::Forward), backward = total(rows, Phase::Backward),
                     whole = total(rows);
  const auto bytes = [](const TrafficTotal& sum) { return bytes_text(static_cast<double>(sum.sent_bytes)); };
  std::vector<Figure> figures{{"each rank sends", theme.communication, bytes(whole),
                               "ring: " + grouped_text(whole.sent_bytes) + " bytes", "in a ring"},
                              {"forward", theme.forward, bytes(forward), in_words(rows, Phase::Forward),
                               counted(forward.collectives, "collective")},
                              {"backward", theme.backward, bytes(backward), in_words(rows, Phase::Backward),
                               counted(backward.collectives, "collective")}};
  if (const TrafficTotal update = total(rows, Phase::Update); update.collectives > 0)
    figures.push_back({"update", phase_colour(theme, Phase::Update), bytes(update),
                       in_words(rows, Phase::Update), counted(update.collectives, "collective")});
  if (whole.measured > 0) {
    const std::string waiting = format_seconds(whole.wait_seconds) + " waiting";
    const std::string how = how_known(context.snapshot);
    figures.push_back({whole.measured == whole.collectives ? "transfer, " + how : how + " so far",
                       theme.communication, format_seconds(whole.transfer_seconds),
                       "the ranks' mean, and " + waiting, "mean; " + waiting});
  }
  if (whole.predicted_seconds > 0) {
    const std::string device = device_word(priced_on(context, context.snapshot.plan->program).title);
    figures.push_back({"transfer, predicted", theme.line, format_seconds(whole.predicted_seconds),
                       "latency and bandwidth, " + device, device});
    const ComputeRatio& ratio =
        ratio_of(context.snapshot.plan, priced_on(context, context.snapshot.plan->program));
    if (ratio.is_known())
      figures.push_back({"computes : communicates", theme.line, fmt::format("{:.3g}", ratio.ratio()),
                         format_seconds(ratio.compute_seconds) + " : " +
                             format_seconds(ratio.communicate_seconds) + ", " + device,
                         "predicted, " + device});
  }
  return figures;
}

}  // namespace

const Hardware& priced_on(const Context& context, const Program& program) {
  const Hardware& own = find_hardware(program.settings.hardware);
  return own.link_bytes_per_second > 0 ? own : device_or_first(context.view.of<MemoryView>().device);
}

float draw_summary(const Context& context, const std::vector<TrafficRow>& rows, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::vector<Figure> figures = figures_of(context, rows);
  const float gap = context.px(32);
  float all = 0;
  for (const Figure& figure : figures) all += figure_width(context, figure, figure.note) + gap;
  const bool is_long = all - gap > width;
  float x = at.x;
  for (const Figure& figure : figures) {
    const std::string& note = is_long ? figure.short_note : figure.note;
    const float own = figure_width(context, figure, note);
    if (x + own > at.x + width) break;
    const float text_x = x + context.px(12);
    fill_rect(list, {x, at.y}, {x + context.px(3), at.y + context.px(58)}, figure.edge, context.px(1.5f));
    draw_text(list, {text_x, at.y}, type.note, figure.label);
    draw_text(list, {text_x, at.y + context.px(18)}, type.figure, figure.figure);
    draw_text(list, {text_x, at.y + context.px(42)}, type.note, note);
    x += own + gap;
  }
  return context.px(66);
}

bool draw_step_row(const Context& context, const char* list_id, const Step& step, bool selected, ImVec2 at,
                   ImVec2 size) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImGui::SetCursorScreenPos(at);
  ImGui::PushID(list_id);
  const bool meets = is_collective(step.op);
  if (click_area(("step " + std::to_string(step.id)).c_str(), size)) {
    const bool again = selected && meets && context.view.selected_step >= 0;  // the shown plan has it too
    if (again)
      look_inside(context, context.view.selected_step);
    else
      select_step(context.view, context.snapshot.plan->program, step.id);
  }
  ImGui::PopID();
  const bool hovered = ImGui::IsItemHovered();
  if (meets) tooltip(context, selected ? "Click to look inside" : "Click, and click again to look inside");
  const float right = at.x + size.x, bottom = at.y + size.y;
  if (selected || hovered)
    fill_rect(list, at, {right, bottom}, selected ? faded(theme.forward, 0.16f) : theme.card, context.px(4));
  fill_rect(list, {at.x, at.y + 1}, {at.x + context.px(3), bottom - 1}, phase_colour(theme, step.phase));
  return hovered;
}

}  // namespace shardlens::ui
