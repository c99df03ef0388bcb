// Ranks on simulated GPUs, whose streams run late and in a random order. Compares the communicator of ranks
// that share a GPU with the local one to the bit, and whole models, run step by step by a rank team, with the
// CPU. If an order between two streams is missing, the numbers come out wrong here.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "engine/comm/local_cuda.h"
#include "engine/device/cuda/cuda_device.h"
#include "engine/planner/planner.h"
#include "engine/record/sample.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/world.h"
#include "engine/train/model_state.h"
#include "tests/cuda_on_host/played_ranks.h"
#include "tests/cuda_on_host/streams.h"
#include "tests/engine/agreement.h"
#include "tests/engine/comm/on_gpus.h"
#include "tests/engine/device/operands.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace {

constexpr double kPatienceSeconds = 300;

TEST(LocalCudaOnHost, GivesTheBitsAndCountsTheBytesOfTheLocalOne) {
  std::mt19937 random(11);
  for (int ranks = 1; ranks <= 5; ++ranks) {
    auto group = make_local_cuda_group(ranks, "a test", 60);
    DrawnAndDone(random, ranks, 40)
        .expect_the_same(
            group, [](int) { return make_cuda_device(0); }, "one GPU");
  }
}

// One stream waits for all, and each of the others for that one, before the collective and behind it. (That a
// collective waits for its rank's steps is asked for by whoever asks for the collective.)
TEST(LocalCudaOnHost, RanksWaitForAllOthersByOneEvent) {
  constexpr int kCollectives = 20;
  for (const int ranks : {1, 2, 4, 5}) {
    for (const bool spins : {false, true}) {
      auto group = make_local_cuda_group(ranks, "a test", 60, spins);
      const int before = on_host::stream_waits;
      for (const auto& failure : run_on_gpus(
               group, [](int) { return make_cuda_device(0); },
               [](Communicator& comm) {
                 for (int i = 0; i < kCollectives; ++i) comm.barrier();
               }))
        EXPECT_FALSE(failure) << failure->what();
      const int waits = 4 * (ranks - 1);
      EXPECT_EQ(on_host::stream_waits - before, kCollectives * waits) << ranks << " ranks";
    }
  }
}

// A rank writes over what the others gather of it as soon as it may, and nobody waits on the host meanwhile.
TEST(LocalCudaOnHost, AllRanksStepsAreDoneBeforeACollectiveAndItIsBeforeTheirNext) {
  constexpr int kRounds = 40;
  for (const int ranks : {2, 3, 5}) {
    auto group = make_local_cuda_group(ranks, "a test", 60);
    std::vector<std::unique_ptr<Device>> devices;
    for (int rank = 0; rank < ranks; ++rank) devices.push_back(make_cuda_device(0));
    const size_t row = static_cast<size_t>(ranks) * sizeof(int32_t);
    const auto written = [ranks](int round, int rank) { return (round * ranks + rank) % 251; };
    const auto body = [&](Communicator& comm) {
      Device& device = *devices[static_cast<size_t>(comm.rank())];
      comm.attach(device);
      cudaStream_t const steps = dynamic_cast<cuda::CudaDevice&>(device).stream();
      void* const own = device.allocate(sizeof(int32_t));
      void* const all = device.allocate(row);
      char* const kept = static_cast<char*>(device.allocate(kRounds * row));
      for (int round = 0; round < kRounds; ++round) {
        cudaMemsetAsync(own, written(round, comm.rank()), sizeof(int32_t), steps);
        device.behind()->begin_collective();
        comm.all_gather(DType::Fp32, {1, ranks, 1}, own, all);
        device.behind()->join_collectives();
        cudaMemcpyAsync(kept + static_cast<size_t>(round) * row, all, row, cudaMemcpyDeviceToDevice, steps);
      }
      std::vector<char> found(kRounds * row);
      device.copy_to_host(found.data(), kept, found.size());
      for (void* const memory : {own, all, static_cast<void*>(kept)}) device.release(memory);
      for (size_t i = 0; i < found.size(); ++i) {
        const auto place = static_cast<int>(i / sizeof(int32_t));
        ASSERT_EQ(static_cast<unsigned char>(found[i]), written(place / ranks, place % ranks))
            << ranks << " ranks, round " << place / ranks << ", of rank " << place % ranks;
      }
    };
    for (const auto& failure : run_ranks(group, body)) EXPECT_FALSE(failure) << failure->what();
    group.clear();  // before the devices
  }
}

using Tensors = std::map<std::string, GatheredTensor>;

// Weights after two updates whose passes nobody watches, so that the streams may run apart. Not the biases:
// an update is as large where a gradient is all rounding, as the keys' biases' is.
Tensors learned(const Settings& settings, const std::shared_ptr<Backend>& backend, bool traced) {
  constexpr double kLearningRate = 0.01;
  const auto plan = make_plan(settings);
  const auto gather = std::make_shared<Gather>(settings.tp, [](const Tensor& tensor) {
    return tensor.kind == MemoryKind::Weight && !tensor.name.ends_with(".bias");
  });
  Executor executor(plan, take_local_seats(plan, backend), nullptr);
  executor.set_traced(traced);
  const auto batch = std::make_shared<const Batch>(seeded_batch(settings));
  for (int64_t pass = 1; pass <= 3; ++pass) {
    executor.next_pass({batch, {kLearningRate, pass, 0}, 1});
    if (pass == 3) executor.observe({gather});
    executor.start(pass == 3 ? 1 : executor.steps());
    executor.wait();
  }
  return gather->tensors();
}

// All that a pass leaves, each tensor fetched behind its step.
Tensors watched(const Settings& settings, const std::shared_ptr<Backend>& backend, bool traced) {
  const auto plan = make_plan(settings);
  const auto gather = std::make_shared<Gather>(settings.tp, [](const Tensor& tensor) {
    return tensor.kind != MemoryKind::Workspace && tensor.dtype != DType::Int32;
  });
  Executor executor(plan, take_local_seats(plan, backend), nullptr);
  executor.set_traced(traced);
  executor.observe({gather});
  executor.start(executor.steps());
  executor.wait();
  return gather->tensors();
}

template <class Run>
void expect_the_cpus_numbers(const Run& run, Settings settings, bool shares, bool traced, double bound) {
  settings.backend = BackendChoice::Cpu;
  const Tensors expected = run(settings, make_backend(settings), true);
  settings.backend = BackendChoice::Cuda;
  const Tensors found = run(settings, std::make_shared<PlayedRanks>(shares, kPatienceSeconds), traced);
  EXPECT_GT(found.size(), 10u);
  testing::expect_agreement(expected, found, bound,
                            to_string(settings.dtype) + " T = " + std::to_string(settings.tp) +
                                (shares ? ", one GPU" : ", a GPU each"));
}

TEST(ModelsOnHost, LearnWhatTheyLearnOnTheCpu) {
  for (const bool shares : {true, false}) {
    expect_the_cpus_numbers(learned, testing::small_model(2, 2), shares, true, 1e-3);
    expect_the_cpus_numbers(learned, testing::small_model(3, 1, "megatron-sp"), shares, false, 1e-3);
  }
}

TEST(ModelsOnHost, HaveTheCpusTensors) {
  expect_the_cpus_numbers(watched, testing::small_model(1), true, true, 1e-5);
  expect_the_cpus_numbers(watched, testing::small_model(2, 1, "reversed"), false, true, 1e-5);
  Settings half = testing::small_model(2);
  half.dtype = DType::Bf16;
  expect_the_cpus_numbers(watched, half, true, true, 5e-2);
}

// Logits of eight tokens, each a pass of its own, and the graphs that were launched.
std::vector<double> written(Settings settings, const std::shared_ptr<Backend>& backend, int& launched) {
  settings.block = Block::Model;
  settings.batch = settings.seq = 1;
  settings.cache_tokens = 8;
  const auto plan = make_plan(plan_generation(settings));
  Executor executor(plan, take_local_seats(plan, backend), nullptr);
  executor.set_traced(false);
  const auto logits = std::find_if(plan->program.tensors.begin(), plan->program.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.name == "logits"; });
  const int before = on_host::graph_launches;
  std::vector<double> all;
  for (int32_t position = 0; position < settings.cache_tokens; ++position) {
    Batch batch;
    batch.tokens = {(7 * position + 3) % 50};
    batch.positions = {position};
    PassInputs inputs;
    inputs.batch = std::make_shared<const Batch>(std::move(batch));
    executor.next_pass(std::move(inputs));
    executor.start(executor.steps());
    executor.wait();
    const std::vector<std::byte> read = read_whole(executor, plan->program, logits->id);
    for (int64_t word = 0; word < settings.model.vocab; ++word)
      all.push_back(element_of(logits->dtype, read.data(), static_cast<size_t>(word)));
  }
  launched = on_host::graph_launches - before;
  return all;
}

// The graph is that of the first passes; token and position are read from the GPU's memory.
TEST(ModelsOnHost, WriteFromAGraphWhatTheyWriteWithoutOne) {
  Settings settings = testing::small_model(1);
  settings.backend = BackendChoice::Cpu;
  int launched = 0;
  const std::vector<double> expected = written(settings, make_backend(settings), launched);
  settings.backend = BackendChoice::Cuda;
  const auto played = [&] {
    return written(settings, std::make_shared<PlayedRanks>(true, kPatienceSeconds), launched);
  };
  const std::vector<double> replayed = played();
  EXPECT_EQ(launched, 4);
  EXPECT_LT(relative_error(replayed, expected), 1e-5);
  on_host::captures = false;
  EXPECT_EQ(played(), replayed);
  EXPECT_EQ(launched, 0);
  on_host::captures = true;
}

// Executors over the same weights have devices and streams of their own. What is written to one is there
// when the other begins.
TEST(ModelsOnHost, WhoBorrowsWeightsFindsWhatWasWritten) {
  constexpr int kTries = 40;  // what runs when is drawn by lot
  Settings settings = testing::small_model(1);
  settings.update = false;
  settings.batch = settings.seq = 1;
  settings.cache_tokens = 8;
  const auto plan = make_plan(settings);
  Executor owner(plan, take_local_seats(plan, std::make_shared<PlayedRanks>(true, kPatienceSeconds)),
                 nullptr);
  owner.wait();  // its memory is fed
  Executor borrower(plan, owner);
  const Step& lookup = plan->program.steps.front();
  ASSERT_EQ(lookup.op, Op::Embedding);
  const Tensor& weight = plan->program.tensor(input_of(plan->program, lookup, Operand::Table));
  std::vector<float> written(static_cast<size_t>(local_bytes(weight, 1, 0)) / sizeof(float));
  for (int i = 0; i < kTries; ++i) {
    std::fill(written.begin(), written.end(), static_cast<float>(i));
    owner.write_tensor(0, weight.id, written.data());
    borrower.next_pass();
    borrower.start(1);
    borrower.wait();
    const std::vector<std::byte> read = read_whole(borrower, plan->program, lookup.outputs.front());
    ASSERT_EQ(element_of(DType::Fp32, read.data(), 0), i);
  }
}

}  // namespace
}  // namespace shardlens
