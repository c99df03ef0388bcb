// Runs `train` and `eval` as a user does: a text goes in, a checkpoint comes out; trainings are stopped,
// killed and resumed.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "tests/app/process.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace train_test {

namespace fs = std::filesystem;

class CliTrain : public TestFolder {
 protected:
  // Twenty documents of a few KiB in lines that repeat with variations.
  std::string book() {
    std::string text;
    for (int i = 0; i < 1500; ++i)
      text += "And the " + std::to_string(i * i % 97) + " days of the river were counted, and it was good.\n";
    return write("book.txt", text);
  }
  std::string tiny() {
    return "train --model gpt2-tiny --batch 2 --seq 32 --threads 1 --lr 1e-3 --warmup 2 --data " + book() +
           " ";
  }
};

nlohmann::json json_of(const Ended& ended) {
  EXPECT_EQ(ended.code, 0) << ended.err;
  return nlohmann::json::parse(ended.out, nullptr, false);
}

TEST_F(CliTrain, PrintsOneObjectAndLogsEveryStep) {
  const nlohmann::json json =
      json_of(run_cli(tiny() + "--tp 2 --steps 4 --validate-every 2 --json --log " + path("log.csv")));
  EXPECT_EQ(json["steps"], 4);
  EXPECT_GT(json["loss"].get<double>(), 1);
  EXPECT_GT(json["validation_loss"].get<double>(), 1);
  EXPECT_GT(json["gemm_ceiling_flops"].get<double>(), 0);
  const std::string log = contents("log.csv");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 5);
  EXPECT_TRUE(contains(log, "step,loss,gradient_norm"));
}

// On two tokens the largest loss scale is beyond fp16: steps are skipped until it fits, which is said and
// logged, and the run goes on from there byte by byte.
TEST_F(CliTrain, SkippedStepsAreSaidLoggedAndResumed) {
  const std::string half =
      "train --model gpt2-tiny --batch 1 --seq 2 --threads 1 --tp 2 --dtype fp16 --data " + book() +
      " --loss-scale 16777216 --decay-steps 14 ";
  ASSERT_EQ(run_cli(half + "--steps 14 --checkpoint " + path("whole")).code, 0);
  const Ended first = run_cli(half + "--steps 3 --log " + path("log.csv") + " --checkpoint " + path("parts"));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(contains(first.out,
                       "skipped on all ranks: gradients overflowed at loss scale 16,777,216; the "
                       "next step uses 8,388,608"))
      << first.out;
  const nlohmann::json json =
      json_of(run_cli("train --json --resume " + path("parts") + " --steps 14 --log " + path("log.csv")));
  EXPECT_GE(json["skipped_steps"].get<int>(), 3);
  EXPECT_LT(json["skipped_steps"].get<int>(), 14);
  EXPECT_LT(json["loss_scale"].get<double>(), 16777216 / 8);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_TRUE(contents(std::string("whole/") + file) == contents(std::string("parts/") + file)) << file;
  std::istringstream log(contents("log.csv"));
  std::string header, row;
  std::getline(log, header);
  EXPECT_TRUE(contains(header, "step,loss,gradient_norm,learning_rate,loss_scale,skipped,")) << header;
  std::getline(log, row);
  EXPECT_TRUE(contains(row, ",16777216,1,")) << row;
}

TEST_F(CliTrain, PlainLinesWhereThereIsNoTerminal) {
  const Ended ended = run_cli(tiny() + "--steps 3 --tp 1");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(contains(ended.out, "step 3/3  loss ")) << ended.out;
  EXPECT_TRUE(contains(ended.out, "% of ceiling"));
  EXPECT_FALSE(contains(ended.out, "\r"));
}

TEST_F(CliTrain, ResumedIsByteForByteTheUninterruptedRun) {
  ASSERT_EQ(run_cli(tiny() + "--tp 2 --steps 6 --dropout 0.1 --checkpoint " + path("whole")).code, 0);
  ASSERT_EQ(run_cli(tiny() + "--tp 2 --steps 3 --decay-steps 6 --dropout 0.1 --log " + path("log.csv") +
                    " --checkpoint " + path("parts"))
                .code,
            0);
  const Ended rest = run_cli("train --resume " + path("parts") + " --steps 6 --log " + path("log.csv"));
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_TRUE(contains(rest.out, "resumed after step 3"));
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_TRUE(contents(std::string("whole/") + file) == contents(std::string("parts/") + file)) << file;
  const std::string log = contents("log.csv");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 7);  // both parts, under one header
}

// Killed again and again at any moment: what stands is always a whole checkpoint that a run goes on from.
TEST_F(CliTrain, AKillAtAnyMomentLeavesACheckpoint) {
  ASSERT_EQ(run_cli(tiny() + "--tp 1 --steps 1 --decay constant --checkpoint " + path("run")).code, 0);
  int64_t before = 1;
  for (int i = 0; i < 5; ++i) {
    const pid_t child = begin_cli("train --resume " + path("run") + " --steps 100000 --checkpoint-every 1");
    // The first is killed while it starts, the others so long after they have saved something.
    const std::string saved = contents("run/training.json");
    for (int polls = 0; i > 0 && polls < 6000 && contents("run/training.json") == saved; ++polls)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(37 * (i + 1)));
    ASSERT_TRUE(was_killed(child));
    const Ended ended = run_cli("train --resume " + path("run") + " --steps 1 --json");
    const nlohmann::json json = json_of(ended);
    EXPECT_GE(json["steps"].get<int64_t>(), before);
    before = json["steps"].get<int64_t>();
  }
  EXPECT_GT(before, 1);  // it came forward
}

// One command for the first start and for every other: killed twice, it comes to the bytes of the run that
// nobody disturbed, and so does its log. (Late steps, so that none follows the save before the kill.)
TEST_F(CliTrain, RestartedByTheSameCommandItIsTheUninterruptedRun) {
  const auto command = [&](const std::string& name) {
    return tiny() + "--tp 2 --steps 60 --dropout 0.1 --checkpoint-every 10 --delay 0:0:30 --restart --log " +
           path(name + ".csv") + " --checkpoint " + path(name);
  };
  const auto values_logged = [&](const std::string& name) {
    std::istringstream log(contents(name + ".csv"));
    std::string values;
    for (std::string line; std::getline(log, line);) {
      size_t end = 0;
      for (int column = 0; column < 6; ++column) end = line.find(',', end) + 1;  // times come after these
      values += line.substr(0, end) + "\n";
    }
    return values;
  };
  ASSERT_EQ(run_cli(command("whole")).code, 0);
  for (int crash = 0; crash < 2; ++crash) {
    const pid_t child = begin_cli(command("parts"));
    const std::string saved = contents("parts/training.json");
    const auto has_saved_more = [&] {
      const std::string now = contents("parts/training.json");
      return !now.empty() && now != saved;
    };
    for (int polls = 0; polls < 60000 && !has_saved_more(); ++polls)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(was_killed(child)) << "it was done before it could be killed";
  }
  const Ended last = run_cli(command("parts"));
  ASSERT_EQ(last.code, 0) << last.err;
  const std::string resumed = "resumed after step ";
  const size_t at = last.out.find(resumed);
  ASSERT_NE(at, std::string::npos) << last.out;
  const int step = std::stoi(last.out.substr(at + resumed.size()));
  EXPECT_GE(step, 20);  // the second start went on where the first one was killed
  EXPECT_LT(step, 60);
  EXPECT_EQ(values_logged("parts"), values_logged("whole"));
  for (const auto& file : fs::directory_iterator(path("whole"))) {
    const std::string name = file.path().filename();
    EXPECT_TRUE(contents("whole/" + name) == contents("parts/" + name)) << name;
  }
}

TEST_F(CliTrain, CtrlCSavesAndEndsByTheSignal) {
  // The shell sends the signal once a step has been printed.
  const Ended ended = run_program("sh", "-c \"" + std::string(SHARDLENS_CLI_PROGRAM) + " " + tiny() +
                                            "--tp 2 --steps 100000 --checkpoint " + path("run") + " > " +
                                            path("out") + " & pid=\\$!; until grep -q 'loss' " + path("out") +
                                            "; do sleep 0.1; done; kill -INT \\$pid; wait \\$pid\"");
  EXPECT_EQ(ended.code, 128 + SIGINT) << ended.err;
  EXPECT_TRUE(contains(contents("out"), "continue with --resume " + path("run"))) << contents("out");
  EXPECT_TRUE(fs::exists(path("run/training.json")));
}

// A shell's `train && eval` goes no further, and its loop around `train` ends at Ctrl+C, as with a program
// that hears no signal.
TEST_F(CliTrain, WhoeverWaitsForAStoppedTrainingSeesTheSignal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string run = "run" + std::to_string(signal), log = run + ".csv";
    const pid_t child =
        begin_cli(tiny() + "--tp 2 --steps 100000 --log " + path(log) + " --checkpoint " + path(run));
    const auto logged = [&] { return contains(contents(log), "\n1,"); };
    for (int polls = 0; polls < 60000 && !logged(); ++polls)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_TRUE(fs::exists(path(run + "/training.json")));
    EXPECT_FALSE(fs::exists(path(run + ".lock")));
  }
}

TEST_F(CliTrain, ALogOfAnotherRunIsNotWrittenOver) {
  const std::string command = tiny() + "--tp 1 --steps 1 --log " + path("log.csv");
  ASSERT_EQ(run_cli(command).code, 0);
  const std::string before = contents("log.csv");
  const Ended again = run_cli(command);
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(contains(again.err, "--log: " + path("log.csv") + " is there already")) << again.err;
  EXPECT_EQ(contents("log.csv"), before);
}

// Whoever tidies up in the hours of a run costs it no row.
TEST_F(CliTrain, ALogThatIsDeletedMeanwhileComesBackWithAllItsRows) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string command = "exec " + std::string(SHARDLENS_CLI_PROGRAM) + " " + tiny() +
                                "--tp 1 --steps 100000 --log " + path("log.csv") + " > " + path("out");
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  const auto wait_for = [&](const std::string& row) {
    for (int polls = 0; polls < 60000 && !contains(contents("log.csv"), row); ++polls)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  wait_for("\n5,");
  const Ended other = run_cli(tiny() + "--tp 1 --steps 1 --overwrite --log " + path("log.csv"));
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(contains(other.err, "another run is writing to " + path("log.csv"))) << other.err;
  fs::remove(path("log.csv"));
  wait_for("\n5,");
  kill(child, SIGINT);
  waitpid(child, nullptr, 0);
  const std::string log = contents("log.csv"), out = contents("out");
  EXPECT_TRUE(log.starts_with("step,loss,")) << log;
  EXPECT_TRUE(contains(log, "\n1,") && contains(log, "\n5,")) << log;
  const std::string said = "log.csv was deleted while it was written";
  EXPECT_TRUE(contains(out, said)) << out;
  EXPECT_EQ(out.find(said), out.rfind(said)) << "said once";
}

// Fewer steps than were done before are none.
TEST_F(CliTrain, ARunThatIsDoneSaysSoInItsOwnSteps) {
  ASSERT_EQ(run_cli(tiny() + "--tp 1 --steps 4 --checkpoint " + path("run")).code, 0);
  const std::string again = "train --resume " + path("run") + " --steps 2 --checkpoint ";
  const Ended ended = run_cli(again + path("copy"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(contains(ended.out, "step 4/4  saved to " + path("copy"))) << ended.out;
  const nlohmann::json json = json_of(run_cli(again + path("other") + " --json"));
  for (const char* key : {"loss", "gradient_norm", "tokens_per_second"})
    EXPECT_TRUE(json[key].is_null()) << key << json[key];
}

// The one that goes on, by whatever command, would overwrite what the other one saves. One that was killed
// stands in nobody's way.
TEST_F(CliTrain, AFolderThatAnotherTrainingSavesToIsRefused) {
  const std::string command =
      tiny() + "--tp 2 --steps 100000 --checkpoint-every 1 --restart --checkpoint " + path("run");
  const pid_t child = begin_cli(command);
  for (int polls = 0; polls < 6000 && !fs::exists(path("run/training.json")); ++polls)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  for (const std::string& other :
       {command, "train --resume " + path("run"), tiny() + "--checkpoint " + path("run")}) {
    const Ended ended = run_cli(other);
    EXPECT_EQ(ended.code, 2) << other;
    EXPECT_TRUE(contains(ended.err, "another run is writing to " + path("run"))) << ended.err;
  }
  ASSERT_TRUE(was_killed(child)) << "it did not go on";
  const Ended ended = run_cli("train --resume " + path("run") + " --steps 1");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_FALSE(fs::exists(path("run.lock")));
}

TEST_F(CliTrain, BegunAnewItDoesNotReplaceACheckpoint) {
  const std::string command = tiny() + "--tp 1 --steps 1 --checkpoint " + path("run");
  ASSERT_EQ(run_cli(command).code, 0);
  const std::string before = contents("run/model.safetensors");
  const Ended again = run_cli(command + " --seed 7");
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(contains(again.err, path("run") + " holds the checkpoint of another run")) << again.err;
  EXPECT_TRUE(contents("run/model.safetensors") == before);
  EXPECT_EQ(run_cli(command + " --restart").code, 0);
}

TEST_F(CliTrain, ARestartRecordsBesideTheFirstStartAndNoOtherRunOverIt) {
  const std::string command = tiny() + "--tp 1 --decay-steps 2 --checkpoint " + path("run") + " --record " +
                              path("run.shardlens") + " --steps ";
  ASSERT_EQ(run_cli(command + "2 --restart").code, 0);
  const std::string first = contents("run.shardlens");
  const Ended again = run_cli(command + "4 --restart");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(contains(again.out, "recording into " + path("run-2.shardlens"))) << again.out;
  EXPECT_TRUE(contains(again.out, "recorded 2 passes")) << again.out;
  EXPECT_TRUE(contents("run.shardlens") == first);
  const Ended other = run_cli(command + "4");
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(contains(other.err, "--record: " + path("run.shardlens") + " is there already")) << other.err;
}

TEST_F(CliTrain, ARestartWithMoreStepsIsToldWhatTheScheduleWouldBecome) {
  const std::string command = tiny() + "--tp 1 --restart --checkpoint " + path("run") + " --steps ";
  ASSERT_EQ(run_cli(command + "2").code, 0);
  const Ended more = run_cli(command + "3");
  EXPECT_EQ(more.code, 2);
  EXPECT_TRUE(contains(more.err, "give --steps 2 as for the first start, or add --decay-steps 2"))
      << more.err;
  EXPECT_EQ(run_cli(command + "3 --decay-steps 2").code, 0);
}

TEST_F(CliTrain, AFullDiskIsSaidAndNothingIsLost) {
  ASSERT_EQ(run_cli(tiny() + "--tp 1 --steps 1 --checkpoint " + path("run")).code, 0);
  const std::string before = contents("run/model.safetensors");
  // A limit on a file's size stands for the disk.
  const Ended ended =
      run_program("sh", "-c \"trap '' XFSZ; ulimit -f 1000; " + std::string(SHARDLENS_CLI_PROGRAM) +
                            " train --resume " + path("run") + " --steps 3 --checkpoint-every 2\"");
  EXPECT_EQ(ended.code, 3);
  EXPECT_TRUE(contains(ended.out, "not saved: the checkpoint of step 2"))
      << ended.out;  // and the run went on
  EXPECT_TRUE(contains(ended.err, "step 3 could not be saved")) << ended.err;
  EXPECT_TRUE(contains(ended.err, "is unchanged")) << ended.err;
  EXPECT_TRUE(contents("run/model.safetensors") == before);
}

TEST_F(CliTrain, ALossThatIsNoNumberEndsWithThree) {
  const Ended ended =
      run_cli("train --model gpt2-tiny --batch 2 --seq 32 --threads 1 --data " + book() +
              " --tp 2 --steps 9 --lr 1e30 --clip 0 --checkpoint-every 1 --checkpoint " + path("run"));
  EXPECT_EQ(ended.code, 3);
  EXPECT_TRUE(contains(ended.err, "training stopped at step 2")) << ended.err;
  EXPECT_TRUE(contains(ended.err, "tensor ")) << ended.err;
  EXPECT_TRUE(contains(ended.err, "of step 1, is in")) << ended.err;
  EXPECT_TRUE(fs::exists(path("run/training.json")));
}

TEST_F(CliTrain, EvalMeasuresWhatWasTrained) {
  ASSERT_EQ(run_cli(tiny() + "--tp 2 --steps 40 --checkpoint " + path("run")).code, 0);
  write("q.jsonl",
        "{\"text\": \"And the river were counted, and it was good.\"}\n{\"text\": \"it was zebra\"}\n");
  write("held.txt", contents("book.txt").substr(0, 1000));
  const std::string on =
      " --text " + path("held.txt") + " --cloze " + path("q.jsonl") + " --json --threads 1 --tp ";
  const nlohmann::json one = json_of(run_cli("eval --model " + path("run") + on + "1"));
  const nlohmann::json two = json_of(run_cli("eval --model " + path("run") + on + "2"));
  EXPECT_EQ(one["tokens"], 1000);
  EXPECT_EQ(one["cloze_examples"], 2);
  EXPECT_NEAR(one["nats"].get<double>(), two["nats"].get<double>(), 1e-3 * one["nats"].get<double>());
  const double untrained = json_of(run_cli("eval --model gpt2-tiny" + on + "1"))["nats"];
  EXPECT_LT(one["nats"].get<double>(), untrained * 0.8);
}

// The same words with other line ends, a byte-order mark and letters beside their accents: a model that was
// trained here reads what it has learned, another model reads the file as other programs do, and both say so.
TEST_F(CliTrain, EvalReadsATextAsTheModelHasLearnedIt) {
  ASSERT_EQ(run_cli(tiny() + "--tp 1 --steps 1 --checkpoint " + path("run")).code, 0);
  write("clean.txt", "A caf\u00e9.\nAnd it was good.\nSo.\n");
  write("other.txt", "\uFEFFA cafe\u0301.\r\nAnd it was good.\r\nSo.\r\n");
  write("clean.jsonl", "{\"text\": \"it was a caf\u00e9\"}\n");
  write("other.jsonl", "{\"text\": \"it was a cafe\u0301\"}\r\n");
  const auto eval = [&](const std::string& model, const std::string& name) {
    return run_cli("eval --json --threads 1 --tp 1 --model " + model + " --text " + path(name + ".txt") +
                   " --cloze " + path(name + ".jsonl"));
  };
  const Ended clean = eval(path("run"), "clean"), other = eval(path("run"), "other");
  EXPECT_EQ(json_of(other)["nats"], json_of(clean)["nats"]);
  EXPECT_EQ(json_of(other)["words"], json_of(clean)["words"]);
  EXPECT_FALSE(contains(clean.err, "clean")) << clean.err;
  EXPECT_TRUE(contains(other.err, "--text " + path("other.txt") + " was cleaned as data and train clean"));
  EXPECT_TRUE(contains(other.err, "--cloze " + path("other.jsonl") + " was cleaned")) << other.err;

  const Ended untouched = eval("gpt2-tiny", "other");
  EXPECT_EQ(json_of(untouched)["tokens"], contents("other.txt").size());
  EXPECT_TRUE(contains(untouched.err, "is read as it is")) << untouched.err;
  EXPECT_TRUE(contains(untouched.err, "--clean does the same here")) << untouched.err;
  EXPECT_EQ(json_of(eval("gpt2-tiny --clean", "other"))["nats"], json_of(eval("gpt2-tiny", "clean"))["nats"]);

  const std::string generate = "generate --threads 1 --greedy --json --tokens 5 --model " + path("run");
  EXPECT_EQ(json_of(run_cli(generate + " --prompt 'cafe\u0301'"))["prompt_tokens"],
            json_of(run_cli(generate + " --prompt 'caf\u00e9'"))["prompt_tokens"]);
}

// A run of one step with a decay to 0 would end as it began, and --model alone is no remedy.
TEST_F(CliTrain, StepsThatChangeNothingAreNamedWithWhatWouldHelp) {
  const std::string train =
      "train --model gpt2-tiny --batch 2 --seq 32 --threads 1 --tp 1 --data " + book() + " ";
  const Ended one = run_cli(train + "--steps 1");
  EXPECT_TRUE(contains(one.err,
                       "step 1 has learning rate 0 and changes nothing. To train in all steps, give "
                       "--decay constant, a --min-lr above 0, or --decay-steps 2"))
      << one.err;
  const Ended some = run_cli(train + "--steps 5 --decay-steps 3 --checkpoint " + path("run"));
  EXPECT_TRUE(contains(some.err, "steps 3 to 5 have learning rate 0")) << some.err;
  const Ended further = run_cli("train --resume " + path("run") + " --steps 6");
  EXPECT_TRUE(contains(further.err,
                       "step 6 has learning rate 0 and changes nothing. To train further, begin a "
                       "new run from these weights: --model " +
                           path("run")))
      << further.err;
  EXPECT_TRUE(contains(run_cli(train + "--steps 2 --lr 0").err, "give an --lr above 0"));
  for (const char* sound : {"--steps 1 --decay constant", "--steps 3", "--steps 1 --decay-steps 2"})
    EXPECT_FALSE(contains(run_cli(train + sound).err, "learning rate 0")) << sound;
}

// A BERT from a plain text: it learns a WordPiece vocabulary, hides words, tells its two losses apart, and
// its checkpoint has all that resuming and eval need.
TEST_F(CliTrain, ABertLearnsFromAPlainText) {
  const std::string bert =
      "train --model bert-tiny --norm pre --batch 4 --seq 32 --threads 1 --lr 1e-3 --data " + book() + " ";
  const nlohmann::json whole = json_of(run_cli(bert + "--tp 2 --steps 6 --validate-every 3 --json --log " +
                                               path("log.csv") + " --checkpoint " + path("whole")));
  EXPECT_NEAR(whole["word_loss"].get<double>() + whole["order_loss"].get<double>(),
              whole["loss"].get<double>(), 1e-5);
  EXPECT_GT(whole["validation_word_loss"].get<double>(), 1);
  const std::string log = contents("log.csv");
  EXPECT_TRUE(contains(log.substr(0, log.find('\n')),
                       "validation_loss,word_loss,order_loss,validation_word_loss,validation_order_loss,"
                       "validation_rows,validation_rows_of_text"));
  EXPECT_TRUE(contains(contents("whole/config.json"), "megatron-bert"));
  EXPECT_TRUE(contents("whole/vocab.txt").starts_with("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"));

  ASSERT_EQ(run_cli(bert + "--tp 2 --steps 3 --decay-steps 6 --checkpoint " + path("parts")).code, 0);
  const Ended rest = run_cli("train --resume " + path("parts") + " --steps 6");
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_TRUE(contains(rest.out, " (words ")) << rest.out;
  EXPECT_TRUE(contents("whole/model.safetensors") == contents("parts/model.safetensors"));

  const nlohmann::json eval = json_of(run_cli("eval --threads 1 --tp 1 --batch 4 --json --model " +
                                              path("whole") + " --text " + path("book.txt")));
  EXPECT_GT(eval["masked_tokens"].get<int>(), 100);
  EXPECT_GE(eval["masked_accuracy"].get<double>(), 0);
  EXPECT_LT(eval["word_loss"].get<double>(), 7.6);  // ln 2048
  EXPECT_NEAR(eval["order_loss"].get<double>(), 0.69, 0.1);

  // A new run from its weights cuts words as the old one did.
  const Ended anew =
      run_cli("train --model " + path("whole") + " --batch 4 --seq 32 --threads 1 --tp 1 --steps 1" +
              " --data " + path("book.txt") + " --checkpoint " + path("anew"));
  ASSERT_EQ(anew.code, 0) << anew.err;
  EXPECT_TRUE(contents("anew/vocab.txt") == contents("whole/vocab.txt"));
}

TEST_F(CliTrain, GenerateWritesOnAsItWasTrained) {
  ASSERT_EQ(run_cli(tiny() + "--tp 2 --steps 120 --checkpoint " + path("run")).code, 0);
  const std::string prompt =
      "generate --threads 1 --model " + path("run") + " --prompt 'And the ' --tokens 30 ";
  const nlohmann::json one = json_of(run_cli(prompt + "--greedy --json --tp 1"));
  EXPECT_EQ(one["tokens"], 30);
  EXPECT_EQ(one["text"], json_of(run_cli(prompt + "--greedy --json --tp 2"))["text"]);
  const Ended streamed = run_cli(prompt + "--temperature 0 --tp 4");
  EXPECT_EQ(streamed.out, "And the " + one["text"].get<std::string>() + "\n");
  const std::string drawn = run_cli(prompt + "--temperature 1.5 --top-k 50 --seed 7 --tp 1").out;
  EXPECT_EQ(drawn,
            run_cli(prompt + "--temperature 1.5 --top-k 50 --seed 7 --tp 3 --heads-policy uneven").out);
  EXPECT_NE(drawn, streamed.out);
  EXPECT_TRUE(contains(streamed.err, "was trained on sequences of 32 tokens")) << streamed.err;
  const std::string brief = "generate --threads 1 --prompt 'And the ' --tokens 20 --model " + path("run");
  EXPECT_FALSE(contains(run_cli(brief).err, "was trained on"));
  const Ended long_one =
      run_cli("generate --threads 1 --greedy --json --tp 1 --tokens 999 --prompt x --model " + path("run"));
  const nlohmann::json longest = json_of(long_one);
  EXPECT_EQ(longest["ended_by"], "positions");
  EXPECT_EQ(longest["tokens"], 256);  // the last one has no position of its own, and needs none
}

TEST_F(CliTrain, WhatWasTrainedIn16BitsIsMeasuredAndWritesOn) {
  for (const std::string dtype : {"bf16", "fp16"}) {
    const std::string model = path("run_" + dtype);
    ASSERT_EQ(run_cli(tiny() + "--tp 2 --steps 40 --dtype " + dtype + " --checkpoint " + model).code, 0);
    write("held.txt", contents("book.txt").substr(0, 500));
    const std::string eval = "eval --threads 1 --json --text " + path("held.txt") + " --model " + model;
    const double wide = json_of(run_cli(eval + " --tp 1"))["nats"];
    const double narrow = json_of(run_cli(eval + " --tp 2 --dtype " + dtype))["nats"];
    EXPECT_NEAR(narrow / wide, 1, dtype == "bf16" ? 0x1p-8 * 6 : 0x1p-11 * 6) << dtype;  // sqrt(34) roundings
    const double untrained = json_of(
        run_cli("eval --threads 1 --json --tp 1 --model gpt2-tiny --text " + path("held.txt")))["nats"];
    EXPECT_LT(wide, 0.8 * untrained);
    const std::string generate =
        "generate --threads 1 --json --greedy --tokens 20 --prompt 'And the ' --model " + model;
    for (const char* how : {" --tp 1", " --tp 2 --dtype bf16", " --tp 2 --dtype fp16"})
      EXPECT_EQ(json_of(run_cli(generate + how))["tokens"], 20) << dtype << how;
  }
}

// Noise is what it writes, and it says why.
TEST_F(CliTrain, AModelWithoutWeightsIsSaidToBeUntrained) {
  const std::string few = write("few.txt", "a few words");
  for (const std::string& arguments :
       {std::string("generate --model gpt2-tiny --tokens 1 "), "eval --model gpt2-tiny --text " + few}) {
    const Ended ended = run_cli(arguments + " --threads 1");
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(contains(ended.err, "GPT-2 toy is untrained here")) << ended.err;
  }
  ASSERT_EQ(run_cli(tiny() + "--steps 1 --checkpoint " + path("run")).code, 0);
  const Ended trained = run_cli("eval --model " + path("run") + " --threads 1 --text " + few);
  EXPECT_FALSE(contains(trained.err, "untrained")) << trained.err;
}

TEST_F(CliTrain, AModelOfShortRowsIsEvaluatedWithoutFurtherOptions) {
  ASSERT_EQ(run_cli("train --model gpt2-tiny --batch 2 --seq 16 --threads 1 --data " + book() +
                    " --steps 1 --checkpoint " + path("short"))
                .code,
            0);
  const Ended ended = run_cli("eval --model " + path("short") + " --text " + write("few.txt", "a few words"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(contains(ended.out, "windows of 16 advancing by 16")) << ended.out;
}

// One document of twenty is kept for validation, and may be shorter than a row.
TEST_F(CliTrain, ATextWhoseValidationPartIsShortTrainsWhereNobodyAsksForIt) {
  std::string lines;
  for (int i = 0; i < 20; ++i)
    lines += nlohmann::json{{"text", std::string(160, static_cast<char>('a' + i))}}.dump() + "\n";
  const std::string train = "train --model gpt2-tiny --batch 1 --seq 200 --threads 1 --steps 1 --data " +
                            write("docs.jsonl", lines);
  EXPECT_EQ(run_cli(train).code, 0) << run_cli(train).err;
  const Ended asked = run_cli(train + " --validate-every 1");
  EXPECT_EQ(asked.code, 2);
  EXPECT_TRUE(contains(asked.err, "kept for validation")) << asked.err;
}

TEST_F(CliTrain, WrongRequestsEndWithTwoAndNameTheRemedy) {
  write("empty.txt", "");
  write("short.txt", "too short");
  write("no-validation.txt", std::string(400, 'x'));
  ASSERT_EQ(run_cli(tiny() + "--tp 1 --steps 1 --checkpoint " + path("run")).code, 0);
  const std::string text = "train --data " + path("book.txt");
  const struct {
    std::string arguments, must_say;
  } requests[] = {
      {"train", "--data is missing"},
      {"train --data " + path("absent.txt"), "absent.txt"},
      {"train --data " + path("empty.txt"), "empty"},
      {"train --seq 128 --data " + path("short.txt"), "sequence"},
      {text + " --steps 0", "--steps 0"},
      {text + " --seq 300", "positions"},
      {text + " --lr -1", "learning rate"},
      {text + " --loss-scale 65536", "fp16"},
      {text + " --dtype fp16 --loss-scale 1000", "power of two"},
      {tiny() + "--decay cosin", "cosine"},
      {tiny() + "--dropout 1", "dropout"},
      {tiny() + "--tokenizer " + path("nowhere"), "nowhere"},
      {text + " --batch 3 --dp 2", "batch"},
      {tiny() + "--checkpoint " + path("book.txt"), "is a file"},
      {"train --resume " + path("run") + " --log " + path("book.txt"), "not the log of a training run"},
      {"train --model gpt2-tiny --seq 8 --steps 2 --validate-every 2 --data " + path("no-validation.txt"),
       "--validate-every 2"},
      {tiny() + "--checkpoint " + folder_.string(), "no checkpoint"},
      {tiny() + "--log /nonexistent/log.csv --steps 1", "/nonexistent/log.csv"},
      {"train --model bert-tiny --tokenizer bytes --data " + path("book.txt"), "wordpiece:N"},
      {"train --model bert-tiny --tokenizer wordpiece:9 --data " + path("book.txt"), "characters alone need"},
      {"train --model bert-tiny --norm middle --data " + path("book.txt"), "pre"},
      {"train --resume " + path("nowhere"), "training.json"},
      {tiny() + "--steps 2 --checkpoint-every 1", "add --checkpoint FOLDER"},
      {"train --resume " + path("run") + " --lr 1", "--lr is fixed by the checkpoint"},
      // What says how it is run is heard, and so is refused as at a first start.
      {"train --resume " + path("run") + " --backend vulkan", "cuda"},
      {"train --resume " + path("run") + " --gpu 0", "add --backend cuda"},
      {"train --resume " + path("run") + " --tf32", "add --backend cuda"},
      {"train --resume " + path("run") + " --comm nccl", "add --backend cuda"},
      {"train --resume " + path("run") + " --overlap-chunks 99", "overlap parts"},
      {"train --resume " + path("run") + " --hardware v200", "v100"},
      {"train --resume " + path("run") + " --data " + path("short.txt"), "tokens"},
      {"train --model " + path("run") + " --resume " + path("run"), "--model is fixed by the checkpoint"},
      {"eval", "--text"},
      {"eval --model gpt2-tiny --text " + path("empty.txt"), "empty"},
      {"eval --model " + path("run") + " --cloze " + path("book.txt"), "book.txt, line 1"},
      {"generate --model gpt2-tiny --prompt x --tokens 0", "--tokens 0"},
      {"generate --model gpt2-tiny --prompt x --top-p 2", "top-p"},
      {"generate --model gpt2-tiny --prompt x --temperature -1", "temperature"},
      {"generate --model bert-base --prompt x", "encoder"},
      {"generate --model gpt2-tiny --tp 1 --prompt " + std::string(300, 'x'), "shorter prompt"},
      {"eval --model gpt2-tiny --seq 0 --text " + path("book.txt"), "--seq 0"},
      {"eval --model gpt2-tiny --seq 999 --text " + path("book.txt"), "positions"},
  };
  for (const auto& request : requests) {
    const Ended ended = run_cli(request.arguments);
    EXPECT_EQ(ended.code, 2) << request.arguments << "\n" << ended.out << ended.err;
    EXPECT_TRUE(contains(ended.err, request.must_say)) << request.arguments << "\n" << ended.err;
  }
}

}  // namespace train_test
}  // namespace shardlens
