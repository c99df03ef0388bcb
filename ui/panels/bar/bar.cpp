// The Bar: one row with the settings of the run, the buttons that run it, and chips that state facts about
// it. The row never overflows: in a narrow window it first drops hints and labels, then shortens the chips.
// The parts that remain keep their tooltips.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/config/validate.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/commands/walk.h"
#include "ui/frame/narrow.h"
#include "ui/panels/bar/bar_chips.h"
#include "ui/panels/bar/bar_ends.h"
#include "ui/panels/bar/training_bar.h"
#include "ui/panels/panels.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/panels/setup/delays.h"
#include "ui/panels/setup/setup.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/form.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kGap = 8;
constexpr float kLineForFinger = 40;   // of a list, in a narrow window
constexpr float kRoomBesideList = 48;  // its padding, and what is left of the window
constexpr size_t kRecord = 0, kParity = 1, kCommunicator = 2, kProvenance = 3;  // indices of chips

/// Which parts of the Bar are shown, and how long their texts are.
struct Detail {
  bool brand = true;
  bool hint = true;
  bool labels = true;
  bool words = true;  ///< on the buttons; if false, icons
  bool layer = true;
  bool split = true;
  bool dtype = true;
  bool size = true;
  bool pause = true;
  bool degrees = true;   ///< also those beyond the paper's and the chosen one
  bool segments = true;  ///< T is a choice of segments; else a field with a list
  bool record = true;
  bool communicator = true;
  bool late_words = true;
  bool late_chips = true;  ///< of a late rank and of the pace
  ChipDetail parity = ChipDetail::Full;
  ChipDetail provenance = ChipDetail::Full;
  ChipDetail others = ChipDetail::Full;

  ChipDetail chip(size_t index, const Chip& chip) const {
    const ChipDetail detail = index == kParity ? parity : index == kProvenance ? provenance : others;
    return detail == ChipDetail::Least && chip.least_text.empty() ? ChipDetail::MarkOnly : detail;
  }
  bool has_chip(size_t index) const {
    return (index != kCommunicator || communicator) && (index != kRecord || record);
  }
  ChipDetail late() const {
    if (!late_words) return ChipDetail::MarkOnly;
    return others == ChipDetail::MarkOnly ? ChipDetail::Least : others;
  }
};

/// Every level of detail, from everything to the least.
std::vector<Detail> details() {
  std::vector<Detail> all(1);
  const auto then = [&](const auto& change) {
    all.push_back(all.back());
    change(all.back());
  };
  then([](Detail& d) { d.hint = false; });
  then([](Detail& d) { d.parity = d.provenance = d.others = ChipDetail::Short; });
  then([](Detail& d) { d.labels = false; });
  then([](Detail& d) { d.brand = false; });
  then([](Detail& d) { d.words = false; });
  then([](Detail& d) { d.parity = d.provenance = d.others = ChipDetail::Least; });
  then([](Detail& d) { d.pause = false; });
  then([](Detail& d) { d.layer = false; });
  then([](Detail& d) { d.dtype = false; });
  then([](Detail& d) { d.degrees = false; });
  // Without its words the communicator's mark says nothing. The mark of a recording is known without words.
  then([](Detail& d) { d.communicator = false; });
  then([](Detail& d) { d.others = ChipDetail::MarkOnly; });
  then([](Detail& d) { d.provenance = ChipDetail::MarkOnly; });
  then([](Detail& d) { d.parity = ChipDetail::MarkOnly; });
  then([](Detail& d) { d.split = false; });
  then([](Detail& d) { d.size = false; });
  // On a phone.
  then([](Detail& d) { d.segments = false; });
  then([](Detail& d) { d.record = false; });
  then([](Detail& d) { d.late_words = false; });
  then([](Detail& d) { d.late_chips = false; });
  return all;
}

std::string split_cuts(const Split& split) {
  const char* stream = split.norm == NormCut::Sequence   ? "; X over tokens"
                       : split.norm == NormCut::Parallel ? "; X over hidden"
                                                         : "";
  return fmt::format("{}, {}, {}, {}{}", to_string(split.attn_qkv), to_string(split.attn_proj),
                     to_string(split.mlp_fc), to_string(split.mlp_proj), stream);
}

std::string layer_text(const Settings& settings, bool has_label) {
  if (settings.block == Block::Model) return has_label ? "all" : "whole model";
  const std::string block = settings.block == Block::Layer ? "" : " " + to_string(settings.block);
  return fmt::format("{}{}{}", has_label ? "" : "layer ", settings.layer, block);
}

struct Fields {
  FieldText model, layer, degree, split, dtype, size;
};

Fields field_texts(const Settings& settings, const Detail& detail) {
  const auto label = [&](const char* text) { return detail.labels ? std::string(text) : std::string(); };
  return {.model = {label("Model"), settings.model.title},
          .layer = {label("Layer"), layer_text(settings, detail.labels)},
          .degree = {"T", std::to_string(settings.tp)},
          .split = {label("Split"), settings.split.name},
          .dtype = {label("dtype"), to_string(settings.dtype)},
          .size = {label("Batch \u00D7 seq"), fmt::format("{} \u00D7 {}", settings.batch, settings.seq)}};
}

/// The degrees that the Bar offers: 1, the paper's 2, 4 and 8 (even if they are not possible), the chosen one
/// and, if `all`, the possible ones up to 16.
std::vector<Segment> degree_segments(const Settings& settings, bool all) {
  const std::vector<int> possible = possible_degrees(settings.model, settings.block, settings.heads_policy);
  std::set<int> shown{1, 2, 4, 8, settings.tp};
  for (const int tp : possible) {
    // An MLP can be cut into any number of parts, and so can heads that need not divide: show only small
    // degrees.
    const bool any = settings.block == Block::Mlp || settings.heads_policy != HeadsPolicy::Strict;
    if (all && tp <= (any ? 4 : 16)) shown.insert(tp);
  }
  std::vector<Segment> segments;
  for (const int tp : shown) {
    Segment segment;
    segment.text = std::to_string(tp);
    segment.chosen = tp == settings.tp;
    segment.possible = std::find(possible.begin(), possible.end(), tp) != possible.end();
    if (segment.possible) {
      segment.tooltip =
          tp == 1 ? "One rank: the serial program" : fmt::format("Cut every layer over {} ranks", tp);
    } else {
      std::string nearest;
      for (const int other : nearest_degrees(settings.model, settings.block, tp, settings.heads_policy)) {
        nearest += (nearest.empty() ? "" : " or ") + std::to_string(other);
      }
      segment.tooltip =
          fmt::format("{} heads are not divisible by {}. Try {}, or click to read what else helps.",
                      settings.model.heads, tp, nearest);
    }
    segments.push_back(segment);
  }
  return segments;
}

/// Returns the settings with `model`. T, layer and sequence change only if they are not possible with it.
Settings with_model(Settings settings, const Model& model) {
  settings.model = model;
  settings.weights_path.clear();
  settings.layer = std::min(settings.layer, model.layers - 1);
  settings.seq = std::min(settings.seq, model.positions);
  const std::vector<int> possible = possible_degrees(model, settings.block, settings.heads_policy);
  if (std::find(possible.begin(), possible.end(), settings.tp) == possible.end()) {
    const auto above = std::upper_bound(possible.begin(), possible.end(), settings.tp);
    settings.tp = above == possible.begin() ? 1 : *(above - 1);
  }
  return settings;
}

/// Draws one line of a list: a title, and dim words at its right. Returns true if it was clicked.
bool draw_choice(const Context& c, const std::string& title, const std::string& words, bool chosen,
                 float width) {
  const ImVec2 min = ImGui::GetCursorScreenPos();
  const float height = c.px(is_narrow(c.view) ? kLineForFinger : 28);
  width = std::min(width, ImGui::GetMainViewport()->Size.x / c.view.ui_scale() - kRoomBesideList);
  const bool clicked = ImGui::Selectable(("##" + title).c_str(), chosen, 0, {c.px(width), height});
  if (chosen) ImGui::SetItemDefaultFocus();  // where the arrow keys begin
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle style{chosen ? c.fonts.bold : c.fonts.body, c.px(kBodySize), c.theme.text};
  const TextStyle small{c.fonts.body, c.px(kSmallSize), c.theme.dim};
  draw_text(list, {min.x + c.px(4), min.y + (height - style.size) / 2}, style, title);
  draw_text(list, {min.x + c.px(width - 4), min.y + (height - small.size) / 2}, small, words, Align::Right);
  return clicked;
}

/// Opens `id`'s list under the field just drawn and draws `content` in it while it is open.
void draw_list(const Context& c, const char* id, bool open, const auto& content) {
  const ImVec2 below{ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + c.px(4)};
  const std::string popup = fmt::format("{} list", id);
  if (open) ImGui::OpenPopup(popup.c_str());
  ImGui::SetNextWindowPos(below, ImGuiCond_Appearing);  // Dear ImGui keeps it inside the window
  // A list that is higher than the window scrolls below its field. It must not cover the Bar.
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  ImGui::SetNextWindowSizeConstraints(
      {0, 0}, {FLT_MAX, std::max(c.px(120), viewport.Pos.y + viewport.Size.y - below.y - c.px(8))});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(c.px(12), c.px(12)));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(c.px(8), c.px(2)));
  if (ImGui::BeginPopup(popup.c_str())) {
    content();
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar(2);
}

void draw_model_list(const Context& c, const Settings& settings) {
  for (const Model& model : model_presets()) {
    const std::string words = fmt::format("{} \u00D7 {}, {} heads", model.layers, model.hidden, model.heads);
    if (draw_choice(c, model.title, words, model.name == settings.model.name, 380)) {
      c.want(with_model(settings, model));
      ImGui::CloseCurrentPopup();
    }
  }
}

void choose_degree(const Context& c, Settings settings, const Segment& degree) {
  settings.tp = std::stoi(degree.text);
  c.want(settings);
}

void draw_degree_list(const Context& c, const Settings& settings) {
  for (const Segment& degree : degree_segments(settings, true)) {
    const std::string words = degree.possible ? "" : "does not divide the heads";
    if (draw_choice(c, degree.text, words, degree.chosen, 220)) {
      choose_degree(c, settings, degree);
      ImGui::CloseCurrentPopup();
    }
  }
}

void draw_layer_list(const Context& c, Settings settings) {
  const std::array<std::pair<Block, const char*>, 4> blocks{{{Block::Model, "all layers, embedding and loss"},
                                                             {Block::Layer, "one layer"},
                                                             {Block::Attention, "its attention block"},
                                                             {Block::Mlp, "its MLP block"}}};
  for (const auto& [block, words] : blocks) {
    if (draw_choice(c, to_string(block), words, block == settings.block, 260)) {
      c.want(with_block(settings, block));
      ImGui::CloseCurrentPopup();
    }
  }
  if (settings.block == Block::Model) return;
  ImGui::Dummy({0, c.px(8)});
  int layer = static_cast<int>(settings.layer);
  ImGui::SetNextItemWidth(c.px(260));
  if (ImGui::SliderInt("##layer", &layer, 0, static_cast<int>(settings.model.layers) - 1, "layer %d",
                       ImGuiSliderFlags_AlwaysClamp)) {
    settings.layer = layer;
    c.want(settings);
  }
}

void draw_split_list(const Context& c, Settings settings) {
  for (const Split& split : named_splits()) {
    if (draw_choice(c, split.name, split_cuts(split), split == settings.split, 400)) {
      settings.split = split;
      c.want(settings);
      ImGui::CloseCurrentPopup();
    }
  }
  ImGui::Dummy({0, c.px(4)});
  ImGui::TextDisabled("How attn.qkv, attn.proj, mlp.fc and mlp.proj are cut, and the stream X between them");
}

void draw_dtype_list(const Context& c, Settings settings) {
  const auto words_of = [](DType dtype) {
    switch (dtype) {
      case DType::Bf16:
        return "2 bytes, fp32 master weights";
      case DType::Fp16:
        return "2 bytes, and the loss is scaled";
      case DType::Fp64:
        return "8 bytes, for verification";
      default:
        return "4 bytes per element";
    }
  };
  for (const DType dtype : runnable_dtypes(settings.block)) {
    if (draw_choice(c, to_string(dtype), words_of(dtype), dtype == settings.dtype, 260)) {
      settings.dtype = dtype;
      c.want(settings);
      ImGui::CloseCurrentPopup();
    }
  }
}

void draw_size_list(const Context& c, Settings settings) {
  const auto draw_number = [&](const char* label, int64_t& number) {
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted(label);
    ImGui::SameLine(c.px(112));
    ImGui::SetNextItemWidth(c.px(92));
    ImGui::PushID(label);
    bool changed = number_field(c, "##number", number);
    for (const auto& [sign, step] : {std::pair{"-", -1}, std::pair{"+", 1}}) {
      ImGui::SameLine(0, c.px(4));
      if (ImGui::Button(sign, {ImGui::GetFrameHeight(), 0})) {
        constexpr int64_t kMost = std::numeric_limits<int64_t>::max() - 1;
        number = std::max<int64_t>(std::clamp<int64_t>(number, 0, kMost) + step, 1);
        changed = true;
      }
    }
    ImGui::PopID();
    if (changed) c.want(settings);
  };
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(c.px(8), c.px(8)));
  draw_number("Batch", settings.batch);
  draw_number("Sequence", settings.seq);
  const bool counts = settings.batch > 0 && settings.seq > 0 &&
                      settings.batch <= std::numeric_limits<int64_t>::max() / settings.seq;
  ImGui::TextDisabled("%s", counts ? (grouped_text(settings.batch * settings.seq) + " tokens").c_str() : "");
  ImGui::PopStyleVar();
}

struct Buttons {
  std::string run, step, pause;
};

Buttons button_texts(const Detail& detail) {
  if (!detail.words) return {ICON_FA_PLAY, ICON_FA_STEP_FORWARD, ICON_FA_PAUSE};
  return {ICON_FA_PLAY "  Run", "Step  " ICON_FA_ARROW_RIGHT, ICON_FA_PAUSE};
}

/// Everything the row shows, measured before it is drawn.
struct Row {
  Detail detail;
  Fields fields;
  std::vector<Segment> degrees;
  Buttons buttons;
  std::array<Chip, 4> chips;  ///< what is recorded, parity or the broken run, communicator, provenance
  bool shows_break = false;   ///< the run of a planted mistake
  std::optional<Chip> late;   ///< while a rank is late on purpose
  std::optional<Chip> pace;   ///< while steps play, or would play at another speed than usual
};

float row_width(const Context& c, const Row& row) {
  const float gap = c.px(kGap);
  float width = row.detail.brand ? brand_width(c) : 0;
  width += field_width(c, row.fields.model) + gap;
  if (row.detail.layer) width += field_width(c, row.fields.layer) + gap;
  width +=
      (row.detail.segments ? segments_width(c, "T", row.degrees) : field_width(c, row.fields.degree)) + gap;
  if (row.detail.split) width += field_width(c, row.fields.split) + gap;
  if (row.detail.size) width += field_width(c, row.fields.size) + gap;
  if (row.detail.dtype) width += field_width(c, row.fields.dtype) + gap;
  width += button_width(c, row.buttons.run) + gap + button_width(c, row.buttons.step);
  if (row.detail.pause) width += gap + button_width(c, row.buttons.pause);
  for (size_t i = 0; i < row.chips.size(); ++i)
    if (row.detail.has_chip(i)) width += gap + chip_width(c, row.chips[i], row.detail.chip(i, row.chips[i]));
  for (const std::optional<Chip>* chip : {&row.late, &row.pace})
    if (*chip) width += gap + chip_width(c, **chip, row.detail.late());
  if (row.detail.hint) width += gap + hint_width(c);
  return width;
}

/// Returns the row with the chips' texts of a finished run. The row is measured with them, because during a
/// run the texts change several times a second and the buttons must not move under the mouse.
Row at_rest(const Snapshot& snapshot, Row row) {
  const bool lasts = snapshot.state == RunState::Refused || snapshot.state == RunState::Failed ||
                     snapshot.state == RunState::Cancelled || row.shows_break ||
                     (snapshot.result && snapshot.result->replayed);
  if (lasts) return row;
  Chip& parity = row.chips[kParity];
  parity.text = "equals serial \u00B7 000 of 000 \u00B7 0.0e-0 in dWproj";
  parity.short_text = "equals serial";
  parity.least_text = "= serial";
  Chip& provenance = row.chips[kProvenance];
  provenance.text = provenance.short_text = provenance.least_text = "out of date";
  return row;
}

/// Shortens the last chip's text if the row is wider than `available` pixels. The tooltip then holds the full
/// text.
Row fitted_row(const Context& c, Row row, float available) {
  Chip& chip = row.chips[kProvenance];
  const float excess = row_width(c, row) - available;
  if (excess <= 0 || row.detail.chip(kProvenance, chip) == ChipDetail::MarkOnly) return row;
  const std::string words = row.detail.provenance == ChipDetail::Full ? chip.text : chip.short_text;
  chip.tooltip = words + "\n" + chip.tooltip;
  chip.text = chip.short_text = chip.least_text =
      chip_words(c, words, std::floor(chip_width(c, chip, row.detail.provenance) - excess));
  return row;
}

Row choose_row(const Context& c, const Settings& settings, float available) {
  Row row;
  const std::optional<SeenBreak> seen = seen_break(c);
  row.shows_break = seen.has_value();
  row.chips = {record_chip(c.recorded.runs, c.recorded.steps, c.theme),
               seen ? break_chip(c, *seen) : parity_chip(c.snapshot, c.theme),
               communicator_chip(c.snapshot, c.theme), provenance_chip(c.snapshot, c.theme)};
  if (!settings.delays.empty()) row.late = late_chip(settings, c.theme);
  if ((c.view.playing || c.view.walk_speed != 1) && !plays_by_time(c))
    row.pace = pace_chip(c.view.walk_speed, c.theme);
  const std::vector<Segment> all = degree_segments(settings, true), few = degree_segments(settings, false);
  Row fits;
  for (const Detail& detail : details()) {
    row.detail = detail;
    row.fields = field_texts(settings, detail);
    row.degrees = detail.degrees ? all : few;
    if (!detail.late_chips) row.late = row.pace = std::nullopt;
    row.buttons = button_texts(detail);
    fits = fitted_row(c, row, available);
    if (row_width(c, at_rest(c.snapshot, row)) <= available && row_width(c, fits) <= available) break;
  }
  return fits;
}

/// A button that runs one of the table's commands.
void draw_command(const Context& c, const char* id, const std::string& text, ButtonLook look,
                  const char* command) {
  const bool waits = c.replay.is_open() && !find_command(command).is_enabled(c);
  command_button(c, command, text, look, id,
                 waits ? "\nA recording is shown: close it, or run its settings here beside it." : "");
}

}  // namespace

void draw_bar(const Context& c) {
  if (c.view.tab == Tab::Train && !c.replay.is_open()) return draw_training_bar(c);
  const Settings settings = c.wanted();
  const Row row = choose_row(c, settings, ImGui::GetContentRegionAvail().x);
  const float gap = c.px(kGap);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(gap, 0));
  if (row.detail.brand) draw_brand(c);
  const auto draw_field_with_list = [&](const char* id, const FieldText& text, const auto& content) {
    const bool clicked = draw_field(c, id, text);
    draw_list(c, id, clicked, [&] { content(c, settings); });
    ImGui::SameLine();
  };
  const ImVec2 fields = ImGui::GetCursorScreenPos();
  ImGui::BeginDisabled(c.replay.is_open());  // the recording sets these
  draw_field_with_list("Model", row.fields.model, draw_model_list);
  if (row.detail.layer) draw_field_with_list("Layer", row.fields.layer, draw_layer_list);
  if (row.detail.segments) {
    const int degree = draw_segments(c, "T", "T", row.degrees);
    if (degree >= 0) choose_degree(c, settings, row.degrees[static_cast<size_t>(degree)]);
    ImGui::SameLine();
  } else {
    draw_field_with_list("T", row.fields.degree, draw_degree_list);
  }
  if (row.detail.split) draw_field_with_list("Split", row.fields.split, draw_split_list);
  if (row.detail.dtype) draw_field_with_list("dtype", row.fields.dtype, draw_dtype_list);
  if (row.detail.size) draw_field_with_list("Size", row.fields.size, draw_size_list);
  ImGui::EndDisabled();
  const ImVec2 buttons = ImGui::GetCursorScreenPos();
  explain_fixed(c, fields, {buttons.x, buttons.y + c.px(kControlHeight)});
  draw_command(c, "Run", row.buttons.run, ButtonLook::Accent, "run.run");
  ImGui::SameLine();
  draw_command(c, "Step", row.buttons.step, ButtonLook::Plain, "walk.forward");
  if (row.detail.pause) {
    ImGui::SameLine();
    draw_command(c, "Pause", row.buttons.pause, ButtonLook::Plain, "run.pause");
  }

  const std::array<const char*, 4> ids{"record", "parity", "communicator", "provenance"};
  const float top = ImGui::GetItemRectMin().y;
  float right = ImGui::GetItemRectMax().x;
  const auto draw_if_there = [&](const char* id, const std::optional<Chip>& chip) {
    if (!chip) return false;
    ImGui::SetCursorScreenPos({right + gap, top + c.px((kControlHeight - kChipHeight) / 2)});
    const bool clicked = draw_chip(c, id, *chip, row.detail.late());
    right = ImGui::GetItemRectMax().x;
    return clicked;
  };
  if (draw_if_there("pace", row.pace)) c.view.walk_speed = 1;
  if (draw_if_there("late", row.late)) c.want(without_delays(settings));
  for (size_t i = 0; i < row.chips.size(); ++i) {
    if (!row.detail.has_chip(i)) continue;
    ImGui::SetCursorScreenPos({right + gap, top + c.px((kControlHeight - kChipHeight) / 2)});
    const bool clicked = draw_chip(c, ids[i], row.chips[i], row.detail.chip(i, row.chips[i]));
    if (clicked && i == 0) find_command("run.record").run(c);
    if (clicked && i == kParity && row.shows_break) find_command("view.break_it").run(c);
    right = ImGui::GetItemRectMax().x;
  }
  if (row.detail.hint) draw_hint(c, top);
  ImGui::PopStyleVar();
}

}  // namespace shardlens::ui
