// What pictures, figures and videos have in common: a studio without a display that has done what its view
// shows. For the files of this folder alone.
#pragma once

#include <filesystem>

#include "app/studio/options.h"
#include "ui/platform/platform.h"
#include "ui/studio.h"

namespace shardlens {

/// A run may take a while; a file that cannot be written is better refused before it.
void require_writable(const std::filesystem::path& path);

void draw_frame(Platform& platform, ui::Studio& studio);
/// Draws until the engine has nothing left to do; throws a run Error when that never happens or the run
/// failed.
void wait_for_rest(Platform& platform, ui::Studio& studio);
/// Everything a view needs before its picture.
void prepare_view(const std::string& view, const Options& options, Platform& platform, ui::Studio& studio);
/// Draws until the panels have settled; the last frame.
Image settled_picture(Platform& platform, ui::Studio& studio);

}  // namespace shardlens
