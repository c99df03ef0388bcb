// Runs `shardlens-cli bench` as a user does: it prints ratios to a ceiling, and says which figures are
// measured and which are estimated.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/config/hardware_file.h"
#include "engine/config/presets.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/plan.h"
#include "tests/app/process.h"

namespace bench_test {

using shardlens::contains;
using shardlens::Ended;
using shardlens::kTinyLayer;
using shardlens::run_cli;

TEST(Bench, PrintsRatiosAsJson) {
  const Ended step = run_cli(std::string("bench step --json --repetitions 2 --tp 2 ") + kTinyLayer);
  ASSERT_EQ(step.code, 0) << step.err;
  const nlohmann::json json = nlohmann::json::parse(step.out);
  EXPECT_GT(json["of_gemm_ceiling"].get<double>(), 0);
  EXPECT_GT(json["gemm_ceiling_flops"].get<double>(), 0);
  EXPECT_GT(json["step_seconds"].get<double>(), 0);
  const Ended tokens = run_cli("bench generate --json --repetitions 2 --tp 2 --model gpt2-tiny --seq 64");
  ASSERT_EQ(tokens.code, 0) << tokens.err;
  const nlohmann::json generated = nlohmann::json::parse(tokens.out);
  EXPECT_GT(generated["tokens_per_second"].get<double>(), 0);
  EXPECT_GT(generated["of_read_ceiling"].get<double>(), 0);
  EXPECT_GT(generated["read_ceiling_bytes_per_second"].get<double>(), 0);
}

TEST(Bench, MemorysSpeedIsOfAllThatAdamWReadsAndWrites) {
  const Ended ended =
      run_cli("bench step --json --repetitions 1 --model gpt2-tiny --tp 1 --batch 2 --seq 16 --threads 1");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  const double bytes =
      json["adamw_bytes_per_second"].get<double>() * json["op_seconds"]["adamw"].get<double>();
  const shardlens::Model model = shardlens::model_preset("gpt2-tiny");
  const int64_t padding = (shardlens::padded_vocab(model, 1) - model.vocab) * model.hidden;
  // Read and written: a parameter and two moments; read: a gradient. Four bytes each.
  EXPECT_NEAR(bytes / static_cast<double>(shardlens::parameter_count(model) + padding), (3 * 2 + 1) * 4,
              1e-6);
}

TEST(Bench, ItsHeadNamesTheReplicas) {
  const Ended ended =
      run_cli("bench step --repetitions 1 --model gpt2-tiny --tp 1 --dp 2 --batch 2 --seq 16 --threads 1");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(contains(ended.out, "T = 1 · D = 2 · ")) << ended.out;
}

TEST(Bench, ProductsAreTimedWithTheThreadsAskedFor) {
  const Ended ended =
      run_cli("bench gemm --model gpt2-tiny --layer --tp 1 --threads 3 --repetitions 1 --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(nlohmann::json::parse(ended.out)["threads_per_rank"], 3);
}

TEST(Bench, RanksAreTimedAgainstOneCore) {
  const Ended ended = run_cli(std::string("bench speedup --json --repetitions 1 --tp 2 ") + kTinyLayer);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json points = nlohmann::json::parse(ended.out)["points"];
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0]["tp"], 1);
  EXPECT_EQ(points[0]["collective_seconds"], 0) << "one rank meets nobody";
  EXPECT_EQ(points[1]["tp"], 2);
  EXPECT_GT(points[1]["collective_seconds"], 0);
}

// Beside what lies there of another dtype.
TEST(Bench, CalibratesThisMachineIntoAFile) {
  const std::string path = ::testing::TempDir() + "calibration_" + std::to_string(getpid()) + ".json";
  shardlens::Hardware before = shardlens::find_hardware(shardlens::kThisMachine);
  before.basis = "measured by bench calibrate on " + shardlens::machine_description() + ", fp64, 2026-01-02";
  before.fp64_flops = 1e9;
  before.rates[{"linear", shardlens::DType::Fp64, 1}] = {{1e6, 1e9}};
  shardlens::write_hardware_file(before, path);
  const Ended ended =
      run_cli("bench calibrate --json --repetitions 1 --model gpt2-tiny --seq 64 --out " + path);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["file"], path);
  for (const nlohmann::json& check : json["checks"]) EXPECT_GT(check["predicted_seconds"], 0);
  const Ended plan = run_cli("plan --layer --model gpt2-tiny --seq 64 --tp 2 --hardware " + path);
  EXPECT_TRUE(contains(plan.out, "measured by bench")) << plan.out;
  const Ended other = run_cli("plan --layer --model gpt2-tiny --seq 64 --dtype fp64 --hardware " + path);
  EXPECT_TRUE(contains(other.out, "Predicted on")) << other.out;
  std::filesystem::remove(path);
  EXPECT_EQ(run_cli("plan --hardware " + path).code, 2);
}

TEST(Bench, ScalingSaysWhatIsEstimatedAndWhatMeasured) {
  const Ended scaling = run_cli("bench scaling --model gpt2-tiny --seq 64 --repetitions 1");
  EXPECT_EQ(scaling.code, 0) << scaling.err;
  for (const char* part : {"77 %", "74 %", "2.98", "estimated on DGX-2H", "measured on", "C/K"})
    EXPECT_TRUE(contains(scaling.out, part)) << part;
}

}  // namespace bench_test
