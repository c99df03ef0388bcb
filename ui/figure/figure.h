// A figure: the Stage, the Timeline or that of a whole recording on a page of its own, for slides and papers.
// The panels draw it themselves, in a Dear ImGui context that carries a tape, so the window notices nothing
// of it.
#pragma once

#include <filesystem>
#include <optional>

#include "ui/context.h"
#include "ui/figure/vector_file.h"
#include "ui/platform/image.h"

namespace shardlens::ui {

enum class FigureKind {
  Stage,
  Timeline,  ///< of one run or pass
  Recording  ///< of all passes of the recording that is open, or the stretch that is shown of them
};

struct FigureWish {
  FigureKind kind = FigureKind::Stage;
  ThemeName theme = ThemeName::Light;  ///< of paper
  /// In points of 1/96 inch; none: 960 wide and as high as what is shown.
  std::optional<PixelSize> size;
};

/// What was drawn, and the page it lies on.
struct Figure {
  Tape tape;
  Page page;
  int lost_vertices =
      0;  ///< drawn past the functions of paint.h, and so not in the tape; there should be none
};

/// Draws what `context` looks at (its selection and the stretch of the Timeline as they are). Throws a
/// request Error when there is nothing to show yet.
Figure draw_figure(const Context& context, const FigureWish& wish);

/// Draws a figure and writes it as .svg or .pdf, whole or not at all. Throws a request Error for another
/// ending too.
void write_figure(const Context& context, const FigureWish& wish, const std::filesystem::path& path);

}  // namespace shardlens::ui
