// A track of a recording as columns of pixels, computed without drawing. Bands of whole pixels show the parts
// of a column's time; equal neighbours are joined. So the number of rectangles depends on the panel's width,
// not on the recording's length. The columns are on a grid of time, not of the screen: panning moves them and
// changes nothing else.
#pragma once

#include <array>
#include <vector>

#include "engine/record/history.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

/// The sums of neighbouring columns, each `ns` wide; column i begins at (first + i) · ns.
struct TimeColumns {
  int64_t ns = 1;
  int64_t first = 0;
  std::vector<TrackBucket> sums;
};

/// The narrowest columns, a power of two nanoseconds, that are at least `least_pixels` wide.
int64_t column_ns(double pixel_seconds, double least_pixels);

/// The part [begin_ns, end_ns) of a track, from `slice`, in columns of `ns`, a power of two; wider ones if
/// the slice's buckets are wider.
TimeColumns columns_of(const HistorySlice& slice, size_t rank, int64_t begin_ns, int64_t end_ns, int64_t ns);
/// The number of events there.
int64_t events_of(const HistorySlice& slice, size_t rank, int64_t begin_ns, int64_t end_ns);
/// The same columns of all tracks together: times are means over the tracks.
TimeColumns columns_of_all(const HistorySlice& slice, int64_t begin_ns, int64_t end_ns, int64_t ns);

/// From the bottom: forward, backward, transfer, wait; what is left of the height is idle.
inline constexpr size_t kBandCount = 4;
/// The pixels that each band takes of `height`. If overlapped steps add up to more than the column's time,
/// all bands shrink by the same factor.
std::array<int, kBandCount> bands_of(const TrackBucket& sum, double column_ns, int height);

/// The place of the columns: time to pixels, and the track's own place.
struct BandPlace {
  double zero_ns = 0, pixels_per_ns = 0;  ///< x = zero + (t - zero_ns) · pixels_per_ns
  float zero = 0;
  float left = 0, right = 0;  ///< rectangles are cut there
  float top = 0;
  int height = 0;
  std::array<ImU32, kBandCount> colours{};
};
/// Appends the rectangles of a track.
void add_bands(std::vector<PlainRect>& rects, const TimeColumns& columns, const BandPlace& place);

}  // namespace shardlens::ui
