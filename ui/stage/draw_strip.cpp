// Draws the strip, and the line above an open part.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/plan/cache.h"
#include "ui/stage/strip.h"
#include "ui/stage/strip_light.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/tape.h"

namespace shardlens::ui::stage {
namespace {

constexpr float kLeastRow = 9, kMostRow = 96;
constexpr float kMostBar = 24;  ///< height of a bar, also in a higher row
constexpr size_t kMostScrolled =
    16;                            // up to this many rows keep their text and scroll; more rows become lower
constexpr float kHead = 72;        // the lines above the rows
constexpr float kLeastWords = 11;  // a row of at least this height has its own text
constexpr float kLabelWidth = 124;
constexpr float kTwoLines = 38;     ///< from this height on a row says what each rank holds
constexpr float kRmsWidth = 132;    ///< of the column with the stream's rms
constexpr float kRoomForRms = 760;  ///< the least width of a strip with that column
constexpr float kFoot = 60;         ///< the lines below the rows

/// Returns the strip of the plan, with the result's times if it has any.
const Strip& strip_of(const std::shared_ptr<const Plan>& plan, const std::shared_ptr<const Result>& result) {
  const bool timed = result && result->timed;
  const double seconds = timed ? result->forward_seconds + result->backward_seconds : 0;
  static Cache<std::tuple<std::shared_ptr<const Plan>, bool, double>, Strip> known;
  return known.of({plan, timed, seconds}, [&] { return make_strip(*plan, result.get(), sections_of(plan)); });
}

std::string amount_text(StripUnit unit, double amount) {
  return unit == StripUnit::Flops ? format_flop_count(amount) : format_seconds(amount);
}

/// Returns "2 collectives · 1.50 MiB": their number, and the bytes that each rank sends in all of them.
std::string meeting_text(const StripSide& side) {
  if (side.collectives == 0) return {};
  return fmt::format("{} · {}", counted(side.collectives, "collective"),
                     bytes_text(static_cast<double>(side.sent_bytes)));
}

ImU32 segment_colour(const Context& context, StripSegment::Kind kind, Phase phase) {
  const Theme& theme = context.theme;
  switch (kind) {
    case StripSegment::Kind::Compute:
      return phase_colour(theme, phase);
    case StripSegment::Kind::Again:
      return mixed(theme.backward, theme.forward, 0.6f);
    case StripSegment::Kind::Wait:
      return mixed(theme.window, theme.communication, 0.4f);
    case StripSegment::Kind::Transfer:
      return theme.communication;
  }
  return theme.dim;
}

struct SidePlace {
  Rect rect;      ///< room for bar and text
  float bar = 0;  ///< pixels of the longest bar
  Phase phase = Phase::Forward;
};

/// Returns the text size for a row of this height, in pixels.
float words_size(const Context& context, float row_height) {
  return std::min(std::round(context.px(kSmallSize)), std::max(row_height, context.px(kLeastWords)));
}

void draw_side(const Context& context, ImDrawList* list, const Strip& strip, const StripSide& side,
               const SidePlace& place, bool words, bool done) {
  if (side.first < 0) return;
  const Theme& theme = context.theme;
  const float height = std::min(std::max(3.0f, std::round(place.rect.height() * (words ? 0.56f : 0.72f))),
                                context.px(kMostBar));
  const float top = std::round((place.rect.min.y + place.rect.max.y - height) / 2);
  float x = place.rect.min.x;
  double so_far = 0;
  for (const StripSegment& segment : side.segments) {
    so_far += segment.amount;
    const float end =
        place.rect.min.x + static_cast<float>(so_far / std::max(strip.longest, 1e-30)) * place.bar;
    if (end - x < 0.5f && &segment != &side.segments.back()) continue;
    const ImU32 colour = segment_colour(context, segment.kind, place.phase);
    fill_rect(list, {x, top}, {std::max(end, x + 1), top + height}, done ? colour : faded(colour, 0.35f));
    x = end;
  }
  if (!words) return;
  const TextStyle mono{context.fonts.mono, words_size(context, place.rect.height()), theme.text};
  const TextStyle note{context.fonts.body, mono.size, theme.dim};
  const float y = (place.rect.min.y + place.rect.max.y) / 2 - mono.size * 0.56f;
  const float left = std::max(x, place.rect.min.x) + context.px(8);
  const std::string amount = amount_text(strip.unit, side.amount);
  draw_text(list, {left, y}, mono, amount);
  const float after = left + text_width(mono, amount) + context.px(12);
  const std::string meetings = meeting_text(side);
  if (after + text_width(note, meetings) <= place.rect.max.x) draw_text(list, {after, y}, note, meetings);
}

/// True if the row ends with the stream. The logits and the loss after the layers are another quantity.
bool ends_with_stream(const Program& program, const Strip& strip, const StripRow& row) {
  return row.output != kNoTensor && row.forward.first >= 0 &&
         program.tensor(row.output).shape == program.tensor(strip.rows[0].output).shape;
}

/// Draws the rms of each part's output as a line up the column, with its numbers. `top` is that of the rows.
void draw_rms(const Context& context, ImDrawList* list, const Program& program, const Strip& strip,
              const Result* result, const Rect& column, const StripRows& rows, float top) {
  std::vector<double> values;
  double most = 0;
  for (const StripRow& row : strip.rows) {
    values.push_back(ends_with_stream(program, strip, row) ? rms_of(program, result, row.output) : NAN);
    if (std::isfinite(values.back())) most = std::max(most, values.back());
  }
  if (most <= 0) return;
  const Theme& theme = context.theme;
  const TextStyle mono{context.fonts.mono, std::round(context.px(kSmallSize)), theme.text};
  const float numbers = text_width(mono, "0.0000") + context.px(10);
  const float width = column.width() - numbers - context.px(10);
  std::optional<ImVec2> before;
  for (size_t i = 0; i < values.size(); ++i) {
    const float y = top + rows.top[i] + rows.height / 2;
    if (!std::isfinite(values[i])) {
      before.reset();
      continue;
    }
    const ImVec2 at{column.min.x + static_cast<float>(values[i] / most) * width, y};
    if (before) ui::draw_line(list, *before, at, theme.dim, std::max(1.0f, context.px(1.5f)));
    fill_rect(list, {at.x - context.px(3), y - context.px(3)}, {at.x + context.px(3), y + context.px(3)},
              theme.text);
    if (rows.height >= context.px(kLeastWords) && y + mono.size / 2 <= column.max.y)
      draw_text(list, {column.max.x - context.px(6), y - mono.size * 0.56f}, mono, format_value(values[i]),
                Align::Right);
    before = at;
  }
}

/// Draws what a rank holds and sends in all, and what the colours mean.
void draw_foot(const Context& context, ImDrawList* list, const Plan& plan, const Strip& strip, ImVec2 at,
               float width) {
  const Theme& theme = context.theme;
  const TextStyle body{context.fonts.body, std::round(context.px(kBodySize)), theme.text};
  const TextStyle note{context.fonts.body, std::round(context.px(kSmallSize)), theme.dim};
  int64_t sent = 0, arena = 0;
  int collectives = 0;
  for (const StripRow& row : strip.rows)
    for (const StripSide* side : {&row.forward, &row.backward}) {
      sent += side->sent_bytes;
      collectives += side->collectives;
    }
  for (const MemoryPlan& rank : plan.memory) arena = std::max(arena, total_bytes(rank.arena_bytes));
  const bool on_paper = Tape::current() != nullptr;  // where nothing can be clicked
  const std::string words =
      fmt::format("Each rank holds {} and sends {} in {} of one pass.{}",
                  bytes_text(static_cast<double>(arena)), bytes_text(static_cast<double>(sent)),
                  counted(collectives, "collective"), on_paper ? "" : " Click a part to open it.");
  draw_text(list, at, body, fitted(body, words, width));
  float x = at.x;
  const float y = at.y + body.size + context.px(10), side = note.size;
  const auto kind = [&](StripSegment::Kind meaning, Phase phase, const char* text) {
    if (x + side + context.px(6) + text_width(note, text) > at.x + width) return;
    fill_rect(list, {x, y}, {x + side, y + side}, segment_colour(context, meaning, phase), context.px(2));
    x += side + context.px(6);
    draw_text(list, {x, y}, note, text);
    x += text_width(note, text) + context.px(16);
  };
  kind(StripSegment::Kind::Compute, Phase::Forward, "computing forward");
  kind(StripSegment::Kind::Compute, Phase::Backward, "computing backward");
  if (plan.program.settings.update) kind(StripSegment::Kind::Compute, Phase::Update, "update");
  if (strip.unit == StripUnit::Flops) return;
  kind(StripSegment::Kind::Transfer, Phase::Forward, "transfer");
  kind(StripSegment::Kind::Wait, Phase::Forward, "waiting for other ranks");
}

void side_tooltip(const Context& context, const Section& section, const Strip& strip, const StripRow& row) {
  if (!ImGui::BeginTooltip()) return;
  ImGui::PushFont(context.fonts.bold, 0);
  ImGui::TextUnformatted(section.title.c_str());
  ImGui::PopFont();
  const auto line = [&](const char* word, const StripSide& side) {
    if (side.first < 0) return;
    std::string text = fmt::format("{}: {}", word, amount_text(strip.unit, side.amount));
    if (side.collectives > 0) {
      text += fmt::format(", {}", meeting_text(side));
      if (strip.unit != StripUnit::Flops)
        text += fmt::format(" in {}, waiting included", format_seconds(side.communication));
    }
    ImGui::TextUnformatted(text.c_str());
  };
  line("forward", row.forward);
  line(section.title == "optimizer" ? "update" : "backward", row.backward);
  ImGui::PushStyleColor(ImGuiCol_Text, context.theme.dim);
  ImGui::Text("%zu steps. Click to open.", section.steps.size());
  ImGui::PopStyleColor();
  ImGui::EndTooltip();
}

/// Returns the recorded loss of the shown pass, or NaN if the recording has none.
double recorded_loss(const ReplaySnapshot& replay) {
  const MetricTable* metrics = replay.metrics.get();
  const std::vector<double>* losses = metrics ? metrics->column("loss") : nullptr;
  if (losses == nullptr || replay.pass % metrics->stride != 0) return NAN;
  const auto row = static_cast<size_t>(replay.pass / metrics->stride);
  return row < losses->size() ? (*losses)[row] : NAN;
}

/// Returns the loss once it is computed. In a recording it is the loss of the shown pass, never that of
/// another pass whose tensors were sampled.
std::string loss_text(const Context& context, const Program& program, const Result* result) {
  if (result == nullptr || result->samples.empty()) return {};
  const bool replayed = context.replay.is_open();
  if (const double loss = replayed ? recorded_loss(context.replay) : NAN; std::isfinite(loss))
    return fmt::format("loss {:.4f}", loss);
  const TensorId loss = kept_result(program, Role::Loss);
  if (loss == kNoTensor) return {};
  const auto id = static_cast<size_t>(loss);
  const auto& sample = result->samples[0][id];
  const bool other_pass =
      replayed && id < result->sampled_in.size() && result->sampled_in[id] != context.replay.pass;
  return sample && !other_pass ? fmt::format("loss {:.4f}", sample->stats.mean) : std::string();
}

std::string sizes_text(const Program& program) {
  const Settings& s = program.settings;
  std::string text = fmt::format("{} · {} of {} · T = {}", s.model.title, counted(s.model.layers, "layer"),
                                 s.model.hidden, s.tp);
  if (s.dp > 1) text += fmt::format(" × D = {}", s.dp);
  text += " · " + counted(std::ssize(program.steps), "step");
  return text;
}

/// Returns ", 10.4 ms of these between the steps" if the rows do not add up to the pass.
std::string rest_text(const Result& result, const Strip& strip) {
  constexpr double kLeastRest = 0.02;  // of the pass
  const double pass = result.forward_seconds + result.backward_seconds;
  double rest = pass;
  for (const StripRow& row : strip.rows) rest -= row.forward.amount + row.backward.amount;
  return rest < kLeastRest * pass ? "" : fmt::format(", {} of these between the steps", format_seconds(rest));
}

std::string unit_text(const Plan& plan, const Result* result, const Strip& strip) {
  switch (strip.unit) {
    case StripUnit::Measured:
      return fmt::format("{} on rank 0: forward {}, backward {}{}", result->how(),
                         format_seconds(result->forward_seconds), format_seconds(result->backward_seconds),
                         rest_text(*result, strip));
    case StripUnit::Estimated:
      return fmt::format("{}: lengths are times predicted for {}",
                         result ? "not timed yet" : "planned, not run", plan.program.settings.hardware);
    case StripUnit::Flops:
      return fmt::format("{}: lengths are a rank's FLOPs", result ? "not timed yet" : "planned, not run");
  }
  return {};
}

void draw_strip_head(const Context& context, ImDrawList* list, const Rect& room, const Plan& plan,
                     const Result* result, const Strip& strip, const SidePlace& forward,
                     const SidePlace& backward) {
  const Theme& theme = context.theme;
  const TextStyle title{context.fonts.bold, std::round(context.px(kBodySize)), theme.text};
  const TextStyle note{context.fonts.body, std::round(context.px(kSmallSize)), theme.dim};
  const float x = room.min.x + context.px(12);
  const float width = room.max.x - x - context.px(12);
  const std::string sizes = fitted(title, sizes_text(plan.program), width);
  draw_text(list, {x, room.min.y + context.px(6)}, title, sizes);
  const std::string loss = loss_text(context, plan.program, result);
  if (!loss.empty() && text_width(title, sizes) + text_width(title, loss) + context.px(24) < width)
    draw_text(list, {room.max.x - context.px(12), room.min.y + context.px(6)}, title, loss, Align::Right);
  draw_text(list, {x, room.min.y + context.px(27)}, note,
            fitted(note, unit_text(plan, result, strip), width));
  const float y = room.min.y + context.px(50);
  const auto heading = [&](const SidePlace& place, const char* text, ImU32 colour) {
    const TextStyle style{context.fonts.bold, note.size, colour};
    draw_text(list, {place.rect.min.x, y}, style, text);
  };
  heading(forward, "forward  " ICON_FA_ARROW_UP, theme.forward);
  heading(backward, ICON_FA_ARROW_DOWN "  backward", theme.backward);
}

void open(const Context& context, const Program& program, int section, StepId first) {
  show_step(context.view, program, first);
  context.view.open_section = section;
}

}  // namespace

void draw_strip(const Context& context, const std::shared_ptr<const Plan>& plan,
                const std::shared_ptr<const Result>& result, const Rect& room) {
  const Sections& sections = sections_of(plan);
  const Strip& strip = strip_of(plan, result);
  const Program& program = plan->program;
  const Theme& theme = context.theme;
  const float head = context.px(kHead), foot = context.px(kFoot);
  const float least = sections.list.size() <= kMostScrolled ? kLeastWords : kLeastRow;
  const float pad = context.px(12);
  // A recording may have been made without what the rms is taken from.
  const bool rms_known =
      !context.replay.is_open() || std::any_of(strip.rows.begin(), strip.rows.end(), [&](const auto& row) {
        return ends_with_stream(program, strip, row) &&
               !std::isnan(rms_of(program, result.get(), row.output));
      });
  const bool has_rms = rms_known && room.width() >= context.px(kRoomForRms);
  const float rms = has_rms ? context.px(kRmsWidth) : 0, name = context.px(kLabelWidth);
  const float label = name + rms;
  const float side = (room.width() - label - 3 * pad) / 2;
  // The text is to the right of the bar, so the longest bar leaves room for it.
  const float bar = std::max(side * 0.25f, side - context.px(236));
  const StageLight& light = context.view.of<StageLight>();
  const std::vector<LitPart> parts = lit_parts(program, sections, places_of(plan, light), light);
  const StripRows rows = place_rows(callout_heights(context, parts, side - pad), room.height() - head - foot,
                                    context.px(least), context.px(kMostRow));
  const float row_height = rows.height;
  const auto side_at = [&](float top, bool backward) {
    const float left = room.min.x + pad + label + (backward ? side + pad : 0);
    return SidePlace{
        {{left, top}, {left + side, top + row_height}}, bar, backward ? Phase::Backward : Phase::Forward};
  };

  ImGui::SetCursorScreenPos(room.min);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  const bool visible =
      ImGui::BeginChild("##stage_strip", {room.width(), room.height()}, ImGuiChildFlags_None,
                        ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  if (!visible) return ImGui::EndChild();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float top = room.min.y - ImGui::GetScrollY();
  draw_strip_head(context, list, {{room.min.x, top}, {room.max.x, top + head}}, *plan, result.get(), strip,
                  side_at(top, false), side_at(top, true));
  const float rms_left = room.min.x + pad + name;
  if (has_rms && result)
    draw_text(list, {rms_left, top + context.px(50)},
              {context.fonts.bold, std::round(context.px(kSmallSize)), theme.text}, "rms of the stream");

  // If rows are low, only every second, fourth, eighth, … has text, so that it fits.
  size_t words_every = 1;
  while (static_cast<float>(words_every) * row_height < context.px(kLeastWords)) words_every *= 2;
  const size_t position = result ? context.snapshot.position : program.steps.size();
  const StepId selected = context.view.selected_step;
  const int selected_section = selected >= 0 && static_cast<size_t>(selected) < sections.of_step.size()
                                   ? sections.of_step[static_cast<size_t>(selected)]
                                   : -1;
  for (size_t i = 0; i < sections.list.size(); ++i) {
    const Section& section = sections.list[i];
    const float y = top + head + rows.top[i], callouts = rows.callouts[i];
    if (y - callouts > room.max.y || y + row_height < room.min.y || section.steps.empty()) continue;
    if (parts[i].lit || callouts > 0)
      fill_rect(list, {room.min.x + context.px(4), y - callouts},
                {room.max.x - context.px(4), y + row_height}, plate_colour(theme), context.px(6));
    const Rect row{{room.min.x + context.px(4), y}, {room.max.x - context.px(4), y + row_height}};
    ImGui::SetCursorScreenPos(row.min);
    const bool clicked =
        ImGui::InvisibleButton(fmt::format("##stage_section_{}", i).c_str(), {row.width(), row_height});
    const bool hovered = ImGui::IsItemHovered();
    const StripRow& sides = strip.rows[i];
    const bool at_backward = ImGui::GetMousePos().x >= side_at(y, true).rect.min.x;
    const bool zoomed_in = hovered && ImGui::GetIO().KeyCtrl && ImGui::GetIO().MouseWheel > 0;
    if (clicked || zoomed_in) {
      const StepId wanted = at_backward ? sides.backward.first : sides.forward.first;
      open(context, program, static_cast<int>(i), wanted >= 0 ? wanted : section.steps.front());
    }
    const bool is_selected = static_cast<int>(i) == selected_section;
    if (is_selected || hovered)
      fill_rect(list, row.min, row.max,
                is_selected ? mixed(theme.window, theme.forward, 0.16f) : theme.panel);
    const bool outside = section.layer < 0;
    // A layer next to a row outside the layers leaves the room to that row's text.
    const auto is_outside = [&](size_t at) {
      return at < sections.list.size() && sections.list[at].layer < 0;
    };
    const bool crowded = (i > 0 && is_outside(i - 1)) || is_outside(i + 1);
    const bool has_turn = section.layer % static_cast<int>(words_every) == 0 && !crowded;
    const bool words = outside || is_selected || words_every == 1 || has_turn;
    if (words) {
      const float size = words_size(context, row_height);
      const TextStyle title{outside || is_selected ? context.fonts.bold : context.fonts.body, size,
                            theme.text};
      const bool holds = row_height >= context.px(kTwoLines) && sides.weight_bytes > 0;
      const float middle = y + row_height / 2 - (holds ? context.px(9) : 0);
      draw_text(list, {room.min.x + pad, middle - size * 0.56f}, title, fitted(title, section.title, name));
      const TextStyle note{context.fonts.body, size, theme.dim};
      if (holds)
        draw_text(list, {room.min.x + pad, middle - size * 0.56f + context.px(18)}, note,
                  fitted(note, bytes_text(static_cast<double>(sides.weight_bytes)) + " a rank", name));
    }
    const bool side_words = row_height >= context.px(kLeastWords) && words;
    const auto done = [&](const StripSide& one) {
      return static_cast<size_t>(std::max(one.first, 0)) < position;
    };
    draw_side(context, list, strip, sides.forward, side_at(y, false), side_words, done(sides.forward));
    SidePlace backward_place = side_at(y, true);
    if (sides.backward.first >= 0) backward_place.phase = program.step(sides.backward.first).phase;
    draw_side(context, list, strip, sides.backward, backward_place, side_words, done(sides.backward));
    for (const bool backward : {false, true}) {
      const Rect place = side_at(y, backward).rect;
      draw_part_callout(context, list, parts[i].callouts[backward ? 1 : 0],
                        {{place.min.x, y - callouts}, {place.max.x - pad, y}});
    }
    if (hovered) side_tooltip(context, section, strip, sides);
  }
  const float end = top + head + rows.total;
  if (has_rms)
    draw_rms(context, list, program, strip, result.get(),
             {{rms_left, top + head}, {rms_left + rms - pad, end}}, rows, top + head);
  shade_parts(context, list, parts, rows, {{room.min.x, top + head}, {room.max.x, end}});
  if (const auto lit = lit_stretch(parts, rows);
      is_new_light(context.view, plan, room.width(), room.height()) && lit)
    ImGui::SetScrollY(head + lit->first - std::max(0.0f, room.height() - (lit->second - lit->first)) / 2);
  draw_foot(context, list, *plan, strip, {room.min.x + pad, end + context.px(12)}, room.width() - 2 * pad);
  ImGui::SetCursorScreenPos({room.min.x, end + foot - context.px(4)});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
}

float draw_breadcrumb(const Context& context, const Plan& plan, const Sections& sections, const Rect& room) {
  ViewState& view = context.view;
  const Theme& theme = context.theme;
  const int open_section = view.open_section;
  const Section& section = sections.list[static_cast<size_t>(open_section)];
  const float height = context.px(28), pad = context.px(12);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle words{context.fonts.body, std::round(context.px(kBodySize)), theme.forward};
  const TextStyle here{context.fonts.bold, words.size, theme.text};
  const std::string name =
      section.layer >= 0
          ? "layer " + number_of(section.layer, static_cast<size_t>(plan.program.settings.model.layers))
          : section.title;
  float x = room.min.x + pad;
  const float y = room.min.y + (height - words.size) / 2;
  if (Tape::current() != nullptr) {  // on a page the caption names the model, and nothing can be clicked
    draw_text(list, {x, y}, here, name);
    return height;
  }
  const auto link = [&](const char* id, const std::string& text, bool enabled) {
    const float width = text_width(words, text);
    ImGui::SetCursorScreenPos({x, room.min.y});
    const bool clicked = ImGui::InvisibleButton(id, {std::max(1.0f, width), height}) && enabled;
    const bool hovered = ImGui::IsItemHovered() && enabled;
    TextStyle style = words;
    style.colour = !enabled ? theme.faint : hovered ? theme.text : theme.forward;
    draw_text(list, {x, y}, style, text);
    x += width + context.px(10);
    return clicked;
  };
  const auto go = [&](int to) {
    open(context, plan.program, to, sections.list[static_cast<size_t>(to)].steps.front());
  };
  const bool back =
      link("##stage_whole_model", ICON_FA_ANGLE_LEFT "  " + plan.program.settings.model.title, true);
  draw_text(list, {x, y}, {context.fonts.body, words.size, theme.dim}, "/");
  x += context.px(14);
  draw_text(list, {x, y}, here, name);
  x += text_width(here, name) + context.px(16);
  const int last = static_cast<int>(sections.list.size()) - 1;
  const bool previous = link("##stage_previous_section", ICON_FA_ARROW_UP, open_section > 0);
  const bool next = link("##stage_next_section", ICON_FA_ARROW_DOWN, open_section < last);
  if (back) view.open_section = kWholeModel;
  if (previous) go(open_section - 1);
  if (next) go(open_section + 1);
  return height;
}

}  // namespace shardlens::ui::stage
