// What the tracks of one pass and those of a whole recording have in common: how large they are, and how fast
// the wheel goes into them.
#pragma once

namespace shardlens::ui {

inline constexpr float kTrackHeight = 30, kTrackGap = 6;  // as long as the ranks fit
inline constexpr float kLeastTrackHeight = 13,
                       kLeastGap = 2;  // then tracks shrink, and after that they scroll
inline constexpr float kAxisHeight = 20;
inline constexpr double kZoomPerNotch = 0.8;

}  // namespace shardlens::ui
