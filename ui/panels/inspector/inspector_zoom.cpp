// Computes the window, draws it into panes, and follows the mouse.
#include "ui/panels/inspector/inspector_zoom.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/program/product.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/panels/inspector/inspector_view.h"
#include "ui/panels/tensor_words.h"
#include "ui/plan/cache.h"
#include "ui/plan/window_values.h"
#include "ui/product/product_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr double kZoomPerNotch = 0.75;
constexpr double kLeastElements = 3;  ///< the smallest window
constexpr int64_t kLeastBlock = 16;   ///< windows are read in blocks, so that panning seldom reads anew
constexpr float kLeastDigits = 12, kMostDigits = 40;  ///< their size at scale 1

Stretch whole(int64_t extent) {
  return {0, static_cast<double>(std::max<int64_t>(extent, 1))};
}

Range elements_of(Stretch shown, int64_t extent) {
  const int64_t begin = std::clamp<int64_t>(std::llround(shown.begin), 0, std::max<int64_t>(extent - 1, 0));
  return {begin, std::clamp<int64_t>(std::llround(shown.end), begin + 1, std::max<int64_t>(extent, 1))};
}

/// The window in blocks of a power of two of about its size.
Range in_blocks(Range range, int64_t extent) {
  int64_t block = kLeastBlock;
  while (block < range.size()) block *= 2;
  block = std::max(kLeastBlock, block / 2);
  return {range.begin / block * block, std::min((range.end + block - 1) / block * block, extent)};
}

Picture picture_of(const std::vector<double>& values, const TensorWindow& window) {
  Picture picture{static_cast<int>(window.rows.size()),
                  static_cast<int>(window.cols.size()),
                  {values.begin(), values.end()},
                  {}};
  measure_extent(picture);
  return picture;
}

std::shared_ptr<const WindowPictures> pictures_of(const Tensor& tensor, int ranks,
                                                  const std::shared_ptr<const WindowValues>& values) {
  auto made = std::make_shared<WindowPictures>();
  made->values = values;
  for (const std::vector<double>& rank : values->ranks)
    made->ranks.push_back(picture_of(rank, values->window));
  // Pieces are joined and terms are added by one sum: where a rank holds nothing there is 0. Copies count
  // once.
  const bool copies = tensor.layout.kind == LayoutKind::Replicated || tensor.layout.copies > 1 || ranks == 1;
  made->joined = values->ranks.front();
  if (!copies) {
    for (size_t rank = 1; rank < values->ranks.size(); ++rank)
      for (size_t i = 0; i < made->joined.size(); ++i) made->joined[i] += values->ranks[rank][i];
  } else if (tensor.layout.copies > 1) {
    for (int64_t row = values->window.rows.begin; row < values->window.rows.end; ++row)
      for (int64_t col = values->window.cols.begin; col < values->window.cols.end; ++col) {
        const size_t at = values->at(row, col);
        for (int rank = ranks - 1; rank >= 0; --rank)
          if (holds(tensor, ranks, rank, row, col))
            made->joined[at] = values->ranks[static_cast<size_t>(rank)][at];
      }
  }
  made->joined_picture = picture_of(made->joined, values->window);
  if (values->serial.empty()) return made;
  for (size_t i = 0; i < made->joined.size(); ++i) {
    made->difference.push_back(std::abs(made->joined[i] - values->serial[i]));
    made->largest_difference = std::max(made->largest_difference, made->difference.back());
  }
  made->difference_picture = picture_of(made->difference, values->window);
  return made;
}

/// A rectangle of the window inside a pane.
struct Shown {
  Range rows, cols;  ///< of the full tensor
  ImVec2 min, max;
};

Shown shown_part(const Zoom& zoom, Range rows, Range cols, ImVec2 min, ImVec2 max) {
  const Range r{std::max(rows.begin, zoom.rows.begin), std::min(rows.end, zoom.rows.end)};
  const Range c{std::max(cols.begin, zoom.cols.begin), std::min(cols.end, zoom.cols.end)};
  const auto along = [](float begin, float end, int64_t at, Range all) {
    const double share = static_cast<double>(at - all.begin) / static_cast<double>(all.size());
    return std::round(begin + (end - begin) * static_cast<float>(share));
  };
  return {r,
          c,
          {along(min.x, max.x, c.begin, zoom.cols), along(min.y, max.y, r.begin, zoom.rows)},
          {along(min.x, max.x, c.end, zoom.cols), along(min.y, max.y, r.end, zoom.rows)}};
}

/// The size of digits in cells of this size, and how many of them: both grow with the cell. 0: no room.
struct Digits {
  float size = 0;
  bool precise = false;
};
Digits digits_for(const Context& context, float cell_width, float cell_height) {
  const float least = context.px(kLeastDigits);
  const float widest = 8, widest_precise = 13;  // characters of "-0.00123" and "-1.234567e-05"
  const float advance = text_width({context.fonts.mono, 100, 0}, "0") / 100;
  const float size =
      std::min({cell_height * 0.7f, cell_width / (advance * (widest + 1)), context.px(kMostDigits)});
  if (size < least) return {};
  const bool precise = cell_width > advance * least * 16;  // wide cells show more of a number
  const float fits = precise ? std::min(size, cell_width / (advance * (widest_precise + 1))) : size;
  return {std::floor(std::max(least, fits)), precise};
}

void draw_cells(const Context& context, const Shown& shown, ColourScale scale, ImDrawList* list,
                const auto& value) {
  const float cell_w =
      (shown.max.x - shown.min.x) / static_cast<float>(std::max<int64_t>(shown.cols.size(), 1));
  const float cell_h =
      (shown.max.y - shown.min.y) / static_cast<float>(std::max<int64_t>(shown.rows.size(), 1));
  const Digits digits = digits_for(context, cell_w, cell_h);
  if (digits.size == 0) return;
  TextStyle style{context.fonts.mono, digits.size, 0};
  for (int64_t row = shown.rows.begin; row < shown.rows.end; ++row)
    for (int64_t col = shown.cols.begin; col < shown.cols.end; ++col) {
      const double number = value(row, col);
      style.colour = legible_on(context.theme, colour_of(number, scale));
      const float x = shown.min.x + (static_cast<float>(col - shown.cols.begin) + 0.5f) * cell_w;
      const float y =
          shown.min.y + (static_cast<float>(row - shown.rows.begin) + 0.5f) * cell_h - style.size / 2;
      draw_text(list, {x, y}, style, digits.precise ? fmt::format("{:.7g}", number) : format_value(number),
                Align::Centre);
    }
}

/// Draws the part of a picture of the window's values that is shown.
void draw_near(const Context& context, const WindowPictures& pictures,
               const std::shared_ptr<const void>& owner, const Picture& picture, const Shown& shown,
               ColourScale scale, ImDrawList* list) {
  const TensorWindow& window = pictures.values->window;
  const auto share = [](int64_t at, Range all) {
    return static_cast<float>(static_cast<double>(at - all.begin) / static_cast<double>(all.size()));
  };
  context.heatmaps.draw(list, shown.min, shown.max, owner, picture, scale,
                        {share(shown.cols.begin, window.cols), share(shown.rows.begin, window.rows)},
                        {share(shown.cols.end, window.cols), share(shown.rows.end, window.rows)});
}

/// What a rank holds of the whole tensor, in words, for a pane whose window has none of it.
std::string held_elsewhere(const Subject& subject, int rank) {
  const std::string held = held_range(subject.tensor(), subject.tp(), rank);
  return fmt::format("Rank {} holds {}: none of these.", rank, held.empty() ? "nothing" : held);
}

void draw_words(const Context& context, const std::string& words, ImVec2 min, ImVec2 max, ImDrawList* list) {
  const TextStyle style = small_text(context, context.theme.dim);
  const float width = max.x - min.x - context.px(16);
  const float height = wrapped_height(style, words, width);
  draw_wrapped(list, {min.x + context.px(8), (min.y + max.y - height) / 2}, style, words, width);
}

void draw_zoomed_rank(const Context& context, const Subject& subject, int rank, ImVec2 min, ImVec2 max,
                      ImDrawList* list) {
  const Zoom& zoom = subject.zoom;
  const auto& sample = subject.samples[static_cast<size_t>(rank)];
  const MatrixShape local = local_matrix_shape(subject.tensor(), subject.tp(), rank);
  bool holds_some = false;
  for (const Placement& piece : placements(subject.tensor(), subject.tp(), rank)) {
    const Shown shown = shown_part(zoom, piece.rows, piece.cols, min, max);
    if (shown.rows.size() <= 0 || shown.cols.size() <= 0) continue;
    holds_some = true;
    if (zoom.near) {
      draw_near(context, *zoom.near, zoom.near, zoom.near->ranks[static_cast<size_t>(rank)], shown,
                subject.scale, list);
      const std::vector<double>& values = zoom.near->values->ranks[static_cast<size_t>(rank)];
      draw_cells(context, shown, subject.scale, list,
                 [&](int64_t row, int64_t col) { return values[zoom.near->values->at(row, col)]; });
      continue;
    }
    if (!sample || sample->picture.values.empty()) continue;
    const auto share = [](int64_t at, int64_t all) {
      return static_cast<float>(static_cast<double>(at) / static_cast<double>(std::max<int64_t>(all, 1)));
    };
    const auto to_local = [](int64_t at, Range full, Range own) { return at - full.begin + own.begin; };
    context.heatmaps.draw(list, shown.min, shown.max, sample, sample->picture, subject.scale,
                          {share(to_local(shown.cols.begin, piece.cols, piece.local_cols), local.cols),
                           share(to_local(shown.rows.begin, piece.rows, piece.local_rows), local.rows)},
                          {share(to_local(shown.cols.end, piece.cols, piece.local_cols), local.cols),
                           share(to_local(shown.rows.end, piece.rows, piece.local_rows), local.rows)});
  }
  if (!holds_some) draw_words(context, held_elsewhere(subject, rank), min, max, list);
}

/// The element of the full tensor under the mouse; nothing outside the rank's piece. `zoom.all`: a rank's
/// pane shows its own matrix.
struct Element {
  int64_t row = 0, col = 0;
};
std::optional<Element> element_at(const Subject& subject, int pane, ImVec2 share) {
  const Zoom& zoom = subject.zoom;
  const auto along = [](float at, Range range) {
    return std::clamp(range.begin + static_cast<int64_t>(at * static_cast<float>(range.size())), range.begin,
                      range.end - 1);
  };
  if (!zoom.all || pane < 0) {
    const MatrixShape full = matrix_shape(subject.tensor());
    const Range rows = zoom.all ? Range{0, full.rows} : zoom.rows,
                cols = zoom.all ? Range{0, full.cols} : zoom.cols;
    return Element{along(share.y, rows), along(share.x, cols)};
  }
  const MatrixShape local = local_matrix_shape(subject.tensor(), subject.tp(), pane);
  const int64_t row = along(share.y, {0, local.rows}), col = along(share.x, {0, local.cols});
  for (const Placement& piece : placements(subject.tensor(), subject.tp(), pane))
    if (row >= piece.local_rows.begin && row < piece.local_rows.end && col >= piece.local_cols.begin &&
        col < piece.local_cols.end)
      return Element{piece.rows.begin + row - piece.local_rows.begin,
                     piece.cols.begin + col - piece.local_cols.begin};
  return std::nullopt;
}

/// The part of the full tensor that a pane shows: what the wheel zooms from.
struct Base {
  Stretch rows, cols;
  ImVec2 share;  ///< of the mouse in it
};
Base base_of(const Subject& subject, int pane, ImVec2 share) {
  const Zoom& zoom = subject.zoom;
  const MatrixShape full = matrix_shape(subject.tensor());
  const auto stretch = [](Range range) {
    return Stretch{static_cast<double>(range.begin), static_cast<double>(range.end)};
  };
  if (!zoom.all) return {stretch(zoom.rows), stretch(zoom.cols), share};
  const std::optional<Element> element = element_at(subject, pane, share);
  if (pane >= 0 && element)
    for (const Placement& piece : placements(subject.tensor(), subject.tp(), pane)) {
      if (element->row < piece.rows.begin || element->row >= piece.rows.end ||
          element->col < piece.cols.begin || element->col >= piece.cols.end)
        continue;
      const auto within = [](int64_t at, Range range) {
        return (static_cast<float>(at - range.begin) + 0.5f) / static_cast<float>(range.size());
      };
      return {stretch(piece.rows),
              stretch(piece.cols),
              {within(element->col, piece.cols), within(element->row, piece.rows)}};
    }
  return {whole(full.rows), whole(full.cols), share};
}

void show_element(const Context& context, const Subject& subject, int pane, Element element, bool opens) {
  const Zoom& zoom = subject.zoom;
  const std::string whose = pane >= 0 ? fmt::format("rank {}: ", pane) : std::string();
  std::string text = fmt::format("{}row {}, column {}", whose, element.row, element.col);
  const bool held = pane < 0 || holds(subject.tensor(), subject.tp(), pane, element.row, element.col);
  const TensorSample* const sample = pane >= 0 ? subject.samples[static_cast<size_t>(pane)].get() : nullptr;
  if (!held) {
    text += "\nnot on this rank";
  } else if (zoom.near && zoom.near->values->contains(element.row, element.col)) {
    const WindowValues& values = *zoom.near->values;
    const size_t at = values.at(element.row, element.col);
    if (pane >= 0) text += fmt::format("\nvalue {:.9g}", values.ranks[static_cast<size_t>(pane)][at]);
    if (pane < 0) text += fmt::format("\nvalue {:.9g}", zoom.near->joined[at]);
    if (pane < 0 && !values.serial.empty())
      text += fmt::format("\nserial {:.9g}\ndifference {:.3g}", values.serial[at], zoom.near->difference[at]);
  } else if (sample != nullptr && sample->picture.rows > 0 && sample->picture.cols > 0) {
    for (const Placement& piece : placements(subject.tensor(), subject.tp(), pane)) {
      if (element.row < piece.rows.begin || element.row >= piece.rows.end || element.col < piece.cols.begin ||
          element.col >= piece.cols.end)
        continue;
      const int64_t row = element.row - piece.rows.begin + piece.local_rows.begin,
                    col = element.col - piece.cols.begin + piece.local_cols.begin;
      if (sample->has_exact()) {
        text += fmt::format("\nvalue {:.9g}", sample->value(row, col));
      } else {
        const int64_t y = row * sample->picture.rows / sample->matrix.rows,
                      x = col * sample->picture.cols / sample->matrix.cols;
        text += fmt::format("\nmean of this block {:.4g}; the wheel zooms in to its values",
                            sample->picture.values[static_cast<size_t>(y * sample->picture.cols + x)]);
      }
    }
  }
  if (opens) text += "\nA click shows how this number is made.";
  show_tooltip(context, text);
}

bool has_whole_numbers(const TensorSample& sample) {
  constexpr int64_t kMost = 24;
  return sample.matrix.rows <= kMost && sample.matrix.cols <= kMost && sample.has_exact();
}

/// True if a click on a cell of the pane opens its number: the cells are numbers of a product's result.
bool opens_numbers(const Context& context, const Subject& subject, int pane, ImVec2 size) {
  const Zoom& zoom = subject.zoom;
  const std::optional<Product> product = product_of(subject.program(), subject.step);
  if (!product || product->out != subject.tensor_id || (!zoom.all && !zoom.near)) return false;
  MatrixShape cells{zoom.rows.size(), zoom.cols.size()};
  if (zoom.all) {
    if (pane < 0 || !subject.samples[static_cast<size_t>(pane)]) return false;
    const TensorSample& sample = *subject.samples[static_cast<size_t>(pane)];
    if (!has_whole_numbers(sample)) return false;
    cells = sample.matrix;
  }
  return digits_for(context, size.x / static_cast<float>(cells.cols), size.y / static_cast<float>(cells.rows))
             .size > 0;
}

}  // namespace

Zoom zoom_of(const Context& context, const Subject& subject) {
  InspectorView& view = context.view.of<InspectorView>();
  if (view.tensor != subject.tensor_id || view.plan.lock() != subject.plan)
    view = {subject.plan, subject.tensor_id, {}, {}, view.enlarged};
  const MatrixShape full = matrix_shape(subject.tensor());
  const Stretch rows = clamped(view.rows, whole(full.rows)), cols = clamped(view.cols, whole(full.cols));
  Zoom zoom;
  zoom.all = rows == whole(full.rows) && cols == whole(full.cols);
  zoom.rows = elements_of(rows, full.rows);
  zoom.cols = elements_of(cols, full.cols);
  if (zoom.all || !subject.has_samples()) return zoom;
  const TensorWindow window{subject.tensor_id, in_blocks(zoom.rows, full.rows),
                            in_blocks(zoom.cols, full.cols)};
  if (!is_readable(subject.program(), window)) return zoom;
  const std::shared_ptr<const WindowValues> values = values_in(context, window);
  if (!values) {
    zoom.missing = why_no_values(context, window);
    return zoom;
  }
  static Cache<std::shared_ptr<const WindowValues>, std::shared_ptr<const WindowPictures>, 2> known;
  zoom.near = known.of(values, [&] { return pictures_of(subject.tensor(), subject.tp(), values); });
  return zoom;
}

bool handle_pane(const Context& context, const Subject& subject, int pane, ImVec2 min, ImVec2 max,
                 const char* id) {
  ImGui::SetCursorScreenPos(min);
  ImGui::InvisibleButton(id, {max.x - min.x, max.y - min.y});
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  const MatrixShape full = matrix_shape(subject.tensor());
  if (!subject.has_samples() || full.rows * full.cols == 0) return false;
  InspectorView& view = context.view.of<InspectorView>();
  const ImGuiIO& io = ImGui::GetIO();
  const ImVec2 size{max.x - min.x, max.y - min.y};
  const ImVec2 share{std::clamp((io.MousePos.x - min.x) / size.x, 0.0f, 1.0f),
                     std::clamp((io.MousePos.y - min.y) / size.y, 0.0f, 1.0f)};
  const bool hovered = ImGui::IsItemHovered();
  const bool opens = opens_numbers(context, subject, pane, size);
  if (hovered && io.MouseWheel != 0) {
    const double factor = std::pow(kZoomPerNotch, io.MouseWheel);
    const Base base = base_of(subject, pane, share);
    const auto along = [factor](Stretch from, float at, int64_t extent) {
      return zoomed(from, factor, from.begin + static_cast<double>(at) * from.size(), whole(extent),
                    std::min(kLeastElements, static_cast<double>(extent)));
    };
    view.rows = along(base.rows, base.share.y, full.rows);
    view.cols = along(base.cols, base.share.x, full.cols);
  }
  const std::optional<Element> element = element_at(subject, pane, share);
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left) && !subject.zoom.all) {
    view.rows = panned(clamped(view.rows, whole(full.rows)), -static_cast<double>(io.MouseDelta.y / size.y),
                       whole(full.rows));
    view.cols = panned(clamped(view.cols, whole(full.cols)), -static_cast<double>(io.MouseDelta.x / size.x),
                       whole(full.cols));
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeAll);
  } else if (hovered && element) {
    show_element(context, subject, pane, *element, opens);
  }
  const ImVec2 drag = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
  const bool still = std::abs(drag.x) + std::abs(drag.y) < io.MouseDragThreshold;
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    view.rows = view.cols = {};
    return false;
  }
  if (!hovered || !ImGui::IsItemDeactivated() || !still) return false;
  if (!opens || !element) return true;
  open_number(context, element->row, element->col);
  return false;
}

void draw_zoomed_pane(const Context& context, const Subject& subject, int pane, ImVec2 min, ImVec2 max,
                      ImDrawList* list) {
  const Zoom& zoom = subject.zoom;
  if (pane >= 0) return draw_zoomed_rank(context, subject, pane, min, max, list);
  const Shown shown = shown_part(zoom, zoom.rows, zoom.cols, min, max);
  const bool difference = pane == kDifferencePane;
  if (!zoom.near || (difference && zoom.near->difference.empty())) {
    const std::string words =
        !zoom.near ? (zoom.missing.empty() ? "zoom in further" : zoom.missing) : why_no_serial(context);
    return draw_words(context, words, min, max, list);
  }
  const double largest = zoom.near->largest_difference;
  const ColourScale scale =
      difference ? ColourScale{ColourMap::Magnitude, largest > 0 ? largest : 1} : subject.scale;
  draw_near(context, *zoom.near, zoom.near,
            difference ? zoom.near->difference_picture : zoom.near->joined_picture, shown, scale, list);
  const std::vector<double>& values = difference ? zoom.near->difference : zoom.near->joined;
  draw_cells(context, shown, scale, list,
             [&](int64_t row, int64_t col) { return values[zoom.near->values->at(row, col)]; });
}

void draw_whole_numbers(const Context& context, const Subject& subject, const TensorSample& sample,
                        ImVec2 min, ImVec2 max, ImDrawList* list) {
  if (!has_whole_numbers(sample)) return;
  draw_cells(context, {{0, sample.matrix.rows}, {0, sample.matrix.cols}, min, max}, subject.scale, list,
             [&](int64_t row, int64_t col) { return sample.value(row, col); });
}

}  // namespace shardlens::ui
