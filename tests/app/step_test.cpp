// Runs `step` as a user does: what it dumps and counts, and which input files it refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/npy.h"
#include "tests/app/process.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/io/write_npy.h"

namespace step_test {

using shardlens::contains;
using shardlens::Ended;
using shardlens::kTinyLayer;
using shardlens::run_cli;
using shardlens::slurp;

class CliStep : public shardlens::TestFolder {};

TEST_F(CliStep, StepDumpsFullShapesTheSameWhateverT) {
  const std::string one = path("one.safetensors");
  const std::string two = path("two.safetensors");
  ASSERT_EQ(run_cli(std::string("step --operands integer --tp 1 ") + kTinyLayer + "--dump " + one).code, 0);
  ASSERT_EQ(run_cli(std::string("step --operands integer --tp 2 ") + kTinyLayer + "--dump " + two).code, 0);
  EXPECT_FALSE(slurp(one).empty());
  EXPECT_EQ(slurp(one), slurp(two));
}

// It might be a checkpoint's weights.
TEST_F(CliStep, ADumpOverwritesNothing) {
  const std::string kept = path("kept.safetensors");
  std::ofstream(kept) << "weights";
  const Ended step = run_cli(std::string("step --tp 2 ") + kTinyLayer + "--dump " + kept);
  EXPECT_EQ(step.code, 2);
  EXPECT_TRUE(contains(step.err, "kept.safetensors is there already")) << step.err;
  EXPECT_EQ(slurp(kept), "weights");
  const std::string both = path("both");
  const Ended twice =
      run_cli(std::string("step --tp 2 ") + kTinyLayer + "--dump " + both + " --record " + both);
  EXPECT_EQ(twice.code, 2);
  EXPECT_TRUE(contains(twice.err, "name the same file")) << twice.err;
}

// As in the step's recording and in the studio.
TEST_F(CliStep, PassesCountFromZero) {
  const Ended ended = run_cli("step --model gpt2-tiny --tp 2 --batch 1 --seq 8 --updates 2");
  EXPECT_TRUE(contains(ended.out, "pass   0  loss") && contains(ended.out, "pass   1  loss")) << ended.out;
  EXPECT_FALSE(contains(ended.out, "pass   2")) << ended.out;
}

// By `step` others compare their numbers with ours at any T; elsewhere uneven heads are asked for.
TEST_F(CliStep, HeadsThatTDoesNotDivideAreRunAndCounted) {
  const std::string model = "--json --model gpt2-tiny --batch 2 --seq 8 --threads 1 --tp 3 ";
  const Ended step = run_cli("step " + model);
  ASSERT_EQ(step.code, 0) << step.err;
  const nlohmann::json heads = nlohmann::json::parse(step.out)["heads"];
  EXPECT_EQ(heads["policy"], "uneven");
  EXPECT_EQ(heads["fullest_rank"], 2);
  EXPECT_NEAR(heads["attention_flops_imbalance"], 1.5, 1e-12);
  EXPECT_EQ(heads["attention_seconds_per_rank"].size(), 3u);
  EXPECT_EQ(run_cli("plan " + model).code, 2);
  EXPECT_EQ(run_cli("step " + model + "--heads-policy strict").code, 2);
  const Ended padded = run_cli("plan " + model + "--heads-policy padded");
  ASSERT_EQ(padded.code, 0) << padded.err;
  const nlohmann::json zeros = nlohmann::json::parse(padded.out)["heads"];
  EXPECT_NEAR(zeros["wasted_share"], 1.0 / 3, 1e-12);  // two of six
  EXPECT_NEAR(zeros["attention_flops_imbalance"], 1, 1e-12);
  for (const char* choice : {"--heads-policy uneven", "--heads-policy padded",
                             "--kv-heads 2 --heads-policy uneven", "--kv-heads 1 --heads-policy uneven"})
    EXPECT_EQ(run_cli("verify --dtype fp64 " + model + choice).code, 0) << choice;
}

TEST_F(CliStep, AFileCutShortIsRefusedAndNothingIsWritten) {
  const std::string weights = path("cut.safetensors");
  const std::string dump = path("never.safetensors");
  std::ofstream(weights, std::ios::binary) << "\x10\0\0\0\0\0\0\0{\"a\"";
  const Ended ended =
      run_cli(std::string("step --tp 2 ") + kTinyLayer + "--weights " + weights + " --dump " + dump);
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_TRUE(contains(ended.err, "cut.safetensors")) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(dump));
}

TEST_F(CliStep, AnIdThatIsNoneIsNamedWithItsFileAndPlace) {
  const auto ids = [&](const std::string& name, size_t at, int32_t id) {
    std::vector<int32_t> values(18, 1);
    values[at] = id;
    shardlens::write_npy(path(name), shardlens::NpyType::Int32, {2, 9}, values.data());
    return path(name);
  };
  const std::string good = ids("good.npy", 0, 1), large = ids("large.npy", 12, 600);
  const std::string gpt = "step --model gpt2-tiny --tp 2 --threads 1 --tokens ",
                    bert = "step --model bert-tiny --tp 2 --threads 1 --tokens " + good;
  const std::pair<std::string, const char*> requests[] = {
      {gpt + large, "large.npy: 600 in row 1, column 3: tokens must be 0 to 256"},
      {gpt + ids("end.npy", 17, 600), "end.npy: 600 in row 1, column 8: labels must be 0 to 256, or -100"},
      {gpt + ids("below.npy", 0, -100), "below.npy: -100 in row 0, column 0: tokens"},
      {bert + " --labels " + ids("labels.npy", 1, -1), "labels.npy: -1 in row 0, column 1: labels"},
      {bert + " --attention-mask " + ids("mask.npy", 9, 2), "mask.npy: 2 in row 1, column 0"},
  };
  for (const auto& [arguments, must_say] : requests) {
    const Ended ended = run_cli(arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_TRUE(contains(ended.err, must_say)) << ended.err;
  }
  EXPECT_EQ(run_cli(gpt + ids("ignored.npy", 17, -100)).code, 0);
}

// A hole in the file system of 18 GB: whoever reads it before its head is looked at has no memory for it.
TEST_F(CliStep, SizesThatCannotRunAreRefusedByTheHeadOfTheFile) {
  const std::string head = "{'descr': '<i4', 'fortran_order': False, 'shape': (500000000, 9)}";
  const std::string bytes =
      std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(head.size()) + '\0' + head;
  const std::string huge = path("huge.npy"), small = path("small.npy");
  std::ofstream(huge, std::ios::binary) << bytes;
  std::filesystem::resize_file(huge, bytes.size() + 500'000'000ull * 9 * 4);
  shardlens::write_npy(small, shardlens::NpyType::Int32, {2, 16}, std::vector<int32_t>(32, 1).data());
  const std::pair<std::string, const char*> requests[] = {
      {"step --model gpt2-tiny --threads 1 --tokens " + huge, "batch = 500000000 is not possible"},
      {"step --model gpt2-tiny --batch 2 --threads 1 --tokens " + huge, "the file has batch 500000000"},
      {"step --model bert-tiny --threads 1 --tokens " + small + " --labels " + huge,
       "huge.npy: labels have shape [500000000, 9], but these tokens need [2, 16]"},
      {"step --model gpt2-tiny --layer --threads 1 --input " + huge, "huge.npy: X has shape [500000000, 9]"},
  };
  for (const auto& [arguments, must_say] : requests) {
    const Ended ended = run_cli(arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_TRUE(contains(ended.err, must_say)) << ended.err;
  }
}

// The name says what its owner thinks that a file is, and its bytes what it is.
TEST_F(CliStep, AnArrayUnderAnotherNameIsReadAsOne) {
  const std::string x = path("x.bin");
  shardlens::write_npy(x, shardlens::NpyType::Float32, {3, 3}, std::vector<float>(9, 1).data());
  const Ended ended = run_cli("step --model gpt2-tiny --layer --threads 1 --input " + x);
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(contains(ended.err, "x.bin: X has shape [3, 3]")) << ended.err;
}

TEST_F(CliStep, SizesThatATokenFileContradictsAreRefused) {
  const std::string tokens = path("tokens.npy");
  const std::vector<int32_t> ids(18, 1);
  shardlens::write_npy(tokens, shardlens::NpyType::Int32, {2, 9}, ids.data());
  const std::string step = "step --model gpt2-tiny --tp 2 --threads 1 --tokens " + tokens;
  for (const std::string size : {"--batch 7", "--seq 9"}) {
    const Ended ended = run_cli(step + " " + size);
    EXPECT_EQ(ended.code, 2) << size;
    EXPECT_TRUE(contains(ended.err, size + " does not match --tokens " + tokens + ": the file has batch "))
        << ended.err;
  }
  EXPECT_EQ(run_cli(step + " --batch 2 --seq 8").code, 0);
  EXPECT_EQ(run_cli(step + " --dp 4").code, 0);  // more rows are added than the file has
}

// What no key is there for is no number.
TEST_F(CliStep, ARowThatMayAttendToNothingIsRefused) {
  std::vector<int32_t> values(18, 1);
  const std::string tokens = path("tokens.npy"), mask = path("mask.npy");
  shardlens::write_npy(tokens, shardlens::NpyType::Int32, {2, 9}, values.data());
  const std::string step =
      "step --model bert-tiny --tp 2 --threads 1 --tokens " + tokens + " --attention-mask " + mask;
  std::fill(values.begin() + 10, values.end(), 0);  // all but one of row 1
  shardlens::write_npy(mask, shardlens::NpyType::Int32, {2, 9}, values.data());
  EXPECT_EQ(run_cli(step).code, 0);
  values[9] = 0;
  shardlens::write_npy(mask, shardlens::NpyType::Int32, {2, 9}, values.data());
  const Ended ended = run_cli(step);
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_TRUE(contains(ended.err, "attention mask: row 1 is 0 everywhere")) << ended.err;
}

TEST_F(CliStep, ADumpThatCannotBeWrittenLeavesNothingBehind) {
  const Ended ended =
      run_cli(std::string("step --tp 2 ") + kTinyLayer + "--dump /nonexistent/folder/out.safetensors");
  EXPECT_NE(ended.code, 0);
  EXPECT_TRUE(contains(ended.err, "/nonexistent/folder")) << ended.err;
}

// As the help says: the heads and the key heads are cut unevenly if T does not divide them.
TEST_F(CliStep, AWholeModelTakesAnyT) {
  for (const char* heads :
       {"--kv-heads 3 --tp 2", "--kv-heads 4 --tp 6", "--kv-heads 4 --tp 5", "--tp 5", "--tp 13"}) {
    const Ended ended = run_cli(std::string("step --model gpt2 --batch 1 --seq 8 --threads 1 ") + heads);
    EXPECT_EQ(ended.code, 0) << heads << ended.err;
  }
}

}  // namespace step_test
