// A model on T x D x P devices that are not here: the choices, the memory of each device and the time of a
// step, and below them the devices and the pipeline's time. All of it is estimated, and the page says so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/config/presets.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "ui/panels/memory/memory_figures.h"
#include "ui/panels/memory/memory_pages.h"
#include "ui/panels/scaling/scaling_parts.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/widgets/form.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

std::vector<std::string> model_titles() {
  std::vector<std::string> titles;
  for (const std::string& name : cluster_models()) titles.push_back(model_preset(name).title);
  return titles;
}

std::vector<std::string> machine_titles() {
  std::vector<std::string> titles;
  for (const std::string& name : node_machines()) titles.push_back(find_hardware(name).title);
  return titles;
}

int64_t nearest_stop(const std::vector<int64_t>& stops, int64_t value) {
  return *std::min_element(stops.begin(), stops.end(), [value](int64_t a, int64_t b) {
    const auto distance = [value](int64_t stop) {
      return std::abs(std::log(static_cast<double>(stop) / static_cast<double>(value)));
    };
    return distance(a) < distance(b);
  });
}

/// Draws model, machine and the four degrees, as rows of a form in the current window.
void draw_form(const Context& context) {
  ScalingView& view = context.view.of<ScalingView>();
  const std::vector<std::string> models = cluster_models(), machines = node_machines();
  const int model = option_row(context, "Model", model_preset(view.model).title, model_titles());
  if (model >= 0) view.model = models[static_cast<size_t>(model)];
  const int machine = option_row(context, "Machine", find_hardware(view.cluster).title, machine_titles(),
                                 "The machine whose devices, links and nodes are priced");
  if (machine >= 0) view.cluster = machines[static_cast<size_t>(machine)];
  const Model chosen = model_preset(view.model);
  if (model >= 0) {
    view.tp = nearest_stop(cluster_tp_stops(chosen), view.tp);
    view.pp = nearest_stop(cluster_pp_stops(chosen), view.pp);
  }
  slider_row(context, "T", cluster_tp_stops(chosen), view.tp);
  slider_row(context, "P stages", cluster_pp_stops(chosen), view.pp);
  slider_row(context, "D replicas", cluster_dp_stops(), view.dp);
  slider_row(context, "Micro-batches", cluster_parts_stops(), view.parts);
  for (int64_t* count : {&view.tp, &view.pp, &view.dp, &view.parts})
    *count = std::clamp<int64_t>(*count, 1, 65536);
}

constexpr double kNamedShare = 2000;  ///< a part below 1 / 2000 of the sum gets no name

struct Part {
  std::string name, text;
  double value;
  ImU32 colour;
};

/// Draws a bar of parts and, below it, their names. If there is a limit, the bar's scale includes it and a
/// line marks it. Returns the height.
float draw_parts(const Context& context, const std::vector<Part>& parts, double limit,
                 const std::string& limit_text, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  double sum = 0;
  for (const Part& part : parts) sum += part.value;
  const double whole = std::max(sum, limit * 1.02);
  if (whole <= 0) return 0;
  const float height = context.px(16);
  float x = at.x;
  fill_rect(list, at, {at.x + width, at.y + height}, theme.ghost);
  for (const Part& part : parts) {
    const float end = x + width * static_cast<float>(part.value / whole);
    if (end - x >= 0.5f) fill_rect(list, {x, at.y}, {end, at.y + height}, part.colour);
    x = end;
  }
  if (limit > 0) {
    const float line = at.x + width * static_cast<float>(limit / whole);
    fill_rect(list, {line - context.px(1), at.y - context.px(3)},
              {line + context.px(1), at.y + height + context.px(3)}, theme.communication);
  }
  float y = at.y + height + context.px(6);
  x = at.x;
  const float line = type.note.size + context.px(5), swatch = context.px(9);
  const auto write = [&](const std::string& name, const std::string& text, ImU32 colour) {
    const float own = swatch + context.px(6) + text_width(type.note, name) + context.px(6) +
                      text_width(type.mono_note, text) + context.px(16);
    if (x > at.x && x + own - context.px(16) > at.x + width) {
      x = at.x;
      y += line;
    }
    fill_rect(list, {x, y + context.px(3)}, {x + swatch, y + context.px(3) + swatch}, colour, context.px(2));
    float text_x = x + swatch + context.px(6);
    draw_text(list, {text_x, y}, type.note, name);
    text_x += text_width(type.note, name) + context.px(6);
    draw_text(list, {text_x, y}, in(type.mono_note, theme.text), text);
    x += own;
  };
  for (const Part& part : parts) {
    if (part.value > sum / kNamedShare) write(part.name, part.text, part.colour);
  }
  if (limit > 0) write("the device", limit_text, theme.communication);
  return y + line - at.y;
}

std::vector<Part> time_parts(const Theme& theme, const ClusterStudy& study) {
  const ModelPrice& price = study.price;
  const CostSum& sum = price.sum;
  const double hops = 2 * static_cast<double>(study.settings.micro_batches) * price.pipeline.hop_seconds;
  const double busy = sum.compute_seconds + sum.tp_seconds + hops;
  const double bubble = busy / (1 - price.pipeline.bubble_fraction) - busy;
  const auto part = [](const char* name, double seconds, ImU32 colour) {
    return Part{name, format_seconds(seconds), seconds, colour};
  };
  return {part("computes", sum.compute_seconds, theme.forward),
          part("collectives of T", sum.tp_seconds, theme.communication),
          part("between stages", price.pipeline.stages > 1 ? hops : 0,
               mixed(theme.communication, theme.text, 0.35f)),
          part("bubble", bubble, theme.faint),
          part("all-reduces of D", sum.dp_seconds, mixed(theme.communication, theme.window, 0.45f)),
          part("optimizer", sum.update_seconds, theme.backward)};
}

std::vector<Part> memory_parts(const Theme& theme, const BytesByKind& bytes) {
  std::vector<Part> parts;
  for (const MemoryKind kind : kStackOrder) {
    const auto value = static_cast<double>(bytes_of(bytes, kind));
    parts.push_back({to_string(kind), decimal_bytes(value), value, kind_colour(theme, kind)});
  }
  return parts;
}

struct Figure {
  std::string label, figure, note;
  ImU32 colour = 0;
};

std::vector<Figure> figures_of(const Context& context, const ClusterStudy& study) {
  const Theme& theme = context.theme;
  const ModelPrice& price = study.price;
  const Hardware& hardware = study.hardware;
  const Settings& s = study.settings;
  const int64_t nodes = (price.ranks + hardware.ranks_per_node - 1) / hardware.ranks_per_node;
  const auto bytes = static_cast<double>(total_bytes(price.memory_bytes));
  const bool fits = bytes <= static_cast<double>(hardware.memory_bytes);
  const double tokens = static_cast<double>(s.batch * s.seq);
  std::vector<Figure> figures{
      {"devices", grouped_text(price.ranks),
       nodes == 1 ? "in one node" : fmt::format("in {} nodes", grouped_text(nodes)), theme.text},
      {"memory of each", decimal_bytes(bytes),
       fits ? "fits " + capacity(hardware) : "exceeds " + capacity(hardware),
       fits ? theme.agreement : theme.communication}};
  if (price.step_seconds > 0) {
    figures.push_back({"a step", format_seconds(price.step_seconds),
                       format_count(tokens / price.step_seconds) + " tokens/s", theme.text});
    const double speed = static_cast<double>(price.sum.flops) / price.step_seconds;
    const double peak = hardware.flops(s.dtype);
    if (peak > 0)
      figures.push_back(
          {"of the peak", format_percent(speed / peak), format_flops(speed) + " each", theme.text});
  }
  return figures;
}

/// Returns the height.
float draw_figures(const Context& context, const ClusterStudy& study, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::vector<Figure> figures = figures_of(context, study);
  float widest = 0;
  for (const Figure& figure : figures)
    widest = std::max({widest, text_width(type.note, figure.label), text_width(type.figure, figure.figure),
                       text_width(type.note, figure.note)});
  // Side by side, or in two columns if they would overlap.
  size_t columns = figures.size();
  if (width / static_cast<float>(columns) < widest + context.px(6)) columns = 2;
  const float own = width / static_cast<float>(columns), high = context.px(54);
  for (size_t i = 0; i < figures.size(); ++i) {
    const Figure& figure = figures[i];
    const float x = at.x + own * static_cast<float>(i % columns),
                top = at.y + high * static_cast<float>(i / columns);
    draw_text(list, {x, top}, type.note, figure.label);
    draw_text(list, {x, top + context.px(15)}, in(type.figure, figure.colour), figure.figure);
    draw_text(list, {x, top + context.px(34)}, type.note,
              fitted(type.note, figure.note, own - context.px(6)));
  }
  float y = at.y + high * static_cast<float>((figures.size() + columns - 1) / columns);
  y += draw_parts(context, time_parts(context.theme, study), 0, "", {at.x, y}, width) + context.px(4);
  y += draw_parts(context, memory_parts(context.theme, study.price.memory_bytes),
                  static_cast<double>(study.hardware.memory_bytes), capacity(study.hardware), {at.x, y},
                  width);
  return y - at.y;
}

/// The figures, and the parts of time and memory.
TextTable copied(const Context& context, const ClusterStudy& study) {
  TextTable table{{{"estimated"}, {"value", Align::Right}, {"note"}}, {}};
  const Settings& s = study.settings;
  table.rows.push_back({"model", s.model.title, study.hardware.title});
  table.rows.push_back({"T × P × D", fmt::format("{} × {} × {}", s.tp, study.price.pipeline.stages, s.dp),
                        fmt::format("{} micro-batches", s.micro_batches)});
  for (const Figure& figure : figures_of(context, study))
    table.rows.push_back({figure.label, figure.figure, figure.note});
  for (const Part& part : time_parts(context.theme, study))
    table.rows.push_back({part.name, part.text, "of a step"});
  for (const Part& part : memory_parts(context.theme, study.price.memory_bytes))
    table.rows.push_back({part.name, part.text, "of each device's memory"});
  return table;
}

}  // namespace

std::string cluster_basis(const ClusterStudy& study) {
  const Settings& s = study.settings;
  const auto bytes = [&](MemoryKind kind) {
    return static_cast<double>(bytes_of(study.price.memory_bytes, kind));
  };
  const double of_weights = bytes(MemoryKind::Weight) / static_cast<double>(element_bytes(s.dtype));
  const double kept =
      bytes(MemoryKind::Weight) + bytes(MemoryKind::WeightGradient) + bytes(MemoryKind::OptimizerState);
  return fmt::format(
      "Estimated on {}: {}; nothing overlaps. fp16, AdamW, layers recomputed, batch {} × sequence {}. {:.0f} "
      "bytes per parameter, because gradients add up in fp32; the memory wall's 16 have them in half "
      "precision. FLOPs include recomputing; memory is an upper bound. This estimate took {}.",
      study.hardware.title, study.hardware.basis, grouped_text(s.batch), grouped_text(s.seq),
      kept / of_weights, format_seconds(study.price_seconds));
}

void draw_cluster(const Context& context, ImVec2 min, ImVec2 size) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float gap = context.px(24), form_height = context.px(6 * 28 + 2);
  const float beside = context.px(size.x > context.px(900) ? 288 : 228);
  const auto [width, alone] = room_for_words(context, size.x, beside + gap);
  const float form = alone ? size.x : beside;
  ImGui::SetCursorScreenPos(min);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ImGui::BeginChild("cluster form", {form, form_height});
  draw_form(context);
  ImGui::EndChild();
  ImGui::PopStyleVar();
  const ClusterStudy* study = context.scaling.cluster.get();
  const ImVec2 right = alone ? ImVec2(min.x, min.y + form_height + context.px(12))
                             : ImVec2(min.x + form + gap, min.y + context.px(2));
  float y = min.y + form_height;
  if (study == nullptr || !study->refused.empty()) {
    const float words = draw_wrapped(
        list, right, in(type.body, study == nullptr ? context.theme.text : context.theme.communication),
        study == nullptr ? "Computing the estimate." : as_sentence(study->refused), width);
    y = std::max(y, right.y + words);
  } else {
    y = std::max(y, right.y + draw_figures(context, *study, right, width)) + context.px(8);
    const std::string basis = cluster_basis(*study);
    const float foot = wrapped_height(type.note, basis, size.x);
    const float height = std::max(context.px(130), min.y + size.y - y - foot - context.px(20));
    // The devices and the pipeline stand side by side if the choices and the figures do.
    const float left = alone ? size.x : std::floor((size.x - gap) * 0.6f);
    const float devices = draw_devices(context, *study, {min.x, y}, {left, height});
    const ImVec2 second{alone ? min.x : min.x + left + gap, alone ? y + devices + gap : y};
    const float bubble = draw_bubble(context, *study, second, {min.x + size.x - second.x, height});
    y = std::max({y + devices, second.y + bubble, y + height}) + context.px(8);
    y += draw_wrapped(list, {min.x, y}, type.note, basis, size.x);
    copyable_table("cluster", min, {min.x + size.x, y}, [&] { return copied(context, *study); });
  }
  ImGui::SetCursorScreenPos(min);
  ImGui::Dummy({size.x, y - min.y});
}

}  // namespace shardlens::ui
