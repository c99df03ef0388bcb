// The pictures of one run in the laboratory: two rows of matrices, X above the results, one column for each
// rank and then the joined result, the whole one and the difference. All matrices of a row have one scale,
// and all cells of the page one size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/panels/parts.h"
#include "ui/panels/program/algebra_view.h"
#include "ui/product/number.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/heatmap.h"

namespace shardlens::ui {
namespace {

/// One matrix on the page, at its place in the whole.
struct Panel {
  std::string title;
  const Picture* picture = nullptr;
  int64_t row = 0, col = 0;    ///< of its first element in the whole
  int64_t rows = 0, cols = 0;  ///< of the whole
  Layout layout = kReplicated;
  int rank = -1;  ///< -1: of no rank
  bool is_difference = false;

  bool has(int64_t r, int64_t c) const {
    return r >= row && r < row + picture->rows && c >= col && c < col + picture->cols;
  }
  float value(int64_t r, int64_t c) const {
    return picture->values[static_cast<size_t>((r - row) * picture->cols + c - col)];
  }
};

ColourScale scale_of(const std::vector<Panel>& panels) {
  PictureExtent all;
  for (const Panel& panel : panels) {
    if (panel.is_difference) continue;
    all.largest = std::max(all.largest, panel.picture->extent.largest);
    all.squares += panel.picture->extent.squares;
    all.finite += panel.picture->extent.finite;
  }
  const double rms = all.finite > 0 ? std::sqrt(all.squares / static_cast<double>(all.finite)) : 1;
  return {ColourMap::Signed, std::max(std::min(all.largest, 3 * rms), 1e-30)};
}

/// The panels of the ranks, each beginning where the last one ended if they are pieces.
std::vector<Panel> of_ranks(const std::vector<Picture>& pictures, const Picture& whole, Layout layout) {
  std::vector<Panel> panels;
  int64_t row = 0, col = 0;
  for (size_t rank = 0; rank < pictures.size(); ++rank) {
    panels.push_back({.title = fmt::format("rank {}", rank),
                      .picture = &pictures[rank],
                      .row = row,
                      .col = col,
                      .rows = whole.rows,
                      .cols = whole.cols,
                      .layout = layout,
                      .rank = static_cast<int>(rank)});
    if (layout == sharded(0)) row += pictures[rank].rows;
    if (layout == sharded(1)) col += pictures[rank].cols;
  }
  return panels;
}

Layout layout_of(lab::Joined joined) {
  switch (joined) {
    case lab::Joined::Summed:
      return kPartial;
    case lab::Joined::Largest:
      return kPartialMax;
    case lab::Joined::Rows:
      return sharded(0);
    case lab::Joined::Columns:
      return sharded(1);
    case lab::Joined::Alike:
      break;
  }
  return kReplicated;
}

struct Grid {
  const Context& context;
  ImDrawList* list;
  float left, column, cell;
};

/// A number as short as its place: "−1.26", "3e-07".
std::string short_number(double value) {
  const double size = std::abs(value);
  return size != 0 && (size < 1e-3 || size >= 1e4) ? fmt::format("{:.0e}", value)
                                                   : fmt::format("{:.3f}", value);
}

/// How the read number of the joined result came about: "1.215 + 0.856 − 0.067 = 2.004, but f of the sum is
/// −0.099". Empty if a rank's results are not added.
std::string sum_words(const AlgebraRun& run, const lab::Way& way, int64_t row, int64_t col) {
  if (way.joined != lab::Joined::Summed) return {};
  std::vector<double> terms;
  for (const lab::Numbers& result : run.outcome.results) terms.push_back(result.at(row, col));
  const double together = run.outcome.together.at(row, col);
  const AlikeNumbers alike = AlikeNumbers::adding_up(terms, together);
  std::string sum;
  for (const double term : terms) {
    const bool first = sum.empty();
    if (!first) sum += term < 0 ? " \u2212 " : " + ";
    sum += alike.text(first ? term : std::abs(term));
  }
  const bool wrong = run.outcome.verdict == lab::Verdict::Wrong;
  return fmt::format("{} = {}, {} f of {} is {}", sum, alike.text(together), wrong ? "but" : "and",
                     way.layout == kPartial ? "the sum" : "all of X",
                     alike.text(run.outcome.whole.at(row, col)));
}

void draw_amber(const Grid& grid, const Panel& panel, ImVec2 min, double limit) {
  std::vector<PlainRect> rects;
  const Theme& theme = grid.context.theme;
  for (int64_t r = 0; r < panel.picture->rows; ++r)
    for (int64_t c = 0; c < panel.picture->cols; ++c) {
      const double share = std::min(1.0, std::abs(static_cast<double>(panel.value(r, c))) / limit);
      const ImVec2 at{min.x + static_cast<float>(c) * grid.cell, min.y + static_cast<float>(r) * grid.cell};
      rects.push_back({at,
                       {at.x + grid.cell, at.y + grid.cell},
                       mixed(theme.card, theme.communication, static_cast<float>(share))});
    }
  fill_rects(grid.list, rects);
}

/// Draws one panel in column `index` with its title above and the read number below.
void draw_panel(const Grid& grid, const Panel& panel, size_t index, float top,
                const std::shared_ptr<const AlgebraRun>& run, ColourScale scale, bool reads) {
  const Context& context = grid.context;
  const Theme& theme = context.theme;
  const Type type(context);
  AlgebraView& view = context.view.of<AlgebraView>();
  const float x = grid.left + grid.column * static_cast<float>(index);
  const float room = grid.column - context.px(10);
  const bool partial = panel.layout.kind == LayoutKind::Partial;
  const ImU32 own = panel.rank >= 0 ? theme.rank_outlines[panel.rank % 8] : theme.dim;
  draw_text(grid.list, {x, top}, in(type.note, panel.is_difference ? theme.communication : theme.dim),
            fitted(type.note, panel.title, room));
  const ImVec2 min{x, top + type.note.size + context.px(4)};
  const ImVec2 max{min.x + static_cast<float>(panel.cols) * grid.cell,
                   min.y + static_cast<float>(panel.rows) * grid.cell};
  const ImVec2 piece{min.x + static_cast<float>(panel.col) * grid.cell,
                     min.y + static_cast<float>(panel.row) * grid.cell};
  const ImVec2 piece_end{piece.x + static_cast<float>(panel.picture->cols) * grid.cell,
                         piece.y + static_cast<float>(panel.picture->rows) * grid.cell};
  outline_rect(grid.list, min, max, theme.line, 0, context.px(1));
  if (panel.is_difference)
    draw_amber(grid, panel, piece, scale.limit);
  else
    context.heatmaps.draw(grid.list, piece, piece_end, run, *panel.picture, scale);
  if (partial)
    draw_dashed_rect(grid.list, piece, piece_end, theme.communication, context.px(1.5f), context.px(4));
  else
    outline_rect(grid.list, piece, piece_end, panel.is_difference ? theme.communication : own, 0,
                 context.px(1.5f));
  if (!reads) return;
  const int64_t row = view.row < 0 ? run->worst_row : view.row,
                col = view.row < 0 ? run->worst_col : view.col;
  ImGui::SetCursorScreenPos(min);
  if (click_area(panel.title.c_str(), {max.x - min.x, max.y - min.y})) {
    const ImVec2 mouse = ImGui::GetMousePos();
    view.row = std::clamp<int64_t>(static_cast<int64_t>((mouse.y - min.y) / grid.cell), 0, panel.rows - 1);
    view.col = std::clamp<int64_t>(static_cast<int64_t>((mouse.x - min.x) / grid.cell), 0, panel.cols - 1);
  }
  const bool has = panel.has(row, col);
  if (has) {
    const ImVec2 at{min.x + static_cast<float>(col) * grid.cell, min.y + static_cast<float>(row) * grid.cell};
    // Light around dark, to be seen on both ends of the colours.
    const float line = context.px(2);
    outline_rect(grid.list, {at.x - 2 * line, at.y - 2 * line},
                 {at.x + grid.cell + 2 * line, at.y + grid.cell + 2 * line}, theme.window, 0, line);
    outline_rect(grid.list, {at.x - line, at.y - line}, {at.x + grid.cell + line, at.y + grid.cell + line},
                 theme.text, 0, line);
  }
  draw_text(grid.list, {x, max.y + context.px(4)},
            in(type.mono, !has                  ? theme.faint
                          : panel.is_difference ? theme.communication
                                                : theme.text),
            has ? short_number(panel.value(row, col)) : "–");
}

}  // namespace

float draw_algebra_pictures(const Context& context, const std::shared_ptr<const AlgebraRun>& run, ImVec2 min,
                            ImVec2 size) {
  const Type type(context);
  const lab::Way& way = context.view.of<AlgebraView>().shown_way();
  std::vector<Panel> above = of_ranks(run->held, run->x, way.layout);
  std::vector<Panel> below = of_ranks(run->results, run->whole, layout_of(way.joined));
  const auto whole = [](std::string title, const Picture& picture, bool is_difference = false) {
    return Panel{.title = std::move(title),
                 .picture = &picture,
                 .rows = picture.rows,
                 .cols = picture.cols,
                 .is_difference = is_difference};
  };
  above.push_back(whole(way.layout == kPartial ? "the sum X" : "all of X", run->x));
  below.push_back(whole(to_string(way.joined), run->together));
  // A column as wide as the page allows, and cells so small that both rows fit.
  const float words = type.note.size + type.mono.size + context.px(10), gap = context.px(10);
  const float column = size.x / static_cast<float>(below.size() + 2);
  std::string of_whole = way.layout == kPartial ? "f of the sum" : "f of all of X";
  if (text_width(type.note, of_whole) > column - gap) of_whole = "f of all";
  below.push_back(whole(of_whole, run->whole));
  below.push_back(whole("difference", run->difference, true));
  const float rows = static_cast<float>(run->x.rows + run->whole.rows);
  const float cols = static_cast<float>(std::max(run->x.cols, run->whole.cols));
  // Where there is little room, the pictures stand without headings.
  const bool low = size.y < context.px(300);
  const float heading = low ? 0 : type.strong.size + context.px(6);
  const float sentence = way.joined == lab::Joined::Summed && !low ? 2 * type.body.size + gap : 0;
  const float height = size.y - 2 * (words + heading) - gap - sentence;
  const float cell =
      std::max(2.0f, std::floor(std::min({(column - gap) / cols, height / rows, context.px(18)})));
  const Grid grid{context, ImGui::GetWindowDrawList(), min.x, column, cell};
  float top = min.y;
  const bool same_shape = run->x.rows == run->whole.rows && run->x.cols == run->whole.cols;
  const auto draw_row = [&](const char* id, const std::string& title, const std::vector<Panel>& panels,
                            bool reads) {
    if (!low) draw_text(grid.list, {min.x, top}, type.strong, fitted(type.strong, title, size.x));
    top += heading;
    const ColourScale scale = scale_of(panels);
    ImGui::PushID(id);
    for (size_t i = 0; i < panels.size(); ++i) draw_panel(grid, panels[i], i, top, run, scale, reads);
    ImGui::PopID();
    top += words + cell * static_cast<float>(panels.front().rows) + gap;
  };
  draw_row("X", "X: what each rank holds", above, same_shape);
  draw_row("f", "f, the operation: what each rank makes of its X", below, true);
  const AlgebraView& view = context.view.of<AlgebraView>();
  const int64_t row = view.row < 0 ? run->worst_row : view.row,
                col = view.row < 0 ? run->worst_col : view.col;
  if (const std::string sum = low ? "" : sum_words(*run, way, row, col); !sum.empty()) {
    const std::string place = fmt::format("row {}, column {}: ", row, col);
    top += draw_wrapped(grid.list, {min.x, top}, type.body, place + sum, size.x);
  }
  return top - min.y;
}

}  // namespace shardlens::ui
