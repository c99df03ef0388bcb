// The lower half of the page This machine: which models its memory holds, and how fast it computes.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/counted.h"
#include "engine/config/hardware_file.h"
#include "engine/config/presets.h"
#include "engine/cost/memory_wall.h"
#include "engine/device/device.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/session/machine_watch.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/panels/memory/memory_pages.h"
#include "ui/panels/parts.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kBeside = 900;  ///< from this width on the two parts are side by side

struct ListedModel {
  const Model* model;
  double bytes;  ///< of the wall at T = 1
};

/// The GPTs by size. Counted once: the presets do not change.
const std::vector<ListedModel>& gpts_by_size() {
  static const std::vector<ListedModel> models = [] {
    std::vector<ListedModel> found;
    for (const Model& model : model_presets())
      if (model.objective == Objective::NextToken)
        found.push_back({&model, wall_bytes(static_cast<double>(parameter_count(model)), 1).total()});
    std::sort(found.begin(), found.end(),
              [](const ListedModel& a, const ListedModel& b) { return a.bytes < b.bytes; });
    return found;
  }();
  return models;
}

/// Those up to the second one that does not fit.
std::vector<ListedModel> listed_models(double memory_bytes) {
  std::vector<ListedModel> models = gpts_by_size();
  const auto too_large = std::find_if(models.begin(), models.end(),
                                      [&](const ListedModel& one) { return one.bytes > memory_bytes; });
  const auto kept = std::min<std::ptrdiff_t>(models.end() - models.begin(), too_large - models.begin() + 2);
  models.resize(static_cast<size_t>(kept));
  return models;
}

/// A name at the left and what is known of it at its right, wrapped.
float draw_line(const Context& context, ImVec2 at, float width, const std::string& name,
                const std::string& words) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float left = context.px(128);
  draw_text(list, at, in(type.body, context.theme.dim), name);
  return draw_wrapped(list, {at.x + left, at.y}, type.body, words, width - left) + context.px(8);
}

float draw_models_that_fit(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto memory = static_cast<double>(context.machine.memory_bytes);
  if (memory <= 0) return 0;
  draw_text(list, at, type.figure, "Which models it can train");
  float y = at.y + type.figure.size + context.px(6);
  y += draw_wrapped(list, {at.x, y}, type.note,
                    fmt::format("16 bytes per parameter, as on the page whole model, against all of its {}; "
                                "activations need memory as well.",
                                bytes_text(memory)),
                    width) +
       context.px(10);
  const float least_bar = context.px(40);
  const std::vector<ListedModel> models = listed_models(memory);
  float name = 0, figures = 0;
  const char* of_memory = " the memory";  // left out where there is little room
  const auto words_of = [&](double bytes) {
    return bytes_text(bytes) +
           (bytes <= memory ? "" : fmt::format(", {} ×{}", ratio_text(bytes / memory), of_memory));
  };
  const auto measure = [&] {
    figures = 0;
    for (const auto& [model, bytes] : models) {
      name = std::max(name, text_width(type.body, model->title) + context.px(16));
      figures = std::max(figures, text_width(type.mono, words_of(bytes)) + context.px(16));
    }
  };
  measure();
  if (width - name - figures < least_bar) {
    of_memory = "";
    measure();
  }
  const float row = context.px(26), bar = std::max(least_bar, width - name - figures);
  for (const auto& [model, bytes] : models) {
    const bool fits = bytes <= memory;
    draw_text(list, {at.x, y + (row - type.body.size) / 2}, type.body, model->title);
    const ImVec2 min{at.x + name, y + context.px(5)}, max{at.x + name + bar, y + row - context.px(5)};
    fill_rect(list, min, max, theme.card, context.px(3));
    const auto share = static_cast<float>(std::min(1.0, bytes / memory));
    const ImU32 colour = fits ? theme.forward : theme.faint;
    fill_rect(list, min, {min.x + std::max(context.px(2), share * bar), max.y}, colour, context.px(3));
    draw_text(list, {at.x + width, y + (row - type.mono.size) / 2},
              in(type.mono, fits ? theme.text : theme.dim), words_of(bytes), Align::Right);
    y += row;
  }
  return y - at.y;
}

float draw_machine_speed(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Hardware& here = find_hardware(kThisMachine);
  draw_text(list, at, type.figure, "How fast it is");
  float y = at.y + type.figure.size + context.px(10);
  const auto line = [&](const char* name, const std::string& words) {
    y += draw_line(context, {at.x, y}, width, name, words);
  };
  const Result* const ran = context.replay.is_open() ? nullptr : context.snapshot.result.get();
  line("cores", ran != nullptr && !ran->machine.empty() ? ran->machine : counted(available_cores(), "core"));
  if (ran != nullptr && ran->gemm_ceiling_flops > 0)
    line("products", fmt::format("{}, all cores together, measured beside this run",
                                 format_flops(ran->gemm_ceiling_flops)));
  if (here.is_calibrated()) {
    if (here.memory_bytes_per_second > 0)
      line("memory", fmt::format("{}, measured", format_bandwidth(here.memory_bytes_per_second)));
    if (here.link_bytes_per_second > 0)
      line("collectives", fmt::format("{} per rank, and {} for every hop, measured",
                                      format_bandwidth(here.link_bytes_per_second),
                                      format_seconds(here.link_latency_seconds)));
  }
  line("predictions", here.is_calibrated()
                          ? "times on this machine are predicted: " + here.basis
                          : "no times are predicted for this machine, because it is not calibrated yet");
  ImGui::SetCursorScreenPos({at.x, y + context.px(4)});
  if (context.scaling.measures()) {
    y += draw_wrapped(list, {at.x, y}, type.note, context.scaling.activity, width) + context.px(8);
  } else {
    command_button(context, "scaling.calibrate",
                   here.is_calibrated() ? "Calibrate again" : "Calibrate this machine",
                   here.is_calibrated() ? ButtonLook::Plain : ButtonLook::Accent);
    y += context.px(kControlHeight + 8);
  }
  return y - at.y;
}

}  // namespace

float draw_machine_models(const Context& context, ImVec2 at, float width) {
  const float gap = context.px(48);
  if (width < context.px(kBeside)) {
    const float models = draw_models_that_fit(context, at, width);
    const float above = models > 0 ? models + context.px(24) : 0;
    return above + draw_machine_speed(context, {at.x, at.y + above}, width);
  }
  const float half = (width - gap) / 2;
  return std::max(draw_models_that_fit(context, at, half),
                  draw_machine_speed(context, {at.x + half + gap, at.y}, half));
}

}  // namespace shardlens::ui
