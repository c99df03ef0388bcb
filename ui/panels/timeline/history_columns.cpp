// Computes the columns of a track, their bands and the rectangles.
#include "ui/panels/timeline/history_columns.h"
#include "ui/widgets/within.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardlens::ui {
namespace {

/// Sums the slice's buckets of one track onto the columns.
void add_track(TimeColumns& columns, const HistorySlice& slice, size_t rank) {
  const std::vector<TrackBucket>& buckets = slice.buckets[rank];
  const int64_t a_column = columns.ns >> bucket_shift(slice.level);  // buckets, a power of two
  const int shift = std::countr_zero(static_cast<uint64_t>(a_column));
  const int64_t from = std::max(columns.first * a_column, slice.first_bucket);
  const int64_t until = std::min((columns.first + static_cast<int64_t>(columns.sums.size())) * a_column,
                                 slice.first_bucket + slice.count());
  for (int64_t bucket = from; bucket < until; ++bucket)
    columns.sums[static_cast<size_t>((bucket >> shift) - columns.first)] +=
        buckets[static_cast<size_t>(bucket - slice.first_bucket)];
}

TimeColumns empty_columns(const HistorySlice& slice, int64_t begin_ns, int64_t end_ns, int64_t ns) {
  TimeColumns columns;
  columns.ns = std::max(ns, bucket_ns(slice.level));
  begin_ns = std::max(begin_ns, slice.begin_ns());
  end_ns = std::min(end_ns, slice.end_ns());
  columns.first = begin_ns / columns.ns;
  if (end_ns > begin_ns)
    columns.sums.resize(static_cast<size_t>((end_ns - 1) / columns.ns - columns.first + 1));
  return columns;
}

}  // namespace

int64_t column_ns(double pixel_seconds, double least_pixels) {
  const double wanted = std::clamp(pixel_seconds * 1e9 * least_pixels, 1.0, 0x1p52);
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::ceil(wanted))));
}

TimeColumns columns_of(const HistorySlice& slice, size_t rank, int64_t begin_ns, int64_t end_ns, int64_t ns) {
  TimeColumns columns = empty_columns(slice, begin_ns, end_ns, ns);
  if (rank < slice.buckets.size()) add_track(columns, slice, rank);
  return columns;
}

int64_t events_of(const HistorySlice& slice, size_t rank, int64_t begin_ns, int64_t end_ns) {
  const int shift = bucket_shift(slice.level);
  begin_ns = std::max(begin_ns, slice.begin_ns());
  end_ns = std::min(end_ns, slice.end_ns());
  int64_t events = 0;
  if (end_ns <= begin_ns) return events;
  const int64_t last = ((end_ns - 1) >> shift) - slice.first_bucket;
  for (int64_t bucket = (begin_ns >> shift) - slice.first_bucket; bucket <= last; ++bucket)
    events += slice.buckets[rank][static_cast<size_t>(bucket)].events;
  return events;
}

TimeColumns columns_of_all(const HistorySlice& slice, int64_t begin_ns, int64_t end_ns, int64_t ns) {
  TimeColumns columns = empty_columns(slice, begin_ns, end_ns, ns);
  for (size_t rank = 0; rank < slice.buckets.size(); ++rank) add_track(columns, slice, rank);
  const auto tracks = std::max<int64_t>(1, static_cast<int64_t>(slice.buckets.size()));
  for (TrackBucket& sum : columns.sums)
    for (const auto share : {&TrackBucket::forward_ns, &TrackBucket::backward_ns, &TrackBucket::wait_ns,
                             &TrackBucket::transfer_ns})
      sum.*share /= tracks;
  return columns;
}

std::array<int, kBandCount> bands_of(const TrackBucket& sum, double column_ns, int height) {
  const std::array<double, kBandCount> parts{
      static_cast<double>(sum.forward_ns), static_cast<double>(sum.backward_ns),
      static_cast<double>(sum.transfer_ns), static_cast<double>(sum.wait_ns)};
  double all = 0;
  for (const double part : parts) all += part;
  const double scale = height / std::max(all, column_ns);
  std::array<int, kBandCount> pixels{};
  double top = 0;
  int drawn = 0;
  for (size_t band = 0; band < kBandCount; ++band) {  // edges are rounded, so that the sum is right
    top += parts[band] * scale;
    pixels[band] = static_cast<int>(std::lround(top)) - drawn;
    drawn += pixels[band];
  }
  return pixels;
}

void add_bands(std::vector<PlainRect>& rects, const TimeColumns& columns, const BandPlace& place) {
  struct Open {
    float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  };
  std::array<Open, kBandCount> open{};
  const auto close = [&](size_t band) {
    Open& rect = open[band];
    if (rect.x1 > rect.x0 && rect.y1 > rect.y0)
      rects.push_back({{rect.x0, rect.y0}, {rect.x1, rect.y1}, place.colours[band]});
    rect = {};
  };
  const auto x_of = [&](int64_t column) {
    const double ns = static_cast<double>(column) * static_cast<double>(columns.ns);
    const double x = place.zero + (ns - place.zero_ns) * place.pixels_per_ns;
    return static_cast<float>(std::round(within<double>(x, place.left, place.right)));
  };
  const float bottom = place.top + static_cast<float>(place.height);
  for (size_t i = 0; i < columns.sums.size(); ++i) {
    const int64_t column = columns.first + static_cast<int64_t>(i);
    const float x0 = x_of(column), x1 = x_of(column + 1);
    const auto bands = bands_of(columns.sums[i], static_cast<double>(columns.ns), place.height);
    float y1 = bottom;
    for (size_t band = 0; band < kBandCount; ++band) {
      const float y0 = y1 - static_cast<float>(bands[band]);
      Open& before = open[band];
      if (before.x1 == x0 && before.y0 == y0 && before.y1 == y1 && before.x1 > before.x0) {
        before.x1 = x1;
      } else {
        close(band);
        before = {x0, x1, y0, y1};
      }
      y1 = y0;
    }
  }
  for (size_t band = 0; band < kBandCount; ++band) close(band);
}

}  // namespace shardlens::ui
