// Processes meet, compare their settings, and run a Program together. Here they are threads, so the test
// needs no MPI.
#include "engine/runtime/processes/process_world.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "engine/base/error.h"
#include "engine/program/layout.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/plan.h"
#include "tests/engine/comm/thread_processes.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace process_world_test {

// What each of them got to hear, by process; empty: they met.
std::vector<std::string> meet(std::vector<JoinRequest> requests, bool last_comes = true) {
  const auto processes = make_thread_processes(static_cast<int>(requests.size()));
  std::vector<std::string> heard(requests.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i + (last_comes ? 0 : 1) < requests.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const ProcessWorld world(*processes[i], requests[i]);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Request);
        heard[i] = error.what();
      }
    });
  }
  threads.clear();
  return heard;
}

TEST(ProcessWorld, MeetsWhenAllAreAlike) {
  const JoinRequest request{"1", {"verb=step", "seed=1"}, 20};
  for (const std::string& text : meet({request, request, request})) EXPECT_EQ(text, "");
}

TEST(ProcessWorld, RefusesAnotherVersionNamingBoth) {
  for (const std::string& text :
       meet({{"shardlens 1", {}, 20}, {"shardlens 1", {}, 20}, {"shardlens 2", {}, 20}})) {
    EXPECT_NE(text.find("process 0 on here is shardlens 1, process 2 on here is shardlens 2"),
              std::string::npos)
        << text;
  }
}

TEST(ProcessWorld, RefusesOtherOptionsNamingBoth) {
  const JoinRequest one{"1", {"verb=step", "seed=1"}, 20}, two{"1", {"verb=step", "seed=2"}, 20};
  for (const std::string& text : meet({one, two}))
    EXPECT_NE(text.find("process 0 was started with seed=1, process 1 with seed=2"), std::string::npos)
        << text;
}

TEST(ProcessWorld, DoesNotWaitForEverForAPeer) {
  const JoinRequest request{"1", {}, 0.2};
  const std::vector<std::string> heard = meet({request, request, request}, false);
  EXPECT_NE(heard[0].find("process 2 of 3 did not report within 0 s"), std::string::npos) << heard[0];
  EXPECT_EQ(heard[1], heard[0]);
}

TEST(ProcessWorld, KeepsALayersRanksOnOneMachineWhereThatCanBe) {
  using Hosts = std::vector<std::string>;
  const auto order = [](const Hosts& hosts, int tp) { return processes_by_rank(hosts, tp); };
  EXPECT_EQ(order({"a", "b", "a", "b"}, 2), (std::vector{0, 2, 1, 3}));
  EXPECT_EQ(order({"a", "b", "a", "b"}, 4), (std::vector{0, 2, 1, 3}));
  // B holds a whole layer, and process 0 is rank 0.
  EXPECT_EQ(order({"a", "b", "b", "c"}, 2), (std::vector{0, 3, 1, 2}));
  EXPECT_EQ(order({"a", "a", "a", "b", "b", "b"}, 2), (std::vector{0, 1, 3, 4, 2, 5}));
  EXPECT_EQ(order({"a", "b", "b", "b", "b", "c"}, 3), (std::vector{0, 4, 5, 1, 2, 3}));
  EXPECT_EQ(order({"a", "b"}, 8), (std::vector{0, 1})) << "fewer than a layer's: refused later";
  EXPECT_EQ(order({"a", "b", "a"}, 1), (std::vector{0, 2, 1}));
}

GpuFacts one_gpu(int nccl) {
  GpuFacts facts;
  facts.gpus.resize(1);
  facts.gpus.front().bus = "bus 0";
  facts.gpus.front().mps = true;
  facts.gpus.front().memory_bytes = 1000;
  facts.gpus.front().used_bytes = 200;
  facts.nccl_version = nccl;
  return facts;
}

TEST(ProcessWorld, EveryProcessChoosesTheSameOfWhatAllFound) {
  GpuFacts none;
  none.why_no_gpu = "there is no driver";
  none.why_no_nccl = "NCCL was not found";
  for (const GpuFacts& second : {one_gpu(23003), none}) {
    const auto processes = make_thread_processes(2);
    std::vector<std::string> said(2);
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        JoinRequest request{"1", {}, 20};
        request.gpus = i == 0 ? one_gpu(23003) : second;
        if (i == 1 && !second.gpus.empty()) request.gpus.gpus.front().context_bytes = 100;
        const ProcessWorld world(*processes[i], request);
        Settings settings;
        settings.backend = BackendChoice::Cuda;
        try {
          said[i] = world.choose(settings).reason;
          const std::vector<GpuRoom> rooms = world.gpu_rooms(settings);
          ASSERT_EQ(rooms.size(), 1U);
          EXPECT_EQ(rooms.front().ranks, (std::vector<int>{0, 1}));
          EXPECT_EQ(rooms.front().free_bytes, 800);
          EXPECT_EQ(rooms.front().reserve_bytes, kContextBytes + 2 * (kKernelsBytes + kGpuScratchBytes))
              << "one has a context";
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::Request);
          said[i] = error.what();
        }
      });
    }
    threads.clear();
    EXPECT_EQ(said[0],
              second.gpus.empty()
                  ? "--backend cuda --comm mpi: process 0 on here has 1 GPU, and process 1 on here has no "
                    "GPU: there is no driver; use --backend cpu"
                  : "2 ranks, sharing 1 GPU by MPS, NCCL 2.30.3");
    EXPECT_EQ(said[1], said[0]);
  }
}

// Runs `first` in a world of `count` processes, of which the others serve.
void in_world(int count, const std::function<void(ProcessWorld&)>& first,
              const std::function<void(ThreadProcesses&, int)>& before = {}) {
  const auto processes = make_thread_processes(count);
  const JoinRequest request{"1", {}, 20};
  std::vector<std::jthread> servers;
  for (int i = 0; i < count; ++i)
    if (before) before(*processes[static_cast<size_t>(i)], i);
  for (int i = 1; i < count; ++i) {
    servers.emplace_back([&, i] {
      ProcessWorld world(*processes[static_cast<size_t>(i)], request);
      EXPECT_EQ(world.serve(), 7);
    });
  }
  ProcessWorld world(*processes[0], request);
  set_joined_world(&world);
  first(world);
  set_joined_world(nullptr);
  world.finish(7);
}

std::map<std::string, GatheredTensor> everything(const std::shared_ptr<const Plan>& plan, int replica,
                                                 int64_t& sent_bytes) {
  const auto gather = std::make_shared<Gather>(
      plan->program.tp(), [](const Tensor& t) { return t.kind != MemoryKind::Workspace; });
  Executor executor(plan);
  executor.observe({gather});
  executor.start(executor.steps());
  executor.wait();
  const int world = plan->program.tp() * plan->program.dp();
  for (const auto& track : executor.events(world)) {
    EXPECT_EQ(track.size(), executor.steps());
    for (const StepEvent& event : track) {
      sent_bytes += event.sent_bytes;
      EXPECT_LE(event.begin_seconds, event.end_seconds);
      EXPECT_GE(event.begin_seconds, 0);
    }
  }
  for (int rank = 0; rank < world; ++rank) EXPECT_GT(total_bytes(executor.high_water_bytes(rank)), 0);
  return gather->tensors(replica);
}

TEST(ProcessWorld, RunsAProgramWithTheBitsOfOneProcess) {
  const auto plan = make_plan(testing::small_model(2, 2));
  int64_t expected_sent = 0, sent = 0;
  const auto expected = everything(plan, 1, expected_sent);
  in_world(4, [&](ProcessWorld&) {
    const auto got = everything(plan, 1, sent);
    ASSERT_EQ(got.size(), expected.size());
    for (const auto& [name, tensor] : expected) EXPECT_TRUE(got.at(name).bytes == tensor.bytes) << name;
  });
  EXPECT_EQ(sent, expected_sent);
}

TEST(ProcessWorld, RefusesAPlanOfAnotherSize) {
  in_world(3, [&](ProcessWorld&) {
    try {
      Executor executor(make_plan(testing::small_model(2)));
      FAIL() << "2 ranks ran in 3 processes";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request);
      EXPECT_NE(std::string(error.what()).find("T = 2 and D = 1 are 2 ranks, and mpirun started 3 processes"),
                std::string::npos)
          << error.what();
    }
  });
}

TEST(ProcessWorld, AFailureElsewhereEndsTheRunHereAndNamesTheRank) {
  const auto plan = make_plan(testing::small_model(2));
  class Fails : public StepObserver {
    void on_tensor(int rank, StepId step, const Tensor&, const void*) override {
      if (rank == 1 && step == 5) throw run_error("rank 1 has had enough");
    }
  };
  in_world(2, [&](ProcessWorld&) {
    Executor executor(plan);
    executor.observe({std::make_shared<Fails>()});
    executor.start(executor.steps());
    try {
      executor.wait();
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("rank 1, step 5"), std::string::npos) << error.what();
    }
  });
}

// The way from one process to the others, which at some moment lets nothing through any more.
class WayThatCloses final : public Processes {
 public:
  explicit WayThatCloses(Processes& processes) : processes_(processes) {}
  int index() const override { return processes_.index(); }
  int count() const override { return processes_.count(); }
  std::string host() const override { return processes_.host(); }
  std::string carrier() const override { return processes_.carrier(); }
  Ticket send(int to, int tag, const void* bytes, size_t count) override {
    if (!closed) return processes_.send(to, tag, bytes, count);
    ++stuck;
    return kStuck;
  }
  Ticket receive(int from, int tag, void* bytes, size_t count) override {
    return processes_.receive(from, tag, bytes, count);
  }
  bool is_done(Ticket ticket) override { return ticket != kStuck && processes_.is_done(ticket); }
  void give_up(Ticket ticket) override {
    if (ticket != kStuck) processes_.give_up(ticket);
  }
  std::optional<Incoming> incoming(int tag) override { return processes_.incoming(tag); }

  std::atomic<bool> closed = false;
  std::atomic<int> stuck = 0;

 private:
  static constexpr Ticket kStuck = ~Ticket{0};
  Processes& processes_;
};

// The thread that says that the first process goes on finds rank 1 lost, while the Program is being opened
// there.
TEST(ProcessWorld, WhoCouldNotOpenAProgramIsToldNothingAfterwards) {
  class Listener : public SeatsListener {
   public:
    void on_report(const RankReport&) override {}
    void on_tensor_elsewhere(int, StepId, TensorId, const void*) override {}
    void on_failure_elsewhere(int rank, ErrorKind, const std::string&,
                              const std::optional<RunFailure>&) override {
      EXPECT_EQ(rank, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      told_too_late = gone.load();
      ++told;
    }
    std::atomic<bool> gone = false, told_too_late = false;
    std::atomic<int> told = 0;
  };
  Settings settings = testing::small_model(2);
  settings.timeout_seconds = 0.2;
  const auto plan = make_plan(settings);
  const auto processes = make_thread_processes(2);
  const JoinRequest request{"1", {}, 20};
  Listener listener;
  {
    WayThatCloses way(*processes[0]);
    std::jthread other([&] { const ProcessWorld world(*processes[1], request); });
    ProcessWorld world(way, request);
    other.join();
    const std::unique_ptr<Seats> seats = world.take_seats(plan, nullptr);
    way.closed = true;
    while (way.stuck == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_THROW(seats->open(listener), Error);
    listener.gone = true;
  }
  EXPECT_EQ(listener.told, 1);
  EXPECT_FALSE(listener.told_too_late);
}

TEST(ProcessWorld, MeasuresTheClocksOfOtherMachines) {
  in_world(
      3,
      [](ProcessWorld& world) {
        const std::string reason = world.info().reason;
        EXPECT_NE(reason.find("3 processes on 2 machines"), std::string::npos) << reason;
        EXPECT_NE(reason.find("clocks agree within"), std::string::npos) << reason;
        // Processes 0 and 2 are on the first machine, and so are ranks 0 and 1.
        EXPECT_EQ(world.most_ranks_on_a_machine(), 2);
        EXPECT_GE(world.cores(), 3);
        EXPECT_FALSE(world.crosses_machines(1));
        EXPECT_FALSE(world.crosses_machines(2));
        EXPECT_TRUE(world.crosses_machines(3));
      },
      [](ThreadProcesses& processes, int index) { processes.host_name = index == 1 ? "there" : "here"; });
}

}  // namespace process_world_test
}  // namespace shardlens
