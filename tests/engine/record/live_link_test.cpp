// Readers read a recording while it is written and do not affect its writer. Also tests how they see if a
// writer is still there.
#include "engine/record/live_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/base/error.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/io/sqlite.h"
#include "engine/record/history.h"
#include "engine/record/recording.h"
#include "engine/record/recording_file.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/record/drawn_recording.h"
#include "tests/engine/record/wait.h"

namespace shardlens {
namespace live_link_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::can_be_opened;
using testing::comes;
using testing::DrawnRecording;

class LiveLinkTest : public TestFolderWithCache {
 protected:
  /// Another process that records `drawn` over and over, a pass every few milliseconds, until it is killed.
  pid_t start_writer(const std::string& file, const DrawnRecording& drawn) {
    const pid_t writer = fork();
    if (writer != 0) return writer;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    RecordingWriter recording(file, drawn.header());
    for (int64_t pass = 0;; ++pass) {
      recording.offer(pass_of(drawn, pass));
      std::this_thread::sleep_for(3ms);
    }
  }

  /// The drawn passes follow each other in turn, one a second.
  static RecordedPass pass_of(const DrawnRecording& drawn, int64_t number) {
    auto& passes = const_cast<DrawnRecording&>(drawn).passes();
    RecordedPass pass = passes[static_cast<size_t>(number) % passes.size()];
    pass.begin_seconds = static_cast<double>(number);
    pass.metrics = {{"number", static_cast<double>(number)}};
    return pass;
  }
  /// Pass `number` of the file is what was offered as such.
  static void expect_pass(const Recording& recording, const DrawnRecording& drawn, int64_t number) {
    const RecordedPass read = recording.pass(number), offered = pass_of(drawn, number);
    ASSERT_EQ(read.metrics, offered.metrics);
    ASSERT_EQ(read.events.size(), offered.events.size());
    for (size_t rank = 0; rank < read.events.size(); ++rank) {
      ASSERT_EQ(read.events[rank].size(), offered.events[rank].size());
      for (size_t step = 0; step < read.events[rank].size(); ++step)
        ASSERT_NEAR(read.events[rank][step].end_seconds, offered.events[rank][step].end_seconds, 1e-9);
    }
  }

  static void end(pid_t process, int signal) {
    kill(process, signal);
    if (signal == SIGKILL) waitpid(process, nullptr, 0);
  }
};

TEST_F(LiveLinkTest, AWriterIsThereUntilItHasFinished) {
  const DrawnRecording drawn(1);
  const std::string file = path("run");
  RecordingWriter writer(file, drawn.header());
  const Recording recording(file);
  EXPECT_EQ(recording.writer(), WriterState::Works);
  EXPECT_FALSE(recording.finished());
  EXPECT_EQ(recording.passes(), 0);
  const uint64_t before = recording.generation();
  for (int i = 0; i < 7; ++i) writer.offer(pass_of(drawn, i));
  ASSERT_TRUE(comes([&] { return recording.passes() == 7; }));
  EXPECT_GT(recording.generation(), before);
  EXPECT_NEAR(recording.committed_seconds(), now_seconds(), 2);
  EXPECT_FALSE(recording.finished());
  for (int i = 0; i < 7; ++i) expect_pass(recording, drawn, i);
  writer.finish();
  EXPECT_EQ(recording.writer(), WriterState::Gone);
  EXPECT_TRUE(recording.finished());
  for (int i = 0; i < 7; ++i) expect_pass(recording, drawn, i);
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(path(""))) left.push_back(entry.path().filename());
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("run", "cache"));
}

TEST_F(LiveLinkTest, WhatIsReadWhileItIsWrittenIsNeverTorn) {
  const DrawnRecording drawn(2);
  const std::string file = path("run");
  RecordingWriter writer(file, drawn.header());
  std::atomic<bool> ends = false;
  std::thread offers([&] {
    for (int64_t pass = 0; !ends; ++pass) {
      writer.offer(pass_of(drawn, pass));
      if (pass % 2 == 1) std::this_thread::sleep_for(10ms);
    }
  });
  const Recording recording(file);
  std::mt19937 draw(3);
  int64_t read = 0;
  for (const auto until = std::chrono::steady_clock::now() + 3s; std::chrono::steady_clock::now() < until;) {
    const int64_t passes = recording.passes();
    if (passes == 0) continue;
    ASSERT_NO_FATAL_FAILURE(expect_pass(recording, drawn, draw() % static_cast<uint64_t>(passes)));
    ASSERT_NO_FATAL_FAILURE(expect_pass(recording, drawn, passes - 1));
    recording.metrics(0, passes, 1, [&](int64_t pass, const std::string&, double value) {
      ASSERT_EQ(static_cast<double>(pass), value);
    });
    ++read;
  }
  ends = true;
  offers.join();
  EXPECT_GT(read, 10);
  EXPECT_EQ(writer.finish().problem, "");
}

TEST_F(LiveLinkTest, AKilledWriterIsGoneAtOnceAndItsFileStays) {
  const DrawnRecording drawn(4);
  const std::string file = path("run");
  const pid_t writer = start_writer(file, drawn);
  ASSERT_TRUE(comes([&] { return can_be_opened(file); }));
  const Recording recording(file);
  ASSERT_TRUE(comes([&] { return recording.passes() > 100; }));
  EXPECT_EQ(recording.writer(), WriterState::Works);
  EXPECT_THAT(running_recordings(), ::testing::ElementsAre(file));
  const int64_t before = recording.passes();
  end(writer, SIGKILL);
  EXPECT_EQ(recording.writer(), WriterState::Gone);
  EXPECT_FALSE(recording.finished());
  EXPECT_GE(recording.passes(), before);
  expect_pass(recording, drawn, recording.passes() - 1);
  EXPECT_FALSE(fs::exists(file + "-live"));
  EXPECT_THAT(running_recordings(), ::testing::IsEmpty());
}

TEST_F(LiveLinkTest, AReaderOfAnotherVersionUnderstandsTheRecord) {
  const LiveLink link(path("run"));
  const std::string record = contents("run-live");
  ASSERT_EQ(record.size(), 112u);
  uint64_t check = 0;
  std::memcpy(&check, record.data() + 104, sizeof check);
  EXPECT_EQ(check, hash_of_version_1(record.data(), 104));
}

TEST_F(LiveLinkTest, ARecordingIsListedOnceWhateverItsEntriesAreCalled) {
  const std::string file = path("run");
  const RecordingWriter writer(file, DrawnRecording(4).header());
  const fs::path running = path("cache/shardlens/running");
  const fs::path entry = *fs::directory_iterator(running);
  fs::copy_file(entry, entry.string() + "0");
  EXPECT_THAT(running_recordings(), ::testing::ElementsAre(file));
}

TEST_F(LiveLinkTest, AWriterThatIsStoppedIsSilentAndReadableUntilItGoesOn) {
  const DrawnRecording drawn(5);
  const std::string file = path("run");
  const pid_t writer = start_writer(file, drawn);
  ASSERT_TRUE(comes([&] { return can_be_opened(file); }));
  const Recording recording(file);
  ASSERT_TRUE(comes([&] { return recording.passes() > 100; }));
  end(writer, SIGSTOP);
  EXPECT_TRUE(comes([&] { return recording.writer() == WriterState::Silent; }));
  EXPECT_FALSE(recording.finished());
  end(writer, SIGCONT);
  EXPECT_TRUE(comes([&] { return recording.writer() == WriterState::Works; }));
  end(writer, SIGKILL);
  EXPECT_EQ(recording.writer(), WriterState::Gone);
}

// A reader that holds SQLite's lock makes the commit fail after some seconds. This one holds none, so that a
// writer never waits for it, wherever it stands: here inside a read.
TEST_F(LiveLinkTest, AReaderThatStandsStillInMidReadHoldsNobodyUp) {
  const DrawnRecording drawn(6);
  const std::string file = path("run");
  RecordingWriter writer(file, drawn.header());
  for (int64_t pass = 0; pass < 20; ++pass) writer.offer(pass_of(drawn, pass));
  ASSERT_TRUE(comes([&] { return writer.is_settled(); }));
  RecordingFile reader(file);
  int calls = 0;
  const int64_t read = reader.read([&](Database& database) {
    Statement rows = database.prepare("SELECT pass, step FROM events");
    rows.step();
    if (++calls == 1) {
      for (int64_t pass = 20; pass < 40; ++pass) writer.offer(pass_of(drawn, pass));
      EXPECT_TRUE(comes([&] { return writer.is_settled(); }));
      EXPECT_EQ(writer.totals().passes, 40);
    }
    while (rows.step()) {
    }
    return database.integer("SELECT count(*) FROM passes");
  });
  EXPECT_EQ(calls, 2);  // what it had read by then was thrown away
  EXPECT_EQ(read, 40);
  EXPECT_EQ(writer.finish().problem, "");
  EXPECT_EQ(Recording(file).passes(), 40);
}

TEST_F(LiveLinkTest, NotesWaitForTheWriter) {
  const DrawnRecording drawn(7);
  RecordingWriter writer(path("run"), drawn.header());
  writer.offer(pass_of(drawn, 0));
  Recording recording(path("run"));
  try {
    recording.add_note({0, 0, -1, -1, "too early"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Run);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("is being written"));
  }
  writer.finish();
  EXPECT_EQ(recording.add_note({0, 0, -1, -1, "now"}).text, "now");
  EXPECT_EQ(Recording(path("run")).notes().size(), 1u);
}

TEST_F(LiveLinkTest, AnotherFileInItsPlaceIsNotTakenForIt) {
  const DrawnRecording drawn(8), other(9, 3, 1, 1);
  const std::string file = path("run");
  auto first = std::make_unique<RecordingWriter>(file, drawn.header());
  first->offer(pass_of(drawn, 0));
  const Recording recording(file);
  ASSERT_TRUE(comes([&] { return recording.passes() == 1; }));
  fs::remove(file);
  RecordingWriter second(file, other.header());
  EXPECT_EQ(Recording(file).writer(), WriterState::Works);
  first.reset();
  EXPECT_THROW(
      {
        recording.writer();
        recording.passes();
      },
      Error);
  EXPECT_EQ(Recording(file).writer(), WriterState::Works);  // whose link is another one
}

TEST_F(LiveLinkTest, AStaleLinkIsNoWriter) {
  const DrawnRecording drawn(10);
  drawn.write(path("run"));
  std::ofstream(path("run-live")) << "anything";
  const Recording recording(path("run"));
  EXPECT_EQ(recording.writer(), WriterState::Gone);
  EXPECT_TRUE(recording.finished());
}

// Whoever made it, a file that is no link is neither written nor removed, and nothing is written where a link
// of the file system leads.
TEST_F(LiveLinkTest, AFileOfAPersonBesideARecordingStays) {
  const DrawnRecording drawn(10);
  write("run-live",
        "my notes on this run, which are as long as what a writer would put there: over a hundred "
        "and twelve bytes of text");
  const std::string notes = contents("run-live");
  drawn.write(path("run"));
  EXPECT_EQ(contents("run-live"), notes);
  remove_dead_link(path("run"));
  EXPECT_EQ(contents("run-live"), notes);
  write("other", "somebody's");
  fs::create_symlink(path("other"), path("linked-live"));
  drawn.write(path("linked"));
  EXPECT_EQ(contents("other"), "somebody's");
  EXPECT_TRUE(fs::is_symlink(path("linked-live")));
}

// Nothing that lies beside a recording is waited for.
TEST_F(LiveLinkTest, APipeBesideARecordingIsNoWriterAndNoJournal) {
  const DrawnRecording drawn(10);
  drawn.write(path("run"));
  ASSERT_EQ(mkfifo(path("run-live").c_str(), 0600), 0);
  EXPECT_EQ(Recording(path("run")).writer(), WriterState::Gone);
  ASSERT_EQ(mkfifo(path("run-journal").c_str(), 0600), 0);
  EXPECT_TRUE(error_of([&] { Recording recording(path("run")); }).find("run-journal is not a regular file") !=
              std::string::npos);
}

// The timeline of a recording that grows is that of the finished one.
TEST_F(LiveLinkTest, TheTimelineGrowsWithIt) {
  DrawnRecording drawn(11, 12);
  const auto program = std::make_shared<Program>(drawn.program);
  const std::string file = path("run");
  RecordingWriter writer(file, drawn.header());
  History live(file, program);
  EXPECT_FALSE(live.ready());
  for (size_t pass = 0; pass < drawn.passes().size(); ++pass) {
    writer.offer(drawn.passes()[pass]);
    if (pass % 4 != 3) continue;
    ASSERT_TRUE(comes([&] { return writer.is_settled(); }));
    ASSERT_TRUE(live.follow());
    while (!live.ready() || live.is_behind()) live.build_for(0.01);
    EXPECT_EQ(live.passes(), static_cast<int64_t>(pass) + 1);
    if (pass + 1 == drawn.passes().size()) break;
    // What comes after the last look is not there until the next.
    writer.offer(drawn.passes()[++pass]);
    ASSERT_TRUE(comes([&] { return writer.is_settled(); }));
    EXPECT_EQ(live.slice(0, live.end_ns(), 1'000'000).passes.size(), pass);
    EXPECT_LT(live.find({HistoryFind::SlowPass, {}, 0, 0, -1, 0})->pass, static_cast<int64_t>(pass));
  }
  const HistorySlice whole = live.slice(0, live.end_ns(), 1'000'000);
  const auto slowest = live.find({HistoryFind::SlowPass, {}, 0, 0, -1, 0});
  const auto longest = live.find({HistoryFind::LongWait, {}, 0, 0, -1, 0});
  writer.finish();
  EXPECT_FALSE(live.follow());
  const History finished(file, program);
  ASSERT_TRUE(finished.ready());
  const HistorySlice same = finished.slice(0, finished.end_ns(), 1'000'000);
  EXPECT_EQ(whole.level, same.level);
  EXPECT_EQ(whole.buckets, same.buckets);
  EXPECT_EQ(whole.passes.size(), same.passes.size());
  ASSERT_TRUE(slowest && longest);
  EXPECT_EQ(slowest->pass, finished.find({HistoryFind::SlowPass, {}, 0, 0, -1, 0})->pass);
  EXPECT_EQ(longest->begin_ns, finished.find({HistoryFind::LongWait, {}, 0, 0, -1, 0})->begin_ns);
}

// Killed in the middle of a commit, a recording is put right by who opens it; who may not write says so.
TEST_F(LiveLinkTest, WhereAKilledFileCannotBePutRightTheWayOutIsNamed) {
  const std::string file = path("run");
  const pid_t writer = fork();
  if (writer == 0) {
    Database database(file, Database::Access::Create);
    database.run("CREATE TABLE t(x); INSERT INTO t VALUES(1);");
    database.run("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN");
    for (int i = 0; i < 2000; ++i) database.run("INSERT INTO t VALUES(randomblob(3000))");
    _exit(0);
  }
  waitpid(writer, nullptr, 0);
  ASSERT_TRUE(fs::exists(file + "-journal"));
  try {
    Database(file, Database::Access::Read).integer("SELECT count(*) FROM t");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Run);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("run-journal, to such a folder"));
  }
  EXPECT_EQ(open_database(file)->integer("SELECT count(*) FROM t"), 1);
}

}  // namespace live_link_test
}  // namespace shardlens
