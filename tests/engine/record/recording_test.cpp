// A recording is written and read back; a full disk and a size limit; files that are not recordings.
#include "engine/record/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/base/clock_step.h"
#include "engine/base/error.h"
#include "engine/base/worker.h"
#include "engine/io/sqlite.h"
#include "engine/planner/planner.h"
#include "engine/program/program_json.h"
#include "engine/runtime/recordings/recorder.h"
#include "tests/engine/full_disk.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace recording_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RecordingTest : public TestFolder {
 protected:
  // Three passes of a small model on 2 x 2 ranks, recorded; what the executor measured in the last one.
  std::vector<std::vector<StepEvent>> record(const std::string& file, RecordingLimits limits = {}) {
    const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(2, 2));
    Executor executor(plan);
    Recorder recorder(file, "step", *plan, executor.communicator(), limits);
    for (int pass = 0; pass < 3; ++pass) {
      executor.next_pass();
      executor.start(executor.steps());
      executor.wait();
      recorder.take(executor, {{"loss", 5.0 - pass}});
    }
    totals_ = recorder.finish();
    std::vector<std::vector<StepEvent>> events;
    for (int rank = 0; rank < 4; ++rank) {
      events.push_back(executor.trace(rank).events());
      high_water_.push_back(executor.high_water_bytes(rank));
    }
    return events;
  }

  static std::string error_of(const std::string& file) {
    try {
      const Recording recording(file);
      for (int64_t i = 0; i < recording.totals().passes; ++i) recording.pass(i);
      recording.high_water_bytes();
      return "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request) << error.what();
      return error.what();
    }
  }

  RecordingTotals totals_;
  std::vector<BytesByKind> high_water_;
};

TEST_F(RecordingTest, SaysWhatEndedItsRun) {
  record(path("done.shardlens"));
  EXPECT_EQ(Recording(path("done.shardlens")).failure(), "");
  RecordingHeader header;
  header.program = plan_program(testing::small_model(2, 2));
  RecordingWriter writer(path("failed.shardlens"), header);
  writer.finish("rank 1 is lost");
  const Recording recording(path("failed.shardlens"));
  EXPECT_TRUE(recording.finished());  // the file is whole, the run is not
  EXPECT_EQ(recording.failure(), "rank 1 is lost");
}

TEST_F(RecordingTest, SaysHowFinelyItsClockToldTime) {
  record(path("here"));
  EXPECT_EQ(Recording(path("here")).header().clock_step_seconds, clock_step_seconds());
  RecordingHeader header;
  header.program = plan_program(testing::small_model(2));
  header.clock_step_seconds = 1e-4;
  RecordingWriter(path("page"), header).finish();
  EXPECT_EQ(Recording(path("page")).header().clock_step_seconds, 1e-4);
}

TEST_F(RecordingTest, SaysThatItsFileIsGone) {
  for (const bool is_moved : {false, true}) {
    const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(2));
    Executor executor(plan);
    Recorder recorder(path("a"), "step", *plan, executor.communicator());
    executor.start(executor.steps());
    executor.wait();
    recorder.take(executor);
    while (!recorder.is_settled()) let_workers_go_on(0.001);
    is_moved ? fs::rename(path("a"), path("b")) : (void)fs::remove(path("a"));
    const RecordingTotals totals = recorder.finish();
    EXPECT_EQ(totals.passes, 0);
    EXPECT_EQ(totals.dropped_passes, 1);
    EXPECT_THAT(totals.problem, HasSubstr(path("a") + " was deleted, moved or replaced"));
  }
  EXPECT_EQ(Recording(path("b")).totals().passes, 1);  // whole, where it was moved to
}

// A kill may come a second after a rank was lost, and a commit that is waited for takes as long on some
// disks.
TEST_F(RecordingTest, IsFinishedInTwoCommits) {
  const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(2));
  Executor executor(plan);
  Recorder recorder(path("a"), "step", *plan, executor.communicator());
  executor.next_pass();
  executor.start(executor.steps());
  executor.wait();
  recorder.take(executor);
  while (!recorder.is_settled()) let_workers_go_on(0.001);
  const auto commits = [&] {  // SQLite counts them in its header
    std::ifstream file(path("a"), std::ios::binary);
    unsigned char count[4] = {};
    file.seekg(24).read(reinterpret_cast<char*>(count), sizeof(count));
    return count[0] << 24 | count[1] << 16 | count[2] << 8 | count[3];
  };
  const int before = commits();
  ASSERT_GT(before, 0);
  recorder.finish("rank 1 is lost");
  EXPECT_EQ(commits() - before, 2) << "what is said of it, and the overview";
  EXPECT_EQ(Recording(path("a")).failure(), "rank 1 is lost");
}

TEST_F(RecordingTest, HoldsWhatTheRunMeasured) {
  const auto live = record(path("run.shardlens"));
  EXPECT_EQ(totals_.passes, 3);
  EXPECT_EQ(totals_.dropped_passes, 0);
  const Recording recording(path("run.shardlens"));
  EXPECT_TRUE(recording.finished());
  EXPECT_EQ(recording.header().program, plan_program(testing::small_model(2, 2)));
  EXPECT_EQ(recording.header().verb, "step");
  EXPECT_EQ(recording.header().communicator, "local");
  EXPECT_EQ(recording.high_water_bytes(), high_water_);
  EXPECT_EQ(recording.totals().events, totals_.events);
  const RecordedPass last = recording.pass(2);
  EXPECT_EQ(last.metrics, (std::vector<Metric>{{"loss", 3.0}}));
  EXPECT_GT(last.begin_seconds, recording.pass(0).begin_seconds);
  ASSERT_EQ(last.events.size(), live.size());
  for (size_t rank = 0; rank < live.size(); ++rank) {
    ASSERT_EQ(last.events[rank].size(), live[rank].size());
    for (size_t step = 0; step < live[rank].size(); ++step) {
      const StepEvent &kept = last.events[rank][step], &was = live[rank][step];
      constexpr double kNanosecond = 1.1e-9;
      EXPECT_NEAR(kept.begin_seconds, was.begin_seconds, kNanosecond);
      EXPECT_NEAR(kept.end_seconds, was.end_seconds, kNanosecond);
      EXPECT_NEAR(kept.arrival_seconds, was.arrival_seconds, kNanosecond);
      EXPECT_NEAR(kept.all_arrived_seconds, was.all_arrived_seconds, kNanosecond);
      EXPECT_EQ(kept.flops, was.flops);
      EXPECT_EQ(kept.sent_bytes, was.sent_bytes);
    }
  }
}

TEST_F(RecordingTest, ALateRankIsInIt) {
  Settings settings = testing::small_model(2, 2);
  settings.delays = {{3, "h.0.mlp.fc", 5}};
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  Executor executor(plan);
  Recorder recorder(path("late"), "step", *plan, executor.communicator());
  executor.start(executor.steps());
  executor.wait();
  recorder.take(executor);
  recorder.finish();
  const Recording recording(path("late"));
  EXPECT_EQ(recording.header().program.settings.delays, settings.delays);
  const auto live = lateness_of(plan->program, executor.events(4));
  const auto kept = lateness_of(plan->program, recording.pass(0).events);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].rank, 3);
  EXPECT_EQ(kept[0].waiting_ranks, live[0].waiting_ranks);
  EXPECT_NEAR(kept[0].held_seconds, live[0].held_seconds, 1e-8);
  EXPECT_NEAR(kept[0].waited_seconds, live[0].waited_seconds, 1e-5);
}

// Older recordings have no table of them, and none of their steps was.
TEST_F(RecordingTest, SaysWhichStepsWereTimedTogether) {
  RecordingHeader header;
  header.program = plan_program(testing::small_model(1));
  RecordedPass pass;
  pass.events.resize(1);
  pass.events[0].resize(7);
  for (const size_t step : {2, 3, 4, 5}) pass.events[0][step].timed_together = 2;  // two pairs
  RecordingWriter writer(path("a"), header);
  writer.offer(pass);
  writer.finish();
  const auto together = [&] {
    std::vector<int> read;
    const RecordedPass kept = Recording(path("a")).pass(0);
    for (const StepEvent& event : kept.events[0]) read.push_back(event.timed_together);
    return read;
  };
  EXPECT_THAT(together(), ::testing::ElementsAre(1, 1, 2, 2, 2, 2, 1));
  EXPECT_EQ(Database(path("a"), Database::Access::Read).integer("SELECT count(*) FROM together"), 2);
  Database(path("a"), Database::Access::ReadWrite).run("DROP TABLE together");
  EXPECT_THAT(together(), ::testing::Each(1));
}

// Of a pass that was not traced its time and metrics are kept. Older recordings traced every pass.
TEST_F(RecordingTest, SaysWhichPassesWereNotTraced) {
  const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(2));
  Executor executor(plan);
  Recorder recorder(path("a"), "train", *plan, executor.communicator());
  for (const bool traced : {true, false, true, false}) {
    executor.set_traced(traced);
    executor.next_pass();
    executor.start(executor.steps());
    executor.wait();
    recorder.take(executor, {{"loss", 2.0}}, {}, 0.25);
  }
  recorder.finish();
  const Recording recording(path("a"));
  EXPECT_EQ(recording.passes(), 4);
  EXPECT_EQ(recording.totals().events, static_cast<int64_t>(2 * 2 * executor.steps()));
  EXPECT_THAT(recording.untraced_passes(), ::testing::ElementsAre(1, 3));
  for (int64_t index = 0; index < 4; ++index) {
    const RecordedPass pass = recording.pass(index);
    const bool traced = index % 2 == 0;
    EXPECT_EQ(pass.untraced_seconds.value_or(0), traced ? 0 : 0.25);
    EXPECT_EQ(pass.metrics, (std::vector<Metric>{{"loss", 2.0}}));
    ASSERT_EQ(pass.events.size(), 2u);
    for (const auto& track : pass.events) EXPECT_EQ(track.size(), traced ? executor.steps() : 0);
    EXPECT_NEAR(recording.pass_time(index).seconds, seconds_of(pass), 1e-8);
  }
  EXPECT_GE(recording.pass_time(2).begin_seconds, recording.pass_time(1).end_seconds());
  Database(path("a"), Database::Access::ReadWrite).run("DROP TABLE untraced");
  EXPECT_THAT(Recording(path("a")).untraced_passes(), ::testing::IsEmpty());
  EXPECT_FALSE(Recording(path("a")).pass(1).untraced_seconds);
}

TEST_F(RecordingTest, IsOneFileThatSaysWhatItIs) {
  record(path("run.shardlens"));
  EXPECT_EQ(std::distance(fs::directory_iterator(path("")), fs::directory_iterator()), 1);
  Database database(path("run.shardlens"), Database::Access::Read);
  EXPECT_EQ(database.integer("PRAGMA application_id"), kRecordingId);
  EXPECT_EQ(database.integer("PRAGMA user_version"), kRecordingVersion);
}

TEST_F(RecordingTest, AFileThatIsThereIsNotWrittenOver) {
  record(path("run.shardlens"));
  const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(1, 1));
  try {
    Recorder again(path("run.shardlens"), "step", *plan, {"local", ""});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_THAT(error.what(), HasSubstr("is there already"));
  }
}

TEST_F(RecordingTest, TheLimitEndsTheRecordingAndNotTheRun) {
  RecordingLimits limits;
  limits.file_bytes = 1;
  record(path("run.shardlens"), limits);
  EXPECT_GE(totals_.passes, 1);
  EXPECT_EQ(totals_.passes + totals_.dropped_passes, 3);
  const Recording recording(path("run.shardlens"));
  EXPECT_EQ(recording.totals().passes, totals_.passes);
}

TEST_F(RecordingTest, WhatTheDiskCannotKeepUpWithIsCounted) {
  RecordingLimits limits;
  limits.waiting_bytes = 1;
  record(path("run.shardlens"), limits);
  EXPECT_EQ(totals_.passes, 0);
  EXPECT_EQ(totals_.dropped_passes, 3);
  EXPECT_THAT(totals_.problem, HasSubstr("slower than the run"));
  EXPECT_EQ(Recording(path("run.shardlens")).totals().dropped_passes, 3);
}

TEST_F(RecordingTest, AFileThatIsNoneIsSaidToBe) {
  EXPECT_THAT(error_of(path("nothing")), HasSubstr("no such file"));
  std::ofstream(path("text")) << std::string(5000, 'x');
  EXPECT_THAT(error_of(path("text")), HasSubstr("is not an SQLite database"));
  std::ofstream(path("empty")).close();
  EXPECT_THAT(error_of(path("empty")), HasSubstr("no Shardlens recording"));
  Database(path("other"), Database::Access::Create).run("CREATE TABLE t(x)");
  EXPECT_THAT(error_of(path("other")), HasSubstr("no Shardlens recording"));
  EXPECT_THAT(error_of(path("")), HasSubstr("is not a file"));
}

// The limit on a file's size stands for a full disk.
TEST_F(RecordingTest, WhatCannotBeBegunLeavesNoFile) {
  {
    const testing::FullDisk disk(2'000);
    EXPECT_THROW(record(path("run.shardlens")), Error);
  }
  EXPECT_TRUE(fs::is_empty(path("")));
  record(path("run.shardlens"));  // and once there is room again, under the same name
  EXPECT_EQ(Recording(path("run.shardlens")).totals().passes, 3);
}

TEST_F(RecordingTest, AFolderThatIsNotThereIsNamed) {
  try {
    record(path("nowhere/run.shardlens"));
    FAIL() << "a recording was written into a folder that does not exist";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_THAT(error.what(), HasSubstr(path("nowhere") + " is not a folder"));
  }
}

TEST_F(RecordingTest, ANewerVersionIsSaidToBe) {
  record(path("run.shardlens"));
  Database(path("run.shardlens"), Database::Access::ReadWrite)
      .run("PRAGMA user_version = " + std::to_string(kRecordingVersion + 1));
  EXPECT_THAT(error_of(path("run.shardlens")),
              HasSubstr("version " + std::to_string(kRecordingVersion + 1) + "; this Shardlens reads up to " +
                        std::to_string(kRecordingVersion)));
}

TEST_F(RecordingTest, AHostileContentIsFound) {
  record(path("sound"));
  const std::vector<std::pair<const char*, const char*>> harms{
      {"UPDATE meta SET value = '{}' WHERE key = 'program'", "program"},
      {"UPDATE meta SET value = x'00ff' WHERE key = 'program'", "value is bytes, but should be a text"},
      {"DELETE FROM meta WHERE key = 'machine'", "its table meta has no machine"},
      {"UPDATE events SET rank = 99 WHERE pass = 1 AND rank = 3", "rank 99"},
      {"UPDATE events SET rank = -1 WHERE pass = 1 AND rank = 3", "rank -1"},
      {"DELETE FROM events WHERE pass = 1 AND rank = 2 AND step = 5", "step 6 follows step 4"},
      {"INSERT INTO events VALUES(1, 0, 9000000000000, 0, 0, 0, 0, 0)", "step 9000000000000"},
      {"INSERT INTO costs VALUES(70, 0, 0, 0)", "on rank 70"},
      {"INSERT INTO memory VALUES(70, 'weights', 0, 0)", "rank 70"},
      {"UPDATE meta SET value = 'no JSON' WHERE key = 'program'", "JSON"},
      {"UPDATE meta SET value = CAST(x'ff41' AS TEXT) WHERE key = 'machine'", "UTF-8"},
      {"UPDATE meta SET value = 'soon' WHERE key = 'finished'",
       "value is a text, but should be a whole number"},
      {"UPDATE meta SET value = 1e300 WHERE key = 'started_unix_seconds'", "after 1970"},
      {"UPDATE meta SET value = NULL WHERE key = 'started_unix_seconds'", "after 1970"},
      {"INSERT INTO meta VALUES('clock_step_seconds', -1e-4)", "its clock goes in steps of"},
      {"INSERT INTO meta VALUES('clock_step_seconds', 'long')", "value is a text, but should be a number"},
      {"UPDATE events SET begin_ns = 'x' WHERE pass = 1", "begin_ns is a text"},
      {"UPDATE events SET end_ns = -1 WHERE pass = 1 AND step = 3", "-1 nanoseconds"},
      {"UPDATE events SET end_ns = begin_ns - 1 WHERE pass = 1 AND step = 3", "ends before it begins"},
      {"UPDATE events SET arrival_ns = 9e99 WHERE pass = 1", "arrival_ns is a number"},
      {"UPDATE events SET sent_bytes = NULL WHERE pass = 0", "sent_bytes is nothing"},
      {"UPDATE events SET sent_bytes = 9223372036854775807 WHERE pass = 0", "bytes sent are not possible"},
      {"UPDATE passes SET begin_ns = -7 WHERE pass = 1", "-7 nanoseconds"},
      {"UPDATE costs SET flops = -1", "FLOPs of a step"},
      {"UPDATE memory SET planned_bytes = 9223372036854775807", "planned bytes"},
      {"UPDATE metrics SET value = 'much'", "value is a text, but should be a number"},
      {"INSERT INTO holds VALUES(1, 99, 0, 5)", "rank 99 is held"},
      {"INSERT INTO holds VALUES(1, 0, 5, -5)", "-5 nanoseconds"},
      {"DROP TABLE holds", "no such table"},
      {"INSERT INTO together VALUES(1, 99, 0, 5)", "5 steps of rank 99 from step 0 on"},
      {"INSERT INTO together VALUES(1, 0, 99999, 5)", "from step 99999 on"},
      {"INSERT INTO together VALUES(1, 0, 5, 9223372036854775807)", "9223372036854775807 steps of rank 0"},
      {"DROP TABLE events", "no such table"},
      {"ALTER TABLE costs RENAME COLUMN flops TO flaps", "no such column"}};
  for (const auto& [harm, word] : harms) {
    fs::copy_file(path("sound"), path("harmed"), fs::copy_options::overwrite_existing);
    Database(path("harmed"), Database::Access::ReadWrite).run(harm);
    EXPECT_THAT(error_of(path("harmed")), HasSubstr(word)) << harm;
  }
}

// The Program's JSON as somebody else would write it.
TEST_F(RecordingTest, AnAbsurdProgramIsRefused) {
  record(path("sound"));
  const nlohmann::ordered_json sound = program_to_json(plan_program(testing::small_model(2, 2)));
  using Harm = std::function<void(nlohmann::ordered_json&)>;
  const std::vector<std::pair<Harm, const char*>> harms{
      {[](auto& p) { p["settings"]["tp"] = int64_t{1} << 60; }, "out of range"},
      {[](auto& p) { p["settings"]["tp"] = 4096, p["settings"]["dp"] = 4096; }, "16777216 ranks"},
      {[](auto& p) { p["settings"]["tp"] = 0; }, "0 ranks"},
      {[](auto& p) { p["settings"]["dp"] = -1; }, "ranks"},
      {[](auto& p) { p["settings"]["model"]["heads"] = 0; }, "heads"},
      {[](auto& p) { p["settings"]["model"]["layers"] = int64_t{1} << 60; }, "layers"},
      {[](auto& p) {
         p["tensors"][3]["shape"] = {int64_t{1} << 40, int64_t{1} << 40};
       },
       "at most 1e15 elements"},
      {[](auto& p) { p["tensors"][3]["shape"] = nlohmann::json::array(); }, "row_dims"},
      {[](auto& p) { p["tensors"][5]["storage"] = 5; }, "in a circle"},
      {[](auto& p) { p["tensors"][5]["storage"] = 6, p["tensors"][6]["storage"] = 5; }, "in a circle"},
      {[](auto& p) { p["steps"][4]["inputs"] = {100000}; }, "names tensor 100000"},
      {[](auto& p) { p["steps"][4]["inputs"] = nlohmann::json::array(); }, "reads 0 tensors"},
      {[](auto& p) { p["steps"][4]["outputs"] = nlohmann::json::array(); }, "no output"},
      {[](auto& p) { p["steps"][4]["id"] = 400; }, "out of order"},
      {[](auto& p) { p["steps"][4]["layer"] = INT32_MAX; }, "belongs to layer"},
      {[](auto& p) {
         nlohmann::ordered_json deep = 1;
         for (int i = 0; i < 100; ++i) deep = nlohmann::ordered_json::array({deep});
         p["tensors"] = deep;
       },
       "levels deep"},
      {[](auto& p) { p["tensors"] = nlohmann::ordered_json(std::vector<int>(9'000'000, 0)); }, "values"}};
  for (const auto& [harm, word] : harms) {
    fs::copy_file(path("sound"), path("harmed"), fs::copy_options::overwrite_existing);
    nlohmann::ordered_json harmed = sound;
    harm(harmed);
    Database database(path("harmed"), Database::Access::ReadWrite);
    database.prepare("UPDATE meta SET value = ? WHERE key = 'program'")
        .bind(1, std::string_view(harmed.dump()))
        .run();
    EXPECT_THAT(error_of(path("harmed")), AllOf(HasSubstr(word), HasSubstr(path("harmed"))));
  }
}

// Cut off anywhere, and with any byte changed: an error or a recording, never a crash.
TEST_F(RecordingTest, ATruncatedOrDamagedFileNeverCrashesItsReader) {
  record(path("sound"));
  const auto size = static_cast<int64_t>(fs::file_size(path("sound")));
  constexpr int64_t kPage = 4096;
  for (int64_t left = 0; left < size; left += kPage) {
    for (const int64_t more : {int64_t{0}, kPage / 2}) {
      fs::copy_file(path("sound"), path("harmed"), fs::copy_options::overwrite_existing);
      fs::resize_file(path("harmed"), static_cast<uintmax_t>(left + more));
      EXPECT_NE(error_of(path("harmed")), "no error") << left + more;
    }
  }
  unsigned draw = 12345;
  for (int i = 0; i < 150; ++i) {
    fs::copy_file(path("sound"), path("harmed"), fs::copy_options::overwrite_existing);
    std::fstream file(path("harmed"), std::ios::in | std::ios::out | std::ios::binary);
    for (int byte = 0; byte < 8; ++byte) {
      draw = draw * 1664525u + 1013904223u;
      file.seekp(static_cast<int64_t>(draw >> 4) % size);
      file.put(static_cast<char>(draw >> 20));
    }
    file.close();
    error_of(path("harmed"));
  }
}

}  // namespace recording_test
}  // namespace shardlens
