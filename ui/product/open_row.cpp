// Opens the selected step on the Stage: the line above with the way back, the pages, and the keys.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "ui/commands/commands.h"
#include "ui/lesson/lesson_view.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/derivation_page.h"
#include "ui/product/page.h"
#include "ui/product/product_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kBendHeight = 212;  ///< at scale 1, the least that GeLU's panel needs
constexpr float kHeader = 44, kFormula = 56;
constexpr float kLeastStacked = 420;  ///< the height of a page whose parts stand below each other
constexpr float kFormulaWidth = 330;  ///< of the formula beside a choice

/// The opened step of the shown plan.
struct Opened {
  std::shared_ptr<const Plan> plan;
  std::optional<Product> product;
  const Step* step = nullptr;
};

Opened opened(const Context& context) {
  Opened row;
  row.plan = shared_shown_plan(context.snapshot);
  const StepId selected = context.view.selected_step;
  if (!row.plan || selected < 0 || static_cast<size_t>(selected) >= row.plan->program.steps.size())
    return row;
  row.product = product_of(row.plan->program, selected);
  row.step = &row.plan->program.step(selected);
  return row;
}

bool can_open(const Opened& row) {
  return row.product || (row.step != nullptr && row.step->op == Op::Attention);
}

/// The run has values of a step only once it has come to it.
bool has_run(const Context& context, StepId step) {
  const Snapshot& snapshot = context.snapshot;
  return shown_result(snapshot) && (shows_stale(snapshot) || static_cast<size_t>(step) < snapshot.position);
}

MatrixShape result_shape(const Opened& row) {
  return matrix_shape(row.plan->program.tensor(row.product->out));
}

/// One segment of the choice of a cut.
struct CutChoice {
  SumCut cut = SumCut::None;
  std::string words, brief;
};

/// Which side of the stored weight the sum is cut over; the pairs lie along its rows unless it is turned.
std::string side_of(const Product& product, SumCut cut) {
  const bool rows = (cut == SumCut::Terms) != product.b_turned;
  return rows ? "rows" : "columns";
}

/// The run's cut first, then the others with what they would do to this number.
std::vector<CutChoice> cut_choices(const Program& program, const Product& product, int64_t row, int64_t col) {
  const Step& step = program.step(product.step);
  const bool has_weight = step.op == Op::Linear || step.op == Op::LinearGradInput;
  if (program.tp() == 1 || !has_weight) return {};
  const SumCut run = sum_cut(program, product);
  const std::string& weight = program.tensor(product.b).symbol;
  std::vector<CutChoice> choices;
  const std::string as_run = run == SumCut::None ? "not cut" : "cut over " + side_of(product, run);
  choices.push_back({run, run == SumCut::None ? weight + " is not cut" : weight + " " + as_run, as_run});
  for (const SumCut other : {SumCut::Terms, SumCut::Whole}) {
    if (other == run) continue;
    std::string answer = fmt::format("{} terms", program.tp()), brief = answer;
    for (int rank = 0; other == SumCut::Whole && rank < program.tp(); ++rank)
      if (!pairs_if_cut(program, product, other, rank, row, col).empty()) {
        answer = fmt::format("rank {} makes all of it", rank);
        brief = fmt::format("rank {} alone", rank);
      }
    const std::string side = side_of(product, other);
    choices.push_back(
        {other, fmt::format("over {} instead: {}", side, answer), fmt::format("over {}: {}", side, brief)});
  }
  return choices;
}

/// Draws a link of the way back; returns true if it was clicked.
bool link(const OpenedPage& page, const char* id, const std::string& text, float& x, float y, float height) {
  const TextStyle style = page.type.body;
  const float width = text_width(style, text);
  ImGui::SetCursorScreenPos({x, y});
  const bool clicked = click_area(id, {std::max(width, 1.0f), height});
  draw_text(page.list, {x, y + (height - style.size) / 2},
            in(style, ImGui::IsItemHovered() ? page.theme.text : page.theme.forward), text);
  x += width + page.px(8);
  draw_text(page.list, {x, y + (height - style.size) / 2}, in(style, page.theme.dim), "\u203A");
  x += page.px(14);
  return clicked;
}

/// Buttons that go from the matrices to the derivation and back, and that copy the derivation.
template <class Button>
void draw_pages(const Context& context, const Opened& row, const Button& button) {
  auto& view = context.view.of<ProductView>();
  if (!view.derivation) {
    if (button("derivation", "Derivation",
               "This step line by line, with block matrices and this run's sizes"))
      view.derivation = true;
    return;
  }
  const std::shared_ptr<const Derivation> derivation = derivation_of_selection(context);
  if (derivation && button("copy latex", "Copy as LaTeX", "An align* environment, which needs only amsmath"))
    copy_as_latex(*derivation);
  if (can_open(row) && button("matrices", row.product ? "Matrices" : "Heads",
                              row.product ? "The factors and the result with every rank's part in place"
                                          : "Scores and probabilities of every head, rank by rank"))
    view.derivation = false;
}

/// The way back, the title, and at the right what can be changed. Returns its height.
float draw_header(const OpenedPage& page, const Opened& row, const Rect& room) {
  const Context& context = page.context;
  auto& view = context.view.of<ProductView>();
  const float height = page.px(kControlHeight);
  const float y = room.min.y + page.px(6);
  float x = room.min.x;
  if (link(page, "Stage", "Stage", x, y, height)) view.open = view.number = view.derivation = false;
  const std::string equation = row.step->equation.substr(0, row.step->equation.find(",  "));
  if (view.number && link(page, "row", equation, x, y, height)) view.number = false;

  float right = room.max.x;
  const auto button = [&](const char* id, const std::string& text, const char* help) {
    right -= button_width(context, text);
    ImGui::SetCursorScreenPos({right, y});
    const bool pressed = draw_button(context, id, text, ButtonLook::Plain, true, help);
    right -= page.px(8);
    return pressed;
  };
  if (!view.number) draw_pages(context, row, button);
  if (view.number) {
    const std::vector<CutChoice> choices = cut_choices(row.plan->program, *row.product, view.row, view.col);
    std::vector<Segment> segments, brief;
    for (const CutChoice& choice : choices) {
      const bool is_run = segments.empty();
      const std::string help =
          is_run ? "As it ran" : "The same number under another cut: computed here from the run's factors";
      const bool chosen = is_run ? !view.recut : view.recut && view.cut == choice.cut;
      segments.push_back({choice.words, help, chosen, true});
      brief.push_back({choice.brief, help, chosen, true});
    }
    if (segments_width(context, "", segments) > right - x - page.px(240)) segments = brief;
    const float width = segments.empty() ? 0 : segments_width(context, "", segments);
    if (!segments.empty() && width < right - x) {
      right -= width;
      ImGui::SetCursorScreenPos({right, y});
      const int clicked = draw_segments(context, "cut", "", segments);
      if (clicked >= 0) {
        view.recut = clicked > 0;
        view.cut = choices[static_cast<size_t>(clicked)].cut;
      }
      right -= page.px(12);
    }
    if (right - x > page.px(420)) {
      if (button("next cell", "next cell  " ICON_FA_ARROW_RIGHT,
                 "Also with the arrow keys, in all four directions"))
        move_number(context, 0, 1);
      if (button("previous cell", ICON_FA_ARROW_LEFT "  previous cell",
                 "Also with the arrow keys, in all four directions"))
        move_number(context, 0, -1);
    }
  }
  const TextStyle title{context.fonts.bold, page.px(kBodySize * 1.25f), page.theme.text};
  const ImVec2 at{x, y + (height - title.size) / 2};
  if (const auto derivation = view.derivation ? derivation_of_selection(context) : nullptr) {
    draw_text(page.list, at, title, fitted(title, derivation->title, right - x));
    return page.px(kHeader);
  }
  const std::string& symbol =
      row.plan->program.tensor(row.product ? row.product->out : row.step->outputs.front()).symbol;
  const int ranks = row.plan->program.tp();
  const std::string on = ranks == 1 ? "on one rank" : fmt::format("on {} ranks", ranks);
  const std::string number = "One number of " + symbol;
  for (const std::string& words :
       view.number ? std::vector{number + ", " + on, number} : std::vector{equation + ", " + on, on}) {
    if (text_width(title, words) > right - x) continue;
    draw_text(page.list, at, title, words);
    break;
  }
  return page.px(kHeader);
}

void draw_number_page(OpenedPage& page, const Opened& row, Rect room) {
  auto& view = page.context.view.of<ProductView>();
  const MatrixShape shape = result_shape(row);
  view.row = std::clamp<int64_t>(view.row, 0, shape.rows - 1);
  view.col = std::clamp<int64_t>(view.col, 0, shape.cols - 1);
  if (view.recut && sum_cut(row.plan->program, *row.product) == view.cut) view.recut = false;
  std::string why;
  std::shared_ptr<const Number> number;
  if (has_run(page.context, row.step->id))
    number = make_number(page.context, *row.product, view.row, view.col,
                         view.recut ? std::optional(view.cut) : std::nullopt, why);
  else
    why = "This step has not run yet: there are no numbers. The arrow keys on the Stage run on to it.";
  // GeLU's panel needs terms: the run's, or those of the cut that makes terms.
  std::shared_ptr<const Number> terms = number;
  const bool has_other = row.plan->program.tp() > 1 && row.step->phase == Phase::Forward;
  if (number && !number->is_terms() && has_other)
    terms = make_number(page.context, *row.product, view.row, view.col, SumCut::Terms, why);
  if (!number || !terms) return draw_missing(page, why.empty() ? "reading \u2026" : why, room);

  // Both panels if they fit, stretched over the room; else one of them, and a choice between them. A lesson's
  // scene is about the number, and the other panel would answer what a later scene asks.
  const float gap = page.px(10);
  page.unit = 0.72f;
  const float least = number_height(page) + gap + page.px(kBendHeight) + page.px(kFormula);
  const bool stacks = page.stacks(room);
  const bool both = room.height() >= least && !stacks && !is_in_scene(page.context.view);
  float choices = 0;
  if (!both) {
    std::string labels[] = {"the number", bend_title(*number)};
    if (room.width() - choice_row_width(page.context, labels) < page.px(kFormulaWidth)) labels[1] = "Why?";
    choices = choice_row_width(page.context, labels);
    const ImVec2 at{stacks ? room.min.x : room.max.x - choices, room.min.y};
    const int clicked = choice_row(page.context, "panel", at, labels, view.bend_page ? 1 : 0);
    if (clicked >= 0) view.bend_page = clicked == 1;
  }
  if (stacks) room.min.y += choice_row_height(page.context) + gap;
  const float formula = page.px(both || stacks ? kFormula : 46);
  const float formula_width = both || stacks ? room.width() : room.width() - choices - gap;
  draw_formula(page, *number, {room.min, {room.min.x + formula_width, room.min.y + formula}});
  room.min.y += formula;
  if (!both && view.bend_page) {
    page.unit = std::clamp(room.height() / page.px(kBendHeight), 0.7f, stacks ? 1.0f : 1.5f);
    return draw_bend(page, *number, *terms, room);
  }
  const float lanes =
      both ? std::min((room.height() - gap) * 0.62f, room.height() - gap - page.px(kBendHeight))
           : room.height();
  const float fixed = number_height(page) - page.tall(kStretchedRows);
  page.unit = std::clamp((lanes - fixed) / page.px(kStretchedRows), 0.6f, 1.75f);
  const float height = std::min(number_height(page), room.height());
  draw_number(page, number, {room.min, {room.max.x, room.min.y + height}});
  if (!both) return;
  room.min.y += height + gap;
  page.unit = std::clamp(room.height() / page.px(kBendHeight), 0.85f, 1.6f);
  draw_bend(page, *number, *terms, room);
}

/// The page of the opened step below its header. Where things stand below each other and the room is low, as
/// below a lesson's card on a phone, it scrolls.
void draw_opened(OpenedPage& page, const Opened& row, Rect room) {
  auto& view = page.context.view.of<ProductView>();
  const bool scrolls = page.stacks(room) && room.height() < page.px(kLeastStacked);
  if (scrolls) {
    ImGui::SetCursorScreenPos(room.min);
    ImGui::BeginChild("opened", {room.width(), room.height()});
    page.list = ImGui::GetWindowDrawList();
    const ImVec2 from = ImGui::GetCursorScreenPos();
    room = {from, {from.x + room.width() - ImGui::GetStyle().ScrollbarSize, from.y + page.px(kLeastStacked)}};
  }
  view.number = view.number && row.product;
  if (view.number)
    draw_number_page(page, row, room);
  else if (row.product)
    draw_matrices(page, *row.product, room);
  else
    draw_heads(page, *row.step, room);
  if (!scrolls) return;
  ImGui::SetCursorScreenPos(room.min);
  ImGui::Dummy({room.width(), room.height()});
  ImGui::EndChild();
}

}  // namespace

void draw_missing(const OpenedPage& page, const std::string& why, const Rect& room) {
  const TextStyle style = in(page.type.body, page.theme.dim);
  const float width = std::min(room.width(), page.px(560));
  draw_wrapped(page.list, {(room.min.x + room.max.x - width) / 2, room.min.y + room.height() / 3}, style, why,
               width);
}

std::string element_text(const std::string& symbol, int64_t row, int64_t col) {
  return fmt::format("{}[{}, {}]", symbol, row, col);
}

bool can_open_row(const Context& context) {
  return can_open(opened(context));
}

bool can_open_number(const Context& context) {
  return opened(context).product.has_value();
}

bool shows_open_row(const Context& context) {
  const auto& view = context.view.of<ProductView>();
  if (context.view.tab != Tab::Stage || !view.open) return false;
  return view.derivation ? can_derive(context) : can_open_row(context);
}

bool can_derive(const Context& context) {
  return opened(context).step != nullptr;
}

void open_or_close_derivation(const Context& context) {
  auto& view = context.view.of<ProductView>();
  const bool opens = !shows_open_row(context) || !view.derivation;
  if (opens) show_tab(context, Tab::Stage);
  view.open = view.derivation = opens;
  view.number = false;
}

void open_or_close_row(const Context& context) {
  auto& view = context.view.of<ProductView>();
  const bool opens = !shows_open_row(context) || view.derivation;
  if (opens) show_tab(context, Tab::Stage);
  view.open = opens;
  view.number = view.derivation = false;
}

void open_number(const Context& context, int64_t row, int64_t col) {
  auto& view = context.view.of<ProductView>();
  show_tab(context, Tab::Stage);
  view.open = view.number = true;
  view.derivation = view.recut = false;
  view.row = row;
  view.col = col;
}

std::string where_in_open_row(const Context& context) {
  const Opened row = opened(context);
  if (row.step == nullptr) return {};
  const std::string step = "step " + number_of(row.step->id, row.plan->program.steps.size());
  if (context.view.of<ProductView>().derivation)
    return step + " \u00B7 \u2190 \u2192 go from step to step, Esc goes back";
  if (context.view.of<ProductView>().number)
    return step + " \u00B7 arrow keys go from cell to cell, Esc goes back to the matrices";
  return step + (row.product ? " \u00B7 click a number of the result, Esc goes back"
                             : " \u00B7 click a head, Esc goes back");
}

void leave_row(const Context& context) {
  auto& view = context.view.of<ProductView>();
  if (std::exchange(view.number, false)) return;
  view.open = view.derivation = false;
  context.view.scroll_to_selection = true;  // arrows may have gone to another step
}

void move_number(const Context& context, int64_t rows, int64_t cols) {
  const Opened row = opened(context);
  if (!row.product) return;
  auto& view = context.view.of<ProductView>();
  const MatrixShape shape = result_shape(row);
  view.row = std::clamp<int64_t>(view.row + rows, 0, shape.rows - 1);
  view.col = std::clamp<int64_t>(view.col + cols, 0, shape.cols - 1);
}

void open_largest_number(const Context& context) {
  const Opened row = opened(context);
  if (!row.product) return;
  // The largest cell of the picture, or its middle where a cell stands for several elements.
  int64_t at_row = 0, at_col = 0;
  double largest = -1;
  const std::shared_ptr<const Result> result = shown_result(context.snapshot);
  const Tensor& tensor = row.plan->program.tensor(row.product->out);
  for (int rank = 0; result && rank < row.plan->program.tp(); ++rank) {
    const auto r = static_cast<size_t>(rank), id = static_cast<size_t>(tensor.id);
    if (r >= result->samples.size() || id >= result->samples[r].size() || !result->samples[r][id]) continue;
    const TensorSample& sample = *result->samples[r][id];
    const Picture& picture = sample.picture;
    for (size_t i = 0; i < picture.values.size(); ++i) {
      const double size = std::abs(static_cast<double>(picture.values[i]));
      if (!(size > largest)) continue;
      const auto cols = static_cast<size_t>(picture.cols);
      const auto local = [](int64_t cell, int64_t cells, int64_t extent) {
        return (2 * cell + 1) * extent / (2 * cells);
      };
      const int64_t y = local(static_cast<int64_t>(i / cols), picture.rows, sample.matrix.rows);
      const int64_t x = local(static_cast<int64_t>(i % cols), picture.cols, sample.matrix.cols);
      for (const Placement& piece : placements(tensor, row.plan->program.tp(), rank)) {
        if (y < piece.local_rows.begin || y >= piece.local_rows.end || x < piece.local_cols.begin ||
            x >= piece.local_cols.end)
          continue;
        largest = size;
        at_row = y - piece.local_rows.begin + piece.rows.begin;
        at_col = x - piece.local_cols.begin + piece.cols.begin;
      }
    }
  }
  open_number(context, at_row, at_col);
}

bool take_keys_to_row(const Context& context) {
  if (!shows_open_row(context)) return false;
  const ImGuiIO& io = ImGui::GetIO();
  if (io.KeyMods != ImGuiMod_None) return false;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) {
    leave_row(context);
    return true;
  }
  if (!context.view.of<ProductView>().number) return false;
  const struct {
    ImGuiKey key;
    int rows, cols;
  } moves[] = {{ImGuiKey_LeftArrow, 0, -1},
               {ImGuiKey_RightArrow, 0, 1},
               {ImGuiKey_UpArrow, -1, 0},
               {ImGuiKey_DownArrow, 1, 0}};
  for (const auto& move : moves) {
    if (!ImGui::IsKeyPressed(move.key)) continue;
    move_number(context, move.rows, move.cols);
    return true;
  }
  return false;
}

void draw_open_row(const Context& context) {
  const Opened row = opened(context);
  auto& view = context.view.of<ProductView>();
  if (row.step == nullptr || (!can_open(row) && !view.derivation)) return;
  OpenedPage page(context);
  page.list = ImGui::GetWindowDrawList();
  const ImVec2 from = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
  Rect room{from, {from.x + size.x, from.y + size.y}};
  if (room.width() < page.px(300) || room.height() < page.px(120)) return;
  room.min.y += draw_header(page, row, room);
  if (view.derivation) return draw_derivation_page(page, room);
  draw_opened(page, row, room);
}

}  // namespace shardlens::ui
