// Every combination of ranks, GPUs and NCCL gets a communicator with its reason, or a refusal with a remedy.
#include "engine/runtime/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/error.h"

namespace shardlens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kOldNccl = 22809, kNewNccl = 23003;

GpuFacts machine(int gpus, int nccl) {
  GpuFacts facts;
  for (int i = 0; i < gpus; ++i) {
    facts.gpus.emplace_back();
    facts.gpus.back().number = i;
  }
  if (gpus == 0) facts.why_no_gpu = "the driver found no GPU";
  facts.nccl_version = nccl;
  if (nccl == 0) facts.why_no_nccl = "there is no libnccl.so.2";
  return facts;
}

Settings wish(int tp, BackendChoice backend = BackendChoice::Cuda,
              CommunicatorChoice communicator = CommunicatorChoice::Auto) {
  Settings settings;
  settings.tp = tp;
  settings.backend = backend;
  settings.communicator = communicator;
  return settings;
}

std::string refusal(const Settings& settings, const GpuFacts& facts) {
  try {
    choose(settings, facts);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(Choose, TheCpuUnlessAskedOtherwise) {
  const Choice choice = choose(Settings{}, machine(8, kNewNccl));
  EXPECT_FALSE(choice.on_gpus);
  EXPECT_EQ(choice.communicator, CommunicatorChoice::Local);
  EXPECT_THAT(choice.gpu_of_rank, IsEmpty());
}

TEST(Choose, NcclForARankAGpu) {
  const Choice choice = choose(wish(4), machine(8, kOldNccl));
  EXPECT_TRUE(choice.on_gpus);
  EXPECT_EQ(choice.communicator, CommunicatorChoice::Nccl);
  EXPECT_THAT(choice.gpu_of_rank, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(choice.reason, "4 ranks, a GPU each, NCCL 2.28.9");
}

TEST(Choose, RanksOfAllReplicasCount) {
  Settings settings = wish(2);
  settings.dp = 2;
  EXPECT_THAT(choose(settings, machine(4, kOldNccl)).gpu_of_rank, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(choose(settings, machine(2, kOldNccl)).communicator, CommunicatorChoice::LocalCuda);
}

TEST(Choose, TheFirstNcclThatSharesGpusDoesAndTheOneBeforeDoesNot) {
  const Choice sharing = choose(wish(4), machine(2, kNewNccl));
  EXPECT_EQ(sharing.communicator, CommunicatorChoice::Nccl);
  EXPECT_THAT(sharing.gpu_of_rank, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(sharing.reason, "4 ranks, sharing 2 GPUs, NCCL 2.30.3");
  const Choice before = choose(wish(4), machine(2, kNewNccl - 1));
  EXPECT_EQ(before.communicator, CommunicatorChoice::LocalCuda);
  EXPECT_THAT(before.gpu_of_rank, ElementsAre(0, 0, 0, 0));
}

TEST(Choose, AFallBackSaysWhatItFallsBackFrom) {
  EXPECT_EQ(choose(wish(2), machine(1, kOldNccl)).reason,
            "2 ranks on GPU 0: NCCL 2.28.9 refuses several ranks on a GPU, 2.30.3 and newer do not");
  EXPECT_EQ(choose(wish(2), machine(2, 0)).reason, "2 ranks on GPU 0: there is no libnccl.so.2");
  const Choice cpu = choose(wish(2, BackendChoice::Auto), machine(0, 0));
  EXPECT_FALSE(cpu.on_gpus);
  EXPECT_EQ(cpu.reason, "the driver found no GPU");
}

TEST(Choose, OneRankMeetsNobody) {
  const Choice choice = choose(wish(1), machine(2, 0));
  EXPECT_EQ(choice.communicator, CommunicatorChoice::LocalCuda);
  EXPECT_EQ(choice.reason, "1 rank on GPU 0");
}

TEST(Choose, GpusAreThoseAskedFor) {
  Settings settings = wish(2);
  settings.gpus = {3, 1};
  EXPECT_THAT(choose(settings, machine(4, kOldNccl)).gpu_of_rank, ElementsAre(3, 1));
  settings.gpus = {3};
  EXPECT_THAT(choose(settings, machine(4, kOldNccl)).gpu_of_rank, ElementsAre(3, 3));
  settings.gpus = {4};
  EXPECT_THAT(refusal(settings, machine(4, 0)), HasSubstr("this machine has 4 GPUs, number 0, 1, 2, 3"));
  settings.gpus = {1, 1};
  EXPECT_THAT(refusal(settings, machine(4, 0)), HasSubstr("twice"));
  settings.backend = BackendChoice::Cpu;
  EXPECT_THAT(refusal(settings, machine(4, 0)), HasSubstr("add --backend cuda"));
}

TEST(Choose, ForcedWhereItCanBe) {
  const Choice kernel =
      choose(wish(2, BackendChoice::Cuda, CommunicatorChoice::LocalCuda), machine(2, kOldNccl));
  EXPECT_EQ(kernel.communicator, CommunicatorChoice::LocalCuda);
  EXPECT_THAT(kernel.gpu_of_rank, ElementsAre(0, 0));
  const Choice nccl = choose(wish(1, BackendChoice::Cuda, CommunicatorChoice::Nccl), machine(1, kOldNccl));
  EXPECT_EQ(nccl.communicator, CommunicatorChoice::Nccl);
  EXPECT_EQ(choose(wish(2, BackendChoice::Cpu, CommunicatorChoice::Mpi), machine(0, 0)).communicator,
            CommunicatorChoice::Mpi);
}

TEST(Choose, RefusedWithTheRemedyWhereItCannot) {
  const auto forced = [](BackendChoice backend, CommunicatorChoice communicator) {
    return wish(4, backend, communicator);
  };
  EXPECT_THAT(
      refusal(forced(BackendChoice::Cuda, CommunicatorChoice::Nccl), machine(1, kOldNccl)),
      HasSubstr("4 ranks on 1 GPU, and NCCL 2.28.9 refuses several ranks on a GPU, 2.30.3 and newer do "
                "not; use --comm local_cuda, by which ranks share a GPU, or at most 1 rank"));
  EXPECT_THAT(refusal(forced(BackendChoice::Cuda, CommunicatorChoice::Nccl), machine(4, 0)),
              HasSubstr("there is no libnccl.so.2; use --comm local_cuda"));
  EXPECT_THAT(refusal(forced(BackendChoice::Cuda, CommunicatorChoice::Local), machine(4, 0)),
              HasSubstr("--comm auto"));
  EXPECT_THAT(refusal(forced(BackendChoice::Cuda, CommunicatorChoice::Mpi), machine(4, 0)),
              HasSubstr("--backend cpu"));
  EXPECT_THAT(refusal(forced(BackendChoice::Cpu, CommunicatorChoice::Nccl), machine(4, kOldNccl)),
              HasSubstr("add --backend cuda"));
  EXPECT_THAT(refusal(forced(BackendChoice::Auto, CommunicatorChoice::LocalCuda), machine(0, 0)),
              HasSubstr("the driver found no GPU"));
  EXPECT_THAT(refusal(wish(2), machine(0, 0)),
              HasSubstr("--backend cuda: the driver found no GPU; or use --backend cpu"));
}

}  // namespace
}  // namespace shardlens
