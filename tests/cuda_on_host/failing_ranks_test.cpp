// Failures on a GPU while a rank team runs on it, one test for each kind. The run ends in time, the error
// names the rank, the step and the call, and no thread stays behind.
#include <cublasLt.h>
#include <gmock/gmock.h>
#include <nccl.h>

#include <functional>

#include "engine/base/clock.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/hanging_rank.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/rank_team.h"
#include "engine/runtime/world.h"
#include "tests/cuda_on_host/played_ranks.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kRanks = 3, kFailing = 1;
// Of ranks for one another where nobody is to be lost, and where one is.
constexpr double kLongSeconds = 300, kShortSeconds = 2;
// Of the test, on a machine that does something else meanwhile; who waits for ever passes it.
constexpr double kPatienceOfTheTest = 60;

Settings settings_of(double timeout_seconds) {
  Settings settings = testing::small_layer(kRanks);
  settings.model.hidden = 48;
  settings.model.heads = 6;
  settings.model.ffn = 96;
  settings.seq = 8;
  settings.timeout_seconds = timeout_seconds;
  return settings;
}

/// In a rank's own thread, behind a step.
class Behind final : public StepObserver {
 public:
  Behind(int rank, StepId step, std::function<void()> what)
      : rank_(rank), step_(step), what_(std::move(what)) {}
  void on_tensor(int rank, StepId step, const Tensor&, const void*) override {
    if (rank == rank_ && step == step_) what_();
  }

 private:
  const int rank_;
  const StepId step_;
  const std::function<void()> what_;
};

class FailingRanks : public ::testing::TestWithParam<bool> {
 protected:
  ~FailingRanks() override {
    on_host::full_gpu = -1;
    on_host::mend_gpus();
    fail_nccl(-1);
    let_aborts_hang(false);
  }

  static bool shares() { return GetParam(); }

  StepId step_named(const std::string& name) const {
    for (const Step& step : plan_->program.steps)
      if (step.name == name) return step.id;
    throw std::logic_error("no step " + name);
  }
  StepId first_collective() const {
    for (const Step& step : plan_->program.steps)
      if (is_collective(step.op)) return step.id;
    throw std::logic_error("no collective");
  }
  /// "rank 1, step 7 (mlp.fc: "
  std::string prefix(StepId step, int rank = kFailing) const {
    return "rank " + std::to_string(rank) + ", step " + std::to_string(step) + " (" +
           plan_->program.step(step).name + ": ";
  }

  /// Runs the plan with `observer`, and returns what it ended with; nothing: well. All ranks have ended.
  std::optional<RunFailed> ended(const std::shared_ptr<StepObserver>& observer = nullptr,
                                 const std::function<void()>& afterwards = {}, bool traced = true) {
    const double begin = now_seconds();
    std::optional<RunFailed> failure;
    {
      const double patience = timeout_seconds(plan_->program.settings);
      Executor executor(plan_, take_local_seats(plan_, std::make_shared<PlayedRanks>(shares(), patience)),
                        nullptr);
      if (observer) executor.observe({observer});
      executor.set_traced(traced);
      executor.start(executor.steps());
      try {
        executor.wait();
      } catch (const RunFailed& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Run) << "exit code 3";
        failure.emplace(error);
      }
    }
    if (afterwards) afterwards();
    while (abandoned_threads() > 0 && now_seconds() - begin < kPatienceOfTheTest) std::this_thread::yield();
    EXPECT_EQ(abandoned_threads(), 0);
    EXPECT_LT(now_seconds() - begin, kPatienceOfTheTest);
    return failure;
  }
  /// The same where `what` happens on the failing rank before the step of that name.
  std::string words(StepId step, std::function<void()> what) {
    const auto failure = ended(std::make_shared<Behind>(kFailing, step - 1, std::move(what)));
    if (!failure) return "the run ended well";
    EXPECT_EQ(failure->failure().ranks, std::vector{kFailing}) << failure->what();
    EXPECT_EQ(failure->failure().step, step) << failure->what();
    EXPECT_FALSE(failure->failure().lost);
    return failure->what();
  }

  std::shared_ptr<const Plan> plan_ = make_plan(settings_of(kLongSeconds));
};

INSTANTIATE_TEST_SUITE_P(LocalCudaAndNccl, FailingRanks, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "LocalCuda" : "Nccl"; });

// Every allocation of one rank in turn. Where ranks share the GPU whoever comes last finds it full.
TEST_P(FailingRanks, OutOfMemoryNamesTheRankAndTheCall) {
  on_host::full_gpu = shares() ? 0 : kFailing;
  int left = 0;
  for (;; ++left) {
    on_host::allocations_left = left;
    const auto failure = ended();
    if (!failure) break;
    ASSERT_EQ(failure->failure().ranks.size(), 1u);
    const int rank = failure->failure().ranks[0];
    EXPECT_TRUE(shares() || rank == kFailing) << failure->what();
    EXPECT_THAT(failure->what(),
                AllOf(StartsWith("rank " + std::to_string(rank) + ", before step 0: "),
                      ::testing::AnyOf(HasSubstr("cudaMalloc"), HasSubstr("cudaHostAlloc"))));
    ASSERT_LT(left, 100);
  }
  EXPECT_GT(left, 4);
}

TEST_P(FailingRanks, AKernelThatCannotBeLaunchedIsNamed) {
  const StepId step = step_named("mlp.gelu");
  EXPECT_THAT(words(step, [] { on_host::next_launch = cudaErrorLaunchOutOfResources; }),
              AllOf(StartsWith(prefix(step)),
                    HasSubstr("the launch of its kernel failed with cudaErrorLaunchOutOfResources")));
}

TEST_P(FailingRanks, AProductThatCannotBeLaunchedIsNamed) {
  const StepId step = step_named("mlp.fc");
  EXPECT_THAT(words(step, [] { on_host::next_product = CUBLAS_STATUS_EXECUTION_FAILED; }),
              AllOf(StartsWith(prefix(step)), HasSubstr("the GEMM m 16, n 32, k 48 in fp32 on the GPU: "),
                    HasSubstr("cublasLtMatmul failed with CUBLAS_STATUS_EXECUTION_FAILED")));
}

// It is said by a call that comes later, of a step that may be a later one, or one before that was not yet
// known to be done; and, where ranks share the GPU, by any of them.
TEST_P(FailingRanks, AKernelThatFaultsIsToldWhereItIsFirstHeardOf) {
  const StepId step = step_named("mlp.gelu");
  const auto fault = [] { on_host::next_kernel = cudaErrorIllegalAddress; };
  const auto failure = ended(std::make_shared<Behind>(kFailing, step - 1, fault));
  ASSERT_TRUE(failure);
  ASSERT_EQ(failure->failure().ranks.size(), 1u);
  const int rank = failure->failure().ranks[0];
  EXPECT_TRUE(shares() || rank == kFailing) << failure->what();
  ASSERT_GE(failure->failure().step, 0);
  EXPECT_THAT(failure->what(),
              AllOf(StartsWith(prefix(failure->failure().step, rank)),
                    HasSubstr("failed with cudaErrorIllegalAddress"),
                    HasSubstr("may be an earlier one, of this rank or of another one on the GPU")));
}

// The last of a pass, behind which nothing more is asked for: whoever waits for its end hears of it.
TEST_P(FailingRanks, AKernelThatFaultsLastIsToldWhereItIsWaitedFor) {
  const StepId last = static_cast<StepId>(plan_->program.steps.size()) - 1;
  const auto fault = [] { on_host::next_kernel = cudaErrorIllegalAddress; };
  for (const bool traced : {true, false}) {
    const auto failure = ended(std::make_shared<Behind>(kFailing, last - 1, fault), {}, traced);
    on_host::mend_gpus();
    ASSERT_TRUE(failure);
    ASSERT_EQ(failure->failure().ranks.size(), 1u);
    const int rank = failure->failure().ranks[0];
    EXPECT_TRUE(shares() || rank == kFailing) << failure->what();
    EXPECT_THAT(failure->what(), AllOf(StartsWith(prefix(failure->failure().step, rank)),
                                       HasSubstr("failed with cudaErrorIllegalAddress")));
  }
}

TEST_P(FailingRanks, ALostRankIsNamedWithWhatTheOthersWaitFor) {
  plan_ = make_plan(settings_of(kShortSeconds));
  const StepId step = step_named("attn.qkv"), collective = first_collective();
  ASSERT_LT(step, collective);
  const auto hang = std::make_shared<HangingRank>(kFailing, kRanks, step);
  const auto failure = ended(hang, [&] { hang->let_go(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->failure().ranks, std::vector{kFailing});
  EXPECT_EQ(failure->failure().step, collective);
  EXPECT_TRUE(failure->failure().lost);
  EXPECT_THAT(failure->what(),
              AllOf(StartsWith("rank 1 is lost: did not reach step " + std::to_string(collective)),
                    HasSubstr("the all-reduce of "),
                    HasSubstr("it has been in step " + std::to_string(step) + " (attn.qkv")));
}

using FailingNccl = FailingRanks;
INSTANTIATE_TEST_SUITE_P(Nccl, FailingNccl, ::testing::Values(false), [](const auto&) { return "Nccl"; });

TEST_P(FailingNccl, ThatDoesNotBeginIsNamed) {
  fail_nccl(kFailing, "ncclCommInitRankConfig", ncclUnhandledCudaError);
  const auto failure = ended();
  ASSERT_TRUE(failure);
  EXPECT_THAT(failure->what(), AllOf(StartsWith("rank 1, before step 0: a collective by NCCL: "),
                                     HasSubstr("ncclCommInitRankConfig failed with unhandled cuda error")));
}

// Another rank may be done with the group's start, and hear of it where it sets up its memory.
TEST_P(FailingNccl, ThatFailsAtItsBeginIsNamed) {
  for (int round = 0; round < 40; ++round) {
    fail_nccl(kFailing, "ncclCommGetAsyncError", ncclUnhandledCudaError);
    const auto failure = ended();
    fail_nccl(-1);
    ASSERT_TRUE(failure);
    ASSERT_EQ(failure->failure().ranks, std::vector{kFailing}) << failure->what();
    EXPECT_THAT(failure->what(),
                AllOf(StartsWith("rank 1, before step 0: "), HasSubstr("the start of the group"),
                      HasSubstr("unhandled cuda error")));
  }
}

TEST_P(FailingNccl, ACallThatFailsIsNamed) {
  const StepId step = first_collective();
  EXPECT_THAT(words(step, [] { fail_nccl(kFailing, "ncclAllReduce", ncclSystemError); }),
              AllOf(StartsWith(prefix(step)), HasSubstr("ncclAllReduce failed with unhandled system error")));
}

// The end of a run frees memory, which waits for the GPU, and the GPU for the abort.
TEST_P(FailingNccl, ARunEndsAlthoughNcclDoesNot) {
  plan_ = make_plan(settings_of(kShortSeconds));
  const StepId step = first_collective();
  const auto fails = std::make_shared<Behind>(kFailing, step - 1, [] {
    let_aborts_hang(true);
    fail_nccl(kFailing, "ncclAllReduce", ncclSystemError);
  });
  int left = 0;
  const auto failure = ended(fails, [&] {
    left = abandoned_threads();
    let_aborts_hang(false);
  });
  ASSERT_TRUE(failure);
  EXPECT_THAT(failure->what(), StartsWith(prefix(step)));
  EXPECT_GE(left, 1);
}

TEST_P(FailingNccl, NothingIsAbortedWhereNothingFails) {
  const int aborted = communicators_aborted(), destroyed = communicators_destroyed();
  EXPECT_FALSE(ended());
  EXPECT_EQ(communicators_aborted(), aborted);
  EXPECT_GE(communicators_destroyed() - destroyed, kRanks);
}

// Whoever hears of it first: the rank itself, the watch, or another rank.
TEST_P(FailingNccl, AFailureThatComesLaterIsTheRanksWhoseItIs) {
  const StepId step = first_collective();
  for (const ncclResult_t result : {ncclSystemError, ncclRemoteError}) {
    for (int round = 0; round < 5; ++round) {
      const auto failure = ended(std::make_shared<Behind>(
          kFailing, step - 1, [&] { fail_nccl(kFailing, "ncclCommGetAsyncError", result); }));
      fail_nccl(-1);
      ASSERT_TRUE(failure);
      EXPECT_EQ(failure->failure().ranks, std::vector{kFailing}) << failure->what();
      EXPECT_THAT(failure->what(), AllOf(StartsWith("rank 1, step "), HasSubstr("NCCL on rank 1"),
                                         HasSubstr(ncclGetErrorString(result))));
    }
  }
}

}  // namespace
}  // namespace shardlens
