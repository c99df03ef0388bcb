// Shared by the tracks of one pass and those of a whole recording: their sizes, and the zoom of one notch of
// the wheel.
#pragma once

namespace shardlens::ui {

inline constexpr float kTrackHeight = 30, kTrackGap = 6;  // as long as the ranks fit
inline constexpr float kLeastTrackHeight = 13,
                       kLeastGap = 2;  // then tracks shrink, and after that they scroll
inline constexpr float kAxisHeight = 20;
inline constexpr double kZoomPerNotch = 0.8;

}  // namespace shardlens::ui
