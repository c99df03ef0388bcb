// Ranks that take turns on one thread compute what threads compute, to the last bit, and every rank's clock
// shows when it would have waited.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <tuple>

#include "engine/base/clock.h"
#include "engine/comm/lockstep.h"
#include "engine/config/settings_json.h"
#include "engine/planner/planner.h"
#include "tests/engine/any_settings.h"
#include "tests/engine/small_layer.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace lockstep_test {

using testing::any_settings;
using ::testing::HasSubstr;
using testing::small_layer;

Settings in_turns(Settings settings) {
  settings.communicator = CommunicatorChoice::Lockstep;
  return settings;
}

/// A hash of everything that every rank held.
class Hashes : public StepObserver {
 public:
  explicit Hashes(const Program& program) : program_(program) {}
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override {
    on_replica_tensor(0, rank, step, tensor, data);
  }
  void on_replica_tensor(int replica, int rank, StepId step, const Tensor& tensor,
                         const void* data) override {
    if (tensor.kind == MemoryKind::Workspace) return;
    const auto bytes = static_cast<size_t>(local_bytes(tensor, program_.tp(), rank));
    const uint64_t hash =
        bytes == 0 ? 0 : std::hash<std::string_view>()({static_cast<const char*>(data), bytes});
    const std::lock_guard lock(mutex_);
    of[{replica, rank, step, tensor.name}] = hash;
  }

  std::map<std::tuple<int, int, StepId, std::string>, uint64_t> of;

 private:
  const Program& program_;
  std::mutex mutex_;
};

/// What a run held, sent and needed.
struct Ran {
  std::map<std::tuple<int, int, StepId, std::string>, uint64_t> hashes;
  std::vector<std::string> counts;  ///< of every rank and step
};

Ran ran(const Settings& settings) {
  const auto plan = make_plan(settings);
  const auto hashes = std::make_shared<Hashes>(plan->program);
  Executor executor(plan);
  executor.observe({hashes});
  for (int pass = 0; pass < 2; ++pass) {
    if (pass > 0) executor.next_pass();
    executor.start(executor.steps());
    executor.wait();
  }
  Ran all{std::move(hashes->of), {}};
  for (const auto& rank : executor.events(settings.tp * settings.dp))
    for (const StepEvent& event : rank) {
      std::string count = fmt::format("{} sent", event.sent_bytes);
      for (const int64_t bytes : event.high_water_bytes) count += fmt::format(" {}", bytes);
      all.counts.push_back(std::move(count));
    }
  return all;
}

constexpr unsigned kCases = 200, kGroups = 4;

class AnyModelInTurns : public ::testing::TestWithParam<unsigned> {};

TEST_P(AnyModelInTurns, HasTheBitsOfThreads) {
  const DType dtypes[] = {DType::Fp64, DType::Fp32, DType::Bf16, DType::Fp16};
  for (unsigned number = GetParam(); number < kCases; number += kGroups) {
    Settings settings = any_settings(number);
    settings.dtype = dtypes[(number / kGroups) % 4];
    const Ran threads = ran(settings), turns = ran(in_turns(settings));
    ASSERT_EQ(threads.hashes.size(), turns.hashes.size());
    for (const auto& [place, hash] : threads.hashes)
      ASSERT_EQ(turns.hashes.at(place), hash)
          << "case " << number << ": " << std::get<3>(place) << " on rank " << std::get<1>(place) << "\n"
          << settings_to_json(settings).dump(1);
    ASSERT_EQ(threads.counts, turns.counts) << "case " << number;
  }
}

INSTANTIATE_TEST_SUITE_P(Drawn, AnyModelInTurns, ::testing::Range(0u, kGroups));

TEST(Lockstep, EveryCollectiveOfALayerIsDone) {
  for (const std::string& split : split_names())
    for (const int tp : {2, 3, 4}) {
      const Settings settings = small_layer(tp, split);
      EXPECT_EQ(ran(settings).hashes, ran(in_turns(settings)).hashes) << split << ", T = " << tp;
    }
}

TEST(Lockstep, SaysWhoItIs) {
  Executor executor(make_plan(in_turns(small_layer(4))));
  EXPECT_EQ(executor.communicator().name, "lockstep");
  EXPECT_EQ(executor.communicator().reason, "4 ranks in turns on one thread");
}

TEST(Lockstep, NothingRunsButInAWaitAndItStopsWhereItIsTold) {
  Executor executor(make_plan(in_turns(small_layer(4))));
  executor.start(executor.steps());
  EXPECT_EQ(executor.position(), 0u);
  for (int i = 0; i < 4 + 4 + 1; ++i)
    EXPECT_FALSE(executor.wait_for(0))
        << "one rank's memory, inputs or step for each call, so a page can draw";
  EXPECT_EQ(executor.position(), 0u);
  executor.pause();
  while (!executor.wait_for(0)) {
  }
  EXPECT_EQ(executor.position(), 1u);
  executor.start(5);
  executor.wait();
  EXPECT_EQ(executor.position(), 5u);
  executor.start(3);
  executor.wait();
  EXPECT_EQ(executor.position(), 3u) << "back, and from the start again";
}

// The delay is on the rank's clock: nobody waits for it, and all see it.
TEST(Lockstep, ATurnEndsBetweenTheRanksOfAStep) {
  const Settings settings = in_turns(small_layer(4));
  const Ran whole = ran(settings);
  const auto plan = make_plan(settings);
  Executor executor(plan);
  auto hashes = std::make_shared<Hashes>(plan->program);
  executor.observe({hashes});
  executor.start(executor.steps());
  size_t waits = 0;
  while (!executor.wait_for(0)) ++waits;
  EXPECT_GE(waits, 4 + 4 + 4 * executor.steps() - 1) << "a turn is one rank's memory, inputs or step";
  EXPECT_EQ(hashes->of, whole.hashes);
  // Paused in the middle of a step, all ranks come to its end; so they do before the next pass.
  for (const bool rewinds : {false, true}) {
    executor.rewind();
    executor.start(executor.steps());
    for (int i = 0; i < 4 + 6; ++i) executor.wait_for(0);  // inputs first
    if (rewinds) {
      executor.rewind();
    } else {
      executor.pause();
      executor.wait();
      EXPECT_EQ(executor.position(), 2u);
    }
    hashes->of.clear();
    executor.start(executor.steps());
    executor.wait();
    for (const auto& [key, hash] : hashes->of) EXPECT_EQ(hash, whole.hashes.at(key)) << std::get<3>(key);
  }
}

TEST(Lockstep, ALateRankIsLateOnItsClock) {
  constexpr double kLate = 50;
  Settings settings = in_turns(small_layer(4));
  settings.delays = {{2, "mlp.proj", kLate * 1000}};
  settings.timeout_seconds = 0;
  const auto plan = make_plan(settings);
  Executor executor(plan);
  const double begin = now_seconds();
  executor.start(executor.steps());
  executor.wait();
  EXPECT_LT(now_seconds() - begin, kLate / 2);
  const auto events = executor.events(4);
  for (const Step& step : plan->program.steps) {
    const auto at = static_cast<size_t>(step.id);
    if (step.name == "mlp.proj") {
      EXPECT_EQ(events[2][at].held_seconds, kLate);
      EXPECT_EQ(events[1][at].held_seconds, 0);
    }
    if (step.name != "all-reduce mlp.proj.sum") continue;
    for (const auto& rank : events) {
      EXPECT_EQ(rank[at].all_arrived_seconds, events[2][at].arrival_seconds);
      EXPECT_LE(rank[at].arrival_seconds, rank[at].all_arrived_seconds);
      EXPECT_GE(rank[at].end_seconds, rank[at].all_arrived_seconds);
    }
    EXPECT_GT(events[0][at].all_arrived_seconds - events[0][at].arrival_seconds, kLate * 0.9);
  }
}

TEST(Lockstep, ARankThatComesTooLateIsLostAsAmongThreads) {
  Settings settings = in_turns(small_layer(4));
  settings.delays = {{2, "mlp.proj", 50'000}};
  settings.timeout_seconds = 2;
  Executor executor(make_plan(settings));
  executor.start(executor.steps());
  try {
    executor.wait();
    FAIL() << "it was not lost";
  } catch (const RunFailed& failed) {
    EXPECT_EQ(failed.failure().ranks, std::vector<int>{2});
    EXPECT_TRUE(failed.failure().lost);
    EXPECT_THAT(failed.what(), HasSubstr("rank 2 is lost"));
    EXPECT_THAT(failed.what(), HasSubstr("mlp.proj.sum"));
  }
  EXPECT_THROW(executor.wait(), RunFailed) << "it stays lost";
}

class Saboteur : public StepObserver {
 public:
  void on_tensor(int rank, StepId step, const Tensor&, const void*) override {
    if (rank == 1 && step == 4) throw std::runtime_error("planted failure");
  }
};

TEST(Lockstep, AFailureNamesRankAndStep) {
  Executor executor(make_plan(in_turns(small_layer(3))));
  executor.observe({std::make_shared<Saboteur>()});
  executor.start(executor.steps());
  try {
    executor.wait();
    FAIL() << "nobody failed";
  } catch (const RunFailed& failed) {
    EXPECT_EQ(failed.failure().ranks, std::vector<int>{1});
    EXPECT_EQ(failed.failure().step, 4);
    EXPECT_THAT(failed.what(), HasSubstr("planted failure"));
  }
}

class Watcher : public StepObserver {
 public:
  void on_tensor(int, StepId, const Tensor&, const void*) override { began = true; }
  std::atomic<bool> began = false;
};

TEST(Lockstep, CancelEndsARunFromAnotherThread) {
  Executor executor(make_plan(in_turns(small_layer(4))));
  const auto watcher = std::make_shared<Watcher>();
  executor.observe({watcher});
  std::thread other([&] {
    while (!watcher->began) std::this_thread::yield();
    executor.cancel("enough");
  });
  EXPECT_THROW(executor.run_passes([] { return PassInputs(); }), Error);
  other.join();
}

TEST(Lockstep, RanksThatCallDifferentThingsAreTold) {
  const auto group = make_lockstep_group(2);
  float one = 1, other = 2;
  group[0]->all_reduce(DType::Fp32, 1, &one);
  try {
    group[1]->broadcast(DType::Fp32, 1, 0, &other);
    FAIL() << "they agreed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("collective mismatch"));
  }
  EXPECT_EQ(one, 1) << "no buffer was touched";
  EXPECT_THROW(group[0]->barrier(), Error) << "the group is lost";
}

}  // namespace lockstep_test
}  // namespace shardlens
