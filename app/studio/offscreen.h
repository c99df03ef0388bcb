// The studio without a window: pictures of its views, drawn with the code that draws the window.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Runs the layer, draws the view when everything has settled, and writes it as a PNG.
void write_screenshot(const Options& options);

/// Runs the layer and writes the Stage or the Timeline as vectors.
void export_figure(const Options& options);

/// A picture of every view, into a folder that is made if it is not there; prints the path of each.
void write_views(const Options& options);

}  // namespace shardlens
