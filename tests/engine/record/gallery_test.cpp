// The recordings that are built into the program are complete and small, and show what their titles say.
#include "engine/record/gallery.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/config/assets.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/record/recording.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace gallery_test {

namespace fs = std::filesystem;

class GalleryTest : public TestFolder {
 protected:
  std::string file(const std::string& name) { return gallery_file(name, path("gallery")); }
};

double metric(const RecordedPass& pass, const std::string& name) {
  const auto found = std::find_if(pass.metrics.begin(), pass.metrics.end(),
                                  [&](const Metric& metric) { return metric.first == name; });
  return found == pass.metrics.end() ? std::nan("") : found->second;
}

TEST_F(GalleryTest, EveryPieceIsAWholeRecordingAndSmall) {
  constexpr int64_t kMost = int64_t{2} << 20;
  ASSERT_GE(gallery().size(), 7u);
  for (const GalleryPiece& piece : gallery()) {
    const Recording recording(file(piece.name));
    EXPECT_TRUE(recording.finished()) << piece.name;
    EXPECT_LT(piece.file_bytes, kMost) << piece.name;
    EXPECT_EQ(recording.totals().dropped_passes, 0) << piece.name;
    ASSERT_GE(recording.totals().passes, 1) << piece.name;
    const RecordedPass pass = recording.pass(recording.totals().passes - 1);
    for (const auto& rank : pass.events)
      EXPECT_EQ(rank.size(), recording.header().program.steps.size()) << piece.name;
    EXPECT_EQ(piece.arguments.substr(0, piece.arguments.find(' ')), recording.header().verb) << piece.name;
  }
}

TEST_F(GalleryTest, TheReversedLayerSendsMore) {
  const auto sent = [&](const std::string& name) {
    const RecordedPass pass = Recording(file(name)).pass(0);
    int64_t bytes = 0;
    for (const StepEvent& event : pass.events[0]) bytes += event.sent_bytes;
    return bytes;
  };
  EXPECT_GT(sent("layer-reversed"), 2 * sent("layer-megatron"));
  EXPECT_GT(sent("loss-gathered"), sent("loss-fused"));
}

TEST_F(GalleryTest, TheTwoLossesAreTheSameNumber) {
  const double fused = metric(Recording(file("loss-fused")).pass(0), "loss");
  EXPECT_NEAR(fused, metric(Recording(file("loss-gathered")).pass(0), "loss"), 1e-5 * fused);
}

// What the others wait in the collective after the late step is about what that rank was late.
TEST_F(GalleryTest, TheOthersWaitForTheLateRank) {
  const RecordedPass pass = Recording(file("late-rank")).pass(0);
  for (const size_t rank : {size_t{0}, size_t{1}, size_t{3}}) {
    double longest = 0;
    for (const StepEvent& event : pass.events[rank]) longest = std::max(longest, event.wait_seconds());
    EXPECT_GT(longest, 0.010) << "rank " << rank;
  }
}

TEST_F(GalleryTest, TheTrainingLearns) {
  const Recording recording(file("training"));
  const int64_t passes = recording.totals().passes;
  EXPECT_EQ(passes, 60);
  EXPECT_LT(metric(recording.pass(passes - 1), "loss"), 0.75 * metric(recording.pass(0), "loss"));
}

// The card that computed is named, and its ranks were on the GPU: nobody else has this communicator.
TEST_F(GalleryTest, TheRunOnAGpuNamesTheCard) {
  const Recording recording(file("on-a-gpu"));
  EXPECT_TRUE(recording.header().machine.starts_with("NVIDIA ")) << recording.header().machine;
  EXPECT_EQ(recording.header().communicator, "local_cuda");
}

TEST_F(GalleryTest, AFileThatIsThereIsLeftAsItIs) {
  const std::string path = file("late-rank");
  std::ofstream(path) << "notes were written into it";
  EXPECT_EQ(file("late-rank"), path);
  EXPECT_EQ(fs::file_size(path), 26u);
}

// Otherwise the notes in it would be out of sight.
TEST_F(GalleryTest, AFileThatAnOlderVersionUnpackedIsFound) {
  const std::string_view bytes = asset("gallery/late-rank.shardlens");
  const auto folder = fmt::format("{:08x}", hash_of_version_1(bytes.data(), bytes.size()) & 0xffffffff);
  EXPECT_EQ(file("late-rank"), path("gallery/" + folder + "/late-rank.shardlens"));
}

TEST_F(GalleryTest, AnUnknownPieceNamesThoseThereAre) {
  try {
    file("late-rnak");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("late-rank"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("layer-reversed"), std::string::npos) << error.what();
  }
}

TEST_F(GalleryTest, AFolderThatCannotBeMadeIsNamed) {
  const std::string in_the_way = path("file");
  std::ofstream(in_the_way) << "x";
  try {
    gallery_file("late-rank", in_the_way);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(in_the_way), std::string::npos) << error.what();
  }
}

}  // namespace gallery_test
}  // namespace shardlens
