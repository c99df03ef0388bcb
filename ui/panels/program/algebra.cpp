// The page "What a sum allows": a list of every operation with what each layout allows, and one of its runs
// with all its numbers.
#include "ui/panels/program/algebra_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ui/lesson/lesson_view.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/panels/program/program_pages.h"
#include "ui/panels/program/program_view.h"
#include "ui/theme/colour_scale.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

constexpr std::array<int, 5> kRanks{2, 3, 4, 6, 8};
/// The least width of a page with the list. In a narrower one, beside a lesson, and in front of a class the
/// arrow keys choose.
constexpr float kLeastWithList = 640;
constexpr size_t kRunsInAFrame = 6;  // a run takes some tens of microseconds
const std::array<Layout, 3> kListed{kPartial, sharded(0), sharded(1)};

Picture picture_of(const lab::Numbers& numbers) {
  Picture picture{static_cast<int>(numbers.rows), static_cast<int>(numbers.cols), numbers.values, {}};
  measure_extent(picture);
  return picture;
}

std::string layout_words(Layout layout) {
  switch (layout.kind) {
    case LayoutKind::Partial:
      return "Partial: terms of a sum";
    case LayoutKind::Replicated:
      return "Replicated";
    case LayoutKind::Sharded:
      break;
  }
  return layout.dim == 0 ? "Sharded(0): by tokens" : "Sharded(1): by columns";
}

/// What the ways of one layout found. Unknown: not all of them were run yet.
Allowed allowed_by(AlgebraRuns& runs, size_t experiment, Layout layout, int ranks) {
  const lab::Experiment& e = lab::experiments()[experiment];
  bool any_right = false, any_wrong = false;
  for (size_t way = 0; way < e.ways.size(); ++way) {
    if (e.ways[way].layout != layout) continue;
    if (!runs.has(experiment, way, ranks)) return Allowed::Unknown;
    const bool wrong = runs.of(experiment, way, ranks)->outcome.verdict == lab::Verdict::Wrong;
    (wrong ? any_wrong : any_right) = true;
  }
  return any_right && any_wrong ? Allowed::Depends
         : any_right            ? Allowed::Right
         : any_wrong            ? Allowed::Wrong
                                : Allowed::NotAsked;
}

const char* allowed_word(Allowed allowed) {
  switch (allowed) {
    case Allowed::Right:
      return "right";
    case Allowed::Wrong:
      return "wrong";
    case Allowed::Depends:
      return "depends";
    case Allowed::Unknown:
      return "…";
    case Allowed::NotAsked:
      break;
  }
  return "–";
}

/// Makes some of the runs that the list needs.
void run_more(AlgebraRuns& runs, int ranks) {
  size_t made = 0;
  for (size_t e = 0; e < lab::experiments().size(); ++e)
    for (size_t w = 0; w < lab::experiments()[e].ways.size(); ++w) {
      if (runs.has(e, w, ranks)) continue;
      if (made++ == kRunsInAFrame) return;
      runs.of(e, w, ranks);
    }
}

TextTable table_of(AlgebraRuns& runs, int ranks) {
  TextTable table{{{"operation"},
                   {"formula"},
                   {"X"},
                   {"choice"},
                   {"results"},
                   {"largest difference", Align::Right},
                   {"of numbers up to", Align::Right},
                   {"verdict"},
                   {"because"}},
                  {}};
  for (size_t e = 0; e < lab::experiments().size(); ++e) {
    const lab::Experiment& experiment = lab::experiments()[e];
    for (size_t w = 0; w < experiment.ways.size(); ++w) {
      const lab::Way& way = experiment.ways[w];
      const lab::Outcome& outcome = runs.of(e, w, ranks)->outcome;
      table.rows.push_back({experiment.name, experiment.formula, to_string(way.layout), way.name,
                            to_string(way.joined), fmt::format("{:.2g}", outcome.largest_difference),
                            fmt::format("{:.3g}", outcome.largest_number), to_string(outcome.verdict),
                            way.why});
    }
  }
  return table;
}

/// In a narrow page, such as in lecture mode, the list has only names, and the choices share a line.
bool is_narrow(const Context& context, float width) {
  return width < context.px(1000);
}

/// The list of operations. A click on a row shows it; a click on one of its words shows that layout.
void draw_list(const Context& context, ImVec2 size, bool has_words) {
  const Type type(context);
  const Theme& theme = context.theme;
  AlgebraView& view = context.view.of<AlgebraView>();
  AlgebraRuns& runs = context.view.of<AlgebraRuns>();
  const float word = has_words ? context.px(58) : 0, height = std::round(context.px(24));
  const float names = size.x - 3 * word - context.px(16);
  const ImVec2 top = ImGui::GetCursorScreenPos();
  ImDrawList* page = ImGui::GetWindowDrawList();
  const std::array<const char*, 3> heads{"Partial", "tokens", "columns"};
  draw_text(page, {top.x + context.px(6), top.y}, type.note, "operation");
  for (size_t i = 0; has_words && i < heads.size(); ++i)
    draw_text(page, {top.x + names + (static_cast<float>(i) + 0.5f) * word, top.y},
              i == 0 ? in(type.note, theme.communication) : type.note, heads[i], Align::Centre);
  const float head = type.note.size + context.px(8);
  ImGui::SetCursorScreenPos({top.x, top.y + head});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  if (ImGui::BeginChild("operations", {size.x, size.y - head})) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (size_t e = 0; e < lab::experiments().size(); ++e) {
      const lab::Experiment& experiment = lab::experiments()[e];
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const bool shown = e == view.experiment;
      if (click_area(experiment.name.c_str(), {names, height})) view.show(e, 0, view.ranks);
      if (shown && !std::exchange(view.brought_into_view, true) && !ImGui::IsItemVisible())
        ImGui::SetScrollHereY();
      const bool hovered = ImGui::IsItemHovered();
      if (shown || hovered)
        fill_rect(list, at, {at.x + names + 3 * word, at.y + height}, shown ? theme.line : theme.card,
                  context.px(4));
      draw_text(list, {at.x + context.px(6), at.y + (height - type.body.size) / 2},
                shown ? type.strong : type.body,
                fitted(shown ? type.strong : type.body, experiment.name, names - context.px(10)));
      for (size_t i = 0; has_words && i < kListed.size(); ++i) {
        const Allowed allowed = allowed_by(runs, e, kListed[i], view.ranks);
        const ImVec2 cell{at.x + names + static_cast<float>(i) * word, at.y};
        if (allowed != Allowed::NotAsked) {
          ImGui::SetCursorScreenPos(cell);
          ImGui::PushID(experiment.name.c_str());
          if (click_area(heads[i], {word, height})) {
            const auto way = std::find_if(experiment.ways.begin(), experiment.ways.end(),
                                          [&](const lab::Way& w) { return w.layout == kListed[i]; });
            view.show(e, static_cast<size_t>(way - experiment.ways.begin()), view.ranks);
          }
          ImGui::PopID();
          if (ImGui::IsItemHovered())
            outline_rect(list, cell, {cell.x + word, cell.y + height}, theme.dim, context.px(4));
        }
        const bool chosen = shown && view.shown_way().layout == kListed[i];
        if (chosen)
          outline_rect(list, cell, {cell.x + word, cell.y + height}, theme.forward, context.px(4),
                       context.px(1.5f));
        const TextStyle style = allowed == Allowed::Right   ? in(type.note, theme.agreement)
                                : allowed == Allowed::Wrong ? in(type.note, theme.text)
                                                            : type.note;
        draw_text(list, {cell.x + word / 2, at.y + (height - style.size) / 2}, style, allowed_word(allowed),
                  Align::Centre);
      }
      ImGui::SetCursorScreenPos({at.x, at.y + height});
    }
    ImGui::Dummy({0, 0});
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  copyable_table("copy operations", top, {top.x + size.x, top.y + size.y},
                 [&] { return table_of(runs, view.ranks); });
}

/// The choices of T, layout and way, one row each where there is a choice (of T and layout together in a
/// narrow page). Returns the height they took.
float draw_choices(const Context& context, ImVec2 at, float width, bool narrow) {
  const Type type(context);
  AlgebraView& view = context.view.of<AlgebraView>();
  const lab::Experiment& experiment = view.shown_experiment();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float top = at.y, row = choice_row_height(context) + context.px(6);
  float left = at.x + context.px(narrow ? 20 : 92);
  const auto label = [&](const char* words) {
    draw_text(list, {at.x, at.y + (choice_row_height(context) - type.note.size) / 2}, type.note, words);
  };
  std::vector<std::string> degrees, layouts, ways;
  int degree = -1;
  for (const int ranks : kRanks) {
    if (ranks == view.ranks) degree = static_cast<int>(degrees.size());
    degrees.push_back(std::to_string(ranks));
  }
  std::vector<size_t> first_of_layout, of_layout;
  int layout = 0, way = 0;
  for (size_t w = 0; w < experiment.ways.size(); ++w) {
    const bool is_new = w == 0 || experiment.ways[w].layout != experiment.ways[w - 1].layout;
    if (is_new) {
      if (experiment.ways[w].layout == view.shown_way().layout) layout = static_cast<int>(layouts.size());
      layouts.push_back(layout_words(experiment.ways[w].layout));
      first_of_layout.push_back(w);
    }
    if (experiment.ways[w].layout != view.shown_way().layout) continue;
    if (w == view.way) way = static_cast<int>(ways.size());
    ways.push_back(experiment.ways[w].name);
    of_layout.push_back(w);
  }
  label(narrow ? "T" : "ranks T");
  if (const int clicked = choice_row(context, "T", {left, at.y}, degrees, degree); clicked >= 0)
    view.show(view.experiment, view.way, kRanks[static_cast<size_t>(clicked)]);
  const float margin = at.x, after_degrees = left + choice_row_width(context, degrees) + context.px(16);
  // Beside T, unless the layouts would not fit there.
  const bool beside =
      narrow && after_degrees + context.px(36) + choice_row_width(context, layouts) <= margin + width;
  if (beside) {
    at.x = after_degrees;
    left = at.x + context.px(36);
    width -= at.x - margin;
  } else {
    at.y += row;
    if (narrow) left = margin + context.px(48);
  }
  const auto choose = [&](const char* id, std::vector<std::string> labels, int taken,
                          const std::vector<size_t>& shows) {
    if (choice_row_width(context, labels) > width - (left - at.x))  // the words after the colon go first
      for (std::string& words : labels) words = words.substr(0, words.find(':'));
    const bool fits = choice_row_width(context, labels) <= width - (left - at.x);
    if (const int clicked = choice_row(context, id, {fits ? left : at.x, at.y}, labels, taken); clicked >= 0)
      view.show(view.experiment, shows[static_cast<size_t>(clicked)], view.ranks);
    at.y += row;
  };
  label("X is");
  choose("layout", layouts, layout, first_of_layout);
  if (beside) {
    width += at.x - margin;
    at.x = margin;
    left = margin + context.px(48);
  }
  if (ways.size() > 1) {
    label("choice");
    choose("way", ways, way, of_layout);
  } else if (!ways.front().empty()) {
    label("with");
    draw_text(list, {left, at.y + (choice_row_height(context) - type.body.size) / 2}, type.body,
              ways.front());
    at.y += row;
  }
  return at.y - top;
}

std::string verdict_words(const lab::Outcome& outcome) {
  switch (outcome.verdict) {
    case lab::Verdict::Exact:
      return "Exact: no number differs.";
    case lab::Verdict::Rounding:
      return fmt::format("Right, up to rounding: {:.1e} apart at most, where numbers go up to {:.1f}.",
                         outcome.largest_difference, outcome.largest_number);
    case lab::Verdict::Wrong:
      break;
  }
  return fmt::format("Wrong: {:.3g} apart at most, where numbers go up to {:.3g}.",
                     outcome.largest_difference, outcome.largest_number);
}

/// Name, formula, choices, verdict, reason and pictures of the chosen run.
void draw_experiment(const Context& context, ImVec2 at, ImVec2 size, bool narrow) {
  const Type type(context);
  const Theme& theme = context.theme;
  AlgebraView& view = context.view.of<AlgebraView>();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float bottom = at.y + size.y;
  const lab::Experiment& experiment = view.shown_experiment();
  draw_text(list, at, type.title, experiment.name);
  const float name = text_width(type.title, experiment.name) + context.px(20);
  draw_text(list, {at.x + name, at.y + (type.title.size - type.mono.size) / 2}, type.mono,
            fitted(type.mono, experiment.formula, size.x - name));
  at.y += type.title.size + context.px(4);
  if (!narrow) {
    draw_text(list, at, type.note, fitted(type.note, "X: " + experiment.operand, size.x));
    at.y += type.note.size;
  }
  at.y += context.px(narrow ? 4 : 10);
  at.y += draw_choices(context, at, size.x, narrow) + context.px(narrow ? 0 : 6);
  const std::shared_ptr<const AlgebraRun> run =
      context.view.of<AlgebraRuns>().of(view.experiment, view.way, view.ranks);
  const bool wrong = run->outcome.verdict == lab::Verdict::Wrong;
  const TextStyle verdict = in(type.figure, wrong ? theme.text : theme.agreement);
  at.y += draw_wrapped(list, at, verdict, verdict_words(run->outcome), size.x) + context.px(4);
  at.y += draw_wrapped(list, at, type.body, view.shown_way().why, std::min(size.x, context.px(900))) +
          context.px(narrow ? 6 : 14);
  draw_algebra_pictures(context, run, at, {size.x, bottom - at.y});
}

}  // namespace

bool AlgebraRuns::has(size_t experiment, size_t way, int ranks) const {
  return runs_.contains({experiment, way, static_cast<size_t>(ranks)});
}

std::shared_ptr<const AlgebraRun> AlgebraRuns::of(size_t experiment, size_t way, int ranks) {
  std::shared_ptr<const AlgebraRun>& known = runs_[{experiment, way, static_cast<size_t>(ranks)}];
  if (known) return known;
  const lab::Experiment& e = lab::experiments()[experiment];
  auto run = std::make_shared<AlgebraRun>();
  run->outcome = lab::run(e, e.ways[way], ranks);
  const lab::Outcome& outcome = run->outcome;
  run->x = picture_of(outcome.x);
  run->together = picture_of(outcome.together);
  run->whole = picture_of(outcome.whole);
  run->difference = picture_of(outcome.difference);
  for (const lab::Numbers& held : outcome.held) run->held.push_back(picture_of(held));
  for (const lab::Numbers& result : outcome.results) run->results.push_back(picture_of(result));
  const auto& differences = outcome.difference.values;
  const auto worst = std::max_element(differences.begin(), differences.end(),
                                      [](float a, float b) { return std::abs(a) < std::abs(b); });
  const int64_t at = worst - differences.begin();
  run->worst_row = at / outcome.difference.cols;
  run->worst_col = at % outcome.difference.cols;
  known = std::move(run);
  return known;
}

bool take_keys_to_laboratory(const Context& context) {
  const bool shown =
      context.view.tab == Tab::Program && context.view.of<ProgramView>().page == ProgramPage::Algebra;
  if (!shown || ImGui::GetIO().KeyMods != ImGuiMod_None) return false;
  AlgebraView& view = context.view.of<AlgebraView>();
  const auto moved = [](ImGuiKey back, ImGuiKey on) {
    return (ImGui::IsKeyPressed(on) ? 1 : 0) - (ImGui::IsKeyPressed(back) ? 1 : 0);
  };
  const auto beside = [](size_t at, int by, size_t count) {
    return static_cast<size_t>(
        std::clamp<int64_t>(static_cast<int64_t>(at) + by, 0, static_cast<int64_t>(count) - 1));
  };
  if (const int by = moved(ImGuiKey_UpArrow, ImGuiKey_DownArrow); by != 0) {
    view.show(beside(view.experiment, by, lab::experiments().size()), 0, view.ranks);
    return true;
  }
  if (const int by = moved(ImGuiKey_LeftArrow, ImGuiKey_RightArrow); by != 0) {
    view.show(view.experiment, beside(view.way, by, view.shown_experiment().ways.size()), view.ranks);
    return true;
  }
  return false;
}

void draw_program_algebra(const Context& context) {
  AlgebraView& view = context.view.of<AlgebraView>();
  run_more(context.view.of<AlgebraRuns>(), view.ranks);
  const bool narrow = is_narrow(context, ImGui::GetContentRegionAvail().x);
  page_head(
      context, "What a sum allows",
      narrow ? std::string()
             : fmt::format(
                   "Each rank has a term of a sum, or a piece of X, and runs the operation on it. Is the "
                   "joined result that of one rank with all of X? Run here by the engine's own kernels, in "
                   "fp32. Colours: {}. ↑ ↓ choose the operation, ← → how X lies on the ranks.",
                   kSignedInWords),
      program_pages_width(context) + context.px(16));
  ImGui::Dummy({0, context.px(4)});
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  if (is_class(context.view) || room.x < context.px(kLeastWithList))
    return draw_experiment(context, at, room, narrow);
  const float listed = narrow ? room.x * 0.24f : context.px(370), gap = context.px(narrow ? 14 : 24);
  draw_list(context, {listed, room.y}, !narrow);
  draw_experiment(context, {at.x + listed + gap, at.y}, {room.x - listed - gap, room.y}, narrow);
}

}  // namespace shardlens::ui
