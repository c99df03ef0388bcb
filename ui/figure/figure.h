// A figure for slides and papers: the Stage, the Timeline or the timeline of a whole recording on a page. The
// panels draw it with their own code, in a second Dear ImGui context that has a tape, so the window is not
// affected.
#pragma once

#include <filesystem>
#include <optional>

#include "ui/context.h"
#include "ui/figure/vector_file.h"
#include "ui/platform/image.h"
#include "ui/stage/stage_view.h"

namespace shardlens::ui {

enum class FigureKind {
  Stage,
  Timeline,  ///< of one run or pass
  Recording  ///< of all passes of the open recording, or the visible stretch of them
};

struct FigureWish {
  FigureKind kind = FigureKind::Stage;
  ThemeName theme = ThemeName::Light;  ///< paper is light
  /// In points of 1/96 inch; none: `width` wide and as high as needed.
  std::optional<PixelSize> size;
  int width = 960;
  bool caption = true;                 ///< the settings and the source of the numbers, above the panel
  std::optional<StageStretch> only{};  ///< of the Stage: the rows of these steps; none: all
};

/// The drawn marks and their page.
struct Figure {
  Tape tape;
  Page page;
  int lost_vertices = 0;  ///< drawn without the functions of paint.h, so missing in the tape; should be 0
};

/// The shown settings, in one line.
std::string title_of(const Settings& settings);
/// Where the shown numbers come from: "measured on ...", or why there are none.
std::string provenance_of(const Snapshot& snapshot, const Plan& plan);

/// Draws the snapshot of `context`, with its selection and its stretch of the Timeline. Throws a request
/// Error if there is nothing to draw yet.
Figure draw_figure(const Context& context, const FigureWish& wish);

/// Draws a figure and writes it as .svg or .pdf, whole or not at all. Also throws a request Error for another
/// ending.
void write_figure(const Context& context, const FigureWish& wish, const std::filesystem::path& path);

}  // namespace shardlens::ui
