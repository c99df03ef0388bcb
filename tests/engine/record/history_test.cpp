// Compares slices and searches with a brute-force search over all events. Also reads files of killed writers
// and hostile files.
#include "engine/record/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "engine/base/error.h"
#include "engine/base/worker.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/record/drawn_recording.h"

namespace shardlens {
namespace history_test {

namespace fs = std::filesystem;
using testing::DrawnRecording;
using ::testing::HasSubstr;

class HistoryTest : public TestFolder {
 protected:
  static History open(const DrawnRecording& drawn, const std::string& file) {
    return History(file, std::make_shared<Program>(drawn.program));
  }

  /// Buckets, passes and events of random slices, by hand from all events.
  static void expect_slices(DrawnRecording& drawn, const History& history, unsigned seed) {
    std::mt19937_64 draw(seed);
    for (int round = 0; round < 40; ++round) {
      const auto end = static_cast<uint64_t>(history.end_ns());
      int64_t from = static_cast<int64_t>(draw() % end), to = static_cast<int64_t>(draw() % end);
      if (round % 2) to = from + (to >> (draw() % 16));
      if (to < from) std::swap(from, to);
      if (round == 0) from = 0, to = history.end_ns();
      const HistorySlice slice =
          history.slice(from, to, (to - from) / static_cast<int64_t>(1 + draw() % 500));
      ASSERT_LE(slice.begin_ns(), from);
      ASSERT_GE(slice.end_ns(), std::min(to, history.end_ns()));
      ASSERT_EQ(slice.buckets.size(), static_cast<size_t>(drawn.ranks())) << "each rank has its place";
      expect_buckets(drawn, slice);
      expect_passes(drawn, slice);
    }
  }

  static void expect_buckets(DrawnRecording& drawn, const HistorySlice& slice) {
    std::vector<std::vector<TrackBucket>> wanted(
        slice.buckets.size(), std::vector<TrackBucket>(static_cast<size_t>(slice.count())));
    const int64_t width = bucket_ns(slice.level);
    for (size_t pass = 0; pass < drawn.passes().size(); ++pass)
      for (size_t rank = 0; rank < drawn.passes()[pass].events.size(); ++rank)
        for (size_t step = 0; step < drawn.passes()[pass].events[rank].size(); ++step) {
          const Step& what = drawn.program.steps[step];
          const EventParts parts = parts_of(what, drawn.event(pass, rank, step));
          const auto add = [&](int64_t begin, int64_t end, int64_t TrackBucket::*share) {
            for (int64_t i = 0; i < slice.count(); ++i) {
              const int64_t low = std::max(begin, slice.begin_ns() + i * width),
                            high = std::min(end, slice.begin_ns() + (i + 1) * width);
              if (high > low) wanted[rank][static_cast<size_t>(i)].*share += high - low;
            }
          };
          if (parts.end_ns < slice.begin_ns() || parts.begin_ns >= slice.end_ns()) continue;
          add(parts.begin_ns, parts.arrived_ns,
              what.phase == Phase::Forward ? &TrackBucket::forward_ns : &TrackBucket::backward_ns);
          add(parts.arrived_ns, parts.met_ns, &TrackBucket::wait_ns);
          add(parts.met_ns, parts.end_ns, &TrackBucket::transfer_ns);
          if (parts.begin_ns >= slice.begin_ns())
            wanted[rank][static_cast<size_t>((parts.begin_ns - slice.begin_ns()) / width)].events += 1;
        }
    ASSERT_TRUE(wanted == slice.buckets) << "level " << slice.level;
  }

  static void expect_passes(DrawnRecording& drawn, const HistorySlice& slice) {
    ASSERT_TRUE(slice.has_passes);
    std::vector<size_t> wanted;
    for (size_t pass = 0; pass < drawn.passes().size(); ++pass) {
      const int64_t begin = DrawnRecording::ns(drawn.passes()[pass].begin_seconds),
                    end = begin + DrawnRecording::ns(seconds_of(drawn.passes()[pass]));
      if (begin < slice.end_ns() && end > slice.begin_ns()) wanted.push_back(pass);
    }
    ASSERT_EQ(slice.passes.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const HistoryPass& pass = *slice.passes[i];
      ASSERT_EQ(pass.pass, static_cast<int64_t>(wanted[i]));
      ASSERT_EQ(pass.loss, drawn.passes()[wanted[i]].metrics.back().second);
      ASSERT_EQ(pass.has_events(), slice.has_events);
      for (size_t rank = 0; rank < pass.events.size(); ++rank) {
        ASSERT_EQ(pass.events[rank].size(), drawn.passes()[wanted[i]].events[rank].size());
        for (size_t step = 0; step < pass.events[rank].size(); ++step)
          ASSERT_EQ(pass.events[rank][step], drawn.event(wanted[i], rank, step));
      }
    }
  }

  static void build(History& history) {
    while (!history.ready()) history.build_for(0.01);
  }

  /// The file as it was when its writer died: all passes are in it, and nothing that comes at the end.
  std::string killed(const DrawnRecording& drawn, const std::string& name) {
    drawn.write(path(name));
    Database(path(name), Database::Access::ReadWrite)
        .run(
            "DELETE FROM overview; DELETE FROM waits; UPDATE meta SET value = 0 WHERE key = 'finished';"
            "DELETE FROM meta WHERE key IN ('overview_finest', 'overview_passes')");
    return path(name);
  }

  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
      return "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request) << error.what();
      return error.what();
    }
  }
};

TEST_F(HistoryTest, SlicesAreWhatTheEventsSay) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    DrawnRecording drawn(seed, 1 + static_cast<int>(seed) * 4, 1 + static_cast<int>(seed % 3),
                         1 + static_cast<int>(seed % 2));
    const std::string file = path("drawn-" + std::to_string(seed));
    drawn.write(file);
    const History history = open(drawn, file);
    ASSERT_TRUE(history.ready());
    expect_slices(drawn, history, seed);
  }
}

TEST_F(HistoryTest, ARankWithoutEventsKeepsItsPlace) {
  DrawnRecording drawn(1, 4, 2, 2);
  for (RecordedPass& pass : drawn.passes()) pass.events[1].clear();
  drawn.write(path("drawn"));
  const History history = open(drawn, path("drawn"));
  expect_slices(drawn, history, 7);
  const HistorySlice all = history.slice(0, history.end_ns(), 1);
  for (const TrackBucket& bucket : all.buckets[1]) EXPECT_EQ(bucket, TrackBucket{});
  TrackBucket last;
  for (const TrackBucket& bucket : all.buckets[3]) last += bucket;
  EXPECT_EQ(last.events, static_cast<int64_t>(4 * drawn.program.steps.size()));
}

TEST_F(HistoryTest, ManyEventsComeAsBuckets) {
  DrawnRecording drawn(2, 130, 2, 2);
  const auto events = static_cast<int64_t>(130 * 4 * drawn.program.steps.size());
  ASSERT_GT(events, kMostSliceEvents) << "the test needs a longer recording";
  drawn.write(path("drawn"));
  const History history = open(drawn, path("drawn"));
  const HistorySlice all = history.slice(0, history.end_ns(), history.end_ns() / 1000);
  EXPECT_FALSE(all.has_events);
  EXPECT_LE(all.count(), 4002);
  const RecordedPass& middle = drawn.passes()[40];
  const int64_t begin = DrawnRecording::ns(middle.begin_seconds);
  const HistorySlice near = history.slice(begin, begin + 1000, 1);
  EXPECT_TRUE(near.has_events);
  EXPECT_LE(near.passes.size(), 2u);
}

TEST_F(HistoryTest, AKilledFileGetsItsOverviewOnce) {
  DrawnRecording drawn(4, 9);
  const std::string file = killed(drawn, "killed");
  {
    History history = open(drawn, file);
    EXPECT_FALSE(history.ready());
    build(history);
    expect_slices(drawn, history, 1);
    EXPECT_TRUE(history.find({HistoryFind::LongWait}));
  }
  const History again = open(drawn, file);
  EXPECT_TRUE(again.ready()) << "it was kept";
  expect_slices(drawn, again, 2);
}

TEST_F(HistoryTest, AFileCopiedFromUnderItsWriterGetsOneToo) {
  DrawnRecording drawn(6, 12);
  RecordingWriter writer(path("live"), drawn.header());
  for (const RecordedPass& pass : drawn.passes()) writer.offer(pass);
  for (int wait = 0; wait < 1000; ++wait) {
    let_workers_go_on(0.02);
    if (Database(path("live"), Database::Access::Read).integer("SELECT count(*) FROM passes") == 12) break;
  }
  fs::copy_file(path("live"), path("copy"));
  History history = open(drawn, path("copy"));
  EXPECT_FALSE(history.ready());
  build(history);
  expect_slices(drawn, history, 3);
  writer.finish();
  const History finished = open(drawn, path("live"));
  EXPECT_TRUE(finished.ready());
  expect_slices(drawn, finished, 3);
}

TEST_F(HistoryTest, AnOverviewOfFewerPassesThanThereAreIsMadeAnew) {
  DrawnRecording drawn(8, 5);
  drawn.write(path("drawn"));
  Database(path("drawn"), Database::Access::ReadWrite)
      .run(
          "UPDATE meta SET value = 4 WHERE key = 'overview_passes'; UPDATE overview SET chunk = chunk + 1 "
          "WHERE level = 21");
  History history = open(drawn, path("drawn"));
  EXPECT_FALSE(history.ready());
  build(history);
  expect_slices(drawn, history, 1);
}

TEST_F(HistoryTest, WhereTheFileCannotBeWrittenTheOverviewIsNotKept) {
  DrawnRecording drawn(9, 3);
  const std::string file = killed(drawn, "killed");
  Database other(file, Database::Access::ReadWrite);
  other.run("BEGIN IMMEDIATE");
  History history = open(drawn, file);
  build(history);
  expect_slices(drawn, history, 1);
  EXPECT_TRUE(history.find({HistoryFind::LongWait}));
  other.run("ROLLBACK");
  EXPECT_FALSE(open(drawn, file).ready());
}

TEST_F(HistoryTest, FindsTheNextStepOfAName) {
  DrawnRecording drawn(10, 4);
  drawn.write(path("drawn"));
  const History history = open(drawn, path("drawn"));
  const Step& wanted = drawn.program.steps[drawn.program.steps.size() / 2];
  ASSERT_FALSE(wanted.name.empty());
  std::string words = wanted.name;
  for (char& letter : words) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  std::vector<StepId> meant;
  for (const Step& step : drawn.program.steps)
    if (step.name.find(wanted.name) != std::string::npos) meant.push_back(step.id);
  HistoryQuestion question{.find = HistoryFind::Step, .text = words, .rank = 3};
  for (int64_t pass = 0; pass < 4; ++pass)
    for (const StepId id : meant) {
      const auto found = history.find(question);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->pass, pass);
      EXPECT_EQ(found->step, id);
      EXPECT_EQ(found->rank, 3);
      EXPECT_FALSE(found->wrapped);
      const EventTimes event = drawn.event(static_cast<size_t>(pass), 3, static_cast<size_t>(id));
      EXPECT_EQ(found->begin_ns, event.begin_ns);
      EXPECT_EQ(found->end_ns, event.end_ns);
      question.pass = found->pass;
      question.step = found->step;
    }
  const auto around = history.find(question);
  ASSERT_TRUE(around);
  EXPECT_TRUE(around->wrapped);
  EXPECT_EQ(around->pass, 0);
  EXPECT_EQ(around->step, meant.front());
  question.text = "no step is called this";
  EXPECT_FALSE(history.find(question));
}

TEST_F(HistoryTest, FindsTheNextCollective) {
  DrawnRecording drawn(12, 2);
  drawn.passes()[1].events[2].clear();
  drawn.write(path("drawn"));
  const History history = open(drawn, path("drawn"));
  std::vector<std::pair<int64_t, StepId>> wanted, found;
  for (const Step& step : drawn.program.steps)
    if (is_collective(step.op)) wanted.emplace_back(0, step.id);
  HistoryQuestion question{.find = HistoryFind::Collective, .rank = 2};
  for (;;) {
    const auto place = history.find(question);
    ASSERT_TRUE(place);
    if (place->wrapped) break;
    found.emplace_back(place->pass, place->step);
    question.pass = place->pass;
    question.step = place->step;
  }
  EXPECT_EQ(found, wanted) << "in the second pass the rank has none";
}

TEST_F(HistoryTest, FindsTheSlowestPassesAndTheLongestWaits) {
  DrawnRecording drawn(13, 6);
  drawn.write(path("drawn"));
  const History history = open(drawn, path("drawn"));
  std::vector<int64_t> lengths;
  for (int64_t number = 0; number < 6; ++number) {
    const auto place = history.find({.find = HistoryFind::SlowPass, .number = number});
    ASSERT_TRUE(place);
    EXPECT_FALSE(place->wrapped);
    EXPECT_EQ(place->step, -1);
    const RecordedPass& pass = drawn.passes()[static_cast<size_t>(place->pass)];
    EXPECT_EQ(place->end_ns - place->begin_ns, DrawnRecording::ns(seconds_of(pass)));
    lengths.push_back(place->begin_ns - place->end_ns);
  }
  EXPECT_TRUE(std::is_sorted(lengths.begin(), lengths.end()));
  EXPECT_TRUE(history.find({.find = HistoryFind::SlowPass, .number = 6})->wrapped);
  int64_t before = kMostRecordedNs;
  for (int64_t number = 0; number < 10; ++number) {
    const auto place = history.find({.find = HistoryFind::LongWait, .number = number});
    ASSERT_TRUE(place);
    const EventTimes event = drawn.event(static_cast<size_t>(place->pass), static_cast<size_t>(place->rank),
                                         static_cast<size_t>(place->step));
    EXPECT_LE(event.met_ns - event.arrival_ns, before);
    before = event.met_ns - event.arrival_ns;
  }
}

// Every harm: a clear error of opening or of one of the questions, or an answer within bounds.
TEST_F(HistoryTest, AHostileFileIsSaidToBeDamaged) {
  DrawnRecording drawn(14, 5);
  drawn.write(path("sound"));
  const std::vector<std::pair<const char*, const char*>> harms{
      {"UPDATE overview SET buckets = x'01'", "overview is too short"},
      {"UPDATE overview SET buckets = zeroblob(1000000)", "overview is too long"},
      {"UPDATE overview SET buckets = x'01ffffffffffffffffffff'", "absurd figure"},
      {"UPDATE overview SET buckets = x'01ffffffffffffffff7f'", "absurd figure"},
      {"UPDATE overview SET buckets = 7", "but should be bytes"},
      {"UPDATE overview SET chunk = chunk + 9000000000000000000", "no error"},
      {"UPDATE overview SET track = -track", "no error"},
      {"DROP TABLE overview; CREATE TABLE overview(nought)", "no such column"},
      {"DROP TABLE overview", "no such table"},
      {"UPDATE meta SET value = 99 WHERE key = 'overview_finest'", "no error"},
      {"UPDATE meta SET value = 21 WHERE key = 'overview_finest'", "no error"},
      {"UPDATE meta SET value = 'x' WHERE key = 'overview_passes'", "value is a text"},
      {"UPDATE waits SET rank = 77", "ranks or steps that do not exist"},
      {"UPDATE waits SET step = -1", "ranks or steps that do not exist"},
      {"UPDATE waits SET pass = 1000000", "no error"},
      {"UPDATE passes SET begin_ns = -5 WHERE pass = 2", "absurd times"},
      {"UPDATE passes SET begin_ns = 9223372036854775807, ns = 9223372036854775807",
       "last_ns is a number, but should be a whole number"},
      {"UPDATE passes SET ns = 9000000000000000 WHERE pass = 0", "no error"},
      {"UPDATE passes SET ns = -1 WHERE pass = 1", "absurd times"},
      {"UPDATE passes SET begin_ns = 'when' WHERE pass = 4", "a text, but should be a whole number"},
      {"UPDATE events SET rank = 99 WHERE pass = 1 AND rank = 3", "events of rank 99"},
      {"DELETE FROM events WHERE pass = 1 AND rank = 2 AND step = 5", "step 6 where 5 is expected"},
      {"UPDATE events SET begin_ns = -9223372036854775807, end_ns = 9223372036854775807", "no error"},
      {"UPDATE metrics SET name = hex(zeroblob(1000000)) WHERE name = 'loss'", "no error"},
      {"UPDATE metrics SET value = 'much'", "a text, but should be a number"},
      {"DROP TABLE passes", "no such table"},
      {"DROP TABLE waits", "no such table"}};
  for (const auto& [harm, word] : harms) {
    fs::copy_file(path("sound"), path("harmed"), fs::copy_options::overwrite_existing);
    Database(path("harmed"), Database::Access::ReadWrite).run(harm);
    const std::string said = error_of([&] {
      History history = open(drawn, path("harmed"));
      build(history);
      for (int64_t width = 1'000'000'000; width > 1000; width /= 7) {
        const HistorySlice slice = history.slice(0, width, width / 100);
        ASSERT_LE(slice.count() * history.world_size(), kMostSliceBuckets);
      }
      history.slice(-5, std::numeric_limits<int64_t>::max(), 1);
      for (const HistoryFind find :
           {HistoryFind::Step, HistoryFind::Collective, HistoryFind::SlowPass, HistoryFind::LongWait})
        history.find({.find = find, .text = "a"});
    });
    EXPECT_THAT(said, HasSubstr(word)) << harm;
  }
}

TEST_F(HistoryTest, AKilledHostileFileIsBuiltWithinBounds) {
  DrawnRecording drawn(15, 3);
  const std::string sound = killed(drawn, "sound");
  const std::vector<std::pair<const char*, const char*>> harms{
      {"UPDATE events SET rank = 99 WHERE pass = 1 AND rank = 3", "rank 99"},
      {"UPDATE events SET step = -4 WHERE pass = 1 AND rank = 3 AND step = 0", "step -4"},
      {"UPDATE events SET end_ns = 9223372036854775807 WHERE pass = 1 AND step = 3", "no error"},
      {"UPDATE events SET begin_ns = -9223372036854775807 WHERE pass = 1 AND step = 3", "no error"},
      {"UPDATE events SET arrival_ns = 9223372036854775807, met_ns = -9223372036854775807", "no error"},
      {"DELETE FROM passes WHERE pass = 1", "no error"},
      {"DELETE FROM events", "no error"},
      {"DROP TABLE overview; CREATE TABLE overview(nought)", "no error"}};
  for (const auto& [harm, word] : harms) {
    fs::copy_file(sound, path("harmed"), fs::copy_options::overwrite_existing);
    Database(path("harmed"), Database::Access::ReadWrite).run(harm);
    EXPECT_THAT(error_of([&] {
                  History history = open(drawn, path("harmed"));
                  build(history);
                  history.slice(0, history.end_ns(), 1);
                }),
                HasSubstr(word))
        << harm;
  }
}

TEST_F(HistoryTest, ARecordingOfNoPassHasAnEmptyTimeline) {
  DrawnRecording drawn(16, 0);
  drawn.write(path("drawn"));
  History history = open(drawn, path("drawn"));
  build(history);
  EXPECT_EQ(history.end_ns(), 0);
  const HistorySlice slice = history.slice(0, 1'000'000, 1000);
  EXPECT_EQ(slice.buckets.size(), 4u);
  EXPECT_TRUE(slice.passes.empty());
  EXPECT_FALSE(history.find({.find = HistoryFind::SlowPass}));
  EXPECT_FALSE(history.find({.find = HistoryFind::Collective}));
}

}  // namespace history_test
}  // namespace shardlens
