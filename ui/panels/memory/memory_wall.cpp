// The memory wall: what mixed-precision Adam keeps for every parameter through the whole run, one column per
// tensor-parallel degree, against the memory of one device. The idea it carries: a column gets below the line
// only if the model itself is cut. Another data-parallel copy is just another column of the same height.
#include <algorithm>
#include <cmath>
#include <string>

#include "engine/config/hardware.h"
#include "engine/config/hardware_file.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/memory/memory_pages.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/parts.h"
#include "ui/widgets/axis.h"

namespace shardlens::ui {
namespace {

/// Draws the logarithmic slider: drag it, or click a mark's figure. It snaps to a mark that is near.
void draw_slider(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  MemoryView& view = context.view.of<MemoryView>();
  const float track_y = std::round(at.y + context.px(12)), knob = context.px(7);
  const float x0 = at.x, x1 = at.x + width;
  auto place = [&](double parameters) {
    return x0 + static_cast<float>(log_fraction(parameters, kSmallestModel, kLargestModel)) * (x1 - x0);
  };
  const std::vector<ModelMark>& all = model_marks();

  ImGui::SetCursorScreenPos({x0 - knob, at.y});
  ImGui::InvisibleButton("parameters", {width + 2 * knob, context.px(24)});
  const bool hovered = ImGui::IsItemHovered() || ImGui::IsItemActive();
  if (ImGui::IsItemActive()) {
    const float mouse = ImGui::GetIO().MousePos.x;
    view.parameters = log_value((mouse - x0) / (x1 - x0), kSmallestModel, kLargestModel);
    for (const ModelMark& mark : all)
      if (std::abs(place(mark.parameters) - mouse) < context.px(6)) view.parameters = mark.parameters;
    view.tp = 0;
  }

  const float x = place(view.parameters);
  const float half = context.px(2);
  fill_rect(list, {x0, track_y - half}, {x1, track_y + half}, theme.line, half);
  fill_rect(list, {x0, track_y - half}, {x, track_y + half}, theme.forward, half);
  std::vector<float> centres, widths;
  std::vector<size_t> first;
  for (size_t i = 0; i < all.size(); ++i) {
    centres.push_back(place(all[i].parameters));
    widths.push_back(text_width(type.note, all[i].label));
    if (all[i].parameters == view.parameters) first.insert(first.begin(), i);
    if (all[i].important) first.push_back(i);
  }
  const std::vector<bool> shown = labels_that_fit(centres, widths, context.px(8), first);
  for (size_t i = 0; i < all.size(); ++i) {
    const float mark_x = std::round(centres[i]) + 0.5f;
    list->AddLine({mark_x, track_y + context.px(6)}, {mark_x, track_y + context.px(10)}, theme.faint, 1);
    if (!shown[i]) continue;
    const float label_y = track_y + context.px(13);
    ImGui::SetCursorScreenPos({centres[i] - widths[i] / 2, label_y});
    ImGui::PushID("marks");
    if (ImGui::InvisibleButton(all[i].label.c_str(), {widths[i], type.note.size + context.px(2)})) {
      view.parameters = all[i].parameters;
      view.tp = 0;
    }
    const bool is_it = all[i].parameters == view.parameters;
    const ImU32 ink = is_it || ImGui::IsItemHovered() ? theme.text : theme.dim;
    ImGui::PopID();
    draw_text(list, {centres[i], label_y}, in(type.note, ink), all[i].label, Align::Centre);
  }
  list->AddCircleFilled({x, track_y}, knob, theme.text);
  if (hovered)
    list->AddCircle({x, track_y}, knob + context.px(3), faded(theme.forward, 0.7f), 0, context.px(2));
}

float controls_height(const Context& context) {
  return context.px(48) + choice_row_height(context);
}

/// The devices that can be the wall: single ones, this machine last.
std::vector<const Hardware*> wall_devices() {
  std::vector<const Hardware*> devices;
  for (const Hardware& hardware : hardware_presets())
    if (hardware.name != kThisMachine && hardware.nodes == 0) devices.push_back(&hardware);
  devices.push_back(&find_hardware(kThisMachine));
  return devices;
}

/// Draws the slider and the choice of devices, with their labels in one column. Returns the height they took.
float draw_controls(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float label_width = context.px(96), value_width = context.px(72);
  const float slider = std::min(width - label_width - value_width, context.px(640));
  draw_text(list, {at.x, at.y + context.px(3)}, in(type.body, theme.dim), "Parameters");
  draw_slider(context, {at.x + label_width, at.y}, slider);
  draw_text(list, {at.x + label_width + slider + context.px(16), at.y + context.px(2)}, type.figure,
            model_size(context.view.of<MemoryView>().parameters));

  const std::vector<const Hardware*> devices = wall_devices();
  std::vector<std::string> titles, names;
  int taken = -1;
  for (size_t i = 0; i < devices.size(); ++i) {
    names.push_back(device_word(devices[i]->title));
    titles.push_back(names.back() + " " + capacity(*devices[i]));
    if (devices[i]->name == context.view.of<MemoryView>().device) taken = static_cast<int>(i);
  }
  if (choice_row_width(context, titles) > width) titles = names;
  const float row_y = at.y + context.px(48);
  const bool labelled = choice_row_width(context, titles) + label_width <= width;
  if (labelled) draw_text(list, {at.x, row_y + context.px(4)}, in(type.body, theme.dim), "Device");
  const int clicked =
      choice_row(context, "device", {labelled ? at.x + label_width : at.x, row_y}, titles, taken);
  if (clicked >= 0) {
    context.view.of<MemoryView>().device = devices[static_cast<size_t>(clicked)]->name;
    context.view.of<MemoryView>().tp = 0;
  }
  return controls_height(context);
}

/// The parts' colours, on one line if they fit, where the table that explains them is below the edge. Returns
/// the height; if `draw` is false, it only computes it.
float draw_legend(const Context& context, ImVec2 at, float width, bool draw) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float swatch = context.px(10), after = context.px(6), apart = context.px(16);
  Rows rows(at, width, type.note.size + context.px(4));
  for (size_t part = 0; part < wall_parts().size(); ++part) {
    const std::string& name = wall_parts()[part].name;
    const float wide = swatch + after + text_width(type.note, name);
    const ImVec2 place = rows.place(wide, apart);
    if (!draw) continue;
    fill_rect(list, place, {place.x + swatch, place.y + type.note.size}, wall_part_colour(part),
              context.px(2));
    draw_text(list, {place.x + swatch + after, place.y}, in(type.note, context.theme.text), name);
  }
  return rows.bottom() - at.y + context.px(11);
}

/// Draws one rank's bytes by kind, each with its arithmetic. Returns the height it took.
float draw_table(const Context& context, const Wall& wall, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float right = at.x + width;
  const WallBytes& bytes = wall.explained_column();
  const std::string size = model_size(wall.parameters);

  TextTable copied{
      {{"one rank at T = " + std::to_string(wall.explained)}, {"arithmetic"}, {"bytes", Align::Right}}, {}};
  float y = at.y;
  draw_text(list, {at.x, y + context.px(3)}, type.strong,
            "One rank at T = " + std::to_string(wall.explained));
  const float head_y = y;
  y += context.px(36);
  for (size_t part = 0; part < bytes.parts.size(); ++part) {
    const float swatch = context.px(10);
    fill_rect(list, {at.x, y}, {at.x + swatch, y + context.px(30)}, wall_part_colour(part), context.px(2));
    const WallPart& kind = wall_parts()[part];
    const std::string arithmetic = size + (wall.explained > 1 ? " ÷ " + std::to_string(wall.explained) : "") +
                                   " × " + std::to_string(kind.bytes_per_parameter) + " bytes, " + kind.why;
    const std::string amount = decimal_bytes(bytes.parts[part]);
    draw_text(list, {at.x + context.px(22), y - context.px(2)}, type.body, kind.name);
    draw_text(list, {at.x + context.px(22), y + context.px(16)}, type.note,
              fitted(type.note, arithmetic, width - context.px(22)));
    draw_text(list, {right, y - context.px(1)}, type.mono, amount, Align::Right);
    copied.rows.push_back({kind.name, arithmetic, amount});
    y += context.px(42);
  }
  rule(context, {at.x, y - context.px(2)}, width);
  const bool fits = bytes.total() <= wall.limit_bytes();
  const std::string amount = decimal_bytes(bytes.total());
  draw_text(list, {at.x + context.px(22), y + context.px(8)}, type.strong, "total before activations");
  draw_text(list, {right, y + context.px(8)},
            {context.fonts.mono, type.mono.size, fits ? theme.agreement : theme.communication},
            amount + " of " + capacity(*wall.device), Align::Right);
  copied.rows.push_back({"total before activations", "16 bytes × " + size, amount});
  const MakeTable make = [&] { return copied; };
  copy_button(context, "copy one rank", {right, head_y}, make);
  copyable_table("one rank", at, {right, y + context.px(36)}, make);
  draw_text(list, {right - context.px(64), head_y + context.px(5)}, type.note, "estimated", Align::Right);
  return y + context.px(36) - at.y;
}

/// Returns the height it took.
float draw_verdict(const Context& context, const Wall& wall, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const WallVerdict verdict = verdict_of(wall);
  const float pad = context.px(12);
  const float text_height = wrapped_height(type.note, verdict.detail, width - 2 * pad);
  const float height = pad + type.strong.size + context.px(6) + text_height + pad;
  fill_rect(list, at, {at.x + width, at.y + height}, theme.card, context.px(6));
  draw_text(list, {at.x + pad, at.y + pad - context.px(2)},
            in(type.strong, wall.smallest > 0 ? theme.agreement : theme.communication), verdict.claim);
  draw_wrapped(list, {at.x + pad, at.y + pad + type.strong.size + context.px(4)}, type.note, verdict.detail,
               width - 2 * pad);
  return height;
}

/// Draws the marked models and the T that each needs on this device; a click chooses the model. Returns the
/// height.
float draw_model_list(const Context& context, const Wall& wall, ImVec2 at, float width, float room) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::vector<ModelMark> rows;
  for (const ModelMark& mark : model_marks())
    if (mark.important) rows.push_back(mark);
  const float row = context.px(26), right = at.x + width;
  const float head = context.px(52);
  if (room < head + 3 * row) return 0;
  rows.resize(std::min(rows.size(), static_cast<size_t>((room - head) / row)));
  const float whole_x = at.x + width * 0.58f;
  draw_text(list, at, type.strong,
            "Smallest T, a power of 2, on " + device_word(wall.device->title) + " " + capacity(*wall.device));
  draw_text(list, {at.x, at.y + context.px(28)}, type.note, "parameters");
  draw_text(list, {whole_x, at.y + context.px(28)}, type.note, "× 16 bytes", Align::Right);
  draw_text(list, {right, at.y + context.px(28)}, type.note, "needs", Align::Right);
  float y = at.y + head;
  for (size_t i = 0; i < rows.size(); ++i) {
    const ModelMark& mark = rows[i];
    ImGui::SetCursorScreenPos({at.x - context.px(8), y});
    ImGui::PushID("models");
    if (ImGui::InvisibleButton(mark.label.c_str(), {width + context.px(16), row})) {
      context.view.of<MemoryView>().parameters = mark.parameters;
      context.view.of<MemoryView>().tp = 0;
    }
    ImGui::PopID();
    const bool is_it = mark.parameters == wall.parameters;
    if (is_it || ImGui::IsItemHovered())
      fill_rect(list, {at.x - context.px(8), y}, {right + context.px(8), y + row},
                is_it ? faded(theme.forward, 0.16f) : theme.card, context.px(4));
    const int smallest = smallest_degree(mark.parameters, wall.limit_bytes());
    const float text_y = y + (row - type.mono.size) / 2;
    draw_text(list, {at.x + text_width(type.note, "parameters"), text_y}, type.mono, mark.label,
              Align::Right);
    draw_text(list, {whole_x, text_y}, in(type.mono, theme.dim),
              decimal_bytes(wall_bytes(mark.parameters, 1).total()), Align::Right);
    draw_text(list, {right, text_y}, in(type.mono, is_it ? theme.agreement : theme.text),
              smallest > 0 ? "T = " + std::to_string(smallest) : "none up to 1024", Align::Right);
    y += row;
  }
  return y - at.y;
}

/// The wall begins with the paper's largest model and a device that is not enough for it. It then follows the
/// model and the hardware chosen in Setup, unless the one is outside the slider's range and the other more
/// than one device. Those of a recording or of a frozen training step are ignored, because the user did not
/// choose them now.
void look_at_what_is_chosen(const Context& context) {
  if (context.replay.is_open() || context.train.frozen != nullptr) return;
  MemoryView& view = context.view.of<MemoryView>();
  if (const std::string& hardware = context.wanted().hardware; hardware != view.hardware) {
    view.hardware = hardware;
    for (const Hardware* const device : wall_devices())
      if (device->name == hardware) view.device = hardware;
  }
  const Model& chosen = context.wanted().model;
  if (chosen == view.model) return;
  view.model = chosen;
  const auto parameters = static_cast<double>(parameter_count(chosen));
  if (parameters < kSmallestModel || parameters > kLargestModel) return;
  view.parameters = parameters;
  view.tp = 0;
}

}  // namespace

void draw_memory_wall(const Context& context) {
  look_at_what_is_chosen(context);
  page_head(
      context, "The memory wall",
      is_in_scene(context.view)
          ? "Mixed-precision Adam keeps 16 bytes per parameter all through a run. Each column is one rank."
          : "Mixed-precision Adam keeps 16 bytes per parameter all through a run; a plan here has 18: its "
            "gradients add up in fp32. Each column is one rank.",
      context.px(kPageChoices));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool beside = room.x > context.px(900);
  const float side = beside ? context.px(360) : room.x, gap = context.px(28);
  const float main = beside ? room.x - side - gap : room.x;
  float y = at.y + context.px(6);
  if (beside) y += draw_controls(context, {at.x, y}, main) + context.px(8);

  MemoryView& view = context.view.of<MemoryView>();
  const Wall wall = build_wall(view.parameters, view.device, view.tp);
  view.parameters = wall.parameters;
  const float least = context.px(beside ? 300 : 176);
  // Where the page is narrow, as beside a lesson, what it shows stands above what it can be asked.
  const float legend = beside ? 0 : draw_legend(context, at, main, false);
  const float below = beside ? 0 : controls_height(context) + context.px(16) + legend;
  const float chart = std::max(least, room.y - (y - at.y) - below);
  draw_wall_chart(context, wall, {at.x, y}, {main, chart});
  y += chart;
  if (!beside) {
    draw_legend(context, {at.x, y + context.px(6)}, main, true);
    y += legend;
    y += context.px(16) + draw_controls(context, {at.x, y + context.px(16)}, main);
  }

  const float side_x = beside ? at.x + main + gap : at.x;
  float side_y = beside ? at.y + context.px(6) : y + context.px(20);
  const float side_end = beside ? std::max(y, at.y + room.y) : side_y + context.px(2000);
  side_y += draw_table(context, wall, {side_x, side_y}, side);
  side_y += draw_verdict(context, wall, {side_x, side_y}, side) + context.px(20);
  side_y += draw_model_list(context, wall, {side_x, side_y}, side, side_end - side_y);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({room.x, std::max(y, side_y) - at.y});
}

}  // namespace shardlens::ui
