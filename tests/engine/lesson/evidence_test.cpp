// What a lesson plans and runs is limited, freed and stopped.
#include "engine/lesson/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "engine/base/error.h"
#include "engine/lesson/lesson_session.h"
#include "engine/lesson/marking.h"
#include "tests/engine/lesson/small_lesson.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace lesson_evidence_test {

// Of a run some ten MiB are kept.
Settings some_large_run(uint64_t seed) {
  Settings settings = testing::small_layer(4);
  settings.block = Block::Mlp;
  settings.batch = 64;
  settings.seq = 64;
  settings.seed = seed;
  return settings;
}

TEST(LessonEvidence, WhatIsNotAskedForAgainIsFreed) {
  EvidenceStore store;
  int64_t of_one = 0;
  const auto hash = [&](uint64_t seed) {
    const std::shared_ptr<Evidence> evidence = store.of(some_large_run(seed));
    const uint64_t found = evidence->samples()[0].back()->hash;
    of_one = std::max(of_one, evidence->kept_bytes());
    return found;
  };
  const uint64_t first = hash(0);
  const auto runs = static_cast<uint64_t>(2 * kMostKeptBytes / of_one);
  ASSERT_LT(runs, 60u) << "a run is too small for this test";
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    hash(seed);
    ASSERT_LE(store.kept_bytes(), kMostKeptBytes + of_one) << seed;
  }
  EXPECT_EQ(hash(0), first) << "what was freed is computed again";
}

TEST(LessonEvidence, WhatIsHeldIsNotFreed) {
  EvidenceStore store;
  const std::shared_ptr<Evidence> held = store.of(some_large_run(0));
  const Result& result = held->run();
  const auto runs = static_cast<uint64_t>(2 * kMostKeptBytes / held->kept_bytes());
  for (uint64_t seed = 1; seed <= runs; ++seed) store.of(some_large_run(seed))->run();
  EXPECT_EQ(&store.of(some_large_run(0))->run(), &result);
}

// The delay would take seconds: whether it is stopped before or meanwhile, it does not come to its end.
TEST(LessonEvidence, AStoppedRunEnds) {
  Settings settings =
      testing::small_layer(4);  // some seconds of work, nearly as much as a lesson may ask for
  settings.model.hidden = 1024;
  settings.model.heads = 16;
  settings.model.ffn = 4096;
  settings.model.positions = settings.seq = 512;
  settings.batch = 8;
  std::stop_source stop;
  EvidenceStore store;
  store.stop_with(stop.get_token());
  const std::shared_ptr<Evidence> evidence = store.of(settings);
  evidence->plan();
  std::string ended = "it was not stopped";
  std::thread runs([&] {
    try {
      evidence->run();
    } catch (const Error& error) {
      ended = error.kind() == ErrorKind::Cancelled ? "stopped" : error.what();
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // by then it runs
  stop.request_stop();
  runs.join();
  EXPECT_EQ(ended, "stopped");
}

TEST(LessonEvidence, AStoppedStorePlansNothingMore) {
  std::stop_source stop;
  EvidenceStore store;
  store.stop_with(stop.get_token());
  stop.request_stop();
  try {
    store.of(testing::small_layer(4))->plan();
    ADD_FAILURE() << "it was planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
  }
}

// The delays of the first lesson would take seconds.
TEST(LessonEvidence, AnotherLessonEndsWhatIsComputedForTheOneBefore) {
  const std::string folder = ::testing::TempDir();
  const std::string slow = folder + "slow-lesson.md", quick = folder + "quick-lesson.md";
  std::ofstream(slow)
      << "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[run]\ndelays = [\"1:attn.proj:5000\"]\n+++\n"
         "## A\n{{pass_time()}}\n";
  std::ofstream(quick) << testing::lesson_text("Nothing.\n");
  LessonSession session;
  session.send(lesson_command::Open{slow, {}});
  ASSERT_TRUE(session.wait_until_idle(300)->is_open()) << session.snapshot()->message;
  session.send(lesson_command::Make{0});
  while (session.snapshot()->making != 0) std::this_thread::yield();
  session.send(lesson_command::Open{quick, {}});
  std::shared_ptr<const LessonSnapshot> now = session.snapshot();
  for (; now->path != quick; now = session.snapshot()) {
    ASSERT_EQ(now->scenes[0].shown, nullptr) << "it was made to its end";
    ASSERT_EQ(now->message, "");
  }
  EXPECT_EQ(now->message, "");
}

}  // namespace lesson_evidence_test
}  // namespace shardlens
