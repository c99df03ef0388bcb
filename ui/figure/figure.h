// A figure: the Stage or the Timeline on a page of its own, for slides and papers. The panels draw it
// themselves, in a Dear ImGui context that carries a tape, so the window notices nothing of it.
#pragma once

#include <filesystem>
#include <optional>

#include "ui/context.h"
#include "ui/platform/image.h"

namespace shardlens::ui {

enum class FigureKind { Stage, Timeline };

struct FigureWish {
  FigureKind kind = FigureKind::Stage;
  ThemeName theme = ThemeName::Light;  ///< of paper
  /// In points of 1/96 inch; none: 960 wide and as high as what is shown.
  std::optional<PixelSize> size;
};

/// Draws what `context` looks at (its selection and the stretch of the Timeline as they are) and writes it as
/// .svg or .pdf, whole or not at all. Throws a request Error for another ending, or when there is nothing to
/// show yet.
void write_figure(const Context& context, const FigureWish& wish, const std::filesystem::path& path);

}  // namespace shardlens::ui
