// Compares the sound and the broken run: their losses, their gradient norms, and what each check found.
#include <fmt/format.h>
#include <implot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ui/lesson/lesson_view.h"
#include "ui/panels/break_it/break_parts.h"
#include "ui/panels/parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kCheckHeight = 21;
constexpr float kBothPlots = 460;  ///< from this width on, the norms are drawn beside the losses

ImVec4 vec(ImU32 colour) {
  return ImGui::ColorConvertU32ToFloat4(colour);
}

/// One quantity of both runs, step by step.
struct Pair {
  const char* id;
  const char* title;
  double BreakStep::*sound;
  double BreakStep::*broken;
};

/// Title and both values of the newest step, in their curves' colours; returns the height it took. The names
/// of both curves are always there: below the title if it leaves too little room, and without values.
float draw_head(const Context& context, const BreakReport& report, const Pair& pair, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::string title = std::string(pair.title) + " by step";
  draw_text(list, at, type.strong, fitted(type.strong, title, width));
  const float line = type.strong.size + context.px(6);
  if (report.steps.empty()) return line;
  struct Curve {
    std::string text;
    ImU32 colour;
  };
  const auto curves = [&](bool with_values) {
    const auto named = [&](const char* name, double value) {
      if (!with_values) return std::string(name);
      return fmt::format("{} {}", name, std::isfinite(value) ? format_value(value) : "NaN");
    };
    return std::array<Curve, 2>{
        {{named("sound", report.steps.back().*pair.sound), sound_colour(context.theme)},
         {named("broken", report.steps.back().*pair.broken), context.theme.text}}};
  };
  const float swatch = context.px(14) + context.px(6), gap = context.px(14);
  const auto needed = [&](const std::array<Curve, 2>& both) {
    return 2 * swatch + gap + text_width(type.note, both[0].text) + text_width(type.note, both[1].text);
  };
  const float after_title = text_width(type.strong, title) + gap;
  const bool beside = after_title + needed(curves(true)) <= width;
  const std::array<Curve, 2> shown = curves(beside || needed(curves(true)) <= width);
  float x = at.x + (beside ? after_title : 0);
  const float middle = std::round(at.y + (beside ? 0 : line) + type.strong.size / 2);
  for (const Curve& curve : shown) {
    list->AddLine({x, middle}, {x + context.px(14), middle}, curve.colour, context.px(3));
    draw_text(list, {x + swatch, middle - type.note.size / 2}, in(type.note, context.theme.text), curve.text);
    x += swatch + text_width(type.note, curve.text) + gap;
  }
  const std::string of = fmt::format("in step {}", report.steps.size());
  if (x + text_width(type.note, of) <= at.x + width)
    draw_text(list, {x, middle - type.note.size / 2}, type.note, of);
  return beside ? line : 2 * line;
}

void draw_pair(const Context& context, const BreakReport& report, const Pair& pair, ImVec2 min, ImVec2 size) {
  const float head = draw_head(context, report, pair, min, size.x);
  std::vector<double> x, sound, broken;
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  for (const BreakStep& step : report.steps) {
    x.push_back(static_cast<double>(x.size() + 1));
    sound.push_back(step.*pair.sound);
    broken.push_back(step.*pair.broken);
    for (const double value : {sound.back(), broken.back()}) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) low = 0, high = 1;
  const double room = std::max(0.02, 0.08 * (high - low));
  ImGui::SetCursorScreenPos({min.x, min.y + head});
  ImGui::PushFont(nullptr, kSmallSize);
  ImPlot::PushStyleVar(ImPlotStyleVar_PlotPadding, ImVec2(context.px(2), context.px(4)));
  constexpr ImPlotFlags kQuiet = ImPlotFlags_NoLegend | ImPlotFlags_NoMenus | ImPlotFlags_NoBoxSelect |
                                 ImPlotFlags_NoMouseText | ImPlotFlags_NoTitle;
  if (ImPlot::BeginPlot(pair.id, {size.x, size.y - head}, kQuiet)) {
    constexpr ImPlotAxisFlags kStill = ImPlotAxisFlags_Lock | ImPlotAxisFlags_NoHighlight;
    ImPlot::SetupAxis(ImAxis_X1, nullptr, kStill);
    ImPlot::SetupAxis(ImAxis_Y1, nullptr, kStill);
    ImPlot::SetupAxisLimits(ImAxis_X1, 0, static_cast<double>(report.wanted_steps) + 1, ImPlotCond_Always);
    ImPlot::SetupAxisLimits(ImAxis_Y1, std::max(0.0, low - room), high + room, ImPlotCond_Always);
    const auto line = [&](const char* id, const std::vector<double>& y, ImU32 colour, float weight) {
      ImPlotSpec spec;
      spec.LineColor = vec(colour);
      spec.LineWeight = context.px(weight);
      ImPlot::PlotLine(id, x.data(), y.data(), static_cast<int>(y.size()), spec);
    };
    // The broken curve is drawn first, and wider: where both agree, it shows as a rim around the sound one.
    line("broken", broken, context.theme.text, 3.5f);
    line("sound", sound, sound_colour(context.theme), 1.8f);
    const int64_t step = ImPlot::IsPlotHovered() ? std::llround(ImPlot::GetPlotMousePos().x) : 0;
    if (step >= 1 && step <= static_cast<int64_t>(report.steps.size())) {
      const auto i = static_cast<size_t>(step - 1);
      show_tooltip(context, fmt::format("step {}\n{}\nsound {}\nbroken {}", step, pair.title,
                                        format_value(sound[i]), format_value(broken[i])));
    }
    ImPlot::EndPlot();
  }
  ImPlot::PopStyleVar();
  ImGui::PopFont();
}

}  // namespace

std::string found_words(const BreakReport& report, const Finding& finding) {
  if (!finding.sees) {
    if (finding.check == Check::ClipNorm && report.plan->program.settings.block != Block::Model)
      return "nothing: one layer has no global norm";
    if (finding.check != Check::Loss) return "nothing";
    const LossVerdict loss = loss_verdict(report);
    if (report.wanted_steps == 0) return "nothing: one pass has no curve";
    if (loss.steps == 0) return "too few steps yet";
    return fmt::format("looks healthy: {} apart, and it moves {} from step to step", format_value(loss.apart),
                       format_value(loss.ordinary));
  }
  if (finding.check == Check::Loss) return fmt::format("{} apart", format_value(finding.error));
  const std::string& name = report.plan->program.tensor(finding.tensor).name;
  const std::string error = relative_error_text(finding.error);
  return finding.step == 0 ? fmt::format("{}, {}", name, error)
                           : fmt::format("step {}: {}, {}", finding.step, name, error);
}

void draw_break_curves(const Context& context, const BreakReport& report, ImVec2 min, ImVec2 size) {
  const Pair losses{"##broken loss", "Loss", &BreakStep::sound_loss, &BreakStep::broken_loss};
  const Pair norms{"##broken norm", "Gradient norm", &BreakStep::sound_norm, &BreakStep::broken_norm};
  if (size.x < context.px(kBothPlots)) return draw_pair(context, report, losses, min, size);
  const float gap = context.px(16), left = std::floor((size.x - gap) * 0.55f);
  draw_pair(context, report, losses, min, {left, size.y});
  draw_pair(context, report, norms, {min.x + left + gap, min.y}, {size.x - left - gap, size.y});
}

float break_checks_height(const Context& context) {
  return std::round(5 * context.px(kCheckHeight));
}

float draw_break_checks(const Context& context, const BreakReport& report, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::vector<Finding> all = findings(report);
  const bool kept_back = keeps_findings_back(context);
  float column = 0;
  for (const Finding& finding : all)
    column = std::max(column, text_width(type.body, to_string(finding.check)));
  const float indent = context.px(20), radius = context.px(4);
  const float found = std::min(indent + column + context.px(20), width * 0.5f);
  float y = at.y;
  for (const Finding& finding : all) {
    const float middle = y + context.px(kCheckHeight) / 2;
    const ImVec2 mark{at.x + radius + 1, std::round(middle)};
    if (kept_back)
      draw_text(list, {mark.x, middle - type.body.size / 2}, in(type.body, context.theme.dim), "?",
                Align::Centre);
    else if (finding.sees)
      list->AddCircleFilled(mark, radius, context.theme.text);
    else
      list->AddCircle(mark, radius, context.theme.faint, 0, context.px(1.5f));
    const ImU32 ink = finding.sees || kept_back ? context.theme.text : context.theme.dim;
    const float top = middle - type.body.size / 2;
    draw_text(list, {at.x + indent, top}, in(type.body, ink),
              fitted(type.body, to_string(finding.check), found - indent - context.px(8)));
    if (!kept_back)
      draw_text(list, {at.x + found, top}, in(type.body, ink),
                fitted(type.body, found_words(report, finding), width - found));
    y += context.px(kCheckHeight);
  }
  if (kept_back) return y - at.y;
  copyable_table("break checks", at, {at.x + width, y}, [&] {
    TextTable table{{{"check"}, {"sees it"}, {"what it finds"}}, {}};
    for (const Finding& finding : all)
      table.rows.push_back(
          {to_string(finding.check), finding.sees ? "yes" : "no", found_words(report, finding)});
    return table;
  });
  return y - at.y;
}

}  // namespace shardlens::ui
