// The page of the texts' figures: what each text prints, what its formula gives, what is exact, and why they
// differ. A click on a row opens the plan or run that has the exact number.
#include "ui/panels/program/figures_view.h"

#include <algorithm>
#include <span>

#include "engine/base/counted.h"
#include "engine/io/file_problem.h"
#include "engine/train/experiments/figures_of_runs.h"
#include "ui/commands/commands.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/parts.h"
#include "ui/panels/program/program_pages.h"
#include "ui/panels/program/program_view.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/traffic/traffic_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

/// The part of a source before its section: one word for each text.
std::string text_of(const WorkedFigure& figure) {
  return figure.source.substr(0, figure.source.find(','));
}

const char* page_word(ShownBy shown_by) {
  switch (shown_by) {
    case ShownBy::Traffic:
      return "Traffic";
    case ShownBy::Program:
      return "Program";
    case ShownBy::Memory:
    case ShownBy::MemoryWall:
      return "Memory";
    case ShownBy::BreakEven:
    case ShownBy::WeakScaling:
      return "Scaling";
    case ShownBy::BreakIt:
      return "Break it";
    case ShownBy::Arithmetic:
      break;
  }
  return "";
}

/// What becomes of the printed figure. Texts print MB for 2²⁰ bytes.
std::string verdict(const WorkedFigure& figure) {
  if (!figure.agrees()) return as_sentence(figure.reason) + ".";
  return figure.unit == "bytes" && figure.printed.ends_with(" MB") ? "The same, with 2²⁰ bytes in an MB."
                                                                   : "The same.";
}

TextTable table_of(std::span<const WorkedFigure* const> figures) {
  TextTable table{{{"what"},
                   {"text"},
                   {"printed"},
                   {"formula"},
                   {"by the formula", Align::Right},
                   {"exact", Align::Right},
                   {"because"}},
                  {}};
  for (const WorkedFigure* figure : figures)
    table.rows.push_back({figure->what, figure->source, figure->printed, figure->formula,
                          figure_text(figure->by_formula, figure->unit),
                          figure_text(figure->exact, figure->unit), verdict(*figure)});
  return table;
}

constexpr float kLeastColumns = 560;  ///< in a narrower page each figure is a card

/// The columns' left edges and widths.
struct FigureColumns {
  float what, printed, formula, exact, because, end, gap;

  FigureColumns(const Context& context, float left, float width) : gap(context.px(14)) {
    what = left + context.px(8);
    printed = left + width * 0.23f;
    formula = left + width * 0.35f;
    exact = left + width * 0.56f;
    because = left + width * 0.72f;
    end = left + width;
  }
  float width_from(float begin, float next) const { return next - begin - gap; }
};

/// Draws a row, or only measures it. Returns its height.
float draw_figure(const Context& context, const WorkedFigure& figure, const FigureColumns& columns, float y,
                  bool draws) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float top = y + context.px(8);
  float bottom = top;
  const auto write = [&](float x, float next, const TextStyle& style, const std::string& words, float from) {
    const float width = columns.width_from(x, next);
    const float height =
        draws ? draw_wrapped(list, {x, from}, style, words, width) : wrapped_height(style, words, width);
    bottom = std::max(bottom, from + height);
    return from + height;
  };
  const float below = write(columns.what, columns.printed, type.body, figure.what, top);
  write(columns.what, columns.printed, type.note, figure.source, below + context.px(1));
  write(columns.printed, columns.formula, type.body, figure.printed, top);
  const float value =
      write(columns.formula, columns.exact, type.body, figure_text(figure.by_formula, figure.unit), top);
  write(columns.formula, columns.exact, type.note, figure.formula, value + context.px(1));
  const TextStyle exact = in(type.strong, figure.agrees() ? theme.agreement : theme.text);
  const float after =
      write(columns.exact, columns.because, exact, figure_text(figure.exact, figure.unit), top);
  if (figure.shown_by != ShownBy::Arithmetic)
    write(columns.exact, columns.because, in(type.note, theme.forward),
          std::string("show it in ") + page_word(figure.shown_by), after + context.px(1));
  const std::string why = verdict(figure);
  write(columns.because, columns.end, type.note, why, top + context.px(1));
  return bottom + context.px(8) - y;
}

/// Draws a figure of a narrow page, or only measures it: what it is, and below that a line for each number.
/// Returns its height.
float draw_figure_card(const Context& context, const WorkedFigure& figure, ImVec2 at, float width,
                       bool draws) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float label = context.px(96);
  float y = at.y + context.px(8);
  const auto write = [&](float left, const TextStyle& style, const std::string& words) {
    const float room = width - context.px(16) - left;
    const ImVec2 from{at.x + context.px(8) + left, y};
    y += draws ? draw_wrapped(list, from, style, words, room) : wrapped_height(style, words, room);
  };
  const auto line = [&](const char* name, const TextStyle& style, const std::string& words) {
    y += context.px(4);
    if (draws) draw_text(list, {at.x + context.px(8), y + context.px(1)}, type.note, name);
    write(label, style, words);
  };
  write(0, type.strong, figure.what);
  write(0, type.note, figure.source);
  line("printed", type.body, figure.printed);
  line("by its formula", type.body, figure_text(figure.by_formula, figure.unit));
  write(label, type.note, figure.formula);
  line("exact", in(type.strong, figure.agrees() ? theme.agreement : theme.text),
       figure_text(figure.exact, figure.unit));
  if (figure.shown_by != ShownBy::Arithmetic)
    write(label, in(type.note, theme.forward), std::string("show it in ") + page_word(figure.shown_by));
  y += context.px(4);
  write(0, type.note, verdict(figure));
  return y + context.px(8) - at.y;
}

void draw_rows(const Context& context, std::span<const WorkedFigure* const> figures) {
  const Type type(context);
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float bar = ImGui::GetStyle().ScrollbarSize;
  const FigureColumns columns(context, at.x, room.x - bar);
  const bool cards = room.x < context.px(kLeastColumns);
  const auto draw = [&](const WorkedFigure& figure, ImVec2 row, bool draws) {
    return cards ? draw_figure_card(context, figure, row, room.x - bar, draws)
                 : draw_figure(context, figure, columns, row.y, draws);
  };
  ImDrawList* page = ImGui::GetWindowDrawList();
  for (const auto& [x, words] : {std::pair{columns.what, "what, and who says it"},
                                 {columns.printed, "printed"},
                                 {columns.formula, "by its formula"},
                                 {columns.exact, "exact, computed here"},
                                 {columns.because, "because"}})
    if (!cards) draw_text(page, {x, at.y}, type.note, words);
  const float head = cards ? 0 : type.note.size + context.px(6);
  ImGui::SetCursorScreenPos({at.x, at.y + head});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  if (ImGui::BeginChild("figures", {room.x, room.y - head})) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (const WorkedFigure* figure : figures) {
      const ImVec2 row = ImGui::GetCursorScreenPos();
      const float height = draw(*figure, row, false);
      const ImVec2 end{row.x + room.x - bar, row.y + height};
      if (figure->shown_by != ShownBy::Arithmetic) {
        if (click_area(figure->what.c_str(), {room.x - bar, height})) show_proof(context, *figure);
        if (ImGui::IsItemHovered()) fill_rect(list, row, end, context.theme.card, context.px(4));
      } else {
        ImGui::Dummy({room.x - bar, height});
      }
      draw(*figure, row, true);
      rule(context, {row.x, end.y}, room.x - bar);
      ImGui::SetCursorScreenPos({row.x, end.y});
    }
    ImGui::Dummy({0, 0});
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  copyable_table("copy figures", at, {at.x + room.x, at.y + room.y}, [&] { return table_of(figures); });
}

/// The choice of a text, at the cursor. Moves the cursor below it.
void draw_texts(const Context& context, const std::vector<WorkedFigure>& figures) {
  FiguresView& view = context.view.of<FiguresView>();
  std::vector<std::string> texts{"all texts"};
  for (const WorkedFigure& figure : figures)
    if (std::find(texts.begin(), texts.end(), text_of(figure)) == texts.end())
      texts.push_back(text_of(figure));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x;
  const float gap = context.px(4);
  Rows rows(at, room, choice_row_height(context) + gap);
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::span<const std::string> one(&texts[i], 1);
    const ImVec2 place = rows.place(choice_row_width(context, one), gap);
    const bool taken = i == 0 ? view.source.empty() : view.source == texts[i];
    if (choice_row(context, "text", place, one, taken ? 0 : -1) >= 0) view.source = i == 0 ? "" : texts[i];
  }
  ImGui::SetCursorScreenPos({at.x, rows.bottom() + context.px(6)});
}

Job<std::vector<WorkedFigure>> work_out() {
  co_return all_figures();
}

}  // namespace

void show_proof(const Context& context, const WorkedFigure& figure) {
  ViewState& view = context.view;
  const auto apply = [&] {
    if (figure.settings) context.want(*figure.settings);
  };
  switch (figure.shown_by) {
    case ShownBy::Arithmetic:
      return;
    case ShownBy::Traffic:
      apply();
      view.of<TrafficView>().times = false;
      return show_tab(context, Tab::Traffic);
    case ShownBy::Program:
      apply();
      view.of<ProgramView>().page = ProgramPage::Steps;
      return show_tab(context, Tab::Program);
    case ShownBy::Memory:
    case ShownBy::MemoryWall:
      apply();
      view.of<MemoryView>().this_machine = false;
      view.of<MemoryView>().this_layer = figure.shown_by == ShownBy::Memory;
      return show_tab(context, Tab::Memory);
    case ShownBy::BreakEven: {
      auto& scaling = view.of<ScalingView>();
      scaling.page = ScalingPage::BreakEven;
      scaling.this_run = false;
      if (figure.settings) scaling.crossing = figure.settings->hardware;
      return show_tab(context, Tab::Scaling);
    }
    case ShownBy::WeakScaling:
      view.of<ScalingView>().page = ScalingPage::Weak;
      return show_tab(context, Tab::Scaling);
    case ShownBy::BreakIt:
      show_tab(context, Tab::BreakIt);
      if (figure.settings && figure.fault) plant(context, *figure.settings, *figure.fault);
      return;
  }
}

void draw_program_figures(const Context& context) {
  FiguresView& view = context.view.of<FiguresView>();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float pages = program_pages_width(context) + context.px(8);
  const float right = at.x + ImGui::GetContentRegionAvail().x - pages;
  page_head(
      context, "What the texts say, and what is so",
      "Figures that five texts on tensor parallelism print, each beside the exact one, which is planned, "
      "counted, priced or run here. Only the printed figures are constants.",
      pages + context.px(80));
  ImGui::Dummy({0, context.px(4)});
  const std::vector<WorkedFigure>* found = nullptr;
  std::string words = "Planning, pricing and running the texts' examples …";
  try {
    if (!view.figures)
      view.figures =
          std::make_shared<BackgroundCall<std::vector<WorkedFigure>>>("the texts' figures", work_out());
    if (view.figures->wait_for(0)) found = &view.figures->get();
  } catch (const std::exception& error) {  // no worker could start, or no memory is left
    words = "The examples could not be run: " + message_of(error);
  }
  if (found == nullptr) {
    const Type type(context);
    draw_text(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), type.body, words);
    return;
  }
  const std::vector<WorkedFigure>& all = *found;
  draw_texts(context, all);
  std::vector<const WorkedFigure*> shown;
  for (const WorkedFigure& figure : all)
    if (view.source.empty() || text_of(figure) == view.source) shown.push_back(&figure);
  copy_button(context, "copy all figures", {right, at.y}, [&] { return table_of(shown); });
  draw_rows(context, shown);
}

}  // namespace shardlens::ui
