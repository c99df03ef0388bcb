// Runs `plan` as a user does: its JSON, prices and tournament.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/process.h"

namespace plan_test {

using shardlens::contains;
using shardlens::Ended;
using shardlens::run_cli;

TEST(CliPlan, JsonOfMegatronHasTwoAllReducesEachWayAtEveryT) {
  for (int tp : {2, 3, 4, 6, 12}) {
    const Ended ended = run_cli("plan --json --layer --model gpt2 --tp " + std::to_string(tp));
    ASSERT_EQ(ended.code, 0) << ended.err;
    const nlohmann::json json = nlohmann::json::parse(ended.out);
    const auto& counts = json["collective_counts"];
    EXPECT_EQ(counts.size(), 1u);
    EXPECT_EQ(counts["all-reduce"]["forward"], 2);
    EXPECT_EQ(counts["all-reduce"]["backward"], 2);
    const int64_t full_bytes = int64_t{4} * 256 * 768 * 4;
    for (const auto& collective : json["collectives"]) {
      EXPECT_EQ(collective["sent_bytes_per_rank"], 2 * full_bytes * (tp - 1) / tp);
    }
  }
}

TEST(CliPlan, JsonOfABucketHasTheBytesOfAllItsTensors) {
  const Ended ended = run_cli("plan --json --model gpt2-tiny --dp 2 --tp 2 --seq 24");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  const nlohmann::json& program = json["program"];
  size_t largest = 0;
  for (const auto& collective : json["collectives"]) {
    const nlohmann::json& step = program["steps"][collective["step"].get<size_t>()];
    EXPECT_EQ(collective["axis"], step["axis"]);
    EXPECT_EQ(collective["tensors"], step["outputs"].size());
    int64_t bytes = 0;
    for (const auto& output : step["outputs"]) {
      int64_t elements = 1;
      for (const auto& extent : program["tensors"][output.get<size_t>()]["shape"])
        elements *= extent.get<int64_t>();
      bytes += elements * 4;
    }
    EXPECT_EQ(collective["tensor_bytes"], bytes) << collective;
    if (collective["axis"] == "dp") largest = std::max(largest, step["outputs"].size());
  }
  EXPECT_GT(largest, 1u);
}

// All parts of the batch are alike, so one of them is printed.
TEST(CliPlan, OnePartOfTheBatchIsListed) {
  const std::string model = "plan --model gpt2-tiny --tp 2 --seq 8 ";
  const Ended one = run_cli(model + "--batch 1"), many = run_cli(model + "--batch 9 --micro-batches 9");
  ASSERT_EQ(many.code, 0) << many.err;
  EXPECT_TRUE(contains(many.out, "parts 1 to 8 of the batch")) << many.out;
  EXPECT_FALSE(contains(many.out, "mb1.")) << many.out;
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_LT(lines(many.out), lines(one.out) + 10) << many.out;
}

// With times or memory that grow with the square of the parts this one never ends.
TEST(CliPlan, AThousandMicroBatchesArePlanned) {
  const Ended ended = run_cli("plan --model gpt2 --micro-batches 1000 --batch 1000");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(contains(ended.out, "parts 1 to 999")) << ended.out;
}

TEST(CliPlan, MoreStepsThanCanBePlannedAreRefusedAtOnce) {
  const Ended ended = run_cli("plan --model gpt2 --micro-batches 10000 --batch 10000");
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(contains(ended.err, "about 4,069,999 steps; on T = 2 at most 500,000 are planned"))
      << ended.err;
  EXPECT_TRUE(contains(ended.err, "Try 1,000 micro-batches")) << ended.err;
  EXPECT_EQ(run_cli("plan --pp 1 --model gpt2 --micro-batches 10000 --batch 10000").code, 0);
}

// The preset does not state its speed in bf16.
TEST(CliPlan, JsonHasNoTimeWhereNoneIsPredicted) {
  const std::string unknown = "plan --json --model gpt2-tiny --tp 2 --dtype bf16 --hardware v100-32gb";
  const nlohmann::json plan = nlohmann::json::parse(run_cli(unknown).out);
  EXPECT_TRUE(plan["predicted_seconds"].is_null()) << plan["predicted_seconds"];
  for (const auto& collective : plan["collectives"]) EXPECT_TRUE(collective["predicted_seconds"].is_null());
  const nlohmann::json price = nlohmann::json::parse(run_cli(unknown + " --pp 1").out);
  for (const char* key : {"predicted_seconds", "compute_seconds", "tp_seconds", "update_seconds"})
    EXPECT_TRUE(price[key].is_null()) << key << price[key];
}

// A trillion parameters over T, D and P.
TEST(CliPlan, PricesATrillionParametersInThreeDimensions) {
  const Ended ended = run_cli(
      "plan --json --model gpt-1t --tp 8 --pp 64 --dp 6 --micro-batches 512 --batch 3072 --seq 2048 "
      "--dtype fp16 --recompute full --hardware a100-80gb");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["ranks"], 3072);
  EXPECT_EQ(json["stage_layers"], 2);
  EXPECT_NEAR(json["bubble_fraction"].get<double>(), 63.0 / 575, 1e-12);
  EXPECT_GT(json["predicted_seconds"], 0);
  EXPECT_LT(json["memory_bytes_per_rank"], json["memory_limit_bytes"]);
  EXPECT_EQ(json["predicted_on"], "A100 80 GB");
  EXPECT_TRUE(json["sources"].contains("link_latency_seconds"));
  EXPECT_EQ(run_cli("plan --model gpt2 --pp 13 --hardware a100-80gb").code, 2);  // 12 layers
  EXPECT_EQ(run_cli("plan --model gpt2 --tp 12 --dp 2 --hardware a100-80gb-2-nodes").code, 2);
}

// Thousands of plans, the fastest that fit listed with their memory.
TEST(CliPlan, TournamentRanksEverySplitWithinTheMemory) {
  const Ended ended = run_cli(
      "plan --json --tournament --model megatron-8.3b --ranks 16 --batch 16 --seq 1024 --dtype fp16 "
      "--recompute full --hardware a100-80gb-2-nodes --top 4 --memory 40e9");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_GT(json["plans"], 1000);
  EXPECT_LT(json["programs"], json["plans"]);
  ASSERT_EQ(json["listed"].size(), 4u);
  double last = 0;
  for (const nlohmann::json& entrant : json["listed"]) {
    EXPECT_GE(entrant["predicted_seconds"], last);
    last = entrant["predicted_seconds"];
    EXPECT_EQ(entrant["tp"].get<int>() * entrant["dp"].get<int>(), 16);
    EXPECT_LE(entrant["memory_bytes_per_rank"], 40e9);
  }
  EXPECT_EQ(json["basis"], "data-sheet peaks, a lower bound");
  EXPECT_EQ(run_cli("plan --tournament --model gpt2-tiny --ranks 2 --run 2 --hardware a100-80gb").code, 2);
}

TEST(CliPlan, TournamentRunsItsBestOnTheCalibratedMachine) {
  const std::string path = ::testing::TempDir() + "tournament_" + std::to_string(getpid()) + ".json";
  ASSERT_EQ(run_cli("bench calibrate --json --repetitions 1 --model gpt2-tiny --seq 64 --out " + path).code,
            0);
  const Ended ended =
      run_cli("plan --json --tournament --model gpt2-tiny --seq 64 --ranks 2 --run 2 --hardware " + path);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  ASSERT_EQ(json["runs"].size(), 2u);
  EXPECT_EQ(json["pairs"], 1);
  for (const nlohmann::json& one : json["runs"]) {
    EXPECT_GT(one["predicted_seconds"], 0);
    EXPECT_GT(one["measured_seconds"], 0);
  }
  std::filesystem::remove(path);
}

TEST(CliPlan, FiguresOfTheTextsStandBesideTheExactOnes) {
  const Ended figures = run_cli("plan --figures");
  EXPECT_EQ(figures.code, 0);
  EXPECT_TRUE(contains(figures.out, "117,440,512 bytes = 112 MiB, the same")) << figures.out;
}

// The laboratory by command: a table for a reader, and all runs for a program.
TEST(CliPlan, TheAlgebraRunsEveryOperationOnSharesAndPieces) {
  const Ended page = run_cli("plan --algebra --tp 3");
  ASSERT_EQ(page.code, 0) << page.err;
  EXPECT_TRUE(contains(page.out, "| Partial → Replicated | all-reduce |")) << page.out;
  EXPECT_TRUE(contains(page.out, "on 3 ranks")) << page.out;
  EXPECT_TRUE(contains(page.out, "| GeLU | Partial |  | summed |")) << page.out;
  const Ended ended = run_cli("plan --algebra --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["ranks"], 4);
  int wrong = 0, right = 0;
  for (const nlohmann::json& one : json["runs"]) {
    const bool is_wrong = one["verdict"] == "wrong";
    ++(is_wrong ? wrong : right);
    if (is_wrong) {
      EXPECT_GT(one["largest_difference"].get<double>(), 1e-3 * one["largest_number"].get<double>());
    }
    if (one["operation"] == "bias" && one["choice"] == "b on every rank") {
      EXPECT_TRUE(is_wrong);
    }
    if (one["operation"] == "bias" && one["choice"] == "b on rank 0 alone") {
      EXPECT_FALSE(is_wrong);
    }
  }
  EXPECT_GT(wrong, 15);
  EXPECT_GT(right, 40);
}

// One step line by line: for a reader, for a program, and for a slide.
TEST(CliPlan, AStepIsDerivedAsTextJsonAndLatex) {
  const std::string step = "plan --model gpt2 --layer --tp 4 --batch 1 --seq 64 --derive mlp.proj";
  const Ended text = run_cli(step);
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "= Σᵣ Gᵣ · Wprojᵣ")) << text.out;
  EXPECT_TRUE(contains(text.out, "64×3072 · 3072×768 = 64×768")) << text.out;
  const nlohmann::json json = nlohmann::json::parse(run_cli(step + " --json").out);
  EXPECT_EQ(json["name"], "mlp.proj");
  EXPECT_EQ(json["lines"][0]["left"], "Z");
  EXPECT_EQ(json["lines"][0]["right"], "G · Wproj");
  EXPECT_TRUE(json["lines"][1]["left"].is_null()) << "it goes on with the line before";
  const Ended latex = run_cli(step + " --latex");
  EXPECT_EQ(latex.out, json["latex"]);
  EXPECT_TRUE(latex.out.starts_with("\\begin{align*}")) << latex.out;
  const std::string number = std::to_string(json["step"].get<int>());
  EXPECT_EQ(run_cli(step.substr(0, step.rfind(' ') + 1) + number).out, text.out) << "by its number";
}

TEST(CliPlan, SaysWhatARankComputesAgainstWhatItSends) {
  const std::string settings = "plan --layer --model gpt2 --tp 4 --hardware h100-80gb";
  const Ended text = run_cli(settings);
  EXPECT_TRUE(contains(text.out, "Computing against communicating, R: forward ")) << text.out;
  const nlohmann::json plan = nlohmann::json::parse(run_cli(settings + " --json").out);
  const nlohmann::json& ratios = plan["compute_to_communication"];
  double sent = 0;
  for (const auto& collective : plan["collectives"]) sent += collective["predicted_seconds"].get<double>();
  EXPECT_NEAR(ratios["pass"]["communicate_seconds"].get<double>(), sent, 1e-12);
  EXPECT_GE(ratios["pass"]["compute_seconds"].get<double>() + sent,
            plan["predicted_seconds"].get<double>() - 1e-12);
  for (const char* part : {"compute_seconds", "communicate_seconds"})
    EXPECT_NEAR(ratios["forward"][part].get<double>() + ratios["backward"][part].get<double>(),
                ratios["pass"][part].get<double>(), 1e-12);
  EXPECT_NEAR(ratios["pass"]["ratio"].get<double>(), ratios["pass"]["compute_seconds"].get<double>() / sent,
              1e-12);
  const nlohmann::json alone =
      nlohmann::json::parse(run_cli("plan --layer --model gpt2 --tp 1 --hardware h100-80gb --json").out);
  EXPECT_TRUE(alone["compute_to_communication"]["pass"]["ratio"].is_null());
}

TEST(CliPlan, APassOfGenerationIsPlannedAndAgreesWithSerial) {
  const std::string pass = " --model gpt2-tiny --batch 2 --seq 5 --cache 32 --tp 3 --heads-policy uneven ";
  const Ended plan = run_cli("plan" + pass);
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_TRUE(contains(plan.out, "key-value cache")) << plan.out;
  EXPECT_TRUE(contains(plan.out, "against a cache of 32")) << plan.out;
  const Ended verify = run_cli("verify --dtype fp64" + pass);
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;
  EXPECT_TRUE(contains(verify.out, "h.0.attn.keys.appended")) << verify.out;
}

}  // namespace plan_test
