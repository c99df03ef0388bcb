// `bench scaling --out`: the files that it writes, and the requests that it refuses before it measures
// anything.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/process.h"

namespace shardlens {
namespace growth_test {

namespace fs = std::filesystem;

class GrowthFiles : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  const std::string folder_ = ::testing::TempDir() + "growth_" + std::to_string(getpid());
};

// A number of a PNG file's header, most significant byte first.
uint32_t number_at(const std::string& bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return number;
}

// The calibration takes the budget, so nothing is left to run: files and reasons are the same as after
// minutes.
TEST_F(GrowthFiles, ATableAndAChartAnAxisAndTheCalibration) {
  const Ended ended =
      run_cli("bench scaling --json --repetitions 1 --budget 1 --tp 2 --seq 64 --out " + folder_ + "/made");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["points"].size(), 25u);
  for (const auto& point : json["points"]) {
    EXPECT_GT(point["predicted_seconds"], 0) << point;
    EXPECT_FALSE(point["left_out"].get<std::string>().empty()) << point;
  }
  for (const char* axis : {"model", "ranks", "sequence", "batch"}) {
    const std::string stem = folder_ + "/made/growth-" + axis;
    EXPECT_EQ(slurp(stem + ".csv").rfind("axis,size,", 0), 0u) << axis;
    const std::string png = slurp(stem + ".png");
    ASSERT_GT(png.size(), 10'000u) << axis << ended.err;
    EXPECT_EQ(png.substr(1, 3), "PNG");
    EXPECT_EQ(number_at(png, 16), 1280u);
    EXPECT_EQ(number_at(png, 20), 720u);
  }
  const nlohmann::json calibration = nlohmann::json::parse(slurp(folder_ + "/made/calibration.json"));
  EXPECT_FALSE(calibration["rates"].empty());
}

TEST_F(GrowthFiles, RefusesAFolderThatCannotBeOne) {
  std::ofstream(folder_) << "a file";
  const Ended file = run_cli("bench scaling --out " + folder_);
  EXPECT_EQ(file.code, 2);
  EXPECT_NE(file.err.find("choose another --out"), std::string::npos) << file.err;
  const Ended nowhere = run_cli("bench scaling --out /proc/nowhere/growth");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.err.find("/proc/nowhere/growth"), std::string::npos) << nowhere.err;
}

// A measurement that is given up, however, leaves no empty folder.
TEST_F(GrowthFiles, NothingStandsBeforeTheFirstResult) {
  const Ended killed = run_program("timeout", std::string("-s KILL 0.5 ") + SHARDLENS_CLI_PROGRAM +
                                                  " bench scaling --budget 600 --out " + folder_ + "/made");
  EXPECT_EQ(killed.code, 137);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(GrowthFiles, RefusesWhatItWouldNotObey) {
  const Ended model = run_cli("bench scaling --model gpt2 --out " + folder_);
  EXPECT_EQ(model.code, 2);
  EXPECT_NE(model.err.find("leave out --model"), std::string::npos) << model.err;
  EXPECT_EQ(run_cli("bench scaling --budget 0 --out " + folder_).code, 2);
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace growth_test
}  // namespace shardlens
