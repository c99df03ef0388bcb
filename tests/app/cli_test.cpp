// shardlens-cli as a person uses it: what it prints, and what it ends with when the request is wrong.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/process.h"

namespace {

using shardlens::Ended;
using shardlens::slurp;

Ended run(const std::string& arguments) {
  return shardlens::run_program(SHARDLENS_CLI_PROGRAM, arguments);
}

constexpr const char* kTiny = "--model gpt2-tiny --layer --batch 2 --seq 16 --threads 1 ";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Cli, HelpTeachesWithExamples) {
  for (const char* verb : {"", "plan", "step", "verify", "bench"}) {
    const Ended ended = run(std::string(verb) + " --help");
    EXPECT_EQ(ended.code, 0) << verb;
    EXPECT_TRUE(contains(ended.out, "Examples")) << verb;
  }
}

TEST(Cli, PlanJsonOfMegatronHasTwoAllReducesEachWayAtEveryT) {
  for (int tp : {2, 3, 4, 6, 12}) {
    const Ended ended = run("plan --json --layer --model gpt2 --tp " + std::to_string(tp));
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

TEST(Cli, VerifyAgreesForEverySplit) {
  for (const char* split : {"megatron", "reversed", "replicated"}) {
    for (const char* dtype : {"fp32", "fp64"}) {
      const Ended ended =
          run(std::string("verify --json --tp 2 ") + kTiny + "--split " + split + " --dtype " + dtype);
      ASSERT_EQ(ended.code, 0) << ended.err;
      const nlohmann::json json = nlohmann::json::parse(ended.out);
      EXPECT_TRUE(json["agrees"]);
      EXPECT_GT(json["tensors"].size(), 40u);
    }
  }
}

TEST(Cli, VerifyEndsWithOneAndNamesTheTensorOfAPlantedFault) {
  const Ended ended = run(std::string("verify --tp 2 --break skip-f ") + kTiny);
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(contains(ended.err, "grad.ln2.out")) << ended.err;
}

TEST(Cli, StepDumpsFullShapesTheSameWhateverT) {
  const std::string one = ::testing::TempDir() + "one.safetensors";
  const std::string two = ::testing::TempDir() + "two.safetensors";
  ASSERT_EQ(run(std::string("step --operands integer --tp 1 ") + kTiny + "--dump " + one).code, 0);
  ASSERT_EQ(run(std::string("step --operands integer --tp 2 ") + kTiny + "--dump " + two).code, 0);
  EXPECT_FALSE(slurp(one).empty());
  EXPECT_EQ(slurp(one), slurp(two));
}

struct WrongRequest {
  const char* arguments;
  const char* must_say;
};

TEST(Cli, WrongRequestsEndWithTwoAndNameTheRemedy) {
  const WrongRequest requests[] = {
      {"verify --layer --tp 5", "Try 4 or 6"},
      {"verify --layer --tp 0", "T"},
      {"verify --layer --tp -3", "T"},
      {"verify --layer --tp 100000", "T"},
      {"verify --layer --batch 0", "batch"},
      {"verify --layer --seq -1", "sequence"},
      {"verify --layer --seq 100000", "1024"},
      {"verify --layer --model gtp2", "gpt2"},
      {"verify --layer --split megatrom", "megatron"},
      {"verify --layer --dtype fp31", "fp32"},
      {"verify --layer --dtype bf16", "fp32"},
      {"verify --layer --backend cuda", "cpu"},
      {"verify --layer --hardware v200", "v100"},
      {"verify --layer --break nothing", "skip-f"},
      {"verify --layer --block head", "mlp"},
      {"step --layer --model megatron-8.3b --batch 4096 --seq 1024 --tp 2", "batch"},
      {"step --layer --input /nonexistent/x.npy", "/nonexistent/x.npy"},
      {"step --layer --weights /nonexistent/w.safetensors", "/nonexistent/w.safetensors"},
      {"bench speed", "gemm"},
      {"plan --model gpt2-tiny --seq 8 --cache 4", "cache of 8"},
      {"dance", "dance"},
      {"plan --tp two", "two"},
  };
  for (const WrongRequest& request : requests) {
    const Ended ended = run(request.arguments);
    EXPECT_EQ(ended.code, 2) << request.arguments << "\n" << ended.err;
    EXPECT_TRUE(contains(ended.err + ended.out, request.must_say)) << request.arguments << "\n" << ended.err;
  }
}

TEST(Cli, AFileCutShortIsRefusedAndNothingIsWritten) {
  const std::string weights = ::testing::TempDir() + "cut.safetensors";
  const std::string dump = ::testing::TempDir() + "never.safetensors";
  std::filesystem::remove(dump);
  std::ofstream(weights, std::ios::binary) << "\x10\0\0\0\0\0\0\0{\"a\"";
  const Ended ended = run(std::string("step --tp 2 ") + kTiny + "--weights " + weights + " --dump " + dump);
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_TRUE(contains(ended.err, "cut.safetensors")) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(dump));
}

TEST(Cli, ADumpThatCannotBeWrittenLeavesNothingBehind) {
  const Ended ended = run(std::string("step --tp 2 ") + kTiny + "--dump /nonexistent/folder/out.safetensors");
  EXPECT_NE(ended.code, 0);
  EXPECT_TRUE(contains(ended.err, "/nonexistent/folder")) << ended.err;
}

TEST(Cli, BenchPrintsRatiosAsJson) {
  const Ended step = run(std::string("bench step --json --repetitions 2 --tp 2 ") + kTiny);
  ASSERT_EQ(step.code, 0) << step.err;
  const nlohmann::json json = nlohmann::json::parse(step.out);
  EXPECT_GT(json["of_gemm_ceiling"].get<double>(), 0);
  EXPECT_GT(json["gemm_ceiling_flops"].get<double>(), 0);
  EXPECT_GT(json["step_seconds"].get<double>(), 0);
  const Ended tokens = run("bench generate --json --repetitions 2 --tp 2 --model gpt2-tiny --seq 64");
  ASSERT_EQ(tokens.code, 0) << tokens.err;
  const nlohmann::json generated = nlohmann::json::parse(tokens.out);
  EXPECT_GT(generated["tokens_per_second"].get<double>(), 0);
  EXPECT_GT(generated["of_read_ceiling"].get<double>(), 0);
  EXPECT_GT(generated["read_ceiling_bytes_per_second"].get<double>(), 0);
}

TEST(Cli, APassOfGenerationIsPlannedAndAgreesWithSerial) {
  const std::string pass = " --model gpt2-tiny --batch 2 --seq 5 --cache 32 --tp 3 ";
  const Ended plan = run("plan" + pass);
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_TRUE(contains(plan.out, "key-value cache")) << plan.out;
  EXPECT_TRUE(contains(plan.out, "against a cache of 32")) << plan.out;
  const Ended verify = run("verify --dtype fp64" + pass);
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;
  EXPECT_TRUE(contains(verify.out, "h.0.attn.keys.appended")) << verify.out;
}

}  // namespace
