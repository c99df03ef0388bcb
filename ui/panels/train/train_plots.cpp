// The curves of a training run. Everything drawn was measured, here or where it was recorded; the one
// reference, the unigram entropy, is counted from the text itself.
#include <fmt/format.h>
#include <implot.h>

#include "engine/train/train_snapshot.h"
#include "ui/panels/train/train_plot.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kLeastRow = 132;   ///< a row of plots that can be read
constexpr float kLeastPlot = 220;  ///< plots that are narrower stand below each other
constexpr float kNextHead = 23;    ///< what is seen of the second row where the page scrolls to it

/// The loss that is comparable with the text's entropy. For a BERT it is that of the hidden words alone.
double loss_of(const StepReport& report) {
  return report.parts ? report.parts->words : report.loss;
}
double loss_of(const ValidationReport& report) {
  return report.parts ? report.parts->words : report.loss;
}
double scale_of(const StepReport& report) {
  return std::log2(report.loss_scale);
}
double speed_of(const StepReport& report) {
  return report.tokens_per_second;
}
double flops_of(const StepReport& report) {
  return report.flops_per_second;
}

/// "validation 3.21, 32 of 300 rows"
std::string validation_words(const ValidationReport& report) {
  const std::string rows = rows_text(report);
  return fmt::format("validation {}{}{}", format_value(loss_of(report)), rows.empty() ? "" : ", ", rows);
}

Points validations_of(const TrainCurve& curve) {
  Points points;
  for (const ValidationReport& report : curve.validations) {
    points.x.push_back(static_cast<double>(report.step));
    points.y.push_back(loss_of(report));
  }
  return points;
}

/// The thin line of the single steps, beside the line of their means.
ImU32 each_step_colour(const Theme& theme, size_t curve) {
  return faded(curve_colour(theme, curve), 0.35f);
}

/// Marks where a run ended early: in words beside its last step, where the curve ends.
void mark_end(const Context& context, double step, double loss) {
  const Type type(context);
  const char* words = "ended here";
  const ImVec2 at = ImPlot::PlotToPixels(step, loss), low = ImPlot::GetPlotPos(),
               size = ImPlot::GetPlotSize();
  const float gap = context.px(10), width = text_width(type.note, words);
  const bool right = at.x + gap + width < low.x + size.x;
  const ImVec2 pen{right ? at.x + gap : at.x - width,
                   right ? at.y - type.note.size / 2 : at.y - type.note.size - gap};
  ImDrawList* list = ImPlot::GetPlotDrawList();
  fill_rect(list, {pen.x - context.px(2), pen.y}, {pen.x + width + context.px(2), pen.y + type.note.size},
            faded(context.theme.window, 0.75f));
  draw_text(list, pen, in(type.note, context.theme.text), words);
}

void draw_loss(const Context& context, ImVec2 min, ImVec2 size) {
  const TrainSnapshot& train = context.train;
  const Theme& theme = context.theme;
  const bool comparison = train.curves.size() > 1;
  const double entropy = train.text.unigram_entropy_nats;
  std::vector<Legend> legends;
  Extent extent;
  if (entropy > 0) extent.take(entropy);
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    const std::string name = comparison ? curve.name : "training";
    const Points read = read_line(of_steps(curve, loss_of));
    legends.push_back({fmt::format("{}{} {}", name, mean_words(curve), format_value(read.y.back())),
                       curve_colour(theme, i)});
    if (!curve.validations.empty() && !comparison)
      legends.push_back({validation_words(curve.validations.back()), theme.agreement, false,
                         fmt::format("validation {}", format_value(loss_of(curve.validations.back())))});
    extent.take(of_steps(curve, loss_of));
  }
  if (entropy > 0)
    legends.push_back({fmt::format("unigram entropy of the text {}", format_value(entropy)), theme.dim, true,
                       fmt::format("unigrams {}", format_value(entropy))});
  const bool hidden_words =
      !train.curves.empty() && train.curves[0]->options.settings.model.objective == Objective::MaskedWords;
  const std::string unit = hidden_words ? "nats per hidden token" : "nats per token";
  if (!train.curves.empty()) legends.push_back({"each step", each_step_colour(theme, 0)});
  legends.push_back({unit, 0});
  const float head = draw_head(context, min, size.x, "Loss by step", legends);
  const double low = extent.empty() ? 0 : extent.low, high = extent.empty() ? 1 : extent.high;
  const double room = std::max(0.05, 0.06 * (high - low));
  if (!begin_plot(context, "##loss", {min.x, min.y + head}, {size.x, size.y - head}, step_axis(train),
                  std::max(0.0, low - room), high + room, nullptr))
    return;
  if (entropy > 0) {
    const ImVec2 at = ImPlot::PlotToPixels(0, entropy);
    ImPlot::PushPlotClipRect();
    draw_dashed_line(ImPlot::GetPlotDrawList(), {at.x, std::round(at.y)},
                     {at.x + ImPlot::GetPlotSize().x, std::round(at.y)}, theme.dim, context.px(1.5f),
                     context.px(6));
    ImPlot::PopPlotClipRect();
  }
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    const std::string& name = curve.name;
    const ImU32 colour = curve_colour(theme, i);
    const Points points = of_steps(curve, loss_of);
    plot_line((name + " steps").c_str(), points, each_step_colour(theme, i), context.px(1));
    plot_line(name.c_str(), read_line(points), colour, context.px(2.5f));
    const Points checked = validations_of(curve);
    if (checked.size() > 0) {
      ImPlotSpec spec;
      spec.LineColor = vec(comparison ? colour : theme.agreement);
      spec.LineWeight = context.px(1.5f);
      spec.Marker = ImPlotMarker_Circle;
      spec.MarkerSize = context.px(3.5f);
      spec.MarkerFillColor = vec(theme.window);
      if (!comparison)
        ImPlot::PlotLine((name + " validation").c_str(), checked.x.data(), checked.y.data(),
                         static_cast<int>(checked.size()), spec);
    }
    if (!curve.ended.empty()) {
      const StepReport& last = curve.steps.back()->report;
      mark_end(context, static_cast<double>(last.step), loss_of(last));
    }
  }
  draw_steps_under_mouse(context);
  end_plot();
}

/// The loss scale of fp16 as a power of two, and the steps it skipped.
void draw_scale(const Context& context, ImVec2 min, ImVec2 size) {
  const TrainSnapshot& train = context.train;
  const ImU32 skip_colour = context.theme.communication;
  std::vector<Legend> legends;
  Extent extent;
  Points skips;
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    legends.push_back({scale_text(curve.steps.back()->report.loss_scale),
                       train.curves.size() > 1 ? curve_colour(context.theme, i) : 0});
    extent.take(of_steps(curve, scale_of));
    for (const auto& step : curve.steps) {
      if (!step->report.skipped) continue;
      skips.x.push_back(static_cast<double>(step->report.step));
      skips.y.push_back(scale_of(step->report));
    }
  }
  if (skips.size() > 0) legends.push_back({fmt::format("{} skipped", skips.size()), skip_colour});
  const float head = draw_head(context, min, size.x, "Loss scale by step", legends);
  const double low = extent.empty() ? 0 : std::floor(extent.low) - 1,
               high = extent.empty() ? 1 : std::ceil(extent.high) + 1;
  if (!begin_plot(context, "##scale", {min.x, min.y + head}, {size.x, size.y - head}, step_axis(train), low,
                  high, nullptr))
    return;
  // Scales are whole powers of two only.
  const double every = std::max(1.0, std::ceil((high - low) / 4));
  std::vector<double> ticks;
  std::vector<std::string> words;
  for (double power = low; power <= high; power += every) {
    ticks.push_back(power);
    words.push_back(fmt::format("2^{:g}", power));
  }
  std::vector<const char*> labels;
  for (const std::string& word : words) labels.push_back(word.c_str());
  ImPlot::SetupAxisTicks(ImAxis_Y1, ticks.data(), static_cast<int>(ticks.size()), labels.data());
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (!curve.steps.empty())
      plot_line(curve.name.c_str(), of_steps(curve, scale_of), curve_colour(context.theme, i), context.px(2));
  }
  if (skips.size() > 0) {
    ImPlotSpec spec;
    spec.Marker = ImPlotMarker_Cross;
    spec.MarkerSize = context.px(3.5f);
    spec.MarkerLineColor = vec(skip_colour);
    spec.LineWeight = context.px(2);
    ImPlot::PlotScatter("skipped", skips.x.data(), skips.y.data(), static_cast<int>(skips.size()), spec);
  }
  draw_steps_under_mouse(context);
  end_plot();
}

void draw_speed(const Context& context, ImVec2 min, ImVec2 size) {
  const TrainSnapshot& train = context.train;
  std::vector<Legend> legends;
  Extent extent;
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    legends.push_back(speed_legend(curve));
    legends.push_back({"each step", each_step_colour(context.theme, i)});
    extent.take(of_steps(curve, speed_of));
  }
  const float head = draw_head(context, min, size.x, "Speed by step", legends);
  if (!begin_plot(context, "##speed", {min.x, min.y + head}, {size.x, size.y - head}, step_axis(train), 0,
                  extent.empty() ? 1 : 1.15 * extent.high, nullptr))
    return;
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    const ImU32 colour = curve_colour(context.theme, i);
    const Points points = of_steps(curve, speed_of);
    plot_line((curve.name + " steps").c_str(), points, each_step_colour(context.theme, i), context.px(1));
    plot_line(curve.name.c_str(), read_line(points), colour, context.px(2));
  }
  draw_steps_under_mouse(context);
  end_plot();
}

}  // namespace

Legend speed_legend(const TrainCurve& curve) {
  const std::string speed = format_count(read_line(of_steps(curve, speed_of)).y.back()) + " tokens/s";
  const std::string mean = mean_words(curve);
  const double ceiling = curve.steps.back()->report.ceiling_flops;
  if (ceiling <= 0) return {speed + mean, 0};
  const std::string share = format_percent(read_line(of_steps(curve, flops_of)).y.back() / ceiling);
  return {fmt::format("{}, {} of the GEMM ceiling{}", speed, share, mean), 0, false,
          fmt::format("{}, {} of the ceiling{}", speed, share, mean)};
}

ImU32 curve_colour(const Theme& theme, size_t curve) {
  return curve == 0 ? theme.forward : theme.text;
}

void draw_train_plots(const Context& context, ImVec2 min, ImVec2 room) {
  const TrainSnapshot& train = context.train;
  const float gap = context.px(16);
  ImGui::SetCursorScreenPos(min);
  ImGui::BeginChild("plots", room);
  min = ImGui::GetCursorScreenPos();
  // A comparison shows the gradients; one model shows its speed as well.
  const size_t pictures = train.curves.size(), parts = pictures > 1 ? pictures : 2;
  const float abreast =
      std::floor((room.x - context.px(8) - gap * static_cast<float>(parts - 1)) / static_cast<float>(parts));
  const bool stacked = abreast < context.px(kLeastPlot);
  // Without room for two rows the loss fills the page down to the heads of the others, and the page scrolls.
  const bool fits = !stacked && room.y >= 2 * context.px(kLeastRow) + gap;
  const float share = room.y > context.px(400) ? 0.58f : 0.5f;
  const float upper = fits ? std::floor((room.y - gap) * share)
                           : std::max(room.y - gap - context.px(kNextHead), context.px(kLeastRow));
  const float height = train.curves.empty() ? 0 : fits ? room.y - upper - gap : context.px(kLeastRow);
  const float below_loss = (height + gap) * static_cast<float>(stacked ? parts : 1);
  ImGui::Dummy({1, height > 0 ? upper + below_loss : upper});
  // Half of the last step's number is beyond the axis' end.
  const ImVec2 size{ImGui::GetContentRegionAvail().x - context.px(8), upper};
  const bool scaled = std::any_of(train.curves.begin(), train.curves.end(),
                                  [](const auto& curve) { return is_scaled(*curve); });
  const float scale_width = scaled ? std::floor((size.x - gap) * 0.36f) : 0;
  draw_loss(context, min, {size.x - (scaled ? scale_width + gap : 0), upper});
  if (scaled) draw_scale(context, {min.x + size.x - scale_width, min.y}, {scale_width, upper});
  if (height == 0) return ImGui::EndChild();
  const ImVec2 below{min.x, min.y + upper + gap};
  const float width =
      stacked ? size.x
              : std::floor((size.x - gap * static_cast<float>(parts - 1)) / static_cast<float>(parts));
  std::vector<ImVec2> places;
  for (size_t part = 0; part < parts; ++part) {
    const auto before = static_cast<float>(part);
    places.push_back(stacked ? ImVec2(below.x, below.y + before * (height + gap))
                             : ImVec2(below.x + before * (width + gap), below.y));
  }
  if (pictures == 1) {
    draw_speed(context, places.front(), {width, height});
    places.erase(places.begin());
  }
  draw_gradients(context, places, {width, height});
  ImGui::EndChild();
}

}  // namespace shardlens::ui
