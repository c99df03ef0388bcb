// Ranks as processes of mpirun: they give the same bits as one process, and refuse to run if something
// differs between them.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/record/recording.h"
#include "engine/runtime/build.h"
#include "tests/app/mpi.h"

namespace shardlens {
namespace mpi_test {

TEST_F(Mpi, StepsLeaveTheBitsOfOneProcess) {
  const std::string tiny = "step --model gpt2-tiny --seq 24 --updates 2 --lr 1e-3 ";
  const std::pair<int, std::string> cases[] = {
      {2, tiny + "--tp 2"},
      {2, tiny + "--tp 2 --split megatron-sp --overlap-chunks 2"},
      {2, tiny + "--tp 1 --dp 2 --dtype fp16"},
      {3, tiny + "--tp 3"},  // 4 heads, so unevenly cut
      {4, tiny + "--tp 2 --dp 2 --dtype bf16 --loss gather"},
      {4, tiny + "--tp 4 --kv-heads 2"},
      {8, tiny + "--tp 4 --dp 2"},
      {4, "step --model gpt2 --layer --tp 4 --split reversed --dtype fp64 --batch 1 --seq 16"},
  };
  for (const auto& [count, arguments] : cases) {
    const std::string ours = in_folder("local.safetensors"), theirs = in_folder("mpi.safetensors");
    const Ended local = run_program(kProgram, arguments + " --dump " + ours);
    ASSERT_EQ(local.code, 0) << local.err;
    const Ended mpi = in_processes(count, arguments + " --dump " + theirs);
    ASSERT_EQ(mpi.code, 0) << arguments << "\n" << mpi.err;
    EXPECT_NE(mpi.out.find("mpi: " + std::to_string(count) + " processes on 1 machine"), std::string::npos)
        << mpi.out;
    EXPECT_TRUE(slurp(ours) == slurp(theirs)) << arguments;
    fs::remove(ours);
    fs::remove(theirs);
  }
}

TEST_F(Mpi, VerifiesAgainstOneRankAndFindsAPlantedMistake) {
  const std::string arguments = "verify --model gpt2-tiny --tp 2 --batch 2 --seq 16";
  const Ended sound = in_processes(2, arguments);
  EXPECT_EQ(sound.code, 0) << sound.err;
  EXPECT_NE(sound.out.find("Sharded equals serial"), std::string::npos);
  const Ended broken = in_processes(2, arguments + " --break skip-f");
  EXPECT_EQ(broken.code, 1) << broken.err;
  EXPECT_NE(broken.err.find("sharded differs from serial, first at tensor"), std::string::npos) << broken.err;
}

TEST_F(Mpi, ComparesEveryReplica) {
  const std::string arguments = "verify --model gpt2-tiny --tp 2 --dp 2 --batch 4 --seq 8";
  const Ended sound = in_processes(4, arguments);
  EXPECT_EQ(sound.code, 0) << sound.err;
  EXPECT_NE(sound.out.find("351 of 462 tensors compared on 2 replicas of 2 ranks"), std::string::npos)
      << sound.out;
  const Ended broken = in_processes(4, arguments + " --break skip-g --break-replica 1");
  EXPECT_EQ(broken.code, 1) << broken.err;
  EXPECT_NE(broken.err.find("first at tensor h.0.attn.proj.sum"), std::string::npos) << broken.err;
  EXPECT_NE(broken.err.find("of replica 1"), std::string::npos) << broken.err;
}

// Step, loss and norm of every line of a log, which has times too.
std::string losses(const std::string& path) {
  std::ifstream log(path);
  std::string all;
  for (std::string line; std::getline(log, line);) {
    size_t end = 0;
    for (int comma = 0; comma < 3 && end != std::string::npos; ++comma) end = line.find(',', end + 1);
    all += line.substr(0, end) + "\n";
  }
  return all;
}

TEST_F(Mpi, TrainsAsOneProcessDoesAndEitherGoesOnFromTheOther) {
  const std::string run = "train --data sample --batch 4 --seq 16 --tp 2 --dp 2 --validate-every 2 ";
  const auto local = [&](const std::string& arguments) { return run_program(kProgram, arguments); };
  const auto mpi = [&](const std::string& arguments) { return in_processes(4, arguments); };
  const auto begin = [&](const auto& how, const std::string& name) {
    const Ended ended =
        how(run + "--steps 4 --checkpoint " + in_folder(name) + " --log " + in_folder(name) + ".csv");
    EXPECT_EQ(ended.code, 0) << ended.err;
    // A pipe gets whole lines, also from mpirun, whose processes see a terminal.
    EXPECT_EQ(ended.out.find("\x1b[K"), std::string::npos) << ended.out;
  };
  begin(local, "a");
  begin(mpi, "b");
  const std::string curve = losses(in_folder("a.csv"));
  EXPECT_EQ(curve, losses(in_folder("b.csv")));
  EXPECT_EQ(std::count(curve.begin(), curve.end(), '\n'), 5) << curve;
  const char* files[] = {"/model.safetensors", "/optimizer.safetensors"};
  for (const char* file : files)
    EXPECT_TRUE(slurp(in_folder("a") + file) == slurp(in_folder("b") + file)) << file;
  // Each goes on from the other's.
  const auto go_on = [&](const auto& how, const std::string& from, const std::string& to) {
    const Ended ended =
        how("train --resume " + in_folder(from) + " --tp 2 --dp 2 --steps 6 --checkpoint " + in_folder(to));
    EXPECT_EQ(ended.code, 0) << ended.err;
  };
  go_on(local, "b", "c");
  go_on(mpi, "a", "d");
  for (const char* file : files)
    EXPECT_TRUE(slurp(in_folder("c") + file) == slurp(in_folder("d") + file)) << file;
}

TEST_F(Mpi, WritesATextAsOneProcessDoes) {
  const std::string model = in_folder("model");
  ASSERT_EQ(
      run_program(kProgram, "train --data sample --batch 2 --seq 16 --steps 1 --checkpoint " + model).code,
      0);
  const std::string write = "generate --model " + model + " --tp 2 --prompt Light --tokens 12 --json";
  const Ended local = run_program(kProgram, write), mpi = in_processes(2, write);
  ASSERT_EQ(local.code, 0) << local.err;
  ASSERT_EQ(mpi.code, 0) << mpi.err;
  EXPECT_EQ(nlohmann::json::parse(local.out)["text"], nlohmann::json::parse(mpi.out)["text"]);
}

TEST_F(Mpi, RecordsWhatEveryProcessDidInOneFile) {
  const std::string path = in_folder("run.shardlens");
  const Ended run =
      in_processes(4, "step --model gpt2-tiny --tp 2 --dp 2 --batch 2 --seq 16 --updates 2 --record " + path +
                          " --record-pictures all");
  ASSERT_EQ(run.code, 0) << run.err;
  const Ended info = run_program(kProgram, "info " + path);
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_NE(info.out.find("mpi"), std::string::npos) << info.out;
  EXPECT_NE(info.out.find("4 processes on 1 machine"), std::string::npos) << info.out;
  // The same run by threads made the same pictures of the same tensors and carried the same bytes.
  const std::string local = in_folder("local.shardlens");
  ASSERT_EQ(
      run_program(kProgram, "step --model gpt2-tiny --tp 2 --dp 2 --batch 2 --seq 16 --updates 2 --record " +
                                local + " --record-pictures all")
          .code,
      0);
  const Ended diff = run_program(kProgram, "diff " + path + " " + local);
  EXPECT_EQ(diff.code, 0) << diff.out << diff.err;
}

TEST_F(Mpi, RefusesAnotherNumberOfProcessesNamingBoth) {
  const Ended ended = in_processes(3, "step --model gpt2-tiny --tp 2 --seq 8");
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("T = 2 and D = 1 are 2 ranks, and mpirun started 3 processes"), std::string::npos)
      << ended.err;
}

TEST_F(Mpi, ARankAloneSaysThatItMeetsNobody) {
  const Ended ended = in_processes(1, "step --model gpt2-tiny --tp 1 --seq 8");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("a single rank exchanges nothing, so mpi is not used"), std::string::npos)
      << ended.out;
}

TEST_F(Mpi, SaysAtTheStartWhoHasNoGpu) {
  if (run_program(kProgram, "info --backends").out.find("cuda  not usable") == std::string::npos)
    GTEST_SKIP() << "skipped: there is a GPU";
  const std::string step = "step --model gpt2-tiny --tp 2 --layer --seq 8 ";
  const Ended refused = in_processes(2, step + "--backend cuda");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--backend cuda --comm mpi: process 0 on "), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find(" has no GPU: "), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("; use --backend cpu"), std::string::npos) << refused.err;
  const Ended fallen_back = in_processes(2, step + "--backend auto");
  EXPECT_EQ(fallen_back.code, 0) << fallen_back.err;
  EXPECT_NE(fallen_back.out.find(" has no GPU: "), std::string::npos) << fallen_back.out;
}

TEST_F(Mpi, RefusesProcessesThatWereAskedForDifferentRuns) {
  const std::string step = " step --model gpt2-tiny --tp 2 --seq 8 --comm mpi ";
  const Ended ended =
      run_program(kEnvironment + "timeout 200 mpirun --oversubscribe",
                  "-n 1 " + kProgram + step + "--seed 1 : -n 1 " + kProgram + step + "--seed 2");
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("process 0 was started with seed=1, process 1 with seed=2"), std::string::npos)
      << ended.err;
}

// The other is the same program with other sources' name in it.
TEST_F(Mpi, RefusesProcessesOfOtherBuildsNamingBoth) {
  const std::string own = source_hash(), others = std::string(own.size(), '0');
  std::string program = slurp(kProgram);
  size_t renamed = 0;
  for (size_t at = program.find(own); at != std::string::npos; at = program.find(own, at)) {
    program.replace(at, own.size(), others);
    ++renamed;
  }
  ASSERT_EQ(renamed, 1U);
  const std::string other = in_folder("shardlens-cli");
  std::ofstream(other, std::ios::binary) << program;
  fs::permissions(other, fs::perms::owner_all);
  fs::copy_file(fs::path(kProgram).parent_path() / "libshardlens_mpi.so", in_folder("libshardlens_mpi.so"));
  const std::string step = " step --model gpt2-tiny --tp 2 --seq 8 --comm mpi";
  const Ended ended = run_program(kEnvironment + "timeout 200 mpirun --oversubscribe",
                                  "-n 1 " + kProgram + step + " : -n 1 " + other + step);
  EXPECT_EQ(ended.code, 2);
  for (const std::string& said :
       {"of sources " + own, "of sources " + others, std::string("put the same build on all machines")})
    EXPECT_NE(ended.err.find(said), std::string::npos) << ended.err;
}

TEST_F(Mpi, DoesNotWaitForEverForAProcessThatNeverComes) {
  const auto begin = std::chrono::steady_clock::now();
  const Ended ended =
      run_program(kEnvironment + "timeout 60 mpirun --oversubscribe",
                  "-n 1 " + kProgram +
                      " step --model gpt2-tiny --tp 2 --seq 8 --comm mpi --comm-timeout 2 : -n 1 sleep 50");
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("process 0 of 2 waited 2 s"), std::string::npos) << ended.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
}

TEST_F(Mpi, SaysWhatIsMissingWhereThereIsNoPlugin) {
  const std::string alone = in_folder("shardlens-cli");
  fs::copy_file(kProgram, alone);
  const Ended ended = run_program(alone, "step --model gpt2-tiny --tp 2 --seq 8 --comm mpi");
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("libshardlens_mpi.so is not beside the program"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("libopenmpi-dev"), std::string::npos) << ended.err;
  EXPECT_EQ(run_program(alone, "step --model gpt2-tiny --tp 2 --seq 8").code, 0);
}

TEST_F(Mpi, AFailureOfAnyRankEndsAll) {
  const Ended ended = in_processes(4, "step --model gpt2-tiny --tp 2 --dp 2 --seq 16 --updates 3 --lr 1e30");
  EXPECT_EQ(ended.code, 3);
  EXPECT_NE(ended.err.find("that are NaN or infinite"), std::string::npos) << ended.err;
}

TEST_F(Mpi, MeasuresItsCollectives) {
  const Ended ended = in_processes(2, "bench allreduce --tp 2 --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json points = nlohmann::json::parse(ended.out)["allreduce"];
  ASSERT_GE(points.size(), 3U);
  for (const auto& point : points) {
    EXPECT_EQ(point["ranks"], 2);
    EXPECT_GT(point["median_seconds"].get<double>(), 0);
    EXPECT_GT(point["bus_bytes_per_second"].get<double>(), 0);
  }
}

TEST_F(Mpi, RefusesWhatIsOnlyAboutThreads) {
  const Ended ended = in_processes(2, "bench gemm --tp 2");
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("bench gemm measures this machine's threads"), std::string::npos) << ended.err;
}

// Two network namespaces with names of their own stand for two machines: nothing is shared but files.
class MpiMachines : public Mpi {
 protected:
  void SetUp() override {
    Mpi::SetUp();
    if (IsSkipped()) return;
    const std::string own = std::to_string(getpid() % 100000);
    first_ = "sla" + own;
    second_ = "slb" + own;
    const std::string v = "v" + own;
    const std::string make =
        "ip netns add " + first_ + " && ip netns add " + second_ + " && ip link add " + v +
        "a type veth peer name " + v + "b && ip link set " + v + "a netns " + first_ + " && ip link set " +
        v + "b netns " + second_ + " && ip netns exec " + first_ + " ip addr add 10.213.7.1/24 dev " + v +
        "a && ip netns exec " + second_ + " ip addr add 10.213.7.2/24 dev " + v + "b && ip netns exec " +
        first_ + " ip link set " + v + "a up && ip netns exec " + second_ + " ip link set " + v +
        "b up && ip netns exec " + first_ + " ip link set lo up && ip netns exec " + second_ +
        " ip link set lo up && unshare --uts --time --monotonic 1000 true";
    const Ended made = run_program("sh -c", "'" + make + "'");
    if (made.code != 0) GTEST_SKIP() << "skipped: no network namespaces here: " << made.err;
    // What mpirun starts a machine's processes with, in place of ssh: MACHINE COMMAND.
    std::ofstream agent(in_folder("agent"));
    agent << "#!/bin/sh\ncase $1 in 10.213.7.1) name=" << first_ << ";; *) name=" << second_
          << "; clock='--time --monotonic 1000';; esac\nshift\n"
          << "exec ip netns exec $name unshare --uts $clock sh -c \"hostname $name; $*\"\n";
    agent.close();
    fs::permissions(in_folder("agent"), fs::perms::owner_all);
  }
  void TearDown() override {
    for (const std::string& name : {first_, second_})
      if (!name.empty()) run_program("ip", "netns del " + name);
    Mpi::TearDown();
  }

  // So many processes on each; each writes its rank and number into `pids`, if there is one.
  Ended on_both(int on_first, int on_second, const std::string& options, const std::string& arguments,
                const std::string& pids = {}) const {
    const std::string network =
        " --mca btl_tcp_if_include 10.213.7.0/24 --mca oob_tcp_if_include 10.213.7.0/24 --mca plm_rsh_agent ";
    std::ofstream script(in_folder("program"));
    script << "#!/bin/sh\n";
    if (!pids.empty()) script << "echo $OMPI_COMM_WORLD_RANK $$ >> " << pids << "\n";
    script << "exec " << kProgram << " " << arguments << " --comm mpi\n";
    script.close();
    fs::permissions(in_folder("program"), fs::perms::owner_all);
    return run_program(kEnvironment + "timeout -s KILL 200 ip netns exec " + first_ + " unshare --uts sh -c",
                       "'hostname " + first_ + "; exec mpirun --oversubscribe " + options + network +
                           in_folder("agent") + " -H 10.213.7.1:" + std::to_string(on_first) +
                           ",10.213.7.2:" + std::to_string(on_second) + " -n " +
                           std::to_string(on_first + on_second) + " " + in_folder("program") + "'");
  }

  std::string first_, second_;
};

TEST_F(MpiMachines, GiveTheBitsOfOneProcessAndStateWhatTheirClocksDifferBy) {
  const std::string step = "step --model gpt2-tiny --tp 2 --dp 2 --batch 2 --seq 16 --updates 2 --lr 1e-3 ";
  const std::string ours = in_folder("local.safetensors"), theirs = in_folder("mpi.safetensors");
  ASSERT_EQ(run_program(kProgram, step + "--dump " + ours).code, 0);
  // Dealt out in turn: what shares a layer is to come together again.
  const Ended mpi =
      on_both(2, 2, "--map-by node", step + "--dump " + theirs + " --record " + in_folder("run.shardlens"));
  ASSERT_EQ(mpi.code, 0) << mpi.err;
  EXPECT_TRUE(slurp(ours) == slurp(theirs));
  EXPECT_EQ(mpi.out.find("ranks of one layer are on different machines"), std::string::npos) << mpi.out;
  const Ended info = run_program(kProgram, "info " + in_folder("run.shardlens"));
  EXPECT_NE(info.out.find("4 processes on 2 machines"), std::string::npos) << info.out;
  EXPECT_NE(info.out.find("clocks agree within"), std::string::npos) << info.out;
  EXPECT_NE(info.out.find("clock_residual_seconds"), std::string::npos) << info.out;
  // The second machine's clock is 1,000 s ahead, and no rank's pass took or waited so long.
  const Recording recording(in_folder("run.shardlens"));
  const RecordedPass last = recording.pass(recording.passes() - 1);
  ASSERT_EQ(last.events.size(), 4U);
  for (const std::vector<StepEvent>& rank : last.events)
    for (const StepEvent& event : rank) {
      EXPECT_GT(event.begin_seconds, -1);
      EXPECT_LT(event.end_seconds, 500);
    }
}

// Three processes on the first machine and one on the second: one of the two layers' groups must be torn, and
// is said to be.
TEST_F(MpiMachines, SayWhereALayersRanksMeetAcrossMachines) {
  const Ended mpi = on_both(3, 1, "", "step --model gpt2-tiny --tp 2 --dp 2 --batch 2 --seq 16");
  ASSERT_EQ(mpi.code, 0) << mpi.err;
  EXPECT_NE(mpi.out.find("ranks of one layer are on different machines"), std::string::npos) << mpi.out;
}

// Killed, or stopped, on the other machine, where nobody here sees a process end.
TEST_F(MpiMachines, NameARankThatIsLostOnTheOther) {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    const std::string pids = in_folder("pids_" + std::to_string(signal)), log = in_folder("log.csv");
    const auto pid_of_rank_1 = [&] {
      std::ifstream file(pids);
      pid_t pid = 0, second = 0;
      for (int rank = 0; file >> rank >> pid;)
        if (rank == 1) second = pid;
      return second;
    };
    std::jthread strike([&] {
      for (int turn = 0; turn < 3000 && slurp(log).find("\n2,") == std::string::npos; ++turn)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (pid_of_rank_1() > 0) kill(pid_of_rank_1(), signal);
    });
    const Ended mpi = on_both(
        1, 1, "", "train --data sample --batch 2 --seq 16 --tp 2 --steps 1000000 --timeout 2 --log " + log,
        pids);
    strike.join();
    if (pid_of_rank_1() > 0) kill(pid_of_rank_1(), SIGKILL);
    EXPECT_NE(mpi.code, 0);
    EXPECT_NE(mpi.err.find("rank 1 is lost"), std::string::npos) << "signal " << signal << "\n" << mpi.err;
    fs::remove(log);
  }
}

}  // namespace mpi_test
}  // namespace shardlens
