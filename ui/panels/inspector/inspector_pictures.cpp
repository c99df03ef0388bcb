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
#include "ui/stage/lanes.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr int kColourBarSteps = 48;

const char* why_no_picture(const Context& context, const Subject& subject) {
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
    draw_within(empty ? "holds nothing" : why_no_picture(context, subject), theme.dim);
  } else {
    pen.list->PushClipRect(min, max, true);
    if (!subject.zoom.all) {
      draw_zoomed_pane(context, subject, rank, min, max, pen.list);
    } else {
      context.heatmaps.draw(pen.list, min, max, sample, sample->picture, subject.scale);
      draw_whole_numbers(context, subject, *sample, min, max, pen.list);
      if (const TensorStats& all = sample->stats; all.min == 0 && all.max == 0 && all.nan_count == 0)
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
    const stage::Rect place =
        stage::place_in({at, {at.x + width, at.y + height}}, {1, by_rows ? full.rows : full.cols}, {0, 1},
                        by_rows ? piece.rows : piece.cols);
    fill_rect(list, place.min, place.max, context.theme.ranks[rank % 8]);
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
std::string resolution_note(const Subject& subject) {
  const Zoom& zoom = subject.zoom;
  const auto first = std::find_if(subject.samples.begin(), subject.samples.end(),
                                  [](const auto& sample) { return sample && sample->picture.rows > 0; });
  if (first == subject.samples.end()) return {};
  const auto span = [](Range range) { return fmt::format("{} … {}", range.begin, range.end - 1); };
  if (!zoom.all) {
    const std::string missing = zoom.missing.empty() ? "" : " " + zoom.missing;
    return fmt::format("{} of rows {}, columns {} in every pane. A double click shows all.{}",
                       zoom.near ? "Values" : "Block means", span(zoom.rows), span(zoom.cols), missing);
  }
  const TensorSample& sample = **first;
  const int64_t rows = (sample.matrix.rows + sample.picture.rows - 1) / sample.picture.rows;
  const int64_t cols = (sample.matrix.cols + sample.picture.cols - 1) / std::max(sample.picture.cols, 1);
  if (rows <= 1 && cols <= 1) return {};
  return fmt::format("Cells are means of {} × {}; the wheel zooms in.", rows, cols);
}

/// Says that the tensor's values were kept only as a picture, so no zoom can show each of them.
void draw_picture_only(const Context& context, const Subject& subject, Pen& pen) {
  if (context.snapshot.reads_windows) return;  // zoomed in, the values are read
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

/// A rank's pane: a click enlarges the rank, a click on the enlarged one shrinks it.
void handle_rank(const Context& context, const Subject& subject, int rank, ImVec2 min, ImVec2 max,
                 const char* id) {
  if (!handle_pane(context, subject, rank, min, max, fmt::format("{} {}", id, rank).c_str()) ||
      subject.tp() == 1)
    return;
  InspectorView& view = context.view.of<InspectorView>();
  const bool again = view.enlarged && context.view.selected_rank == rank;
  view.enlarged = !again;
  context.view.selected_rank = again ? -1 : rank;
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
    handle_rank(context, subject, large, min, max, "large picture of rank");
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
    handle_rank(context, subject, rank, min, max, "picture of rank");
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
  if (const std::string note = resolution_note(subject); !note.empty()) {
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
  const bool zoomed = !subject.zoom.all;
  fill_rect(pen.list, min, max, theme.ghost);
  if (zoomed)
    draw_zoomed_pane(context, subject, kJoinedPane, min, max, pen.list);
  else
    context.heatmaps.draw(pen.list, min, max, whole, whole->picture, context.heatmaps.scale({whole}));
  handle_pane(context, subject, kJoinedPane, min, max, "joined picture");
  outline_rect(pen.list, min, max, theme.dim, 0, std::max(1.0f, context.px(1)));
  const ImVec2 min2{right, pen.y}, max2{right + width, pen.y + height};
  fill_rect(pen.list, min2, max2, theme.ghost);
  if (zoomed) {
    draw_zoomed_pane(context, subject, kDifferencePane, min2, max2, pen.list);
  } else if (compared) {
    context.heatmaps.draw(pen.list, min2, max2, subject.parity, subject.parity->difference,
                          {ColourMap::Magnitude, largest > 0 ? largest : 1});
  }
  handle_pane(context, subject, kDifferencePane, min2, max2, "difference picture");
  const bool agrees = compared && subject.parity->within_bound();
  outline_rect(pen.list, min2, max2, agrees ? theme.agreement : theme.dim, 0,
               std::max(1.0f, context.px(1.5f)));
  pen.y += height + context.px(16);
}

}  // namespace shardlens::ui
