// Runs `verify` as a user does: splits that agree, planted faults, tables of degrees.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/app/process.h"

namespace verify_test {

using shardlens::contains;
using shardlens::Ended;
using shardlens::kTinyLayer;
using shardlens::run_cli;

TEST(CliVerify, AgreesForEverySplit) {
  for (const char* split : {"megatron", "reversed", "replicated"}) {
    for (const char* dtype : {"fp32", "fp64"}) {
      const Ended ended = run_cli(std::string("verify --json --tp 2 ") + kTinyLayer + "--split " + split +
                                  " --dtype " + dtype);
      ASSERT_EQ(ended.code, 0) << ended.err;
      const nlohmann::json json = nlohmann::json::parse(ended.out);
      EXPECT_TRUE(json["agrees"]);
      EXPECT_GT(json["tensors"].size(), 40u);
    }
  }
}

TEST(CliVerify, SaysWhatAnErrorIsRelativeTo) {
  const std::string one_key =
      "verify --model gpt2-tiny --layer --kv-heads 2 --seq 1 --batch 1 --tp 2 --threads 1 ";
  const Ended table = run_cli(one_key);
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_TRUE(contains(table.out, "ok, of its terms")) << table.out;
  const nlohmann::json json = nlohmann::json::parse(run_cli(one_key + "--json").out);
  std::set<std::string> to_terms;
  for (const auto& tensor : json["tensors"])
    if (tensor["relative_to"] == "its terms") to_terms.insert(tensor["tensor"]);
  EXPECT_TRUE(to_terms.contains("grad.attn.q.out"));
  EXPECT_FALSE(to_terms.contains("grad.attn.context"));
}

TEST(CliVerify, EndsWithOneAndNamesTheTensorOfAPlantedFault) {
  const Ended ended = run_cli(std::string("verify --tp 2 --break skip-f ") + kTinyLayer);
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(contains(ended.err, "grad.ln2.out")) << ended.err;
}

// A model of 257 bytes that trains 6 steps in a second.
constexpr const char* kTinyModel = "--model gpt2-tiny --tp 2 --batch 2 --seq 16 ";

TEST(CliVerify, TrainsAPlantedFaultBesideTheSoundModel) {
  const Ended ended =
      run_cli(std::string("verify --json --break bias-before-reduction --steps 6 ") + kTinyModel);
  ASSERT_EQ(ended.code, 1) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["steps"].size(), 6u);
  EXPECT_EQ(json["steps"][0]["sound_loss"], json["steps"][0]["broken_loss"]);
  EXPECT_FALSE(json["probes"][0].contains("first_broken")) << "biases begin at 0";
  EXPECT_EQ(json["probes"][1]["first_broken"], "h.0.attn.proj.out@partial");
  EXPECT_EQ(json["checks"][0]["step"], 2);
  EXPECT_TRUE(contains(json["how_to_see"].get<std::string>(), "In step 1 every tensor is right"));
}

TEST(CliVerify, BreaksEverythingInOneTable) {
  const Ended ended = run_cli(std::string("verify --json --break all ") + kTinyModel);
  ASSERT_EQ(ended.code, 1) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  ASSERT_EQ(json["faults"].size(), 12u);
  for (const auto& row : json["faults"]) {
    const bool found = row["probes"][0].contains("first_broken");
    EXPECT_EQ(found, row["fault"] != "bias-before-reduction") << row["fault"];
  }
}

// What is not compared is counted and has a reason: nothing drops out because of replicas.
TEST(CliVerify, CountsWhatWasComparedAndWhatWasLeftOut) {
  const std::string arguments = "verify --model gpt2-tiny --batch 4 --seq 8 --threads 1 --tp 2 ";
  for (const int dp : {1, 2, 4}) {
    const Ended ended = run_cli(arguments + "--json --dp " + std::to_string(dp));
    ASSERT_EQ(ended.code, 0) << ended.err;
    const nlohmann::json json = nlohmann::json::parse(ended.out);
    EXPECT_EQ(json["compared_tensors"], json["tensors"].size());
    // With replicas: the terms of 52 gradients and of the loss, too.
    EXPECT_EQ(json["compared_tensors"], dp == 1 ? 298 : 298 + 53) << json["left_out"];
    size_t left_out = 0;
    for (const auto& group : json["left_out"]) {
      EXPECT_EQ(group["count"], group["tensors"].size());
      EXPECT_FALSE(group["reason"].get<std::string>().empty());
      left_out += group["count"].get<size_t>();
    }
    EXPECT_EQ(json["compared_tensors"].get<size_t>() + left_out, json["program_tensors"].get<size_t>());
  }
  const Ended text = run_cli(arguments + "--dp 2");
  EXPECT_TRUE(contains(text.out, "351 of 462 tensors compared on 2 replicas of 2 ranks")) << text.out;
  EXPECT_TRUE(contains(text.out, "104 left out: optimizer state")) << text.out;
}

TEST(CliVerify, LocatesAMistakeInOneReplica) {
  const std::string arguments = "verify --model gpt2-tiny --batch 4 --seq 8 --threads 1 --tp 2 --dp 2 ";
  const Ended json = run_cli(arguments + "--json --break skip-g --break-replica 1");
  ASSERT_EQ(json.code, 1) << json.err;
  const nlohmann::json found = nlohmann::json::parse(json.out);
  EXPECT_EQ(found["first_broken"], "h.0.attn.proj.sum");
  EXPECT_EQ(found["first_broken_on"]["replica"], 1);
  EXPECT_GE(found["first_broken_on"]["rank"], 0);
  EXPECT_TRUE(contains(json.err, "of replica 1")) << json.err;
  const Ended trained = run_cli(arguments + "--json --break skip-g --break-replica 1 --steps 2");
  ASSERT_EQ(trained.code, 1) << trained.err;
  const nlohmann::json report = nlohmann::json::parse(trained.out);
  EXPECT_EQ(report["probes"][0]["first_broken_on"]["replica"], 1);
  EXPECT_GT(report["probes"][0]["compared_tensors"], 300);
  for (const char* wrong : {"--break-replica 1", "--break skip-g --break-replica 2",
                            "--break reduce-copy --break-replica 1", "--break all --break-replica 1"})
    EXPECT_EQ(run_cli(arguments + wrong).code, 2) << wrong;
}

TEST(CliVerify, SweepsDegreesInOneTable) {
  const Ended ended = run_cli(std::string("verify --json --dtype fp64 --sweep 1,2,7 ") + kTinyLayer);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_TRUE(json["agrees"]);
  const nlohmann::json& points = json["points"];
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[1]["measured_weight_bytes_per_rank"], points[1]["weight_bytes_per_rank"]);
  EXPECT_LT(points[1]["weight_bytes_per_rank"].get<double>(),
            0.51 * points[0]["weight_bytes_per_rank"].get<double>());
  EXPECT_LE(points[1]["worst_relative_error"].get<double>(), 5e-15);
  EXPECT_TRUE(contains(points[2]["refused"], "Try")) << ended.out;
  EXPECT_GT(points[1]["compared_tensors"], 40);
  EXPECT_TRUE(points[1].contains("left_out"));

  const Ended defaults = run_cli(std::string("verify --sweep ") + kTinyLayer);
  EXPECT_EQ(defaults.code, 0) << defaults.err;
  EXPECT_TRUE(contains(defaults.out, "\n 16 ")) << defaults.out;
}

TEST(CliVerify, SweepEndsWithOneWhereABoundBreaks) {
  const Ended ended = run_cli(std::string("verify --sweep 2,4 --break skip-g ") + kTinyLayer);
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(contains(ended.err, "T = 2 differs")) << ended.err;
  EXPECT_TRUE(contains(ended.out, "BROKEN")) << ended.out;
}

}  // namespace verify_test
