// The memory wall: what mixed-precision Adam keeps for every parameter through the whole run, one column per
// tensor-parallel degree, against the memory of one device. The idea it carries: the column only sinks below
// the line by cutting the model itself; another data-parallel copy is another column of the same height.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "engine/config/hardware.h"
#include "engine/config/presets.h"
#include "engine/cost/memory_wall.h"
#include "ui/panels/memory_pages.h"
#include "ui/panels/parts.h"
#include "ui/widgets/axis.h"
#include "ui/widgets/format.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace {

inline constexpr double kSmallestModel = 1e8, kLargestModel = 1.4e12;

const std::string kThisMachine = "this-machine";

/// "32 GB": a device's memory as it is sold.
std::string capacity(const Hardware& hardware) {
  const std::string amount = decimal_bytes(static_cast<double>(hardware.memory_bytes));
  const size_t zero = amount.find(".0 ");
  return zero == std::string::npos ? amount : amount.substr(0, zero) + amount.substr(zero + 2);
}

/// "one V100" or "this machine".
std::string one(const Hardware& hardware) {
  return (hardware.name == kThisMachine ? "" : "one ") + device_word(hardware.title);
}

/// Everything the page shows, computed once a frame from the slider and the device.
struct Wall {
  double parameters = 0;
  const Hardware* device = nullptr;
  int smallest = 0;   ///< the smallest T that fits; 0: none up to 1024
  int explained = 1;  ///< the column the table explains
  std::vector<int> degrees;
  std::vector<WallBytes> columns;

  double limit() const { return static_cast<double>(device->memory_bytes); }
};

ImU32 part_colour(size_t part) {
  switch (part) {
    case 0:
      return deepened(&Theme::forward, 0);
    case 1:
      return deepened(&Theme::forward, 0.55f);
    case 2:
      return deepened(&Theme::backward, 0);
    case 3:
      return deepened(&Theme::backward, 0.5f);
    default:
      return deepened(&Theme::backward, 0.9f);
  }
}

/// A ratio as a room reads it: "4.9", "1.04", "512".
std::string ratio_text(double ratio) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ratio < 1.095 ? "%.2f" : ratio < 99.5 ? "%.1f" : "%.0f", ratio);
  return text.data();
}

/// The models the slider is marked with: the presets of its range, each size once.
struct Mark {
  std::string label;
  double parameters = 0;
  bool important = false;  ///< its label is drawn first where two would touch
};

std::vector<Mark> marks() {
  std::vector<Mark> found;
  for (const Model& model : model_presets()) {
    if (model.architecture != Architecture::Gpt) continue;
    const double count = static_cast<double>(parameter_count(model));
    const std::string label = model_size(count);
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const Mark& mark) { return mark.label == label; });
    if (count < kSmallestModel || known) continue;
    const bool paper = model.name.find("-b") != std::string::npos || model.name.rfind("megatron-", 0) == 0;
    found.push_back(
        {label, count, paper || model.name.rfind("gpt-", 0) == 0 || model.name.rfind("gpt3", 0) == 0});
  }
  std::sort(found.begin(), found.end(),
            [](const Mark& a, const Mark& b) { return a.parameters < b.parameters; });
  return found;
}

Wall build(const Context& context) {
  MemoryView& view = context.view.memory;
  for (const Mark& mark : marks())  // a model named by its round size means the preset's exact count
    if (std::abs(view.parameters / mark.parameters - 1) < 0.004) view.parameters = mark.parameters;
  Wall wall;
  wall.parameters = view.parameters;
  wall.device = &find_hardware(view.device);
  wall.smallest = smallest_degree(wall.parameters, wall.limit());
  wall.degrees = wall_degrees(wall.smallest);
  for (int tp : wall.degrees) wall.columns.push_back(wall_bytes(wall.parameters, tp));
  const bool chosen = std::find(wall.degrees.begin(), wall.degrees.end(), view.tp) != wall.degrees.end();
  wall.explained = chosen ? view.tp : wall.smallest > 0 ? wall.smallest : wall.degrees.back();
  return wall;
}

/// The logarithmic slider: drag, or click a mark's figure. Snaps to a mark that is near.
void draw_slider(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  MemoryView& view = context.view.memory;
  const float track_y = std::round(at.y + context.px(12)), knob = context.px(7);
  const float x0 = at.x, x1 = at.x + width;
  auto place = [&](double parameters) {
    return x0 + static_cast<float>(log_fraction(parameters, kSmallestModel, kLargestModel)) * (x1 - x0);
  };
  const std::vector<Mark> all = marks();

  ImGui::SetCursorScreenPos({x0 - knob, at.y});
  ImGui::InvisibleButton("parameters", {width + 2 * knob, context.px(24)});
  const bool hovered = ImGui::IsItemHovered() || ImGui::IsItemActive();
  if (ImGui::IsItemActive()) {
    const float mouse = ImGui::GetIO().MousePos.x;
    view.parameters = log_value((mouse - x0) / (x1 - x0), kSmallestModel, kLargestModel);
    for (const Mark& mark : all)
      if (std::abs(place(mark.parameters) - mouse) < context.px(6)) view.parameters = mark.parameters;
    view.tp = 0;
  }

  const float x = place(view.parameters);
  const float half = context.px(2);
  list->AddRectFilled({x0, track_y - half}, {x1, track_y + half}, theme.line, half);
  list->AddRectFilled({x0, track_y - half}, {x, track_y + half}, theme.forward, half);
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
    ImGui::PushID(static_cast<int>(i));
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

/// Slider and device, labels in one column. Returns the height they took.
float draw_controls(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float label_width = context.px(96), value_width = context.px(72);
  const float slider = std::min(width - label_width - value_width, context.px(640));
  draw_text(list, {at.x, at.y + context.px(3)}, in(type.body, theme.dim), "Parameters");
  draw_slider(context, {at.x + label_width, at.y}, slider);
  draw_text(list, {at.x + label_width + slider + context.px(16), at.y + context.px(2)}, type.figure,
            model_size(context.view.memory.parameters));

  std::vector<const Hardware*> devices;
  for (const Hardware& hardware : hardware_presets())
    if (hardware.name != kThisMachine) devices.push_back(&hardware);
  devices.push_back(&find_hardware(kThisMachine));
  std::vector<std::string> titles;
  int taken = -1;
  for (size_t i = 0; i < devices.size(); ++i) {
    titles.push_back(device_word(devices[i]->title) + " " + capacity(*devices[i]));
    if (devices[i]->name == context.view.memory.device) taken = static_cast<int>(i);
  }
  const float row_y = at.y + context.px(48);
  const bool labelled = choice_row_width(context, titles) + label_width <= width;
  if (labelled) draw_text(list, {at.x, row_y + context.px(4)}, in(type.body, theme.dim), "Device");
  const int clicked =
      choice_row(context, "device", {labelled ? at.x + label_width : at.x, row_y}, titles, taken);
  if (clicked >= 0) {
    context.view.memory.device = devices[static_cast<size_t>(clicked)]->name;
    context.view.memory.tp = 0;
  }
  return context.px(48) + choice_row_height(context);
}

/// Where one column stands.
struct ColumnPlace {
  float centre, width, slot;
  float base_y, top_y, wall_y, pixels_per_byte;
  double unit;  ///< bytes of the axis' unit
};

/// A part's figure in the axis' unit, and in the first column its name: the legend. Left out where it would
/// not be readable.
void draw_part_label(const Context& context, const Wall& wall, size_t column, size_t part,
                     const ColumnPlace& place, ImVec2 min, ImVec2 max) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const double value = wall.columns[column].parts[part] / place.unit;
  std::array<char, 32> figure{};
  std::snprintf(figure.data(), figure.size(), value < 9.995 ? "%.2f" : "%.1f", value);
  const TextStyle numbers = in(type.mono_note, legible_on(context.theme, part_colour(part)));
  const TextStyle words = in(type.note, numbers.colour);
  const std::string& name = wall_parts()[part].name;
  const float line = numbers.size + context.px(2);
  const bool named = column == 0 && max.y - min.y > 2 * line && text_width(words, name) < max.x - min.x - 4;
  const float height = named ? 2 * line : line;
  const float y = std::round((min.y + max.y - height) / 2 + context.px(1));
  const bool crossed = place.wall_y > y - 1 && place.wall_y < y + height;
  if (max.y - min.y < height || crossed || text_width(numbers, figure.data()) > max.x - min.x) return;
  if (named) draw_text(list, {place.centre, y}, words, name, Align::Centre);
  draw_text(list, {place.centre, named ? y + line : y}, numbers, figure.data(), Align::Centre);
}

/// One column: its parts, its total above, its T below. A click explains it in the table.
void draw_column(const Context& context, const Wall& wall, size_t index, const ColumnPlace& place) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const WallBytes& bytes = wall.columns[index];
  const int tp = wall.degrees[index];
  const double total = bytes.total();
  const bool fits = total <= wall.limit();
  const float left = std::round(place.centre - place.width / 2),
              right = std::round(place.centre + place.width / 2);

  float below = place.base_y;
  double sum = 0;
  for (size_t part = 0; part < bytes.parts.size(); ++part) {
    sum += bytes.parts[part];
    const float above = std::round(place.base_y - static_cast<float>(sum) * place.pixels_per_byte);
    const ImU32 colour = part_colour(part);
    const float gap = below - above > 3 ? 1.0f : 0.0f;  // a hair of ground between parts
    list->AddRectFilled({left, above}, {right, below - (part == 0 ? 0 : gap)}, colour);
    draw_part_label(context, wall, index, part, place, {left, above}, {right, below});
    below = above;
  }

  // the total, above the column and clear of the wall
  TextStyle figure = in(type.figure, fits ? theme.agreement : theme.communication);
  const std::string amount = decimal_bytes(total);
  if (text_width(figure, amount) > place.slot - 4) figure = in(type.strong, figure.colour);
  if (text_width(figure, amount) > place.slot - 4) figure = in(type.note, figure.colour);
  const std::string verdict = fits ? "fits" : ratio_text(total / wall.limit()) + " × the wall";
  const bool verdict_fits = text_width(type.note, verdict) < place.slot;
  const std::string second = verdict_fits || fits ? verdict : ratio_text(total / wall.limit()) + " ×";
  const float height = figure.size + type.note.size + context.px(6);
  float text_y = below - height;
  if (text_y < place.wall_y + context.px(3) && text_y + height > place.wall_y - context.px(3) && fits)
    text_y = place.wall_y - height - context.px(3);
  draw_text(list, {place.centre, text_y}, figure, amount, Align::Centre);
  draw_text(list, {place.centre, text_y + figure.size + context.px(1)}, type.note, second, Align::Centre);

  // its T, boxed where it is explained
  const bool explained = tp == wall.explained;
  const float label_y = place.base_y + context.px(8);
  const std::string name = "T = " + std::to_string(tp);
  std::string remark;
  if (tp == wall.smallest)
    remark = place.slot > context.px(110) ? "smallest that fits" : "smallest";
  else if (tp == 1)
    remark = place.slot > context.px(150) ? "and every data-parallel copy" : "";
  const float box = std::min(place.slot - context.px(4), std::max(place.width, context.px(132)));
  const ImVec2 box_min(std::round(place.centre - box / 2), label_y - context.px(4));
  const ImVec2 box_max(std::round(place.centre + box / 2),
                       label_y + type.strong.size + type.note.size + context.px(10));
  ImGui::SetCursorScreenPos({box_min.x, place.top_y});
  if (ImGui::InvisibleButton(name.c_str(), {box_max.x - box_min.x, box_max.y - place.top_y}))
    context.view.memory.tp = tp;
  const bool hovered = ImGui::IsItemHovered();
  if (explained || hovered)
    list->AddRect(box_min, box_max, explained ? theme.forward : theme.line, context.px(6), context.px(1.5f));
  draw_text(list, {place.centre, label_y}, type.strong, name, Align::Centre);
  draw_text(list, {place.centre, label_y + type.strong.size + context.px(3)},
            in(type.note, tp == wall.smallest ? theme.agreement : theme.dim), remark, Align::Centre);
}

void draw_chart(const Context& context, const Wall& wall, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float axis = context.px(48), margin = context.px(100), feet = context.px(52);
  const ImVec2 plot_min(min.x + axis, min.y + context.px(8));
  const ImVec2 plot_max(min.x + size.x - margin, min.y + size.y - feet);
  const float head = context.px(46);  // room for the tallest column's figures
  const double top = std::max(wall.columns.front().total(), wall.limit() * 1.25);
  const float scale = (plot_max.y - plot_min.y - head) / static_cast<float>(top);
  auto y_of = [&](double bytes) { return std::round(plot_max.y - static_cast<float>(bytes) * scale); };
  const float wall_y = y_of(wall.limit());

  list->AddRectFilled(plot_min, {plot_max.x, wall_y}, faded(theme.communication, 0.05f));
  const double giga = 1e9;
  const bool tera = top >= 2e12;
  const double unit = tera ? 1e12 : giga;
  draw_text(list, {min.x, min.y - context.px(14)}, type.note, tera ? "TB per rank" : "GB per rank");
  const double shown_top = top / unit;  // no line crosses the figures above the columns
  for (double tick :
       round_ticks(Stretch{0, shown_top}, std::max(3, static_cast<int>(size.y / context.px(56))))) {
    const float y = y_of(tick * unit) + 0.5f;
    list->AddLine({plot_min.x, y}, {plot_max.x, y}, tick > 0 ? faded(theme.line, 0.6f) : theme.line, 1);
    std::array<char, 32> label{};
    std::snprintf(label.data(), label.size(), "%g", std::abs(tick));
    draw_text(list, {plot_min.x - context.px(8), y - type.mono_note.size / 2}, type.mono_note, label.data(),
              Align::Right);
  }
  const float slot = (plot_max.x - plot_min.x) / static_cast<float>(wall.columns.size());
  for (size_t i = 0; i < wall.columns.size(); ++i)
    draw_column(context, wall, i,
                {plot_min.x + slot * (static_cast<float>(i) + 0.5f), std::min(slot * 0.64f, context.px(168)),
                 slot, plot_max.y, plot_min.y, wall_y, scale, unit});
  list->AddRectFilled({plot_min.x - context.px(4), wall_y - context.px(1)},
                      {plot_max.x + context.px(4), wall_y + context.px(1)}, theme.communication);
  const float label_x = plot_max.x + context.px(10);
  draw_text(list, {label_x, wall_y - type.strong.size + context.px(2)}, in(type.strong, theme.communication),
            capacity(*wall.device));
  draw_text(list, {label_x, wall_y + context.px(4)}, in(type.note, theme.communication),
            fitted(type.note, one(*wall.device), margin - context.px(10)));
}

/// One rank's bytes by kind, each with the arithmetic it comes from. Returns the height it took.
float draw_table(const Context& context, const Wall& wall, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float right = at.x + width;
  const size_t column = static_cast<size_t>(
      std::find(wall.degrees.begin(), wall.degrees.end(), wall.explained) - wall.degrees.begin());
  const WallBytes& bytes = wall.columns[column];
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
    list->AddRectFilled({at.x, y}, {at.x + swatch, y + context.px(30)}, part_colour(part), context.px(2));
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
  const bool fits = bytes.total() <= wall.limit();
  const std::string amount = decimal_bytes(bytes.total());
  draw_text(list, {at.x + context.px(22), y + context.px(8)}, type.strong, "total before activations");
  draw_text(list, {right, y + context.px(8)},
            {context.fonts.mono, type.mono.size, fits ? theme.agreement : theme.communication},
            amount + " of " + capacity(*wall.device), Align::Right);
  copied.rows.push_back({"total before activations", "16 bytes × " + size, amount});
  copy_button(context, "copy one rank", {right, head_y}, copied);
  draw_text(list, {right - context.px(64), head_y + context.px(5)}, type.faint_note, "estimated",
            Align::Right);
  return y + context.px(36) - at.y;
}

/// What the figures say, in sentences made of them.
struct Verdict {
  std::string claim, detail;
};

Verdict verdict_of(const Wall& wall) {
  const std::string size = model_size(wall.parameters);
  const double whole = wall.columns.front().total();
  const std::string sum = size + " × 16 bytes = " + decimal_bytes(whole);
  if (wall.smallest == 0) return {"No T up to 1024 fits " + one(*wall.device), sum + " before activations."};
  const double part = whole / wall.smallest;
  Verdict verdict;
  verdict.claim = wall.smallest == 1 ? "T = 1: " + one(*wall.device) + " holds all of it"
                                     : "T = " + std::to_string(wall.smallest) + " is the smallest that fits";
  verdict.detail = sum;
  if (wall.smallest > 1) verdict.detail += "; a rank keeps " + decimal_bytes(part);
  verdict.detail += ". " + decimal_bytes(wall.limit() - part) + " are left for activations.";
  if (wall.device->name == kThisMachine)
    verdict.detail += " Its ranks share this memory, so read T as a number of such machines.";
  else if (wall.smallest > 1)
    verdict.detail += " A data-parallel copy does not help: each keeps all " + decimal_bytes(whole) + ".";
  return verdict;
}

/// Returns the height it took.
float draw_verdict(const Context& context, const Wall& wall, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Verdict verdict = verdict_of(wall);
  const float pad = context.px(12);
  const float text_height = wrapped_height(type.note, verdict.detail, width - 2 * pad);
  const float height = pad + type.strong.size + context.px(6) + text_height + pad;
  list->AddRectFilled(at, {at.x + width, at.y + height}, theme.card, context.px(6));
  draw_text(list, {at.x + pad, at.y + pad - context.px(2)},
            in(type.strong, wall.smallest > 0 ? theme.agreement : theme.communication), verdict.claim);
  draw_wrapped(list, {at.x + pad, at.y + pad + type.strong.size + context.px(4)}, type.note, verdict.detail,
               width - 2 * pad);
  return height;
}

/// The marked models and the degree each needs on this device; a click takes the model. Returns the height.
float draw_model_list(const Context& context, const Wall& wall, ImVec2 at, float width, float room) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::vector<Mark> rows;
  for (const Mark& mark : marks())
    if (mark.important) rows.push_back(mark);
  const float row = context.px(26), right = at.x + width;
  const float head = context.px(52);
  if (room < head + 3 * row) return 0;
  rows.resize(std::min(rows.size(), static_cast<size_t>((room - head) / row)));
  const float whole_x = at.x + width * 0.58f;
  draw_text(list, at, type.strong,
            "Smallest T on " + device_word(wall.device->title) + " " + capacity(*wall.device));
  draw_text(list, {at.x, at.y + context.px(28)}, type.note, "parameters");
  draw_text(list, {whole_x, at.y + context.px(28)}, type.note, "× 16 bytes", Align::Right);
  draw_text(list, {right, at.y + context.px(28)}, type.note, "needs", Align::Right);
  float y = at.y + head;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Mark& mark = rows[i];
    ImGui::SetCursorScreenPos({at.x - context.px(8), y});
    ImGui::PushID("models");
    if (ImGui::InvisibleButton(mark.label.c_str(), {width + context.px(16), row})) {
      context.view.memory.parameters = mark.parameters;
      context.view.memory.tp = 0;
    }
    ImGui::PopID();
    const bool is_it = mark.parameters == wall.parameters;
    if (is_it || ImGui::IsItemHovered())
      list->AddRectFilled({at.x - context.px(8), y}, {right + context.px(8), y + row},
                          is_it ? faded(theme.forward, 0.16f) : theme.card, context.px(4));
    const int smallest = smallest_degree(mark.parameters, wall.limit());
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

}  // namespace

void draw_memory_wall(const Context& context) {
  page_head(context, "The memory wall",
            "Mixed-precision Adam keeps 16 bytes for every parameter through the whole run. Each column is "
            "one rank.",
            context.px(180));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool beside = room.x > context.px(900);
  const float side = beside ? context.px(360) : room.x, gap = context.px(28);
  const float main = beside ? room.x - side - gap : room.x;
  float y = at.y + context.px(6);
  y += draw_controls(context, {at.x, y}, main) + context.px(22);

  const Wall wall = build(context);
  const float least = context.px(beside ? 300 : 250);
  const float chart = std::max(least, room.y - (y - at.y));
  draw_chart(context, wall, {at.x, y}, {main, chart});
  y += chart;

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
