// Records what a Session runs: the file holds the same as its Snapshot.
#include "engine/runtime/recordings/run_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/runtime/session/session.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_layer.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace run_recorder_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kLimitSeconds = 120;

class SessionRecording : public TestFolder {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path("recordings")))
      found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    return found;
  }
};

TEST_F(SessionRecording, HoldsWhatTheSnapshotShows) {
  std::shared_ptr<const Snapshot> shown;
  {
    Session session(testing::small_layer(2));
    session.wait_until_idle(kLimitSeconds);
    session.send(command::Record{path("recordings")});
    shown = session.wait_until_idle(kLimitSeconds);
    EXPECT_TRUE(shown->recording.on);
    EXPECT_EQ(shown->recording.passes, 0);
    session.send(command::Run{});
    session.wait_until_idle(kLimitSeconds);
    session.send(command::Run{});
    session.wait_until_idle(kLimitSeconds);
    session.send(command::Record{});  // everything is written when it says so
    shown = session.wait_until_idle(kLimitSeconds);
  }
  EXPECT_FALSE(shown->recording.on);
  EXPECT_EQ(shown->recording.passes, 2);
  EXPECT_EQ(shown->recording.dropped_passes, 0);
  ASSERT_EQ(files(), std::vector<std::string>{shown->recording.path});
  EXPECT_EQ(shown->recording.bytes, static_cast<int64_t>(fs::file_size(shown->recording.path)));
  const Recording recording(shown->recording.path);
  EXPECT_TRUE(recording.finished());
  EXPECT_EQ(recording.header().program, shown->plan->program);
  const Result& result = *shown->result;
  const RecordedPass pass = recording.pass(1);
  const SampleTable samples = recording.samples(1);
  const ParityTable parity = recording.parity(1);
  ASSERT_EQ(pass.events.size(), result.events.size());
  for (size_t rank = 0; rank < result.events.size(); ++rank) {
    EXPECT_EQ(pass.events[rank].size(), result.events[rank].size());
    for (size_t id = 0; id < result.samples[rank].size(); ++id) {
      ASSERT_EQ(samples[rank][id] == nullptr, result.samples[rank][id] == nullptr);
      if (!samples[rank][id]) continue;
      EXPECT_EQ(samples[rank][id]->hash, result.samples[rank][id]->hash);
      EXPECT_EQ(samples[rank][id]->picture.values, result.samples[rank][id]->picture.values);
      EXPECT_EQ(samples[rank][id]->exact, result.samples[rank][id]->exact);
    }
  }
  ASSERT_EQ(parity.size(), result.parity.size());
  for (size_t id = 0; id < parity.size(); ++id)
    EXPECT_EQ(parity[id] == nullptr, result.parity[id] == nullptr);
}

TEST_F(SessionRecording, EndsWithTheComparisonOfARunThatIsWhole) {
  std::shared_ptr<const Snapshot> shown;
  {
    Settings settings = testing::small_layer(2);
    settings.batch = 48;  // takes long enough to be asked while it is compared
    Session session(settings);
    ASSERT_EQ(session.wait_until_idle(kLimitSeconds)->state, RunState::Done);
    session.send(command::Record{path("recordings")});
    session.wait_until_idle(kLimitSeconds);
    session.send(command::Run{});
    while (session.snapshot()->result->timed) std::this_thread::yield();  // the run before
    while (!session.snapshot()->result->timed) std::this_thread::yield();
    session.send(command::Record{});
    shown = session.wait_until_idle(kLimitSeconds);
  }
  EXPECT_FALSE(shown->recording.on);
  ASSERT_EQ(shown->recording.passes, 1);
  const ParityTable parity = Recording(shown->recording.path).parity(0);
  ASSERT_EQ(parity.size(), shown->result->parity.size());
  EXPECT_TRUE(std::any_of(parity.begin(), parity.end(), [](const auto& of) { return of && of->compared; }));
}

TEST_F(SessionRecording, AnotherPlanHasAFileOfItsOwnAndTheEndOfTheSessionEndsIt) {
  {
    Session session(testing::small_layer(2));
    session.send(command::Record{path("recordings")});
    session.wait_until_idle(kLimitSeconds);
    session.send(command::SetSettings{testing::small_layer(3)});
    session.wait_until_idle(kLimitSeconds);
  }
  const std::vector<std::string> made = files();
  ASSERT_EQ(made.size(), 2u);
  std::set<int> ranks;
  for (const std::string& file : made) {
    const Recording recording(file);
    EXPECT_TRUE(recording.finished());
    EXPECT_EQ(recording.totals().passes, 1);
    ranks.insert(recording.world_size());
  }
  EXPECT_EQ(ranks, (std::set<int>{2, 3}));
}

TEST_F(SessionRecording, AFolderThatCannotBeMadeIsSaidAndTheRunGoesOn) {
  write("file", "in the way");
  Session session(testing::small_layer(2));
  session.send(command::Record{path("file")});
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->state, RunState::Done);
  EXPECT_FALSE(snapshot->recording.on);
  EXPECT_THAT(snapshot->recording.problem, StartsWith("Nothing is recorded: "));
}

TEST(RecordingName, SaysDateModelAndCut) {
  setenv("TZ", "UTC", 1);
  tzset();
  Settings settings = testing::small_model(2, 3);
  settings.model.name = "my model/7";
  EXPECT_EQ(recording_name(settings, 1.8e9), "2027-01-15_08-00-00_my-model-7_T2D3.shardlens");
  settings.block = Block::Layer;
  settings.dp = 1;
  EXPECT_EQ(recording_name(settings, 1.8e9), "2027-01-15_08-00-00_my-model-7-layer_T2.shardlens");
  // What one run is set against another for is in its name.
  settings.split.name = "qkv row/2";
  settings.delays = {{1, "attn.proj", 20}};
  EXPECT_EQ(recording_name(settings, 1.8e9),
            "2027-01-15_08-00-00_my-model-7-layer_T2_qkv-row-2_late.shardlens");
}

}  // namespace run_recorder_test
}  // namespace shardlens
