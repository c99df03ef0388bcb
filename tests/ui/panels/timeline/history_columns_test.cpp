// Compares columns with the buckets that they are made of. Their bands are whole pixels, and they need few
// rectangles.
#include "ui/panels/timeline/history_columns.h"

#include <gtest/gtest.h>

#include <random>

#include "ui/panels/timeline/history.h"
#include "ui/panels/timeline/history_view.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace history_columns_test {

HistorySlice drawn_slice(unsigned seed, int level, int64_t first, int count, int tracks) {
  std::mt19937 draw(seed);
  HistorySlice slice;
  slice.level = level;
  slice.first_bucket = first;
  for (int track = 0; track < tracks; ++track) {
    slice.buckets.emplace_back();
    for (int i = 0; i < count; ++i) {
      const int64_t part = bucket_ns(level) / 5;
      slice.buckets.back().push_back({static_cast<int64_t>(draw() % static_cast<uint64_t>(part)),
                                      static_cast<int64_t>(draw() % static_cast<uint64_t>(part)),
                                      static_cast<int64_t>(draw() % static_cast<uint64_t>(part)),
                                      static_cast<int64_t>(draw() % static_cast<uint64_t>(part)), 1});
    }
  }
  return slice;
}

TEST(HistoryColumns, AreTheSumsOfTheirBuckets) {
  const HistorySlice slice = drawn_slice(1, 3, 137, 1000, 2);
  for (const int64_t factor : {1, 2, 8, 64}) {
    const int64_t ns = factor * bucket_ns(3);
    const TimeColumns columns = columns_of(slice, 1, slice.begin_ns(), slice.end_ns(), ns);
    ASSERT_EQ(columns.ns, ns);
    std::vector<TrackBucket> wanted(columns.sums.size());
    for (int64_t i = 0; i < slice.count(); ++i)
      wanted.at(static_cast<size_t>((slice.first_bucket + i) / factor - columns.first)) +=
          slice.buckets[1][static_cast<size_t>(i)];
    EXPECT_EQ(columns.sums, wanted);
  }
}

TEST(HistoryColumns, HaveAsManyEventsAsAreCounted) {
  HistorySlice slice = drawn_slice(5, 3, 137, 1000, 2);
  for (size_t i = 0; i < slice.buckets[1].size(); ++i)
    slice.buckets[1][i].events = static_cast<int64_t>(i % 7);
  for (const auto& [begin, end] : {std::pair{slice.begin_ns(), slice.end_ns()},
                                   {slice.begin_ns() + 3, slice.begin_ns() + 5},
                                   {slice.begin_ns() + 17 * bucket_ns(3) - 1, slice.end_ns() - 1},
                                   {int64_t{0}, slice.end_ns() * 2},
                                   {slice.end_ns(), slice.end_ns() + 1}}) {
    int64_t wanted = 0;
    for (const TrackBucket& sum : columns_of(slice, 1, begin, end, 1).sums) wanted += sum.events;
    EXPECT_EQ(events_of(slice, 1, begin, end), wanted) << begin << " " << end;
  }
}

TEST(HistoryColumns, StandStillInTimeWhileTheViewMoves) {
  const HistorySlice slice = drawn_slice(2, 2, 0, 4000, 1);
  const int64_t ns = 4 * bucket_ns(2);
  const TimeColumns all = columns_of(slice, 0, 0, slice.end_ns(), ns);
  for (const int64_t begin : {int64_t{1}, ns, 3 * ns + 17, 500 * ns - 1}) {
    const TimeColumns part = columns_of(slice, 0, begin, begin + 100 * ns, ns);
    for (size_t i = 0; i < part.sums.size(); ++i)
      EXPECT_EQ(part.sums[i], all.sums.at(static_cast<size_t>(part.first) + i));
  }
}

TEST(HistoryColumns, AreNoNarrowerThanTheBucketsThereAre) {
  const HistorySlice slice = drawn_slice(3, 5, 0, 10, 1);
  EXPECT_EQ(columns_of(slice, 0, 0, slice.end_ns(), 1).ns, bucket_ns(5));
  EXPECT_EQ(column_ns(1e-6, 1), 1024);
  EXPECT_EQ(column_ns(1e-6, 2), 2048);
  EXPECT_TRUE(columns_of(slice, 0, slice.end_ns(), slice.end_ns() + 5, 1).sums.empty());
  EXPECT_EQ(columns_of(slice, 7, 0, slice.end_ns(), 1).sums.front(), TrackBucket{}) << "no such track";
}

TEST(HistoryColumns, OfAllTracksCountAlike) {
  HistorySlice slice = drawn_slice(4, 2, 0, 8, 3);
  for (auto& track : slice.buckets)
    for (TrackBucket& bucket : track) bucket = {};
  for (TrackBucket& bucket : slice.buckets[1]) bucket.forward_ns = bucket_ns(2);
  const TimeColumns columns = columns_of_all(slice, 0, slice.end_ns(), bucket_ns(2));
  for (const TrackBucket& sum : columns.sums) EXPECT_EQ(sum.forward_ns, bucket_ns(2) / 3);
}

TEST(HistoryBands, AddUpToTheBusyPartOfTheHeight) {
  EXPECT_EQ(bands_of({500, 250, 63, 125, 1}, 1000, 32), (std::array<int, 4>{16, 8, 4, 2}));
  EXPECT_EQ(bands_of({500, 0, 0, 0, 1}, 1000, 30), (std::array<int, 4>{15, 0, 0, 0}));
  EXPECT_EQ(bands_of({}, 1000, 30), (std::array<int, 4>{}));
  // Steps beside others: more than the column's time, and yet no more than its height.
  EXPECT_EQ(bands_of({0, 1500, 0, 500, 1}, 1000, 20), (std::array<int, 4>{0, 15, 5, 0}));
  std::mt19937 draw(5);
  for (int round = 0; round < 500; ++round) {
    const auto part = [&] { return static_cast<int64_t>(draw() % 400); };
    const TrackBucket sum{part(), part(), part(), part(), 1};
    const auto bands = bands_of(sum, 1000, 29);
    int all = 0;
    for (const int band : bands) {
      EXPECT_GE(band, 0);
      all += band;
    }
    const double busy = static_cast<double>(sum.forward_ns + sum.backward_ns + sum.wait_ns + sum.transfer_ns);
    EXPECT_NEAR(all, 29 * std::min(1.0, busy / 1000), 0.51);
  }
}

TEST(HistoryBands, ColumnsAlikeAreOneRectangle) {
  HistorySlice slice = drawn_slice(6, 2, 0, 1000, 1);
  for (TrackBucket& bucket : slice.buckets[0]) bucket = {bucket_ns(2) / 2, bucket_ns(2) / 4, 0, 0, 1};
  BandPlace place{.zero_ns = 0,
                  .pixels_per_ns = 1000.0 / static_cast<double>(slice.end_ns()),
                  .zero = 10,
                  .left = 10,
                  .right = 1010,
                  .top = 100,
                  .height = 20,
                  .colours = {1, 2, 3, 4}};
  std::vector<PlainRect> rects;
  add_bands(rects, columns_of(slice, 0, 0, slice.end_ns(), bucket_ns(2)), place);
  ASSERT_EQ(rects.size(), 2u);
  EXPECT_EQ(rects[0].colour, 1u);
  EXPECT_EQ(rects[0].min.x, 10);
  EXPECT_EQ(rects[0].max.x, 1010);
  EXPECT_EQ(rects[0].min.y, 110);
  EXPECT_EQ(rects[0].max.y, 120);
  EXPECT_EQ(rects[1].min.y, 105);
  EXPECT_EQ(rects[1].max.y, 110);
}

TEST(HistoryBands, CoverEveryPixelOnceAndStayInside) {
  const HistorySlice slice = drawn_slice(7, 2, 0, 3000, 1);
  const BandPlace place{.zero_ns = 1e5,
                        .pixels_per_ns = 0.0004,
                        .zero = 50,
                        .left = 50,
                        .right = 900,
                        .top = 0,
                        .height = 30,
                        .colours = {1, 2, 3, 4}};
  std::vector<PlainRect> rects;
  add_bands(rects, columns_of(slice, 0, 0, slice.end_ns(), column_ns(1 / 0.0004 * 1e-9, 2)), place);
  std::vector<std::vector<int>> pixels(30, std::vector<int>(1000));
  for (const PlainRect& rect : rects)
    for (int y = static_cast<int>(rect.min.y); y < static_cast<int>(rect.max.y); ++y)
      for (int x = static_cast<int>(rect.min.x); x < static_cast<int>(rect.max.x); ++x)
        ++pixels.at(static_cast<size_t>(y)).at(static_cast<size_t>(x));
  for (const auto& row : pixels)
    for (size_t x = 0; x < row.size(); ++x) {
      EXPECT_LE(row[x], 1);
      if (x < 50 || x >= 900) {
        EXPECT_EQ(row[x], 0);
      }
    }
  EXPECT_EQ(pixels[29][400], 1) << "there is computing everywhere, at the bottom";
}

TEST(HistoryLook, AsksOnceForWhatPansAndZoomsAStep) {
  const Stretch all{0, 100};
  const auto first = look_needed({40, 50}, all, 1 << 20, {});
  ASSERT_TRUE(first);
  HistoryAsked asked = *first;
  asked.number = 1;
  EXPECT_LE(asked.begin_ns, 35'000'000'000);
  EXPECT_GE(asked.end_ns, 55'000'000'000);
  EXPECT_FALSE(look_needed({40, 50}, all, 1 << 20, asked));
  EXPECT_FALSE(look_needed({44, 54}, all, 1 << 20, asked)) << "panned a little";
  EXPECT_FALSE(look_needed({42, 48}, all, 1 << 19, asked)) << "zoomed a little";
  EXPECT_TRUE(look_needed({54, 64}, all, 1 << 20, asked)) << "panned out of it";
  EXPECT_TRUE(look_needed({44, 46}, all, 1 << 17, asked)) << "zoomed in: finer ones are wanted";
  EXPECT_TRUE(look_needed({20, 70}, all, 1 << 22, asked)) << "zoomed out of it";
  EXPECT_FALSE(look_needed(all, all, 1 << 22, HistoryAsked{1, 0, 100'000'000'000, 1 << 21}));
}

}  // namespace history_columns_test
}  // namespace shardlens::ui
