// Runs --record, info and export as a user does. Also tests what a killed run leaves, and that other tools
// can read the exported files.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "tests/app/process.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace record_test {

using nlohmann::json;

class CliRecord : public TestFolder {
 protected:
  static std::string checks() { return test_data_folder() + "/exports/"; }
  /// What other people's parsers say of a file.
  static Ended checked_by(const std::string& script, const std::string& arguments) {
    return run_program("python3 " + checks() + script, arguments);
  }

  json info(const std::string& file) {
    const Ended ended = run_cli("info --json " + path(file));
    EXPECT_EQ(ended.code, 0) << ended.err;
    return json::parse(ended.out, nullptr, false);
  }
  std::string trained(const std::string& more) {
    return "train --model gpt2-tiny --batch 2 --seq 16 --threads 1 --tp 2 --data sample " + more;
  }
};

TEST_F(CliRecord, EveryVerbThatRunsRecordsAndInfoSaysWhat) {
  ASSERT_EQ(
      run_cli("step --model gpt2-tiny --layer --tp 2 --batch 2 --seq 16 --record " + path("layer")).code, 0);
  const json layer = info("layer");
  EXPECT_EQ(layer["verb"], "step");
  EXPECT_EQ(layer["passes"], 1);
  EXPECT_EQ(layer["events"], 2 * layer["steps"].get<int>());
  EXPECT_TRUE(layer["finished"]);
  const std::string whole =
      "step --model gpt2-tiny --tp 2 --dp 2 --batch 4 --seq 16 --updates 3 --json --record ";
  const Ended step = run_cli(whole + path("model"));
  ASSERT_EQ(step.code, 0) << step.err;
  EXPECT_TRUE(json::accept(step.out)) << step.out;  // what is said of the recording goes elsewhere
  EXPECT_EQ(info("model")["passes"], 3);
  EXPECT_EQ(info("model")["high_water_bytes_per_rank"], json::parse(step.out)["high_water_bytes_per_rank"]);
  ASSERT_EQ(run_cli(trained("--steps 5 --record ") + path("run")).code, 0);
  EXPECT_EQ(info("run")["passes"], 5);
  EXPECT_EQ(info("run")["verb"], "train");
}

TEST_F(CliRecord, VerifyAndBenchRecordTheSameWay) {
  const std::string layer = " --model gpt2-tiny --layer --tp 2 --batch 2 --seq 16";
  const Ended verified = run_cli("verify" + layer + " --json --record " + path("verified"));
  ASSERT_EQ(verified.code, 0) << verified.err;
  EXPECT_TRUE(json::accept(verified.out)) << verified.out;
  const json one = info("verified");
  EXPECT_EQ(one["verb"], "verify");
  EXPECT_EQ(one["passes"], 1);
  EXPECT_EQ(one["events"], 2 * one["steps"].get<int>());
  EXPECT_GT(one["samples"], 0);
  const Ended benched = run_cli("bench step" + layer + " --repetitions 3 --json --record " + path("benched"));
  ASSERT_EQ(benched.code, 0) << benched.err;
  EXPECT_TRUE(json::accept(benched.out)) << benched.out;
  const json bench = info("benched");
  EXPECT_EQ(bench["verb"], "bench step");
  EXPECT_EQ(bench["passes"], 4);  // one that warms up, and is pictured alone
  EXPECT_EQ(bench["samples"], one["samples"]);
  for (const char* other : {"verify --sweep 1,2", "bench gemm"}) {
    const Ended refused = run_cli(other + layer + " --record " + path("none"));
    EXPECT_EQ(refused.code, 2) << other;
    EXPECT_NE(refused.err.find("--record records one run"), std::string::npos) << refused.err;
  }
}

TEST_F(CliRecord, PicturesFollowTheirOption) {
  const auto samples = [&](const std::string& name, const std::string& more) {
    const Ended ended = run_cli(trained("--steps 4 --record ") + path(name) + " " + more);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return info(name);
  };
  EXPECT_EQ(samples("off", "--record-pictures off")["samples"], 0);
  const json all = samples("all", "--record-pictures all");
  EXPECT_EQ(all["pictures"], "all");
  const json none_later = samples("first", "--record-budget 0");
  EXPECT_EQ(none_later["pictures"], "0 % of step time");
  EXPECT_EQ(all["samples"], 4 * none_later["samples"].get<int64_t>());
  EXPECT_EQ(run_cli(trained("--steps 1 --record-pictures some --record ") + path("some")).code, 2);
  // A size cap: pictures go first, and both the run and info say so.
  const Ended capped =
      run_cli(trained("--steps 4 --record-pictures all --record-limit 0.5 --record ") + path("capped"));
  EXPECT_NE(capped.out.find("pictures not in it: "), std::string::npos) << capped.out;
  EXPECT_GT(info("capped")["dropped_pictures"], 0);
  EXPECT_NE(run_cli("info " + path("capped")).out.find("pictures not in it: "), std::string::npos);
}

TEST_F(CliRecord, WhatIsThereIsNotWrittenOver) {
  write("mine", "kept");
  const Ended ended =
      run_cli("step --model gpt2-tiny --layer --tp 2 --batch 2 --seq 16 --record " + path("mine"));
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(contents("mine"), "kept");
  EXPECT_EQ(run_cli("info " + path("mine")).code, 2);
  EXPECT_EQ(run_cli("info " + path("absent")).code, 2);
}

// Killed at any moment: the file opens, and every step that ended more than a second before is in it.
// SHARDLENS_KILLS=100 kills more often.
// The recorder writes every second, however late it gets to it on a busy machine: what was run is soon in the
// file of a run that goes on, and a kill takes nothing of it away.
TEST_F(CliRecord, AKillLeavesWhatWasWritten) {
  const char* wished = std::getenv("SHARDLENS_KILLS");
  const int kills = wished != nullptr ? std::atoi(wished) : 5;
  std::random_device random;
  for (int i = 0; i < kills; ++i) {
    const auto late = std::chrono::milliseconds(random() % 500);
    SCOPED_TRACE(late.count());
    const std::string name = "run" + std::to_string(i), log = "log" + std::to_string(i) + ".csv";
    const pid_t child = begin_cli(trained("--steps 1000000 --record " + path(name) + " --log " + path(log)));
    // The log holds a step once the one after it has ended.
    const auto logged = [&] {
      const std::string text = contents(log);
      return std::max<int64_t>(0, std::count(text.begin(), text.end(), '\n') - 1);
    };
    for (int polls = 0; polls < 6000 && logged() < 2; ++polls)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(late);
    const int64_t before = logged();
    const auto written = [&] { return info(name)["passes"].get<int64_t>(); };
    for (int polls = 0; polls < 600 && written() < before; ++polls)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ASSERT_TRUE(was_killed(child));
    ASSERT_GE(before, 2);
    const json left = info(name);
    EXPECT_FALSE(left["finished"]);
    EXPECT_GE(left["passes"].get<int64_t>(), before);
    EXPECT_EQ(left["events"], left["passes"].get<int64_t>() * 2 * left["steps"].get<int64_t>());
  }
}

TEST_F(CliRecord, AFullDiskEndsTheRecordingAndNotTheRun) {
  // A limit on a file's size stands for the disk. Passes are written every quarter of a second; the delay
  // keeps the first of these writes (at most 25 passes, 3.4 MB) below the limit of 3.6 MB on a fast machine,
  // too.
  const Ended ended =
      run_program("sh", "-c \"trap '' XFSZ; ulimit -f 7100; " + std::string(SHARDLENS_CLI_PROGRAM) +
                            " step --model gpt2-tiny --tp 2 --batch 2 --seq 16 --updates 100 "
                            "--delay 1:h.0.attn.proj:10 --record " +
                            path("run") + "\"");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("pass  99"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("not in it: "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("File too large"), std::string::npos) << ended.out;
  EXPECT_LT(info("run")["passes"], 100);
}

// By a schema of the fields the Trace Event Format documents, and by what it says of slices and flows.
TEST_F(CliRecord, TheTraceIsWhatPerfettoReads) {
  for (const std::string more :
       {"--tp 2 --dp 2 --batch 4", "--tp 3 --heads-policy uneven --overlap-chunks 2"}) {
    const std::string name = path("run" + std::to_string(more.size()));
    ASSERT_EQ(run_cli("step --model gpt2-tiny --seq 16 --updates 2 --record " + name + " " + more).code, 0);
    ASSERT_EQ(run_cli("export " + name + " " + path("trace.json")).code, 0);
    const Ended checked =
        checked_by("check_trace.py", path("trace.json") + " " + checks() + "trace.schema.json");
    ASSERT_EQ(checked.code, 0) << checked.err;
    const json found = json::parse(checked.out), all = info(std::filesystem::path(name).filename());
    EXPECT_EQ(found["slices"], all["events"]);
    EXPECT_EQ(found["processes"], all["ranks"].get<int>() * all["replicas"].get<int>());
    // From the last rank to each other one of its group.
    const int group = all["ranks"].get<int>();
    if (all["replicas"] == 1) {
      EXPECT_EQ(found["flows"], found["collectives"].get<int64_t>() / group * (group - 1));
    } else {
      EXPECT_GT(found["flows"], 0);
    }
  }
}

TEST_F(CliRecord, ALateRankIsSaidAndRecorded) {
  const std::string layer = "step --model gpt2-tiny --layer --tp 4 --batch 2 --seq 16 ";
  const Ended late = run_cli(layer + "--delay 2:attn.proj:20 --record " + path("late"));
  ASSERT_EQ(late.code, 0) << late.err;
  EXPECT_NE(late.out.find("rank 2 was late by "), std::string::npos) << late.out;
  EXPECT_NE(late.out.find(" before attn.proj: "), std::string::npos) << late.out;
  const Ended said = run_cli("info " + path("late"));
  EXPECT_NE(said.out.find("rank 2 was late by "), std::string::npos) << said.out;
  const Ended two = run_cli(
      "step --model gpt2-tiny --tp 2 --dp 2 --batch 4 --seq 16 --json --delay "
      "3:h.1.mlp.proj:10,0:1:5");
  ASSERT_EQ(two.code, 0) << two.err;
  const json found = json::parse(two.out)["late"];
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["step"], 1);
  EXPECT_EQ(found[1]["step_name"], "h.1.mlp.proj");
  EXPECT_GE(found[1]["held_seconds"].get<double>(), 0.010);
  for (const char* wrong : {"2:attn.proj", "4:attn.proj:20", "2:attn.porj:20", "2:attn.proj:-1", "x:1:1"}) {
    const Ended refused = run_cli(layer + "--delay " + wrong);
    EXPECT_EQ(refused.code, 2) << wrong;
    EXPECT_NE(refused.err.find("shardlens-cli: "), std::string::npos) << refused.err;
  }
  const Ended verified =
      run_cli("verify --model gpt2-tiny --layer --tp 2 --batch 2 --seq 16 --delay 1:mlp.fc:5");
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_NE(verified.out.find("rank 1 was late by "), std::string::npos) << verified.out;
}

// One that is late for a sum beside the steps: the others go on for a while, and then wait for it.
TEST_F(CliRecord, WhatIsWaitedForASumBesideTheStepsIsCounted) {
  const std::string layer = " --model gpt2-tiny --layer --tp 2 --batch 2 --seq 16 ";
  const json planned = json::parse(run_cli("plan --json" + layer).out)["program"]["steps"];
  int product = -1;  // of the first such sum
  for (const json& step : planned)
    if (product < 0 && step["beside"] == true) product = step["id"].get<int>() - 1;
  ASSERT_EQ(planned[static_cast<size_t>(product)]["op"], "linear-grad-input");
  const std::string late = layer + "--delay 1:" + std::to_string(product) + ":300 ";
  ASSERT_EQ(run_cli("step" + late + "--record " + path("late")).code, 0);
  const Ended said = run_cli("info " + path("late"));
  const size_t of_it = said.out.find(" with ", said.out.find("rank 0"));
  ASSERT_NE(of_it, std::string::npos) << said.out;
  EXPECT_GT(std::stod(said.out.substr(of_it + 6)), 250) << said.out;
  const json bench = json::parse(run_cli("bench step --json --repetitions 1" + late).out);
  EXPECT_GT(bench["collective_seconds"], 0.25) << bench;
  EXPECT_LT(bench["collective_seconds"], bench["step_seconds"]) << bench;
}

// Of what was predicted and of what was measured it is a kind of its own, as it takes no time of the others'.
TEST_F(CliRecord, WhatGoesOnBesideTheStepsIsAKindOfItsOwn) {
  const Ended bench =
      run_cli("bench step --model gpt2-tiny --layer --tp 2 --repetitions 1 --hardware a100-80gb");
  ASSERT_EQ(bench.code, 0) << bench.err;
  const size_t table = bench.out.find("predicted");
  ASSERT_NE(table, std::string::npos) << bench.out;
  EXPECT_NE(bench.out.find("all-reduce, overlapped", table), std::string::npos) << bench.out;
}

// Every verb that records: what it had is kept, and why there is no more.
TEST_F(CliRecord, ARunThatLosesARankSaysSoInItsRecording) {
  const std::string model = " --model gpt2-tiny --tp 2 --batch 2 --seq 16 --timeout 2 --record ";
  const std::pair<std::string, std::string> verbs[] = {
      {"step", " --delay 1:mlp.fc:20000 --layer"},
      {"verify", " --delay 1:mlp.fc:20000 --layer"},
      {"step", " --delay 1:h.0.mlp.fc:20000"},
      {"bench step", " --delay 1:h.0.mlp.fc:20000"},
      {"train", " --data sample --steps 2 --delay 1:h.0.mlp.fc:20000"}};
  int number = 0;
  for (const auto& [verb, delay] : verbs) {
    const std::string file = path("lost" + std::to_string(++number));
    const Ended lost = run_cli(verb + model + file + delay);
    ASSERT_EQ(lost.code, 3) << verb << lost.out << lost.err;
    const Ended said = run_cli("info " + file);
    EXPECT_NE(said.out.find("the run failed: "), std::string::npos) << verb << said.out << said.err;
    EXPECT_NE(said.out.find("rank 1 is lost"), std::string::npos) << verb << said.out;
    const json told = json::parse(run_cli("info --json " + file).out);
    EXPECT_NE(told["failure"].get<std::string>().find("rank 1 is lost"), std::string::npos) << verb;
  }
}

TEST_F(CliRecord, DiffSaysWhereTwoRunsPart) {
  const std::string layer = "step --model gpt2-tiny --layer --tp 2 --batch 2 --seq 16 --threads 1 --record ";
  ASSERT_EQ(run_cli(layer + path("a")).code, 0);
  ASSERT_EQ(run_cli(layer + path("b")).code, 0);
  ASSERT_EQ(run_cli(layer + path("c") + " --seed 5").code, 0);
  const Ended same = run_cli("diff " + path("a") + " " + path("b"));
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_NE(same.out.find("the same values: "), std::string::npos) << same.out;
  const Ended live = run_cli("diff --json --live " + path("a"));
  EXPECT_EQ(live.code, 0) << live.err;
  EXPECT_EQ(json::parse(live.out, nullptr, false)["same_values"], true);
  const Ended other = run_cli("diff --json " + path("a") + " " + path("c"));
  EXPECT_EQ(other.code, 1) << other.err;
  const json found = json::parse(other.out, nullptr, false);
  EXPECT_EQ(found["same_values"], false);
  EXPECT_EQ(found["parting"]["tensor"], "X");
  EXPECT_EQ(found["settings"][0]["key"], "seed");
  EXPECT_EQ(found["steps"].size(), 38u);
  write("none", "text");
  for (const std::string& wrong : {path("none"), path("absent"), std::string(), "--live " + path("b")})
    EXPECT_EQ(run_cli("diff " + path("a") + " " + wrong).code, 2) << wrong;
}

// What was updated is run again at the rate it was, and parts nowhere; a training's text is not in it.
TEST_F(CliRecord, ARecordingIsRunAgainAndCompared) {
  ASSERT_EQ(run_cli("step --model gpt2-tiny --tp 2 --batch 2 --seq 16 --threads 1 --updates 3 --lr 0.01 "
                    "--record-pictures all --record " +
                    path("model"))
                .code,
            0);
  const Ended live = run_cli("diff --json --live " + path("model"));
  EXPECT_EQ(live.code, 0) << live.err << live.out;
  EXPECT_EQ(json::parse(live.out, nullptr, false)["hashed_passes"], 3);
  ASSERT_EQ(run_cli(trained("--steps 2 --record ") + path("run")).code, 0);
  const Ended refused = run_cli("diff --live " + path("run"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("text"), std::string::npos);
}

TEST_F(CliRecord, TablesHaveARowForEveryStep) {
  ASSERT_EQ(run_cli(trained("--steps 3 --record ") + path("run")).code, 0);
  const auto rows = [&](const std::string& table, const std::string& more = "") {
    const Ended ended = run_cli("export " + path("run") + " " + path("t.csv") + " --table " + table + more);
    EXPECT_EQ(ended.code, 0) << ended.err;
    const std::string text = contents("t.csv");
    const std::string header = text.substr(0, text.find('\n'));
    const auto commas = std::count(header.begin(), header.end(), ',');
    std::istringstream lines(text);
    int64_t count = -1;
    for (std::string line; std::getline(lines, line); ++count)
      EXPECT_GE(std::count(line.begin(), line.end(), ','), commas) << line;  // a quoted name may hold more
    return count;
  };
  const json all = info("run");
  EXPECT_EQ(rows("steps"), all["events"]);
  EXPECT_EQ(rows("steps", " --passes 1"), all["events"].get<int64_t>() / 3);
  EXPECT_GT(rows("collectives"), 0);
  EXPECT_EQ(rows("memory"), 2 * 8);
  EXPECT_EQ(rows("metrics"), 3 * 10);
  for (const char* table : {"steps", "collectives", "memory", "metrics"}) {
    const std::string file = path(std::string(table) + ".csv");
    ASSERT_EQ(run_cli("export " + path("run") + " " + file + " --table " + table).code, 0);
  }
  const Ended checked =
      checked_by("check_csv.py", path("run") + " " + path("steps.csv") + " " + path("collectives.csv") + " " +
                                     path("memory.csv") + " " + path("metrics.csv"));
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(run_cli("export " + path("run") + " " + path("t.csv") + " --passes 3").code, 2);
  EXPECT_EQ(run_cli("export " + path("run") + " " + path("t.csv") + " --table steeps").code, 2);
  EXPECT_EQ(run_cli("export " + path("run") + " " + path("t.txt")).code, 2);
}

}  // namespace record_test
}  // namespace shardlens
