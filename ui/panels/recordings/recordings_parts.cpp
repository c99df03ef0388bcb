// The parts below the answer: they compare two recordings step by step, in totals and in memory.
#include "ui/panels/recordings/recordings_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/parts.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/plan/cache.h"
#include "ui/plan/shown_plan.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sort_head.h"

namespace shardlens::ui {
namespace {

constexpr float kRowHeight = 22;
constexpr double kWidestRatio = 4;  ///< the bar of B / A ends at this ratio and at its inverse

/// The columns of the steps: left edges of name and phase, right edges of the others. 0: there is no room for
/// it.
struct Columns {
  float step = 0, name = 0, name_end = 0, phase = 0;
  float time_a = 0, time_b = 0, ratio = 0, bar = 0, bar_width = 0;
  float wait_a = 0, wait_b = 0, sent_a = 0, sent_b = 0;
};

Columns columns_of(const Context& context, float left, float width) {
  Columns c;
  float right = left + width - context.px(16);  // for the scroll bar
  const auto take = [&](float measure) {
    const float edge = right;
    right -= context.px(measure);
    return edge;
  };
  // The cost of a late rank is in the waits, not in the times, so the waits get room before the bytes sent.
  const bool waits = width > context.px(560), sends = width > context.px(760);
  if (sends) c.sent_b = take(78), c.sent_a = take(78);
  if (waits) c.wait_b = take(74), c.wait_a = take(74);
  c.bar_width = context.px(width > context.px(920) ? 90 : 0);
  c.bar = right - c.bar_width;
  if (c.bar_width > 0) right = c.bar - context.px(8);
  c.ratio = take(56);
  c.time_b = take(76);
  c.time_a = take(76);
  if (width > context.px(840)) {
    right -= context.px(74);
    c.phase = right + context.px(6);
  }
  c.step = left + context.px(42);
  c.name = c.step + context.px(12);
  c.name_end = right - context.px(8);
  return c;
}

void draw_heads(const Context& context, const Columns& c, float y, SortOrder& order) {
  const auto head = [&](DiffColumn column, const char* words, float x, Align align, bool descends, float room,
                        const char* help = nullptr) {
    if (x > 0)
      sort_head(context, {static_cast<int>(column), words, align, descends, help}, {x, y}, room, order);
  };
  const float room = context.px(74);
  head(DiffColumn::Step, "step", c.step, Align::Right, false, context.px(40), "Its number in A");
  head(DiffColumn::Name, "name", c.name, Align::Left, false, c.name_end - c.name);
  head(DiffColumn::Phase, "phase", c.phase, Align::Left, false, room);
  head(DiffColumn::TimeA, "time A", c.time_a, Align::Right, true, room,
       "Time of the slowest rank, without waiting");
  head(DiffColumn::TimeB, "time B", c.time_b, Align::Right, true, room,
       "Time of the slowest rank, without waiting");
  head(DiffColumn::Ratio, "B / A", c.ratio, Align::Right, true, room, "Below 1: B is faster");
  head(DiffColumn::WaitA, "waits A", c.wait_a, Align::Right, true, room,
       "Time spent waiting for the last rank");
  head(DiffColumn::WaitB, "waits B", c.wait_b, Align::Right, true, room,
       "Time spent waiting for the last rank");
  head(DiffColumn::SentA, "sends A", c.sent_a, Align::Right, true, room, "Each rank");
  head(DiffColumn::SentB, "sends B", c.sent_b, Align::Right, true, room, "Each rank");
}

/// Draws a bar from the middle: to the right if B takes longer, to the left if it is faster.
void draw_ratio_bar(const Context& context, const Columns& c, float y, float height, double ratio) {
  if (c.bar_width <= 0 || ratio <= 0) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float middle = c.bar + c.bar_width / 2;
  const double share = std::clamp(std::log(ratio) / std::log(kWidestRatio), -1.0, 1.0);
  const float end = middle + static_cast<float>(share) * c.bar_width / 2;
  const float top = y + context.px(7), bottom = y + height - context.px(7);
  fill_rect(list, {std::min(middle, end), top}, {std::max(middle, end), bottom},
            run_colour(context.theme, ratio > 1));
  fill_rect(list, {middle, y + context.px(3)}, {middle + 1, y + height - context.px(3)}, context.theme.line);
}

void draw_step(const Context& context, const ComparedRuns& runs, const DiffRow& row, int place,
               const Columns& c, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  DiffView& view = context.view.of<DiffView>();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = context.px(kRowHeight), y = at.y + (height - type.mono_note.size) / 2;
  ImGui::SetCursorScreenPos(at);
  if (click_area(fmt::format("##{} {}", row.a, row.b).c_str(), {width, height}))
    select_row(context, runs, row, place);
  const bool hovered = ImGui::IsItemHovered();
  const bool selected = view.row == place;
  if (selected || hovered)
    fill_rect(list, at, {at.x + width, at.y + height}, selected ? faded(theme.forward, 0.2f) : theme.card,
              context.px(3));
  const auto& parting = runs.diff.parting;
  const bool parts = parting && parting->metric.empty() && parting->a_step >= 0 && parting->a_step == row.a;
  fill_rect(list, {at.x, at.y + context.px(4)}, {at.x + context.px(4), at.y + height - context.px(4)},
            phase_colour(theme, row.phase));
  const TextStyle quiet = in(type.mono_note, theme.dim);
  draw_text(list, {c.step, y}, quiet, row.a >= 0 ? std::to_string(row.a) : "–", Align::Right);
  const ImU32 ink = row.collective ? theme.communication : theme.text;
  std::string name = row.name;
  if (!row.in_both()) name += row.a >= 0 ? "   only in A" : "   only in B";
  if (parts) name += "   they part here";
  draw_text(list, {c.name, y}, in(type.mono_note, row.in_both() ? ink : theme.dim),
            fitted(type.mono_note, name, c.name_end - c.name));
  if (parts)
    outline_rect(list, at, {at.x + width, at.y + height}, theme.communication, context.px(3),
                 std::max(1.0f, context.px(1)));
  if (c.phase > 0) draw_text(list, {c.phase, y}, quiet, to_string(row.phase));
  const TextStyle figure = in(type.mono_note, theme.text);
  const auto time = [&](float x, double seconds, bool has) {
    if (x > 0)
      draw_text(list, {x, y}, figure, has && seconds > 0 ? format_seconds(seconds) : "–", Align::Right);
  };
  const auto bytes = [&](float x, int64_t count) {
    if (x > 0 && count > 0)
      draw_text(list, {x, y}, in(figure, theme.communication), bytes_text(static_cast<double>(count)),
                Align::Right);
  };
  time(c.time_a, row.a_seconds, row.a >= 0);
  time(c.time_b, row.b_seconds, row.b >= 0);
  if (row.ratio() > 0)
    draw_text(list, {c.ratio, y}, figure, ratio_words(row.a_seconds, row.b_seconds), Align::Right);
  draw_ratio_bar(context, c, at.y, height, row.ratio());
  if (row.collective) {
    time(c.wait_a, row.a_wait_seconds, row.in_both());
    time(c.wait_b, row.b_wait_seconds, row.in_both());
  }
  bytes(c.sent_a, row.a_sent_bytes);
  bytes(c.sent_b, row.b_sent_bytes);
}

/// Draws rows with the figures of both, in a list that scrolls.
void draw_figures(const Context& context, const char* id, const std::vector<FigureRow>& rows, ImVec2 min,
                  ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  const float height = context.px(kRowHeight);
  ImGui::SetCursorScreenPos(min);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild(id, size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float ratio = at.x + width - context.px(16), room = std::min(context.px(240), width * 0.24f);
  const float b = ratio - context.px(64), a = b - room, name_end = a - room;
  const auto head = [&](float x, const char* words, ImU32 colour) {
    draw_text(list, {x, at.y}, in(type.strong, colour), words, Align::Right);
  };
  head(a, "A", run_colour(theme, false));
  head(b, "B", run_colour(theme, true));
  draw_text(list, {ratio, at.y + context.px(1)}, type.note, "B / A", Align::Right);
  float y = at.y + context.px(20);
  for (const FigureRow& row : rows) {
    const float text = y + (height - type.body.size) / 2;
    if (row.is_head) {
      y += context.px(4);
      draw_text(list, {at.x, y + (height - type.note.size) / 2}, type.note,
                fitted(type.note, row.help.empty() ? row.name : row.name + " · " + row.help,
                       name_end - at.x + room));
      y += height;
      rule(context, {at.x, y - context.px(2)}, width - context.px(12));
      continue;
    }
    draw_text(list, {at.x, text}, in(type.body, theme.text), fitted(type.body, row.name, name_end - at.x));
    const TextStyle figure = in(type.mono, theme.text);
    const std::string of_a = fitted(figure, row.a, room - context.px(16)),
                      of_b = fitted(figure, row.b, room - context.px(16));
    draw_text(list, {a, text}, figure, of_a, Align::Right);
    draw_text(list, {b, text}, figure, of_b, Align::Right);
    draw_text(list, {ratio, text}, figure, row.ratio, Align::Right);
    ImGui::SetCursorScreenPos({at.x, y});
    ImGui::Dummy({width - context.px(12), height});
    if (ImGui::IsItemHovered()) {
      std::string words = row.help;
      if (of_a != row.a || of_b != row.b)
        words += fmt::format("{}A {}\nB {}", words.empty() ? "" : "\n", row.a, row.b);
      if (!words.empty()) tooltip(context, words);
    }
    y += height;
  }
  ImGui::SetCursorScreenPos({at.x, y});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
  ImGui::PopStyleVar();
  copyable_table(id, min, {min.x + size.x, min.y + size.y}, [&] { return figures_table(rows); });
}

/// Draws a rank's memory in both as bars, by kind.
void draw_rank_bars(const Context& context, const ComparedRuns& runs, size_t rank, int64_t most, ImVec2 at,
                    float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float bar = context.px(14), label = context.px(76), figure = context.px(76);
  draw_text(list, {at.x, at.y + bar - type.body.size / 2}, in(type.body, theme.text),
            fmt::format("rank {}", rank));
  float y = at.y;
  for (const bool is_b : {false, true}) {
    const auto& ranks = is_b ? runs.diff.b_high_water_bytes : runs.diff.a_high_water_bytes;
    const float middle = y + bar / 2;
    draw_text(list, {at.x + label - context.px(8), middle - type.note.size / 2},
              in(type.note, run_colour(theme, is_b)), is_b ? "B" : "A", Align::Right);
    if (rank < ranks.size()) {
      const float room = width - label - figure - context.px(16);
      float x = at.x + label;
      std::string words = fmt::format("rank {} of {}, high-water", rank, is_b ? "B" : "A");
      for (size_t kind = 0; kind < ranks[rank].size(); ++kind) {
        const int64_t bytes = ranks[rank][kind];
        if (bytes <= 0) continue;
        const float end =
            x + room * static_cast<float>(static_cast<double>(bytes) / static_cast<double>(most));
        fill_rect(list, {x, y + context.px(1)}, {end, y + bar - context.px(1)},
                  kind_colour(theme, static_cast<MemoryKind>(kind)));
        words += fmt::format("\n{} {}", to_string(static_cast<MemoryKind>(kind)),
                             bytes_text(static_cast<double>(bytes)));
        x = end;
      }
      draw_text(list, {at.x + width - context.px(12), middle - type.mono_note.size / 2},
                in(type.mono_note, theme.text), bytes_text(static_cast<double>(total_bytes(ranks[rank]))),
                Align::Right);
      ImGui::SetCursorScreenPos({at.x + label, y});
      ImGui::Dummy({room, bar});
      if (ImGui::IsItemHovered()) show_tooltip(context, words);
    } else {
      draw_text(list, {at.x + label, middle - type.note.size / 2}, type.note, "has no such rank");
    }
    y += bar;
  }
}

}  // namespace

const std::vector<DiffRow>& shown_rows(const std::shared_ptr<const ComparedRuns>& runs) {
  static Cache<std::shared_ptr<const ComparedRuns>, std::vector<DiffRow>> known;
  return known.of(runs, [&] { return diff_rows(*runs); });
}

const std::vector<size_t>& shown_places(const std::shared_ptr<const ComparedRuns>& runs,
                                        const SortOrder& order) {
  static Cache<std::pair<std::shared_ptr<const ComparedRuns>, SortOrder>, std::vector<size_t>> known;
  return known.of({runs, order}, [&] { return sorted_places(shown_rows(runs), order); });
}

StepId shown_step(const Context& context, const ComparedRuns& runs, const DiffRow& row) {
  const Plan* plan = shown_plan(context.snapshot);
  if (plan == nullptr) return -1;
  if (context.replay.is_open()) {
    if (context.replay.recording->path == runs.a.file) return row.a;
    if (context.replay.recording->path == runs.b.file) return row.b;
  }
  for (const Step& step : plan->program.steps)
    if (step.name == row.name && step.phase == row.phase && step.layer == row.layer) return step.id;
  return -1;
}

void select_row(const Context& context, const ComparedRuns& runs, const DiffRow& row, int place) {
  context.view.of<DiffView>().row = place;
  const StepId step = shown_step(context, runs, row);
  if (step < 0) return;
  show_step(context.view, shown_plan(context.snapshot)->program, step);
  const auto& parting = runs.diff.parting;
  if (!context.replay.is_open() || !parting || parting->a_step != row.a || row.a < 0) return;
  const std::string& open = context.replay.recording->path;
  if (open == runs.a.file)
    context.send(replay_command::ShowPass{parting->a_pass});
  else if (open == runs.b.file)
    context.send(replay_command::ShowPass{parting->b_pass});
}

void draw_diff_steps(const Context& context, const std::shared_ptr<const ComparedRuns>& runs, ImVec2 min,
                     ImVec2 size) {
  DiffView& view = context.view.of<DiffView>();
  const std::vector<DiffRow>& rows = shown_rows(runs);
  const Columns c = columns_of(context, min.x, size.x);
  const float row = context.px(kRowHeight);
  draw_heads(context, c, min.y, view.order);
  const float head = sort_head_height(context) + context.px(2);
  rule(context, {min.x, min.y + head}, size.x);
  const std::vector<size_t>& places = shown_places(runs, view.order);
  ImGui::SetCursorScreenPos({min.x, min.y + head + context.px(3)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild("compared steps", {size.x, size.y - head - context.px(3)});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(places.size()), row);
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      draw_step(context, *runs, rows[places[static_cast<size_t>(i)]],
                static_cast<int>(places[static_cast<size_t>(i)]), c,
                {at.x, at.y + row * static_cast<float>(i)}, size.x - context.px(12));
  ImGui::SetCursorScreenPos({at.x, at.y + row * static_cast<float>(places.size())});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
  ImGui::PopStyleVar();
  copyable_table("compared steps", min, {min.x + size.x, min.y + size.y},
                 [&] { return steps_table(rows, places); });
}

void draw_diff_totals(const Context& context, const ComparedRuns& runs, ImVec2 min, ImVec2 size) {
  draw_figures(context, "compared totals", total_rows(runs), min, size);
}

void draw_diff_memory(const Context& context, const ComparedRuns& runs, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const bool beside = size.x > context.px(820);
  const float kinds_width = beside ? std::floor(size.x * 0.44f) : size.x;
  const RecordingDiff& diff = runs.diff;
  const size_t ranks = std::max(diff.a_high_water_bytes.size(), diff.b_high_water_bytes.size());
  int64_t most = 1;
  for (const auto* all : {&diff.a_high_water_bytes, &diff.b_high_water_bytes})
    for (const BytesByKind& rank : *all) most = std::max(most, total_bytes(rank));

  // Every rank, kind by kind.
  const float width = beside ? size.x - kinds_width - context.px(24) : size.x;
  const float row = context.px(36);
  const float height = beside ? size.y : std::min(size.y * 0.5f, row * static_cast<float>(ranks));
  ImGui::SetCursorScreenPos(min);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild("compared ranks", {width, height});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  for (size_t rank = 0; rank < ranks; ++rank)
    draw_rank_bars(context, runs, rank, most, {at.x, at.y + row * static_cast<float>(rank)}, width);
  ImGui::SetCursorScreenPos({at.x, at.y + row * static_cast<float>(ranks)});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
  ImGui::PopStyleVar();
  copyable_table("compared ranks", min, {min.x + width, min.y + height}, [&] { return ranks_table(runs); });

  // The fullest rank, and the key to the colours.
  const ImVec2 kinds =
      beside ? ImVec2{min.x + width + context.px(24), min.y} : ImVec2{min.x, min.y + height + context.px(8)};
  const float swatch = context.px(16);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, kinds, type.note, "fullest rank, high-water");
  std::vector<FigureRow> rows = memory_rows(runs);
  const float top = kinds.y + context.px(20);
  for (size_t i = 0; i < rows.size(); ++i) {
    const float middle = top + context.px(20) + context.px(kRowHeight) * (static_cast<float>(i) + 0.5f);
    if (middle + context.px(5) > min.y + size.y) break;
    fill_rect(list, {kinds.x, middle - context.px(5)}, {kinds.x + context.px(10), middle + context.px(5)},
              kind_colour(context.theme, diff.memory[i].kind));
  }
  draw_figures(context, "compared kinds", rows, {kinds.x + swatch, top},
               {kinds_width - swatch, min.y + size.y - top});
}

}  // namespace shardlens::ui
