// The Inspector's pictures. All ranks' pieces share one colour scale and one zoom, so they show the same
// place. Cells that are large enough show their numbers. Below are the joined pieces and their difference
// from the serial run.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/panels/inspector/inspector_view.h"
#include "ui/panels/tensor_words.h"
#include "ui/plan/cache.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace {

constexpr double kZoomPerNotch = 0.75;
constexpr float kCellWidth = 56, kCellHeight = 17;  ///< a cell this large has room for its number
constexpr int kColourBarSteps = 48;

/// The elements of a rank's matrix that are on the screen.
struct Part {
  Stretch rows, cols;  ///< fractions
  Range row_range, col_range;
  bool all = true;
};

Part part_of(const InspectorView& zoom, MatrixShape matrix) {
  Part part;
  part.rows = clamped(zoom.rows, {0, 1});
  part.cols = clamped(zoom.cols, {0, 1});
  part.all = part.rows == Stretch{0, 1} && part.cols == Stretch{0, 1};
  const auto range = [](Stretch shown, int64_t extent) {
    const double size = static_cast<double>(extent);
    const int64_t begin =
        std::clamp<int64_t>(std::llround(shown.begin * size), 0, std::max<int64_t>(extent - 1, 0));
    return Range{
        begin, std::clamp<int64_t>(std::llround(shown.end * size), begin + 1, std::max<int64_t>(extent, 1))};
  };
  part.row_range = range(part.rows, matrix.rows);
  part.col_range = range(part.cols, matrix.cols);
  return part;
}

/// Draws the number of every cell, in black or white, whichever reads better on its colour.
void draw_numbers(const Context& context, const Subject& subject, const TensorSample& sample,
                  const Part& part, ImVec2 min, ImVec2 max, ImDrawList* list) {
  const float cell_w = (max.x - min.x) / static_cast<float>(part.col_range.size());
  const float cell_h = (max.y - min.y) / static_cast<float>(part.row_range.size());
  if (cell_w < context.px(kCellWidth) || cell_h < context.px(kCellHeight)) return;
  TextStyle style = mono_text(context, 0);
  for (int64_t row = part.row_range.begin; row < part.row_range.end; ++row) {
    for (int64_t col = part.col_range.begin; col < part.col_range.end; ++col) {
      const double value = sample.value(row, col);
      style.colour = legible_on(context.theme, colour_of(value, subject.scale));
      const float x = min.x + (static_cast<float>(col - part.col_range.begin) + 0.5f) * cell_w;
      const float y =
          min.y + (static_cast<float>(row - part.row_range.begin) + 0.5f) * cell_h - style.size / 2;
      draw_text(list, {x, y}, style, format_value(value), Align::Centre);
    }
  }
}

/// Returns the place in the full matrix of an element of a rank's own matrix; the same place if it is not
/// sliced.
std::pair<int64_t, int64_t> place_in_full(const Subject& subject, int rank, int64_t row, int64_t col) {
  for (const Placement& piece : placements(subject.tensor(), subject.tp(), rank)) {
    const bool inside = row >= piece.local_rows.begin && row < piece.local_rows.end &&
                        col >= piece.local_cols.begin && col < piece.local_cols.end;
    if (inside) {
      return {piece.rows.begin + row - piece.local_rows.begin,
              piece.cols.begin + col - piece.local_cols.begin};
    }
  }
  return {row, col};
}

void show_value_tooltip(const Subject& subject, int rank, const TensorSample& sample, const Part& part,
                        ImVec2 share) {
  const auto element = [](Range range, float at) {
    const auto offset = static_cast<int64_t>(at * static_cast<float>(range.size()));
    return std::clamp(range.begin + offset, range.begin, range.end - 1);
  };
  const int64_t row = element(part.row_range, share.y);
  const int64_t col = element(part.col_range, share.x);
  const auto [full_row, full_col] = place_in_full(subject, rank, row, col);
  std::string text = fmt::format("rank {}: row {}, column {}", rank, row, col);
  if (full_row != row || full_col != col) {
    text += fmt::format("\nin the full tensor: row {}, column {}", full_row, full_col);
  }
  if (sample.has_exact()) {
    text += fmt::format("\nvalue {:.9g}", sample.value(row, col));
  } else if (sample.picture.rows > 0 && sample.picture.cols > 0) {
    const int64_t picture_row = row * sample.picture.rows / std::max<int64_t>(sample.matrix.rows, 1);
    const int64_t picture_col = col * sample.picture.cols / std::max<int64_t>(sample.matrix.cols, 1);
    const double mean = static_cast<double>(
        sample.picture.values[static_cast<size_t>(picture_row * sample.picture.cols + picture_col)]);
    text += fmt::format("\nmean of this block {:.4g} (the piece is too large to keep every value)", mean);
  }
  ImGui::SetTooltip("%s", text.c_str());
}

}  // namespace

void handle_picture(const Context& context, const Subject& subject, int rank, ImVec2 min, ImVec2 max,
                    const char* id) {
  const auto& sample = subject.samples[static_cast<size_t>(rank)];
  ImGui::SetCursorScreenPos(min);
  ImGui::InvisibleButton(fmt::format("{} {}", id, rank).c_str(), {max.x - min.x, max.y - min.y});
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  if (!sample || sample->matrix.rows * sample->matrix.cols == 0) return;
  InspectorView& zoom = context.view.of<InspectorView>();
  const ImGuiIO& io = ImGui::GetIO();
  const Part part = part_of(zoom, sample->matrix);
  const ImVec2 share{std::clamp((io.MousePos.x - min.x) / (max.x - min.x), 0.0f, 1.0f),
                     std::clamp((io.MousePos.y - min.y) / (max.y - min.y), 0.0f, 1.0f)};
  const bool hovered = ImGui::IsItemHovered();
  if (hovered && io.MouseWheel != 0) {
    const double factor = std::pow(kZoomPerNotch, io.MouseWheel);
    const auto along = [factor](Stretch shown, float at, int64_t extent) {
      const double smallest = std::min(1.0, 3.0 / static_cast<double>(std::max<int64_t>(extent, 1)));
      return zoomed(shown, factor, shown.begin + static_cast<double>(at) * shown.size(), {0, 1}, smallest);
    };
    zoom.rows = along(part.rows, share.y, sample->matrix.rows);
    zoom.cols = along(part.cols, share.x, sample->matrix.cols);
  }
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left) && !part.all) {
    zoom.rows = panned(part.rows, -static_cast<double>(io.MouseDelta.y / (max.y - min.y)), {0, 1});
    zoom.cols = panned(part.cols, -static_cast<double>(io.MouseDelta.x / (max.x - min.x)), {0, 1});
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeAll);
  } else if (hovered) {
    show_value_tooltip(subject, rank, *sample, part, share);
  }
  const ImVec2 drag = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
  const bool still = std::abs(drag.x) + std::abs(drag.y) < io.MouseDragThreshold;
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    zoom.rows = zoom.cols = {};
  } else if (hovered && ImGui::IsItemDeactivated() && still && subject.tp() > 1) {
    const bool again = zoom.enlarged && context.view.selected_rank == rank;
    zoom.enlarged = !again;
    context.view.selected_rank = again ? -1 : rank;
  }
}

namespace {

const char* why_no_values(const Context& context, const Subject& subject) {
  if (!subject.result || !subject.result->replayed)
    return shown_failure(context.snapshot) != nullptr ? "a rank was lost" : "not run yet";
  return context.replay.has_read(subject.tensor().id) ? "not recorded" : "reading …";
}

}  // namespace

void draw_piece(const Context& context, const Subject& subject, int rank, ImVec2 min, ImVec2 max, Pen& pen) {
  const Theme& theme = context.theme;
  const auto& sample = subject.samples[static_cast<size_t>(rank)];
  const float thin = std::max(1.0f, context.px(1.5f));
  fill_rect(pen.list, min, max, theme.ghost);
  const bool empty = sample && sample->matrix.rows * sample->matrix.cols == 0;
  const auto draw_within = [&](const char* words, ImU32 colour) {
    const TextStyle style = small_text(context, colour);
    draw_text(pen.list, {(min.x + max.x) / 2, (min.y + max.y - style.size) / 2}, style, words, Align::Centre);
  };
  if (!sample || empty) {
    draw_within(empty ? "holds nothing" : why_no_values(context, subject), theme.dim);
  } else {
    const Part part = part_of(context.view.of<InspectorView>(), sample->matrix);
    pen.list->PushClipRect(min, max, true);
    if (subject.exact) {
      context.heatmaps.draw_exact(pen.list, min, max, sample, subject.scale, part.row_range, part.col_range);
      draw_numbers(context, subject, *sample, part, min, max, pen.list);
    } else {
      const ImVec2 uv0{static_cast<float>(part.cols.begin), static_cast<float>(part.rows.begin)};
      const ImVec2 uv1{static_cast<float>(part.cols.end), static_cast<float>(part.rows.end)};
      context.heatmaps.draw(pen.list, min, max, sample, sample->picture, subject.scale, uv0, uv1);
      const bool small = sample->matrix.rows <= 24 && sample->matrix.cols <= 24;
      if (small && sample->has_exact())
        draw_numbers(context, subject, *sample, part, min, max, pen.list);
      else if (const TensorStats& all = sample->stats; all.min == 0 && all.max == 0 && all.nan_count == 0)
        draw_within("all 0", legible_on(theme, colour_of(0, subject.scale)));  // else it looks empty
    }
    pen.list->PopClipRect();
  }
  if (subject.is_partial()) {
    draw_dashed_rect(pen.list, min, max, theme.communication, thin, context.px(4));
  } else if (subject.tp() > 1 && subject.tensor().layout.kind == LayoutKind::Sharded) {
    outline_rect(pen.list, min, max, theme.rank_outlines[rank % 8], 0, thin);
  } else {
    outline_rect(pen.list, min, max, theme.dim, 0, std::max(1.0f, context.px(1)));
  }
}

namespace {

/// Draws a thin bar for the cut side of the full tensor, with this rank's part in its colour.
void draw_place(const Context& context, const Subject& subject, int rank, ImVec2 at, float width,
                ImDrawList* list) {
  const Tensor& tensor = subject.tensor();
  const MatrixShape full = matrix_shape(tensor);
  const bool by_rows = tensor.layout.dim < tensor.row_dims;
  const float height = context.px(4);
  fill_rect(list, at, {at.x + width, at.y + height}, context.theme.ghost);
  for (const Placement& piece : placements(tensor, subject.tp(), rank)) {
    const Range range = by_rows ? piece.rows : piece.cols;
    const float extent = static_cast<float>(std::max<int64_t>(by_rows ? full.rows : full.cols, 1));
    fill_rect(list, {at.x + width * static_cast<float>(range.begin) / extent, at.y},
              {at.x + width * static_cast<float>(range.end) / extent, at.y + height},
              context.theme.ranks[rank % 8]);
  }
}

/// Draws the caption below a picture: the rank, the range it holds, its rms. Returns its height.
float draw_caption(const Context& context, const Subject& subject, int rank, ImVec2 at, float width,
                   bool long_form, ImDrawList* list) {
  const Theme& theme = context.theme;
  const auto& sample = subject.samples[static_cast<size_t>(rank)];
  const TextStyle name = small_bold_text(context, theme.rank_outlines[rank % 8]);
  const TextStyle value = mono_text(context, theme.dim);
  float y = at.y + context.px(4);
  if (subject.tp() > 1 && subject.tensor().layout.kind == LayoutKind::Sharded) {
    draw_place(context, subject, rank, {at.x, y}, width, list);
    y += context.px(8);
  }
  const std::string rank_name = fmt::format("rank {}", rank);
  draw_text(list, {at.x, y}, name, rank_name);
  const float name_width = text_width(name, rank_name);
  float line = y;
  if (sample && sample->stats.count > 0) {
    const std::string number = format_value(sample->stats.rms);
    const std::string full_text = "rms " + number;
    const float room = width - name_width - context.px(6);
    if (text_width(value, full_text) <= room) {
      draw_text(list, {at.x + width, line}, value, full_text, Align::Right);
    } else {
      line += name.size + context.px(2);
      draw_text(list, {at.x, line}, value, text_width(value, full_text) <= width ? full_text : number);
    }
  }
  if (long_form) {
    const std::string held = held_range(subject.tensor(), subject.tp(), rank);
    draw_text(list, {at.x + name_width + context.px(10), y}, value,
              fitted(value, held, width - name_width - context.px(84)));
  }
  return line + name.size - at.y;
}

/// Says what a cell of the pictures shows if it is not one element, and how to see more or all.
std::string resolution_note(const Context& context, const Subject& subject) {
  const auto first = std::find_if(subject.samples.begin(), subject.samples.end(),
                                  [](const auto& sample) { return sample && sample->picture.rows > 0; });
  if (first == subject.samples.end()) return {};
  const TensorSample& sample = **first;
  const Part part = part_of(context.view.of<InspectorView>(), sample.matrix);
  const auto span = [](Range range) { return fmt::format("{} … {}", range.begin, range.end - 1); };
  if (!part.all) {
    return fmt::format("{} of rows {}, columns {} of each piece. A double click shows all.",
                       subject.exact ? "Values" : "Block means", span(part.row_range), span(part.col_range));
  }
  const int64_t rows = (sample.matrix.rows + sample.picture.rows - 1) / sample.picture.rows;
  const int64_t cols = (sample.matrix.cols + sample.picture.cols - 1) / std::max(sample.picture.cols, 1);
  if (rows <= 1 && cols <= 1) return {};
  return fmt::format("Cells are means of {} × {}; the wheel zooms in.", rows, cols);
}

/// Says that the tensor's values were kept only as a picture, so no zoom can show each of them.
void draw_picture_only(const Context& context, const Subject& subject, Pen& pen) {
  const auto first = std::find_if(subject.samples.begin(), subject.samples.end(), [](const auto& sample) {
    return sample && sample->stats.count > 0 && !sample->has_exact();
  });
  if (first == subject.samples.end()) return;
  const TextStyle small = small_text(context, context.theme.dim);
  const ImVec2 at{pen.x, pen.y + context.px(4)};
  const float height =
      draw_wrapped(pen.list, at, small,
                   subject.result->replayed ? subject.result->not_exact
                                            : picture_only_words(**first, subject.result->not_exact),
                   pen.width);
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("picture only", {pen.width, height});
  tooltip(context,
          "The wheel still zooms into the picture. Exact values are kept for a smaller batch, sequence or "
          "model.");
  pen.y = at.y + height;
}

}  // namespace

// 56 % of the width for a matrix, a strip for a vector.
float picture_height(const Context& context, const Subject& subject, float width) {
  const MatrixShape full = matrix_shape(subject.tensor());
  if (full.rows == 1) return context.px(24);
  return std::round(width * 0.56f);
}

void draw_rank_pictures(const Context& context, const Subject& subject, Pen& pen) {
  const int ranks = subject.tp();
  const int columns = ranks == 1 ? 1 : ranks <= 4 ? 2 : 3;
  const float gap = context.px(8);
  const int large =
      context.view.of<InspectorView>().enlarged ? std::min(context.view.selected_rank, ranks - 1) : -1;
  if (large >= 0 && ranks > 1) {
    const ImVec2 min{pen.x, pen.y};
    const ImVec2 max{pen.x + pen.width, pen.y + picture_height(context, subject, pen.width)};
    draw_piece(context, subject, large, min, max, pen);
    handle_picture(context, subject, large, min, max, "large picture of rank");
    pen.y = max.y + draw_caption(context, subject, large, {pen.x, max.y}, pen.width, true, pen.list) +
            context.px(12);
  }
  const float width = (pen.width - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
  const float height = picture_height(context, subject, width);
  float caption = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int column = rank % columns;
    if (rank > 0 && column == 0) pen.y += height + caption + context.px(8);
    const ImVec2 min{std::round(pen.x + static_cast<float>(column) * (width + gap)), std::round(pen.y)};
    const ImVec2 max{std::round(min.x + width), min.y + height};
    draw_piece(context, subject, rank, min, max, pen);
    handle_picture(context, subject, rank, min, max, "picture of rank");
    if (rank == context.view.selected_rank && ranks > 1) {
      const float out = context.px(2);
      outline_rect(pen.list, {min.x - out, min.y - out}, {max.x + out, max.y + out}, context.theme.text, 0,
                   std::max(1.0f, context.px(1.5f)));
    }
    caption = draw_caption(context, subject, rank, {min.x, max.y}, width, columns == 1, pen.list);
  }
  pen.y += height + caption + context.px(12);
}

void draw_colour_bar(const Context& context, const Subject& subject, Pen& pen) {
  if (!subject.has_samples()) return;
  const bool is_signed = subject.scale.map == ColourMap::Signed;
  const float height = context.px(8);
  const double low = is_signed ? -subject.scale.limit : 0;
  const double span = subject.scale.limit - low;
  const auto colour = [&](int step) { return colour_of(low + span * step / kColourBarSteps, subject.scale); };
  for (int step = 0; step < kColourBarSteps; ++step) {
    const float x0 = pen.x + pen.width * static_cast<float>(step) / kColourBarSteps;
    const float x1 = pen.x + pen.width * static_cast<float>(step + 1) / kColourBarSteps;
    const ImU32 left = colour(step), right = colour(step + 1);
    pen.list->AddRectFilledMultiColor({x0, pen.y}, {x1, pen.y + height}, left, right, right, left);
  }
  pen.y += height + context.px(4);
  const TextStyle style = mono_text(context, context.theme.dim);
  const std::string limit = format_value(subject.scale.limit);
  draw_text(pen.list, {pen.x, pen.y}, style, is_signed ? "≤ −" + limit : "0");
  if (is_signed) draw_text(pen.list, {pen.x + pen.width / 2, pen.y}, style, "0", Align::Centre);
  draw_text(pen.list, {pen.x + pen.width, pen.y}, style, "≥ " + limit, Align::Right);
  pen.y += style.size + context.px(6);
  if (const std::string note = resolution_note(context, subject); !note.empty()) {
    const TextStyle small = small_text(context, context.theme.dim);
    pen.y += draw_wrapped(pen.list, {pen.x, pen.y}, small, note, pen.width);
  }
  draw_picture_only(context, subject, pen);
  pen.y += context.px(12);
}

namespace {

/// The joined picture of the samples, wrapped as a sample so that it has a colour scale and textures of its
/// own like any other.
std::shared_ptr<const TensorSample> joined_sample(const Subject& subject) {
  static Cache<std::pair<RankSamples, TensorId>, std::shared_ptr<const TensorSample>> known;
  return known.of({subject.samples, subject.tensor_id}, [&] {
    auto joined = std::make_shared<TensorSample>();
    joined->matrix = matrix_shape(subject.tensor());
    joined->picture = whole_picture(subject.tensor(), subject.samples);
    return joined;
  });
}

/// "Σ ranks = serial" when the comparison says so.
std::string against_serial_title(const Subject& subject) {
  const char* what = "whole";
  if (subject.tp() > 1) {
    switch (subject.tensor().layout.kind) {
      case LayoutKind::Partial:
        what = "Σ ranks";
        break;
      case LayoutKind::Sharded:
        what = "ranks joined";
        break;
      case LayoutKind::Replicated:
        what = "every rank";
        break;
    }
  }
  if (!subject.parity || !subject.parity->compared) return what;
  return fmt::format("{} {} serial", what, subject.parity->within_bound() ? "=" : "≠");
}

}  // namespace

void draw_against_serial(const Context& context, const Subject& subject, Pen& pen) {
  const Theme& theme = context.theme;
  const auto whole = joined_sample(subject);
  if (whole->picture.values.empty()) return;
  const bool compared =
      subject.parity && subject.parity->compared && !subject.parity->difference.values.empty();
  const float gap = context.px(8);
  const float width = (pen.width - gap) / 2;
  const float height = picture_height(context, subject, width);
  const TextStyle title = small_bold_text(context, theme.text);
  draw_text(pen.list, {pen.x, pen.y}, title, against_serial_title(subject));
  double largest = 0;
  if (compared) {
    const Picture& difference = subject.parity->difference;
    largest = difference.all_finite() ? difference.extent.largest : std::numeric_limits<double>::infinity();
  }
  const float right = pen.x + width + gap;
  const bool never = !compared && subject.result && !subject.result->not_compared.empty();
  const Tensor& tensor = subject.tensor();
  const bool part = is_row_view(subject.program(), tensor) ||
                    (tensor.storage != kNoTensor &&
                     is_row_view(subject.program(), subject.program().tensor(tensor.storage)));
  const std::string note = never         ? "not compared"
                           : part        ? "compared when joined"
                           : !compared   ? "not compared yet"
                           : largest > 0 ? "difference"
                                         : "no difference";
  draw_text(pen.list, {right, pen.y}, small_text(context, theme.dim), note);
  if (compared && largest > 0) {
    draw_text(pen.list, {pen.x + pen.width, pen.y}, mono_text(context, theme.dim),
              "≤ " + format_error(largest), Align::Right);
  }
  pen.y += title.size + context.px(6);
  const ImVec2 min{pen.x, pen.y}, max{pen.x + width, pen.y + height};
  context.heatmaps.draw(pen.list, min, max, whole, whole->picture, context.heatmaps.scale({whole}));
  outline_rect(pen.list, min, max, theme.dim, 0, std::max(1.0f, context.px(1)));
  const ImVec2 min2{right, pen.y}, max2{right + width, pen.y + height};
  fill_rect(pen.list, min2, max2, theme.ghost);
  if (compared) {
    context.heatmaps.draw(pen.list, min2, max2, subject.parity, subject.parity->difference,
                          {ColourMap::Magnitude, largest > 0 ? largest : 1});
  }
  const bool agrees = compared && subject.parity->within_bound();
  outline_rect(pen.list, min2, max2, agrees ? theme.agreement : theme.dim, 0,
               std::max(1.0f, context.px(1.5f)));
  pen.y += height + context.px(16);
}

}  // namespace shardlens::ui
