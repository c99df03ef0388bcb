// With any number of threads that the system refuses, every verb that starts some ends with a sentence: no
// run hangs because those that started wait for one that did not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/app/process.h"

namespace shardlens {
namespace resources_test {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kHangs = 124;  // of `timeout`; a hang is for ever, so this says nothing about speed

Ended with_threads(int threads, const std::string& program, const std::string& arguments) {
  return run_program("env LD_PRELOAD=" SHARDLENS_FEW_THREADS " SHARDLENS_TEST_THREADS=" +
                         std::to_string(threads) + " timeout 200 " + program,
                     arguments);
}

// A run with `threads` threads works, or says what it could not start, why, and what the limit is.
void expect_an_end(int threads, const std::string& arguments) {
  SCOPED_TRACE(arguments + " with " + std::to_string(threads) + " threads");
  const Ended ended = with_threads(threads, SHARDLENS_CLI_PROGRAM, arguments);
  ASSERT_NE(ended.code, kHangs) << ended.out << ended.err;
  if (ended.code == 0) return;
  EXPECT_EQ(ended.code, 3) << ended.out << ended.err;
  EXPECT_THAT(ended.err, AnyOf(HasSubstr("cannot start"), HasSubstr("cannot start, only")));
  EXPECT_THAT(ended.err, HasSubstr("Resource temporarily unavailable; the limit is"));
}

TEST(FewThreads, EveryVerbEnds) {
  const std::string tiny = kTinyModel;
  const std::string verbs[] = {
      "train --data sample --model gpt2-tiny --tp 1 --batch 1 --seq 8 --steps 2 --threads 2",
      "train --data sample --steps 2" + tiny,
      "step --threads 1" + tiny,
      "step --overlap-chunks 2 --threads 2" + tiny,
      "verify" + tiny,
      "generate --prompt One --tokens 2 --model gpt2-tiny --tp 2",
      "bench step --repetitions 2" + tiny,
      "bench gemm --repetitions 1" + tiny,
      "bench allreduce --tp 3 --repetitions 1",
  };
  int refused = 0;
  for (const std::string& verb : verbs)
    for (const int threads : {0, 1, 2, 3, 5, 8}) expect_an_end(threads, verb);
  // No test without a refusal.
  for (const std::string& verb : verbs)
    if (with_threads(0, SHARDLENS_CLI_PROGRAM, verb).code == 3) ++refused;
  EXPECT_EQ(refused, static_cast<int>(std::size(verbs)));
}

TEST(FewThreads, TheMessageNamesThreadsWantedAndStarted) {
  const Ended ended =
      with_threads(1, SHARDLENS_CLI_PROGRAM, "step --threads 1 --model gpt2-tiny --tp 4 --batch 1 --seq 8");
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err,
              HasSubstr("4 threads for the ranks cannot start, only 1 of them: Resource temporarily "
                        "unavailable; the limit is"));
}

// Runs with at most `kibibytes` of address space.
Ended with_addresses(int kibibytes, const std::string& arguments) {
  return run_program("sh -c 'ulimit -v " + std::to_string(kibibytes) +
                         "; exec timeout 200 " SHARDLENS_CLI_PROGRAM " " + arguments + "'",
                     "");
}

TEST(LittleMemory, TheLimitOfTheProcessIsKnownBeforeTheFirstStep) {
  const Ended ended = with_addresses(1'500'000, "step --model gpt2 --batch 16 --tp 2");
  EXPECT_EQ(ended.code, 2) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("left below the limit of ulimit -v. "));
  EXPECT_THAT(ended.err, HasSubstr("The largest that fits"));
}

// From too little for anything to enough: a sentence, and no "std::bad_alloc" nor a signal.
TEST(LittleMemory, WithAnyLimitOfTheProcessARunEndsWithASentence) {
  const int least = 120'000;  // less, and the system does not even load the program's libraries
  for (const char* verb :
       {"step --model gpt2-tiny --tp 2 --batch 2 --seq 32", "train --data sample --steps 2 --tp 2",
        "generate --model gpt2-tiny --prompt One --tokens 2", "plan --model gpt2",
        "verify --model gpt2-tiny --tp 2 --batch 1 --seq 8"}) {
    bool worked = false;
    for (int kibibytes = least; kibibytes < 4'000'000 && !worked; kibibytes += kibibytes / 3) {
      SCOPED_TRACE(std::string(verb) + " in " + std::to_string(kibibytes) + " KiB");
      const Ended ended = with_addresses(kibibytes, verb);
      worked = ended.code == 0;
      if (ended.code == 127 || worked) continue;  // 127: the libraries
      EXPECT_THAT(ended.code, AnyOf(2, 3)) << ended.out << ended.err;
      EXPECT_THAT(ended.err, ::testing::Not(HasSubstr("std::bad_alloc")));
      EXPECT_THAT(ended.err,
                  AnyOf(HasSubstr("ulimit -v"), HasSubstr("not enough memory"), HasSubstr("memory")));
    }
    EXPECT_TRUE(worked) << verb;
  }
}

TEST(StillClock, MakesNoAbsurdRates) {
  // (bench generate repeats until enough time has passed.)
  for (const char* verb :
       {"train --data sample --steps 2", "bench step --repetitions 1", "bench gemm --repetitions 1"}) {
    const Ended ended =
        run_program("env LD_PRELOAD=" SHARDLENS_STILL_CLOCK " timeout 200 " SHARDLENS_CLI_PROGRAM,
                    std::string(verb) + kTinyModel);
    EXPECT_EQ(ended.code, 0) << verb << ended.err;
    for (const char* absurd : {" inf", "nan", "-9,223"})
      EXPECT_FALSE(contains(ended.out, absurd)) << verb << absurd << ended.out;
  }
}

}  // namespace resources_test
}  // namespace shardlens
