// Compares the overview with its events at every level, and reads damaged blobs.
#include "engine/record/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/io/sqlite.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/record/drawn_recording.h"

namespace shardlens {
namespace overview_test {

using testing::DrawnRecording;
using Buckets = std::map<std::pair<int, int64_t>, TrackBucket>;  // by track and bucket; only those not empty

void add_overlaps(Buckets& buckets, int level, int track, int64_t begin, int64_t end,
                  int64_t TrackBucket::*share) {
  for (int64_t bucket = begin / bucket_ns(level); bucket * bucket_ns(level) < end; ++bucket) {
    const int64_t from = std::max(begin, bucket * bucket_ns(level)),
                  to = std::min(end, (bucket + 1) * bucket_ns(level));
    if (to > from) buckets[{track, bucket}].*share += to - from;
  }
}

Buckets by_hand(const DrawnRecording& drawn, std::vector<RecordedPass>& passes, int level) {
  Buckets buckets;
  for (size_t pass = 0; pass < passes.size(); ++pass)
    for (size_t rank = 0; rank < passes[pass].events.size(); ++rank)
      for (size_t step = 0; step < passes[pass].events[rank].size(); ++step) {
        const Step& what = drawn.program.steps[step];
        const EventTimes event = drawn.event(pass, rank, step);
        const auto own = what.phase == Phase::Forward ? &TrackBucket::forward_ns : &TrackBucket::backward_ns;
        const int track = static_cast<int>(rank);
        if (is_collective(what.op)) {
          add_overlaps(buckets, level, track, event.begin_ns, event.arrival_ns, own);
          add_overlaps(buckets, level, track, event.arrival_ns, event.met_ns, &TrackBucket::wait_ns);
          add_overlaps(buckets, level, track, event.met_ns, event.end_ns, &TrackBucket::transfer_ns);
        } else {
          add_overlaps(buckets, level, track, event.begin_ns, event.end_ns, own);
        }
        buckets[{track, event.begin_ns / bucket_ns(level)}].events += 1;
      }
  return buckets;
}

Buckets in_file(Database& database, int level) {
  Buckets buckets;
  Statement rows = database.prepare("SELECT track, chunk, buckets FROM overview WHERE level = ?");
  rows.bind(1, int64_t{level});
  while (rows.step()) {
    std::array<TrackBucket, kChunkBuckets> chunk;
    unpack(rows.blob(2), chunk.data(), "the file");
    for (int i = 0; i < kChunkBuckets; ++i)
      if (chunk[static_cast<size_t>(i)] != TrackBucket{})
        buckets[{static_cast<int>(rows.integer(0)), rows.integer(1) * kChunkBuckets + i}] =
            chunk[static_cast<size_t>(i)];
  }
  return buckets;
}

class OverviewTest : public TestFolder {
 protected:
  int expect_equal(DrawnRecording& drawn, const std::string& file) {
    Database database(file, Database::Access::Read);
    const std::optional<int> finest = kept_overview(database);
    EXPECT_TRUE(finest);
    if (!finest) return -1;
    for (int level = *finest; level < kOverviewLevels; ++level)
      EXPECT_TRUE(in_file(database, level) == by_hand(drawn, drawn.passes(), level)) << "level " << level;
    for (int level = 0; level < *finest; ++level) EXPECT_TRUE(in_file(database, level).empty());
    return *finest;
  }
};

TEST_F(OverviewTest, EveryLevelIsTheSumOfTheEvents) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    DrawnRecording drawn(seed, 1 + static_cast<int>(seed) * 3, 1 + static_cast<int>(seed % 3),
                         1 + static_cast<int>(seed % 2));
    const std::string file = path("drawn-" + std::to_string(seed) + ".shardlens");
    drawn.write(file);
    expect_equal(drawn, file);
  }
}

TEST_F(OverviewTest, ALongPauseCostsTheFinestLevelsAndNothingElse) {
  DrawnRecording drawn(3);
  const int before = suitable_level(DrawnRecording::ns(seconds_of(drawn.passes()[0])),
                                    static_cast<int64_t>(drawn.program.steps.size()));
  drawn.passes().back().begin_seconds += 36'000;
  drawn.write(path("drawn.shardlens"));
  const int finest = expect_equal(drawn, path("drawn.shardlens"));
  EXPECT_GT(finest, before);
  EXPECT_LT(DrawnRecording::ns(36'000) >> bucket_shift(finest), kMostBuckets);
}

TEST_F(OverviewTest, PassesInAnyOrderAndTracksThatAreNotThere) {
  DrawnRecording drawn(5);
  std::swap(drawn.passes()[1], drawn.passes()[5]);
  for (RecordedPass& pass : drawn.passes()) pass.events[2].clear();
  drawn.passes()[3].events[1].resize(4);
  drawn.write(path("drawn.shardlens"));
  expect_equal(drawn, path("drawn.shardlens"));
}

TEST_F(OverviewTest, MoreTracksThanAreHeldInMemory) {
  const Program program = plan_program(testing::small_model(1, 1));
  Database database(path("many"), Database::Access::Create);
  OverviewBuilder builder(database, program);
  builder.set_grain(1'000'000, 10);
  constexpr int kTracks = 700;  // more than chunks of a level are open at once
  for (int64_t pass = 0; pass < 3; ++pass)
    for (int track = 0; track < kTracks; ++track)
      builder.add(pass, pass * 2'000'000, track, 0, {1'000, 1'500'000 + track, 0, 0});
  builder.finish();
  for (int level = builder.finest(); level < kOverviewLevels; ++level) {
    std::vector<TrackBucket> sums(kTracks);
    for (const auto& [place, bucket] : in_file(database, level))
      sums[static_cast<size_t>(place.first)] += bucket;
    for (int track = 0; track < kTracks; ++track) {
      EXPECT_EQ(sums[static_cast<size_t>(track)].forward_ns, 3 * (1'499'000 + track));
      EXPECT_EQ(sums[static_cast<size_t>(track)].events, 3);
    }
  }
}

TEST_F(OverviewTest, TheLongestWaitsAreKept) {
  DrawnRecording drawn(11, 9);
  drawn.write(path("drawn.shardlens"));
  std::vector<int64_t> waits;
  for (size_t pass = 0; pass < drawn.passes().size(); ++pass)
    for (size_t rank = 0; rank < drawn.passes()[pass].events.size(); ++rank)
      for (size_t step = 0; step < drawn.program.steps.size(); ++step)
        if (is_collective(drawn.program.steps[step].op)) {
          const EventTimes event = drawn.event(pass, rank, step);
          if (event.met_ns > event.arrival_ns) waits.push_back(event.met_ns - event.arrival_ns);
        }
  std::sort(waits.rbegin(), waits.rend());
  waits.resize(std::min<size_t>(waits.size(), kLongestWaits));
  Database database(path("drawn.shardlens"), Database::Access::Read);
  std::vector<int64_t> kept;
  Statement rows = database.prepare("SELECT ns FROM waits ORDER BY place");
  while (rows.step()) kept.push_back(rows.integer(0));
  EXPECT_EQ(kept, waits);
}

TEST(OverviewBlob, ComesBackAsItWas) {
  std::mt19937_64 draw(1);
  for (int round = 0; round < 200; ++round) {
    std::array<TrackBucket, kChunkBuckets> chunk, back;
    for (TrackBucket& bucket : chunk)
      for (const auto share : {&TrackBucket::forward_ns, &TrackBucket::backward_ns, &TrackBucket::wait_ns,
                               &TrackBucket::transfer_ns, &TrackBucket::events})
        bucket.*share = static_cast<int64_t>(draw() & static_cast<uint64_t>(kMostRecordedNs - 1)) >>
                        (draw() % 2 ? 53 : draw() % 53);
    chunk[5].wait_ns = kMostRecordedNs;
    unpack(packed(chunk.data()), back.data(), "it");
    ASSERT_EQ(back, chunk);
  }
}

TEST(OverviewBlob, AnythingElseIsRefusedOrReadWithinBounds) {
  std::mt19937_64 draw(2);
  std::array<TrackBucket, kChunkBuckets> chunk{};
  chunk[7].forward_ns = 123'456;
  chunk[63].events = 9;
  const std::string good = packed(chunk.data());
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string blob = good;
    if (round % 3 == 0) blob.resize(draw() % (good.size() + 40), static_cast<char>(draw()));
    for (size_t i = 0; i < 1 + draw() % 4 && !blob.empty(); ++i)
      blob[draw() % blob.size()] = static_cast<char>(draw());
    std::array<TrackBucket, kChunkBuckets> back;
    try {
      unpack(blob, back.data(), "the file");
      for (const TrackBucket& bucket : back) {
        ASSERT_GE(bucket.forward_ns, 0);
        ASSERT_LE(bucket.forward_ns, kMostRecordedNs);
      }
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::Request);
      ASSERT_THAT(error.what(), ::testing::HasSubstr("the file is damaged"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace overview_test
}  // namespace shardlens
