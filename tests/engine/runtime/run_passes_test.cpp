// Consecutive passes: which rank begins the next one, and how the sequence ends early.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/world.h"
#include "tests/engine/distant_device.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace run_passes_test {

using testing::small_model;

PassInputs inputs_of(const Settings& settings, uint64_t seed) {
  Settings seeded = settings;
  seeded.seed = seed;
  PassInputs inputs;
  inputs.batch = std::make_shared<const Batch>(seeded_batch(seeded));
  return inputs;
}

float loss_of(const Executor& executor, const Program& program) {
  for (const Tensor& tensor : program.tensors) {
    float loss = 0;
    if (tensor.name != "loss") continue;
    executor.read_tensor(0, tensor.id, &loss);
    return loss;
  }
  throw std::logic_error("the Program has no loss");
}

constexpr int kPasses = 5;

std::vector<float> losses_begun_by_hand(const std::shared_ptr<const Plan>& plan) {
  Executor executor(plan);
  std::vector<float> losses;
  for (int pass = 0; pass < kPasses; ++pass) {
    executor.next_pass(inputs_of(plan->program.settings, static_cast<uint64_t>(pass)));
    executor.start(executor.steps());
    executor.wait();
    losses.push_back(loss_of(executor, plan->program));
  }
  return losses;
}

struct Passes {
  std::vector<float> losses;
  int asked_elsewhere = 0;  // calls on another thread than that of run_passes()
};

Passes run_passes(Executor& executor, const Program& program) {
  Passes passes;
  const std::thread::id own = std::this_thread::get_id();
  int pass = 0;
  executor.run_passes([&]() -> std::optional<PassInputs> {
    passes.asked_elsewhere += std::this_thread::get_id() == own ? 0 : 1;
    if (pass > 0) {
      passes.losses.push_back(loss_of(executor, program));
      EXPECT_EQ(executor.trace(0).finished(), executor.steps());
      EXPECT_GE(executor.trace(0).events().front().begin_seconds, 0);
    }
    if (pass == kPasses) return std::nullopt;
    return inputs_of(program.settings, static_cast<uint64_t>(pass++));
  });
  return passes;
}

std::shared_ptr<const Plan> forward_plan(int tp) {
  return make_plan(plan_evaluation(small_model(tp)));
}

TEST(RunPasses, AreTheSameWhoeverBeginsThem) {
  for (const int tp : {1, 3, 5}) {
    const auto plan = forward_plan(tp);
    const std::vector<float> by_hand = losses_begun_by_hand(plan);
    Executor executor(plan);
    for (int again = 0; again < 2; ++again) {
      const Passes passes = run_passes(executor, plan->program);
      EXPECT_EQ(passes.losses, by_hand);
      EXPECT_EQ(passes.asked_elsewhere, kPasses) << "T " << tp;
      EXPECT_EQ(executor.position(), executor.steps());
    }
  }
}

// The rank that sees the end of its work begins the next pass itself: no thread is woken for it.
TEST(RunPasses, OfDevicesThatWorkBehindTheirCallsAreBegunByARank) {
  testing::DistantOptions behind;
  behind.works_behind = true;
  for (const int tp : {1, 3}) {
    const auto plan = forward_plan(tp);
    const std::vector<float> by_hand = losses_begun_by_hand(plan);
    for (const bool traced : {true, false}) {
      Executor executor(plan, take_local_seats(plan, testing::make_distant_backend(behind)), nullptr);
      executor.set_traced(traced);
      std::vector<float> losses;
      int asked_elsewhere = 0, pass = 0;
      const std::thread::id own = std::this_thread::get_id();
      executor.run_passes([&]() -> std::optional<PassInputs> {
        asked_elsewhere += std::this_thread::get_id() == own ? 0 : 1;
        if (pass > 0) losses.push_back(loss_of(executor, plan->program));
        if (pass == kPasses) return std::nullopt;
        return inputs_of(plan->program.settings, static_cast<uint64_t>(pass++));
      });
      EXPECT_EQ(losses, by_hand) << "T " << tp;
      EXPECT_EQ(asked_elsewhere, kPasses) << "T " << tp;
    }
  }
}

// Gradients that are summed beside the steps end after the rank has come to its last step.
TEST(RunPasses, WithWorkBesideThemAreBegunByTheCaller) {
  const auto plan = make_plan(small_model(2, 2));
  Executor executor(plan);
  const Passes passes = run_passes(executor, plan->program);
  EXPECT_EQ(passes.losses, losses_begun_by_hand(plan));
  EXPECT_EQ(passes.asked_elsewhere, 0);
}

TEST(RunPasses, NoneAreNone) {
  const auto plan = forward_plan(2);
  Executor executor(plan);
  int asked = 0;
  executor.run_passes([&]() -> std::optional<PassInputs> {
    ++asked;
    return std::nullopt;
  });
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(run_passes(executor, plan->program).losses.size(), static_cast<size_t>(kPasses));
}

// What goes wrong in making inputs is the caller's, and the ranks can go on.
TEST(RunPasses, ThrowWhatTheirSourceThrows) {
  const auto plan = forward_plan(2);
  for (const int good : {0, 1, 3}) {
    Executor executor(plan);
    int asked = 0;
    try {
      executor.run_passes([&]() -> std::optional<PassInputs> {
        if (asked++ == good) throw request_error("there is no such token");
        return inputs_of(plan->program.settings, 1);
      });
      FAIL() << "the error was lost";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request);
      EXPECT_STREQ(error.what(), "there is no such token");
    }
    EXPECT_EQ(asked, good + 1);
    EXPECT_EQ(run_passes(executor, plan->program).losses, losses_begun_by_hand(plan));
  }
}

// Throws on one rank in the third pass that it sees.
class LateSaboteur : public StepObserver {
 public:
  void on_pass(int rank, uint64_t, bool) override {
    if (rank == 1) ++passes_;
  }
  void on_tensor(int rank, StepId step, const Tensor&, const void*) override {
    if (rank == 1 && step == 4 && passes_ == 3) throw std::runtime_error("planted failure");
  }

 private:
  std::atomic<int> passes_ = 0;
};

TEST(RunPasses, EndWithTheFirstFailure) {
  const auto plan = forward_plan(3);
  Executor executor(plan);
  executor.observe({std::make_shared<LateSaboteur>()});
  int asked = 0;
  try {
    executor.run_passes([&]() -> std::optional<PassInputs> {
      ++asked;
      return inputs_of(plan->program.settings, 1);
    });
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("rank 1, step 4"), std::string::npos) << message;
    EXPECT_NE(message.find("planted failure"), std::string::npos) << message;
  }
  EXPECT_EQ(asked, 3);
}

// At any moment, also while a rank makes the inputs of the next pass: nobody is in there afterwards.
TEST(RunPasses, CanBeCancelled) {
  const auto plan = forward_plan(2);
  for (int attempt = 0; attempt < 20; ++attempt) {
    Executor executor(plan);
    std::atomic<bool> is_asking = false, has_begun = false;
    std::thread other([&] {
      while (!has_begun) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(150 * attempt));
      executor.cancel("a person changed their mind");
    });
    try {
      executor.run_passes([&]() -> std::optional<PassInputs> {
        is_asking = true;
        has_begun = true;
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        is_asking = false;
        return inputs_of(plan->program.settings, 1);
      });
      ADD_FAILURE() << "it ended by itself";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
    }
    EXPECT_FALSE(is_asking);
    other.join();
  }
}

}  // namespace run_passes_test
}  // namespace shardlens
