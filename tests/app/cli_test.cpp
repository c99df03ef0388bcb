// shardlens-cli as a person uses it: what it prints, and what it ends with when the request is wrong.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/utf8.h"
#include "engine/io/npy.h"
#include "tests/app/process.h"
#include "tests/engine/io/test_folder.h"

namespace {

using shardlens::character_count;
using shardlens::contains;
using shardlens::Ended;
using shardlens::run_cli;
using shardlens::slurp;

constexpr const char* kTiny = "--model gpt2-tiny --layer --batch 2 --seq 16 --threads 1 ";

class CliFiles : public shardlens::TestFolder {};

TEST(Cli, HelpTeachesWithExamples) {
  for (const char* verb : {"", "plan", "step", "verify", "bench"}) {
    const Ended ended = run_cli(std::string(verb) + " --help");
    EXPECT_EQ(ended.code, 0) << verb;
    EXPECT_TRUE(contains(ended.out, "Examples")) << verb;
  }
}

TEST(Cli, ATextEndsWithItsModelHoweverLongItMayBe) {
  const Ended ended = run_cli("generate --model gpt2-tiny --prompt a --tokens 9223372036854775807 --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_GT(nlohmann::json::parse(ended.out)["tokens"], 0);
}

constexpr const char* kVerbs[] = {"",         "plan",  "step", "verify", "train",  "eval",
                                  "generate", "bench", "data", "info",   "export", "diff"};

TEST(Cli, HelpIsReadInAHundredColumns) {
  for (const char* verb : kVerbs) {
    std::istringstream lines(run_cli(std::string(verb) + " --help").out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(character_count(line), 100u) << verb << ": " << line;
  }
}

// Every option whose help asks for a number refuses what is none, and says so by its name.
TEST(Cli, NumbersAreReadStrictly) {
  for (const char* verb : kVerbs) {
    if (std::string(verb).empty()) continue;
    const std::string help = run_cli(std::string(verb) + " --help").out;
    const std::regex number(R"(^  (--[a-z0-9-]+) (INT|UINT|FLOAT|SECONDS|TOKENS|HEADS|\[INDEX\])\b)",
                            std::regex::multiline);
    for (std::sregex_iterator one(help.begin(), help.end(), number), end; one != end; ++one) {
      const std::string option = (*one)[1];
      const Ended ended = run_cli(std::string(verb) + " " + option + "=1x");
      EXPECT_EQ(ended.code, 2) << verb << " " << option;
      EXPECT_TRUE(contains(ended.err, "\"1x\" is not a")) << verb << " " << option << ": " << ended.err;
    }
  }
  // Digits after a zero are no octal number.
  EXPECT_TRUE(contains(run_cli("plan --model gpt2-tiny --layer --seq 0100").out, "sequence 100"));
}

// As of a variable that is not set: a run would begin anew, or save nothing, and seem to be done.
TEST(Cli, AnEmptyValueIsNotTakenForNone) {
  for (const char* verb : kVerbs) {
    if (std::string(verb).empty()) continue;
    const std::string help = run_cli(std::string(verb) + " --help").out;
    const std::regex text(R"(^  (--[a-z0-9-]+) (TEXT|POLICY|LIST|FILE|R:S:MS))", std::regex::multiline);
    for (std::sregex_iterator one(help.begin(), help.end(), text), end; one != end; ++one) {
      const std::string option = (*one)[1];
      const Ended ended = run_cli(std::string(verb) + " " + option + " ''");
      EXPECT_EQ(ended.code, 2) << verb << " " << option;
      EXPECT_TRUE(contains(ended.err, option + ": the value is empty")) << verb << " " << ended.err;
    }
  }
  EXPECT_TRUE(contains(run_cli("export '' x.csv").err, "recording: the value is empty"));
  // Words may be none.
  EXPECT_EQ(run_cli("generate --model gpt2-tiny --prompt '' --tokens 1").code, 0);
  EXPECT_EQ(run_cli("data --show ''").code, 0);
}

TEST(Cli, PlanJsonOfABucketHasTheBytesOfAllItsTensors) {
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

// The preset does not state its speed in bf16.
TEST(Cli, PlanJsonHasNoTimeWhereNoneIsPredicted) {
  const std::string unknown = "plan --json --model gpt2-tiny --tp 2 --dtype bf16 --hardware v100-32gb";
  const nlohmann::json plan = nlohmann::json::parse(run_cli(unknown).out);
  EXPECT_TRUE(plan["predicted_seconds"].is_null()) << plan["predicted_seconds"];
  for (const auto& collective : plan["collectives"]) EXPECT_TRUE(collective["predicted_seconds"].is_null());
  const nlohmann::json price = nlohmann::json::parse(run_cli(unknown + " --pp 1").out);
  for (const char* key : {"predicted_seconds", "compute_seconds", "tp_seconds", "update_seconds"})
    EXPECT_TRUE(price[key].is_null()) << key << price[key];
}

TEST(Cli, PlanJsonOfMegatronHasTwoAllReducesEachWayAtEveryT) {
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

TEST(Cli, VerifyAgreesForEverySplit) {
  for (const char* split : {"megatron", "reversed", "replicated"}) {
    for (const char* dtype : {"fp32", "fp64"}) {
      const Ended ended =
          run_cli(std::string("verify --json --tp 2 ") + kTiny + "--split " + split + " --dtype " + dtype);
      ASSERT_EQ(ended.code, 0) << ended.err;
      const nlohmann::json json = nlohmann::json::parse(ended.out);
      EXPECT_TRUE(json["agrees"]);
      EXPECT_GT(json["tensors"].size(), 40u);
    }
  }
}

TEST(Cli, VerifyEndsWithOneAndNamesTheTensorOfAPlantedFault) {
  const Ended ended = run_cli(std::string("verify --tp 2 --break skip-f ") + kTiny);
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(contains(ended.err, "grad.ln2.out")) << ended.err;
}

// A model of 257 bytes that trains 6 steps in a second.
constexpr const char* kTinyModel = "--model gpt2-tiny --tp 2 --batch 2 --seq 16 ";

TEST(Cli, VerifyTrainsAPlantedFaultBesideTheSoundModel) {
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

TEST(Cli, VerifyBreaksEverythingInOneTable) {
  const Ended ended = run_cli(std::string("verify --json --break all ") + kTinyModel);
  ASSERT_EQ(ended.code, 1) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  ASSERT_EQ(json["faults"].size(), 12u);
  for (const auto& row : json["faults"]) {
    const bool found = row["probes"][0].contains("first_broken");
    EXPECT_EQ(found, row["fault"] != "bias-before-reduction") << row["fault"];
  }
}

TEST(Cli, VerifySweepsDegreesInOneTable) {
  const Ended ended = run_cli(std::string("verify --json --dtype fp64 --sweep 1,2,7 ") + kTiny);
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

  const Ended defaults = run_cli(std::string("verify --sweep ") + kTiny);
  EXPECT_EQ(defaults.code, 0) << defaults.err;
  EXPECT_TRUE(contains(defaults.out, "\n 16 ")) << defaults.out;
}

TEST(Cli, VerifySweepEndsWithOneWhereABoundBreaks) {
  const Ended ended = run_cli(std::string("verify --sweep 2,4 --break skip-g ") + kTiny);
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(contains(ended.err, "T = 2 differs")) << ended.err;
  EXPECT_TRUE(contains(ended.out, "BROKEN")) << ended.out;
}

TEST_F(CliFiles, StepDumpsFullShapesTheSameWhateverT) {
  const std::string one = path("one.safetensors");
  const std::string two = path("two.safetensors");
  ASSERT_EQ(run_cli(std::string("step --operands integer --tp 1 ") + kTiny + "--dump " + one).code, 0);
  ASSERT_EQ(run_cli(std::string("step --operands integer --tp 2 ") + kTiny + "--dump " + two).code, 0);
  EXPECT_FALSE(slurp(one).empty());
  EXPECT_EQ(slurp(one), slurp(two));
}

// As in the step's recording and in the studio.
TEST(Cli, PassesCountFromZero) {
  const Ended ended = run_cli("step --model gpt2-tiny --tp 2 --batch 1 --seq 8 --updates 2");
  EXPECT_TRUE(contains(ended.out, "pass   0  loss") && contains(ended.out, "pass   1  loss")) << ended.out;
  EXPECT_FALSE(contains(ended.out, "pass   2")) << ended.out;
}

// By `step` others compare their numbers with ours at any T; elsewhere uneven heads are asked for.
TEST(Cli, HeadsThatTDoesNotDivideAreRunAndCounted) {
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

struct WrongRequest {
  const char* arguments;
  const char* must_say;
};

TEST(Cli, WrongRequestsEndWithTwoAndNameTheRemedy) {
  const WrongRequest requests[] = {
      {"verify --layer --tp 5", "Try 4 or 6"},
      {"verify --model gpt2 --tp 5", "or choose the heads policy uneven or padded"},
      {"verify --model gpt2 --heads-policy even", "uneven"},
      {"verify --model gpt2 --kv-heads 5", "Try 4 or 6 key heads"},
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
      {"verify --layer --backend gpu", "cuda"},
      {"verify --layer --gpu 0", "add --backend cuda"},
      {"verify --layer --gpu x", "numbers with commas"},
      {"verify --layer --comm nccl", "--backend cuda"},
      {"verify --layer --comm nvlink", "local_cuda"},
      {"info", "--backends"},
      {"verify --layer --hardware v200", "v100"},
      {"verify --layer --break nothing", "skip-f"},
      {"verify --layer --break gelu-on-partial", "--split reversed"},
      {"verify --layer --break skip-f --steps 5", "gpt2-tiny"},
      {"verify --layer --steps 5", "--break"},
      {"verify --layer --sweep 1,x", "1,2,4"},
      {"verify --layer --sweep 5", "Try 4 or 6"},
      {"verify --layer --block head", "mlp"},
      {"step --layer --model megatron-8.3b --batch 4096 --seq 1024 --tp 2", "batch"},
      {"step --layer --input /nonexistent/x.npy", "/nonexistent/x.npy"},
      {"step --layer --weights /nonexistent/w.safetensors", "/nonexistent/w.safetensors"},
      {"bench speed", "gemm"},
      {"bench speedup --tp 1", "--tp 2"},
      {"plan --model gpt2-tiny --seq 8 --cache 4", "cache of 8"},
      {"dance", "dance"},
      {"plan --tp two", "--tp: \"two\" is not a whole number"},
      {"plan --tp ''", "--tp: \"\" is not a whole number"},
      {"plan --batch 99999999999999999999", "99999999999999999999"},
      {"plan --seed -1", "0 or more"},
      {"plan --dropout nan", "--dropout: \"nan\" is not a number"},
      {"plan --tournament --memory nan", "nan"},
      {"plan --tournament --memory -1", "choose from 1"},
      {"plan --tournament --memory 1e300", "choose from 1"},
      {"plan --tp 1000000000000", "--tp = 1000000000000"},
      {"plan --tournament --model gpt2-tiny --ranks 2 --dtype bf16 --hardware v100-32gb", "bench calibrate"},
      {"plan --tp 2 --tp 4", "--tp is given more than once"},
      {"plan --modle gpt2", "did you mean --model?"},
      {"plan --json=foo", "--json = foo is not possible"},
      {"plan --tp 2147483648", "--tp = 2147483648 is not possible"},
      {"plan --model gpt2 -- --tp", "after the verb"},
      {"info --backends x.shardlens", "give one of them"},
      {"plan extra", "extra"},
      {"step --layer --updates 3", "--updates is for a whole model"},
      {"step --block mlp --lr 1", "--lr is for a whole model"},
      {"step --model bert-tiny --labels x.npy", "--tokens"},
      {"plan --pp 0", "from 1 to 12"},
      {"info gallery:none", "layer-megatron"},
      {"export gallery:none x.csv", "layer-megatron"},
      {"plan --algebra --json", "leave out --json"},
      {"plann", "did you mean \"plan\"?"},
      {"", "verify"},
      {"export x.shardlens", "out is missing"},
      {"bench step --repetitions 0", "choose from 1 to 1000"},
      {"--jsn", "--jsn is no option of shardlens-cli"},
      {"train --data sample --checkpoint --restart", "--checkpoint: \"--restart\" is an option"},
      {"train --data sample --resume= --restart", "--resume: \"--restart\" is an option"},
      {"plan --tp 9223372036854775808", "--tp: 9223372036854775808 is not possible: too far from 0"},
      {"plan --seed 18446744073709551616", "too far from 0"},
      {"plan --model gpt2-tiny --gpu 0", "add --backend cuda"},
      {"plan --model gpt2-tiny --tf32", "add --backend cuda"},
      {"plan --figures --algebra", "--figures has no effect"},
      {"plan --figures --pp 2", "--pp has no effect"},
      {"plan --tournament --pp 2", "--pp has no effect"},
      {"plan --tournament --layer", "--layer has no effect"},
      {"plan --tournament --split reversed", "--split has no effect"},
      {"plan --tournament --ranks 4 --tp 2", "--tp has no effect"},
      {"plan --layer --block model", "leave both out"},
      {"step --model gpt2-tiny --input x.npy", "add --layer"},
      {"verify --model gpt2-tiny --input x.npy", "add --layer"},
      {"bench step --record-limit 5", "nothing is recorded without --record"},
      {"bench record --record-limit 5", "--record-limit has no effect"},
      {"data --show hi --out c9", "--out has no effect"},
      {"export x.shardlens x.json --table metrics", "--table has no effect"},
      {"step --record . ", "give a name that nothing has yet"},
      {"step --record-budget nan", "nan"},
      {"step --model gpt2-tiny --record-budget 2", "--record-budget requires --record"},
      {"plan --model gpt2-tiny --run 2", "--run requires --tournament"},
      {"verify --model gpt2-tiny --sweep 1,2 --break all", "leave out --sweep"},
      {"generate --model gpt2-tiny --batch 2", "--batch has no effect"},
      {"generate --model gpt2-tiny --seq 2", "--seq has no effect"},
      {"generate --model gpt2-tiny --dp 2", "--dp has no effect"},
      {"eval --model gpt2-tiny --dropout 0.1 --text x", "--dropout has no effect"},
      {"train --comm-timeout 0", "choose from 1 to 86400"},
  };
  for (const WrongRequest& request : requests) {
    const Ended ended = run_cli(request.arguments);
    EXPECT_EQ(ended.code, 2) << request.arguments << "\n" << ended.err;
    EXPECT_TRUE(contains(ended.err + ended.out, request.must_say)) << request.arguments << "\n" << ended.err;
  }
}

// Nobody hears the message, and the exit code stands.
TEST(Cli, WhereThereIsNoStderrNothingBreaks) {
  EXPECT_EQ(run_cli("plan --model gpt2 --tp 99 2>&-; echo $?").out, "2\n");
}

TEST(Cli, ATextTooShortIsCalledByItsName) {
  const std::string text = ::testing::TempDir() + "short_text_" + std::to_string(getpid()) + ".txt";
  std::ofstream(text) << "In the beginning";
  const Ended ended = run_cli("train --data " + text);
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(contains(ended.err, text + " has ")) << ended.err;
  std::filesystem::remove(text);
}

TEST(Cli, OutputThatDoesNotArriveIsAFailedRun) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  for (const char* arguments : {"--help", "plan --figures", "plan --model gpt2-tiny --layer --json",
                                "step --model gpt2-tiny --layer --seq 8 --batch 1"}) {
    const Ended ended = run_cli(std::string(arguments) + " > /dev/full");
    EXPECT_EQ(ended.code, 3) << arguments;
    EXPECT_TRUE(contains(ended.err, "standard output")) << ended.err;
  }
}

// Without a GPU this says why; with one, which.
TEST(Cli, BackendsAreNamedOrWhyTheyAreNotThere) {
  const Ended text = run_cli("info --backends");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "cpu   ")) << text.out;
  const Ended ended = run_cli("info --backends --json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_GT(json["cpu"]["cores"], 0);
  const bool usable = json["cuda"]["usable"];
  EXPECT_EQ(usable, json["cuda"]["why_not"] == "");
  EXPECT_EQ(usable, !json["cuda"]["gpus"].empty());
  const Ended on_gpus = run_cli("verify --layer --tp 1 --backend cuda --batch 1 --seq 8");
  EXPECT_EQ(on_gpus.code, usable ? 0 : 2) << on_gpus.err;
  if (!usable) {
    EXPECT_TRUE(contains(on_gpus.err, "use --backend cpu")) << on_gpus.err;
  }
}

// auto takes the CPU where there is no GPU, and says that it does.
TEST(Cli, AFallBackIsAnnounced) {
  const auto json = nlohmann::json::parse(run_cli("info --backends --json").out);
  if (json["cuda"]["usable"]) GTEST_SKIP() << "there is a GPU to take";
  const Ended ended = run_cli("step --layer --tp 2 --backend auto --batch 1 --seq 8");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string why = json["cuda"]["why_not"];
  EXPECT_TRUE(contains(ended.out, why)) << ended.out << why;
}

TEST(Cli, APromptThatIsRefusedIsNotPrinted) {
  const Ended ended = run_cli("generate --model gpt2-tiny --tp 1 --prompt " + std::string(300, 'x'));
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_EQ(ended.out, "");
}

// One of them says it. (MPI's own variables stand for an mpirun.)
TEST(Cli, SeveralProcessesThatDoNotShareTheWorkAreTold) {
  const auto started = [](const std::string& variables) {
    return shardlens::run_program("env " + variables + " " + SHARDLENS_CLI_PROGRAM,
                                  std::string("verify --tp 1 ") + kTiny);
  };
  for (const char* first : {"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0", "PMI_SIZE=2 PMI_RANK=0"}) {
    const Ended ended = started(first);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(contains(ended.err, "mpirun has started 2 processes")) << first << ended.err;
    EXPECT_TRUE(contains(ended.err, "add --comm mpi")) << first << ended.err;
  }
  for (const char* other : {"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=1"})
    EXPECT_FALSE(contains(started(other).err, "mpirun")) << other;
}

TEST_F(CliFiles, AFileCutShortIsRefusedAndNothingIsWritten) {
  const std::string weights = path("cut.safetensors");
  const std::string dump = path("never.safetensors");
  std::ofstream(weights, std::ios::binary) << "\x10\0\0\0\0\0\0\0{\"a\"";
  const Ended ended =
      run_cli(std::string("step --tp 2 ") + kTiny + "--weights " + weights + " --dump " + dump);
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_TRUE(contains(ended.err, "cut.safetensors")) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(dump));
}

TEST_F(CliFiles, AnIdThatIsNoneIsNamedWithItsFileAndPlace) {
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
      {gpt + large, "large.npy: 600 in row 1, column 3: tokens are 0 to 256"},
      {gpt + ids("end.npy", 17, 600), "end.npy: 600 in row 1, column 8: labels are 0 to 256, or -100"},
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

TEST_F(CliFiles, SizesThatATokenFileContradictsAreRefused) {
  const std::string tokens = path("tokens.npy");
  const std::vector<int32_t> ids(18, 1);
  shardlens::write_npy(tokens, shardlens::NpyType::Int32, {2, 9}, ids.data());
  const std::string step = "step --model gpt2-tiny --tp 2 --threads 1 --tokens " + tokens;
  for (const std::string size : {"--batch 7", "--seq 9"}) {
    const Ended ended = run_cli(step + " " + size);
    EXPECT_EQ(ended.code, 2) << size;
    EXPECT_TRUE(contains(ended.err, size + " and --tokens " + tokens + " contradict each other"))
        << ended.err;
  }
  EXPECT_EQ(run_cli(step + " --batch 2 --seq 8").code, 0);
  EXPECT_EQ(run_cli(step + " --dp 4").code, 0);  // more rows are added than the file has
}

// What no key is there for is no number.
TEST_F(CliFiles, ARowThatMayAttendToNothingIsRefused) {
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

TEST(Cli, ANameThatNoFileCanHaveIsAWrongRequest) {
  const std::string name(300, 'n');
  for (const std::string& arguments :
       {"step --model gpt2-tiny --seq 8 --dump " + name, "plan --model " + name + "/x",
        "step --model gpt2-tiny --seq 8 --record " + name, "info " + name}) {
    const Ended ended = run_cli(arguments);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_TRUE(contains(ended.err, name.substr(0, 60)) && !contains(ended.err, "filesystem error"))
        << ended.err;
  }
}

TEST(Cli, ADumpThatCannotBeWrittenLeavesNothingBehind) {
  const Ended ended =
      run_cli(std::string("step --tp 2 ") + kTiny + "--dump /nonexistent/folder/out.safetensors");
  EXPECT_NE(ended.code, 0);
  EXPECT_TRUE(contains(ended.err, "/nonexistent/folder")) << ended.err;
}

TEST(Cli, APassOfGenerationIsPlannedAndAgreesWithSerial) {
  const std::string pass = " --model gpt2-tiny --batch 2 --seq 5 --cache 32 --tp 3 --heads-policy uneven ";
  const Ended plan = run_cli("plan" + pass);
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_TRUE(contains(plan.out, "key-value cache")) << plan.out;
  EXPECT_TRUE(contains(plan.out, "against a cache of 32")) << plan.out;
  const Ended verify = run_cli("verify --dtype fp64" + pass);
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;
  EXPECT_TRUE(contains(verify.out, "h.0.attn.keys.appended")) << verify.out;
}

// A trillion parameters over T, D and P.
TEST(Cli, PricesATrillionParametersInThreeDimensions) {
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
TEST(Cli, TournamentRanksEverySplitWithinTheMemory) {
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
  EXPECT_EQ(json["basis"], "data-sheet peaks, a bound from below");
  EXPECT_EQ(run_cli("plan --tournament --model gpt2-tiny --ranks 2 --run 2 --hardware a100-80gb").code, 2);
}

TEST(Cli, TournamentRunsItsBestOnTheCalibratedMachine) {
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

TEST(Cli, FiguresOfTheTextsStandBesideTheExactOnes) {
  const Ended figures = run_cli("plan --figures");
  EXPECT_EQ(figures.code, 0);
  EXPECT_TRUE(contains(figures.out, "117,440,512 bytes = 112 MiB, the same")) << figures.out;
}

}  // namespace
