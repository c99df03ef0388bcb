// Runs shardlens-cli as a user does: its help, how it reads options, and its messages and exit codes when the
// request is wrong or the machine lacks something.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "engine/base/utf8.h"
#include "tests/app/process.h"
#include "tests/data_folder.h"

namespace cli_test {

using shardlens::character_count;
using shardlens::contains;
using shardlens::draw_offscreen;
using shardlens::Ended;
using shardlens::kTinyLayer;
using shardlens::run_cli;

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

constexpr const char* kVerbs[] = {"",      "plan", "step", "verify", "train", "eval",  "generate",
                                  "bench", "data", "info", "export", "diff",  "lesson"};

TEST(Cli, HelpIsReadInAHundredColumns) {
  for (const char* verb : kVerbs) {
    std::istringstream lines(run_cli(std::string(verb) + " --help").out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(character_count(line), 100u) << verb << ": " << line;
  }
}

// What the helps of the programs' verbs say about `option`.
std::string help_of(const std::string& option, const std::string& helps) {
  std::string said;
  const std::string row = "\n  " + option + " ";
  for (size_t at = helps.find(row); at != std::string::npos; at = helps.find(row, at + 1))
    said += helps.substr(at, std::min(helps.find("\n  --", at + 1), helps.find("\n\n", at + 1)) - at);
  return said;
}

// Pages write `--option word` where an option takes one of a few words; its help names them all.
TEST(Cli, PagesGiveOptionsWordsThatTheyTake) {
  std::string helps = draw_offscreen("--help").out;
  for (const char* verb : kVerbs) helps += run_cli(std::string(verb) + " --help").out;
  const std::filesystem::path root = shardlens::test_data_folder() + "/../..";
  int found = 0;
  for (const char* folder : {"app", "assets", "engine", "tests", "ui"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".md") continue;
      const std::string page = shardlens::slurp(entry.path());
      const std::regex given("`(--[a-z-]+) ([a-z]+)`");
      for (std::sregex_iterator one(page.begin(), page.end(), given), end; one != end; ++one) {
        const std::string help = help_of((*one)[1], helps);
        EXPECT_TRUE(std::regex_search(help, std::regex("\\b" + (*one)[2].str() + "\\b")))
            << entry.path() << ": " << one->str() << "; its help: " << help;
        ++found;
      }
    }
  }
  EXPECT_GE(found, 10);
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

// "--option=" is an empty value, never the next word.
TEST(Cli, AnOptionThatEndsInEqualsHasAnEmptyValue) {
  std::set<std::string> asked;  // most verbs share most options
  for (const char* verb : kVerbs) {
    const std::string help = run_cli(std::string(verb) + " --help").out;
    const std::regex rows(R"(^  (--[a-z0-9-]+)( WORDS)?)", std::regex::multiline);
    for (std::sregex_iterator one(help.begin(), help.end(), rows), end; one != end; ++one) {
      const std::string option = (*one)[1];
      if ((*one)[2].matched || !asked.insert(option).second) continue;
      const Ended ended = run_cli(std::string(verb) + " " + option + "=");
      EXPECT_EQ(ended.code, 2) << verb << " " << option;
      const bool is_said = contains(ended.err, option + " takes no value") ||
                           contains(ended.err, option + ": the value is empty") ||
                           contains(ended.err, option + ": \"\" is not a");
      EXPECT_TRUE(is_said) << verb << " " << option << " " << ended.err;
    }
  }
  EXPECT_GE(asked.size(), 100u);
  EXPECT_TRUE(
      contains(run_cli("plan --model gpt2-tiny --seed= 7").err, "--seed: \"\" is not a whole number"));
  const Ended none = run_cli("generate --model gpt2-tiny --tokens 1 --json --prompt= --greedy");
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_TRUE(contains(none.out, "\"prompt\":\"\"")) << none.out;
  EXPECT_EQ(run_cli("generate --model gpt2-tiny --tokens 1 --greedy --prompt=").code, 0);
  EXPECT_TRUE(contains(run_cli("data --show= --json").out, "\"ids\":[]"));
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
      {"plan --dp 2 --tp", "--tp needs a value"},
      {"plan --operands odd", "normal"},
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
      {"plan --algebra --tp 9", "2 to 8 ranks"},
      {"plan --model gpt2 --layer --derive 99", "they have the numbers 0 to"},
      {"plan --model gpt2 --layer --derive mlp.porj", "mlp.proj"},
      {"plan --model gpt2 --layer --latex", "--derive"},
      {"plan --model gpt2 --layer --derive 0 --latex --json", "--json has no effect"},
      {"plan --figures --derive 0", "--derive has no effect"},
      {"plann", "did you mean \"plan\"?"},
      {"", "verify"},
      {"export x.shardlens", "out is missing"},
      {"bench step --repetitions 0", "choose from 1 to 1000"},
      {"--jsn", "--jsn is not an option of shardlens-cli"},
      {"train --data sample --checkpoint --restart", "--checkpoint: \"--restart\" is an option"},
      {"train --data sample --resume= --restart", "--resume: the value is empty"},
      {"plan --tp 9223372036854775808",
       "--tp: 9223372036854775808 is not possible: it does not fit into 64 bits"},
      {"plan --seed 18446744073709551616", "it does not fit into 64 bits"},
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
      {"step --record . ", "give a new name"},
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
                                  std::string("verify --tp 1 ") + kTinyLayer);
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

}  // namespace cli_test
