// Every combination of ranks, GPUs and NCCL gets a communicator with a reason, or an error that says what
// would work.
#include "engine/runtime/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/comm/nccl_sharing.h"

namespace shardlens {
namespace choose_test {

using ::testing::AllOf;
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

TEST(Choose, RanksThatTakeTurnsAreOnTheCpu) {
  const Choice choice =
      choose(wish(4, BackendChoice::Auto, CommunicatorChoice::Lockstep), machine(8, kNewNccl));
  EXPECT_FALSE(choice.on_gpus);
  EXPECT_EQ(choice.communicator, CommunicatorChoice::Lockstep);
  EXPECT_THAT(refusal(wish(4, BackendChoice::Cuda, CommunicatorChoice::Lockstep), machine(8, kNewNccl)),
              HasSubstr("--comm lockstep joins ranks that compute on the CPU"));
}

TEST(Choose, NcclForARankAGpu) {
  const Choice choice = choose(wish(4), machine(8, kOldNccl));
  EXPECT_TRUE(choice.on_gpus);
  EXPECT_EQ(choice.communicator, CommunicatorChoice::Nccl);
  EXPECT_THAT(choice.gpu_of_rank, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(choice.reason, "4 ranks, a GPU each, NCCL 2.28.9");
  EXPECT_EQ(choice.ranks_per_gpu, 1);
}

TEST(Choose, RanksOfAllReplicasCount) {
  Settings settings = wish(2);
  settings.dp = 2;
  EXPECT_THAT(choose(settings, machine(4, kOldNccl)).gpu_of_rank, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(choose(settings, machine(2, kOldNccl)).communicator, CommunicatorChoice::LocalCuda);
}

// The kernels of all ranks wait for one another: they must be on the GPU at once.
TEST(Choose, RanksShareAGpuByTheirOwnKernelWhereNcclHasNoRoomForAll) {
  const GpuFacts one = machine(1, kNewNccl);
  EXPECT_EQ(choose(wish(7), one).communicator, CommunicatorChoice::Nccl);
  const Choice eight = choose(wish(8), one);
  EXPECT_EQ(eight.communicator, CommunicatorChoice::LocalCuda);
  EXPECT_EQ(eight.reason, "8 ranks on GPU 0: NCCL lets at most 7 ranks share a GPU");
  EXPECT_THAT(refusal(wish(8, BackendChoice::Cuda, CommunicatorChoice::Nccl), one),
              AllOf(HasSubstr("NCCL lets at most 7 ranks share a GPU"), HasSubstr("use --comm local_cuda")));
  GpuFacts part = machine(1, kNewNccl);  // such as one of seven of an H100
  part.gpus[0].multiprocessors = 6;
  EXPECT_EQ(choose(wish(3), part).communicator, CommunicatorChoice::Nccl);
  EXPECT_EQ(choose(wish(4), part).communicator, CommunicatorChoice::LocalCuda);
  EXPECT_THAT(choose(wish(4), part).reason, HasSubstr("GPU 0 with its 6 multiprocessors has no room"));
  EXPECT_EQ(choose(wish(1), part).reason, "1 rank on GPU 0");
}

TEST(NcclSharing, AllRanksTogetherLeaveHalfOfTheGpuToTheSteps) {
  EXPECT_EQ(nccl_blocks_of_a_rank(132, 2), 16);
  EXPECT_EQ(nccl_blocks_of_a_rank(132, 3), 8) << "a power of two";
  EXPECT_EQ(nccl_blocks_of_a_rank(132, 7), 4);
  EXPECT_EQ(nccl_blocks_of_a_rank(14, 2), 2);
  EXPECT_EQ(nccl_blocks_of_a_rank(14, 7), 1);
  EXPECT_EQ(nccl_blocks_of_a_rank(12, 7), 0);
  EXPECT_EQ(nccl_blocks_of_a_rank(132, 8), 0);
  EXPECT_EQ(nccl_blocks_of_a_rank(0, 4), 8) << "not known";
}

TEST(GpuFacts, OlderOnesThanTheKernelsAreForAreLeftOut) {
  GpuFacts facts = machine(3, kOldNccl);
  for (Gpu& gpu : facts.gpus) gpu.major = 9;
  facts.gpus[1].name = "Tesla T4";
  facts.gpus[1].major = 7;
  facts.gpus[1].minor = 5;
  facts.links = {{0, 1, "PCIe"}, {0, 2, "NVLink"}, {1, 2, "PCIe"}};
  leave_out_old_gpus(facts);
  ASSERT_EQ(facts.gpus.size(), 2u);
  EXPECT_EQ(facts.gpus[1].number, 2);
  ASSERT_EQ(facts.links.size(), 1u);
  EXPECT_EQ(facts.links[0].kind, "NVLink");
  EXPECT_EQ(facts.why_no_gpu, "");
  facts.gpus = {facts.gpus[0]};
  facts.gpus[0].name = "Tesla T4";
  facts.gpus[0].major = 7;
  facts.gpus[0].minor = 5;
  leave_out_old_gpus(facts);
  EXPECT_THAT(facts.gpus, IsEmpty());
  EXPECT_EQ(facts.why_no_gpu,
            "GPU 0 (Tesla T4) has compute capability 7.5, and this program's kernels need 8.0 or newer, such "
            "as an A100's");
  EXPECT_EQ(choose(wish(2, BackendChoice::Auto), facts).communicator, CommunicatorChoice::Local);
}

TEST(Choose, TheFirstNcclThatSharesGpusDoesAndTheOneBeforeDoesNot) {
  const Choice sharing = choose(wish(4), machine(2, kNewNccl));
  EXPECT_EQ(sharing.communicator, CommunicatorChoice::Nccl);
  EXPECT_THAT(sharing.gpu_of_rank, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(sharing.reason, "4 ranks, sharing 2 GPUs, NCCL 2.30.3");
  EXPECT_EQ(sharing.ranks_per_gpu, 2);
  EXPECT_EQ(choose(wish(4), machine(3, kNewNccl)).ranks_per_gpu, 2);
  const Choice before = choose(wish(4), machine(2, kNewNccl - 1));
  EXPECT_EQ(before.communicator, CommunicatorChoice::LocalCuda);
  EXPECT_THAT(before.gpu_of_rank, ElementsAre(0, 0, 0, 0));
}

// A collective of one group may wait for another's of the same GPU.
TEST(Choose, RanksInTwoGroupsShareAGpuByKernelUnlessAsked) {
  Settings settings = wish(2);
  settings.dp = 2;
  const Choice choice = choose(settings, machine(2, kNewNccl));
  EXPECT_EQ(choice.communicator, CommunicatorChoice::LocalCuda);
  EXPECT_EQ(choice.reason, "4 ranks on GPU 0: NCCL lets ranks of one group share a GPU, and each is in 2");
  EXPECT_EQ(choose(settings, machine(4, kNewNccl)).communicator, CommunicatorChoice::Nccl);
  settings.communicator = CommunicatorChoice::Nccl;
  EXPECT_EQ(choose(settings, machine(2, kNewNccl)).communicator, CommunicatorChoice::Nccl);
  settings = wish(4);
  settings.model.kv_heads = 2;
  EXPECT_EQ(choose(settings, machine(2, kNewNccl)).communicator, CommunicatorChoice::LocalCuda);
}

TEST(Choose, AFallBackSaysWhatItFallsBackFrom) {
  EXPECT_EQ(choose(wish(2), machine(1, kOldNccl)).reason,
            "2 ranks on GPU 0: NCCL 2.28.9 refuses several ranks on a GPU, 2.30.3 and newer do not");
  EXPECT_EQ(choose(wish(2), machine(2, 0)).reason, "2 ranks on GPU 0: there is no libnccl.so.2");
  const Choice cpu = choose(wish(2, BackendChoice::Auto), machine(0, 0));
  EXPECT_FALSE(cpu.on_gpus);
  EXPECT_EQ(cpu.reason, "the driver found no GPU");
}

// What is planned for GPUs has steps that only they know.
TEST(Choose, AutoIsSettledWhereItIsKnown) {
  const Settings automatic = wish(2, BackendChoice::Auto);
  EXPECT_EQ(settled(automatic, machine(1, 0)).backend, BackendChoice::Cuda);
  EXPECT_EQ(settled(automatic, machine(0, 0)).backend, BackendChoice::Auto);
  EXPECT_EQ(settled(wish(2, BackendChoice::Cpu), machine(1, 0)).backend, BackendChoice::Cpu);
  // Another process may have none.
  const Settings by_processes = wish(2, BackendChoice::Auto, CommunicatorChoice::Mpi);
  EXPECT_EQ(settled(by_processes, machine(1, kNewNccl)).backend, BackendChoice::Auto);
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

TEST(Choose, RoundedProductsAreForGpus) {
  Settings settings = wish(2);
  settings.tf32 = true;
  EXPECT_TRUE(choose(settings, machine(2, kOldNccl)).on_gpus);
  settings.backend = BackendChoice::Auto;
  EXPECT_TRUE(choose(settings, machine(2, kOldNccl)).on_gpus);
  EXPECT_THAT(refusal(settings, machine(0, 0)),
              HasSubstr("the driver found no GPU; or use --backend cpu without --tf32"));
  settings.backend = BackendChoice::Cpu;
  EXPECT_THAT(refusal(settings, machine(2, kOldNccl)),
              HasSubstr("these ranks compute on the CPU, in fp32; leave it out, or add --backend cuda"));
}

TEST(Choose, ForcedWhereItCanBe) {
  const Choice kernel =
      choose(wish(2, BackendChoice::Cuda, CommunicatorChoice::LocalCuda), machine(2, kOldNccl));
  EXPECT_EQ(kernel.communicator, CommunicatorChoice::LocalCuda);
  EXPECT_THAT(kernel.gpu_of_rank, ElementsAre(0, 0));
  const Choice nccl = choose(wish(1, BackendChoice::Cuda, CommunicatorChoice::Nccl), machine(1, kOldNccl));
  EXPECT_EQ(nccl.communicator, CommunicatorChoice::Nccl);
  const Choice mpi = choose(wish(2, BackendChoice::Cpu, CommunicatorChoice::Mpi), machine(0, 0));
  EXPECT_EQ(mpi.communicator, CommunicatorChoice::Mpi);
  EXPECT_EQ(mpi.reason, "");
}

TEST(Choose, ARankAloneIsToldThatMpiIsNotUsed) {
  EXPECT_THAT(choose(wish(1, BackendChoice::Cpu, CommunicatorChoice::Mpi), machine(0, 0)).reason,
              HasSubstr("mpi is not used"));
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
              HasSubstr("start it with mpirun -n, or use --comm auto"));
  EXPECT_THAT(refusal(forced(BackendChoice::Cpu, CommunicatorChoice::Nccl), machine(4, kOldNccl)),
              HasSubstr("add --backend cuda"));
  EXPECT_THAT(refusal(forced(BackendChoice::Auto, CommunicatorChoice::LocalCuda), machine(0, 0)),
              HasSubstr("the driver found no GPU"));
  EXPECT_THAT(refusal(wish(2), machine(0, 0)),
              HasSubstr("--backend cuda: the driver found no GPU; or use --backend cpu"));
}

// Ranks that are processes.

// A rank a letter, on the machine of that name; each has `gpus` GPUs.
std::vector<ProcessFacts> processes(const std::string& hosts, int gpus, int nccl) {
  std::vector<ProcessFacts> ranks;
  for (const char host : hosts) {
    ranks.push_back({static_cast<int>(ranks.size()), std::string(1, host), machine(gpus, nccl)});
    for (Gpu& gpu : ranks.back().facts.gpus) gpu.bus = "bus " + std::to_string(gpu.number);
  }
  return ranks;
}

std::vector<ProcessFacts> under_mps(const std::string& hosts, int gpus) {
  std::vector<ProcessFacts> ranks = processes(hosts, gpus, kNewNccl);
  for (ProcessFacts& rank : ranks)
    for (Gpu& gpu : rank.facts.gpus) gpu.mps = true;
  return ranks;
}

Settings over_processes(BackendChoice backend = BackendChoice::Cuda) {
  return wish(1, backend, CommunicatorChoice::Mpi);
}

std::string refusal(const Settings& settings, const std::vector<ProcessFacts>& ranks) {
  try {
    choose_over_processes(settings, ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(ChooseOverProcesses, TheCpuUnlessAskedOtherwise) {
  const Choice choice =
      choose_over_processes(over_processes(BackendChoice::Cpu), processes("aabb", 4, kNewNccl));
  EXPECT_FALSE(choice.on_gpus);
  EXPECT_EQ(choice.communicator, CommunicatorChoice::Mpi);
  EXPECT_EQ(choice.reason, "");
  Settings settings = over_processes(BackendChoice::Cpu);
  settings.gpus = {0};
  EXPECT_THAT(refusal(settings, processes("aa", 4, kNewNccl)), HasSubstr("add --backend cuda"));
  settings.gpus = {};
  settings.tf32 = true;
  EXPECT_THAT(refusal(settings, processes("aa", 4, kNewNccl)), HasSubstr("add --backend cuda"));
}

TEST(ChooseOverProcesses, AGpuEachOnEveryMachine) {
  for (const BackendChoice backend : {BackendChoice::Cuda, BackendChoice::Auto}) {
    const Choice choice = choose_over_processes(over_processes(backend), processes("aaabb", 4, kOldNccl));
    EXPECT_TRUE(choice.on_gpus);
    EXPECT_EQ(choice.communicator, CommunicatorChoice::Nccl);
    EXPECT_THAT(choice.gpu_of_rank, ElementsAre(0, 1, 2, 0, 1));
    EXPECT_EQ(choice.reason, "5 ranks, a GPU each, NCCL 2.28.9");
  }
}

TEST(ChooseOverProcesses, AProcessKeepsTheGpuItWasGiven) {
  // Each sees one GPU alone, which is its number 0.
  std::vector<ProcessFacts> ranks = processes("aaa", 1, kOldNccl);
  for (ProcessFacts& rank : ranks) rank.facts.gpus.front().bus = "bus " + std::to_string(rank.process);
  const Choice choice = choose_over_processes(over_processes(), ranks);
  EXPECT_THAT(choice.gpu_of_rank, ElementsAre(0, 0, 0));
  EXPECT_EQ(choice.reason, "3 ranks, a GPU each, NCCL 2.28.9");
}

TEST(ChooseOverProcesses, GpusAreThoseAskedFor) {
  Settings settings = over_processes();
  settings.gpus = {3, 1};
  EXPECT_THAT(choose_over_processes(settings, processes("aabb", 4, kOldNccl)).gpu_of_rank,
              ElementsAre(3, 1, 3, 1));
  std::vector<ProcessFacts> ranks = processes("aabb", 4, kOldNccl);
  ranks.back().facts.gpus.resize(2);
  EXPECT_THAT(refusal(settings, ranks), HasSubstr("--gpu 3: process 3 on b has 2 GPUs, number 0, 1"));
}

TEST(ChooseOverProcesses, NcclSharesAGpuOnlyWhereItsKernelsHaveRoom) {
  const std::string many = refusal(over_processes(), processes("aaaaaaaa", 1, kNewNccl));
  EXPECT_THAT(many, HasSubstr("ranks 0, 1, 2, 3, 4, 5, 6, 7 would share GPU 0 of a, and NCCL lets at most 7 "
                              "ranks share a GPU; start fewer processes on a"));
  std::vector<ProcessFacts> small = under_mps("aaa", 1);
  for (ProcessFacts& rank : small) rank.facts.gpus[0].multiprocessors = 4;
  EXPECT_THAT(refusal(over_processes(), small),
              HasSubstr("GPU 0 with its 4 multiprocessors has no room for the NCCL kernels of 3 ranks"));
}

// The kernels of all ranks wait for one another, and those of two processes would run in turn.
TEST(ChooseOverProcesses, WithoutMpsProcessesDoNotShareAGpu) {
  EXPECT_THAT(
      refusal(over_processes(), processes("aaaa", 2, kNewNccl)),
      HasSubstr("ranks 0, 2 would share GPU 0 of a, and processes take turns on a GPU unless NVIDIA's MPS "
                "runs there, and it does not; start MPS (nvidia-cuda-mps-control -d), or start at most 2 "
                "processes on a, or leave out --comm mpi: as threads of one process, ranks share a GPU"));
  std::vector<ProcessFacts> some = under_mps("aabb", 1);
  for (const size_t rank : {2, 3}) some[rank].facts.gpus[0].mps = false;
  EXPECT_THAT(refusal(over_processes(), some), HasSubstr("ranks 2, 3 would share GPU 0 of b"));
  const Choice choice =
      choose_over_processes(over_processes(BackendChoice::Auto), processes("aaaa", 2, kNewNccl));
  EXPECT_FALSE(choice.on_gpus);
  EXPECT_TRUE(choose_over_processes(over_processes(), processes("aa", 2, kNewNccl)).on_gpus) << "a GPU each";
}

TEST(ChooseOverProcesses, NewNcclLetsProcessesShareAGpuAndOldDoesNot) {
  const Choice sharing = choose_over_processes(over_processes(), under_mps("aaaab", 2));
  EXPECT_THAT(sharing.gpu_of_rank, ElementsAre(0, 1, 0, 1, 0));
  EXPECT_EQ(sharing.reason, "5 ranks, sharing 3 GPUs by MPS, NCCL 2.30.3");
  EXPECT_EQ(sharing.ranks_per_gpu, 2);
  const std::string one_host = refusal(over_processes(), processes("aaaa", 2, kNewNccl - 1));
  EXPECT_THAT(one_host,
              HasSubstr("ranks 0, 2 would share GPU 0 of a, and NCCL 2.30.2 refuses several ranks on "
                        "a GPU, 2.30.3 and newer do not; start at most 2 processes on a, or leave out "
                        "--comm mpi: as threads of one process, ranks share a GPU"));
  const std::string two_hosts = refusal(over_processes(), processes("abb", 1, kOldNccl));
  EXPECT_THAT(two_hosts, HasSubstr("ranks 1, 2 would share GPU 0 of b"));
  EXPECT_TRUE(two_hosts.ends_with("start at most 1 process on b")) << two_hosts;
}

TEST(ChooseOverProcesses, WhereSomeHaveNoGpuBothSidesAreNamed) {
  std::vector<ProcessFacts> ranks = processes("aabb", 2, kOldNccl);
  for (const size_t rank : {2, 3}) ranks[rank].facts = machine(0, 0);
  EXPECT_EQ(
      refusal(over_processes(), ranks),
      "--backend cuda --comm mpi: process 0 on a has 2 GPUs, and process 2 on b has no GPU: the driver found "
      "no GPU; use --backend cpu");
  EXPECT_EQ(
      refusal(over_processes(), processes("ab", 0, 0)),
      "--backend cuda --comm mpi: process 0 on a has no GPU: the driver found no GPU; use --backend cpu");
  const Choice fallen_back = choose_over_processes(over_processes(BackendChoice::Auto), ranks);
  EXPECT_FALSE(fallen_back.on_gpus);
  EXPECT_EQ(fallen_back.communicator, CommunicatorChoice::Mpi);
  EXPECT_EQ(fallen_back.reason,
            "process 0 on a has 2 GPUs, and process 2 on b has no GPU: the driver found no GPU");
  Settings only_gpus = over_processes(BackendChoice::Auto);
  only_gpus.tf32 = true;
  EXPECT_THAT(refusal(only_gpus, ranks), HasSubstr("process 2 on b has no GPU"));
}

TEST(ChooseOverProcesses, NcclIsThereAndTheSameEverywhere) {
  std::vector<ProcessFacts> ranks = processes("ab", 1, kOldNccl);
  ranks[1].facts.nccl_version = kNewNccl;
  EXPECT_THAT(refusal(over_processes(), ranks),
              HasSubstr("process 0 on a has NCCL 2.28.9, process 1 on b has 2.30.3; install the same"));
  ranks[1].facts = machine(1, 0);
  EXPECT_THAT(refusal(over_processes(), ranks), HasSubstr("process 1 on b has no NCCL"));
  EXPECT_THAT(refusal(over_processes(), ranks), HasSubstr("there is no libnccl.so.2; use --backend cpu"));
  // A rank alone meets nobody.
  EXPECT_EQ(choose_over_processes(over_processes(), processes("a", 1, 0)).communicator,
            CommunicatorChoice::LocalCuda);
}

}  // namespace choose_test
}  // namespace shardlens
