// A device whose memory the host cannot access and whose calls may return before the work is done: it gives
// the same bits as the plain CPU in every kind of pass, and reports the times of the work, not of the calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/runtime/asked_steps.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/measure/loss_lens.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/sampler.h"
#include "engine/runtime/world.h"
#include "engine/train/model_state.h"
#include "tests/engine/distant_device.h"
#include "tests/engine/expect_in_order.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace distant_device_test {

using testing::DistantOptions;
using testing::make_distant_backend;
using testing::small_layer;
using testing::small_model;

using Bytes = std::map<std::string, std::vector<std::byte>>;

bool is_kept(const Tensor& tensor) {
  return tensor.kind != MemoryKind::Workspace;
}

// What every tensor of `passes` passes held last, and every weight after them.
Bytes run_passes(const Settings& settings, const std::shared_ptr<Backend>& backend, int passes = 2) {
  const auto plan = make_plan(settings);
  Executor executor(plan, take_local_seats(plan, backend), nullptr);
  const auto gather = std::make_shared<Gather>(settings.tp, is_kept);
  executor.observe({gather, std::make_shared<FiniteCheck>(settings.tp)});
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) executor.next_pass();
    executor.start(executor.steps());
    executor.wait();
  }
  Bytes bytes;
  for (int replica = 0; replica < settings.dp; ++replica)
    for (const auto& [name, tensor] : gather->tensors(replica))
      bytes[std::to_string(replica) + name] = tensor.bytes;
  const Program& program = plan->program;
  for (int rank = 0; rank < program.tp() * program.dp(); ++rank) {
    for (const Tensor& tensor : program.tensors) {
      if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
      std::vector<std::byte>& read = bytes["read " + tensor.name + std::to_string(rank)];
      read.resize(static_cast<size_t>(local_bytes(tensor, program.tp(), rank % program.tp())));
      executor.read_tensor(rank, tensor.id, read.data());
    }
  }
  return bytes;
}

class Distant : public ::testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<Backend> backend() const {
    DistantOptions options;
    options.works_behind = GetParam();
    return make_distant_backend(options);
  }
};

INSTANTIATE_TEST_SUITE_P(AtOnceAndBehind, Distant, ::testing::Bool(),
                         [](const auto& behind) { return behind.param ? "Behind" : "AtOnce"; });

TEST_P(Distant, LayersAreTheSameBits) {
  for (const int tp : {1, 2, 3}) {
    const Settings settings = small_layer(tp);
    EXPECT_EQ(run_passes(settings, backend(), 1), run_passes(settings, make_backend(settings), 1))
        << "T = " << tp;
  }
}

TEST_P(Distant, WholeModelsLearnTheSameBits) {
  for (const int tp : {1, 2}) {
    for (const char* split : {"megatron", "megatron-sp"}) {
      Settings settings = small_model(tp, 1, split);
      settings.dropout = 0.1;
      EXPECT_EQ(run_passes(settings, backend()), run_passes(settings, make_backend(settings)))
          << split << " T = " << tp;
    }
  }
}

TEST_P(Distant, ReplicasPartsAndHalfPrecisionAreTheSameBits) {
  Settings settings = small_model(2, 2);
  settings.overlap_chunks = 2;
  settings.micro_batches = 2;
  settings.dtype = DType::Bf16;
  EXPECT_EQ(run_passes(settings, backend()), run_passes(settings, make_backend(settings)));
  const Settings bert = testing::small_bert(2);
  EXPECT_EQ(run_passes(bert, backend()), run_passes(bert, make_backend(bert)));
}

TEST_P(Distant, GenerationIsTheSameBits) {
  const auto logits = [](const std::shared_ptr<Backend>& with) {
    Settings many = small_model(2);
    many.update = false;
    many.batch = 1;
    many.seq = 5;
    many.cache_tokens = 8;
    Settings one = many;
    one.seq = 1;
    const auto one_plan = make_plan(one), many_plan = make_plan(many);
    Executor token(one_plan, take_local_seats(one_plan, with), nullptr);
    token.wait();  // its memory is fed
    Executor prompt(many_plan, token);
    std::vector<std::byte> all;
    const auto pass = [&](Executor& executor, const std::vector<int32_t>& tokens, int32_t first) {
      auto batch = std::make_shared<Batch>();
      batch->tokens = tokens;
      for (size_t i = 0; i < tokens.size(); ++i) batch->positions.push_back(first + static_cast<int32_t>(i));
      PassInputs inputs;
      inputs.batch = batch;
      const auto gather = std::make_shared<Gather>(2, is_kept);
      executor.observe({gather});
      executor.next_pass(inputs);
      executor.start(executor.steps());
      executor.wait();
      for (const auto& [name, tensor] : gather->tensors())
        all.insert(all.end(), tensor.bytes.begin(), tensor.bytes.end());
    };
    pass(prompt, {1, 2, 3, 4, 5}, 0);
    pass(token, {6}, 5);
    pass(token, {7}, 6);
    return all;
  };
  EXPECT_EQ(logits(backend()), logits(make_backend(Settings{})));
}

TEST_P(Distant, TensorsAreWrittenFromTheHostAndReadBack) {
  const auto plan = make_plan(small_model(2));
  Executor executor(plan, take_local_seats(plan, backend()), nullptr);
  executor.wait();
  for (const Tensor& tensor : plan->program.tensors) {
    if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
    std::vector<std::byte> written(static_cast<size_t>(local_bytes(tensor, 2, 1)), std::byte{0x3f});
    std::vector<std::byte> read(written.size());
    executor.write_tensor(1, tensor.id, written.data());
    executor.read_tensor(1, tensor.id, read.data());
    EXPECT_EQ(read, written) << tensor.name;
  }
}

TEST_P(Distant, StepsForwardPausesAndGoesBack) {
  const auto plan = make_plan(small_model(2));
  Executor executor(plan, take_local_seats(plan, backend()), nullptr);
  for (const size_t target : {size_t{3}, size_t{4}, executor.steps(), size_t{7}}) {
    executor.start(target);
    executor.wait();
    EXPECT_EQ(executor.position(), target);
    EXPECT_EQ(executor.trace(0).finished(), target);
    EXPECT_EQ(executor.trace(1).finished(), target);
  }
}

TEST_P(Distant, AFailureNamesRankAndStepAndReachesEverybody) {
  DistantOptions options;
  options.works_behind = GetParam();
  options.fails_at = "gelu";
  options.failing_rank = 1;
  const auto plan = make_plan(small_layer(2));
  Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
  executor.start(executor.steps());
  try {
    executor.wait();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("rank 1, step "), std::string::npos) << message;
    EXPECT_NE(message.find("gelu"), std::string::npos) << message;
    EXPECT_NE(message.find("the device has failed"), std::string::npos) << message;
  }
}

// Who looks at a tensor hears first how long its copy took, where there was one.
TEST(DistantDevice, TellsWhatACopyCost) {
  class Copies : public StepObserver {
   public:
    bool wants(const Tensor& tensor) const override { return tensor.name == "Y"; }
    void on_copy(int, const Tensor& tensor, double seconds) override {
      EXPECT_EQ(tensor.name, "Y");
      EXPECT_GT(seconds, 0);
      ++copied;
    }
    void on_tensor(int, StepId, const Tensor&, const void*) override { ++seen; }
    int copied = 0, seen = 0;
  };
  const auto plan = make_plan(small_layer(1));
  for (const bool is_distant : {true, false}) {
    const auto backend = is_distant ? make_distant_backend() : make_backend(Settings());
    const auto watch = std::make_shared<Copies>();
    Executor executor(plan, take_local_seats(plan, backend), nullptr);
    executor.observe({watch});
    executor.start(executor.steps());
    executor.wait();
    EXPECT_GT(watch->seen, 0);
    EXPECT_EQ(watch->copied, is_distant ? watch->seen : 0);
  }
}

// Observers that want nothing fetch nothing.
TEST(DistantDevice, FetchesWhatIsWantedAlone) {
  class Indifferent : public StepObserver {
   public:
    bool wants(const Tensor& tensor) const override { return tensor.name == "Y"; }
    void on_tensor(int, StepId, const Tensor& tensor, const void*) override { seen.push_back(tensor.name); }
    std::vector<std::string> seen;
  };
  const auto watch = std::make_shared<Indifferent>();
  const auto plan = make_plan(small_layer(1));
  Executor executor(plan, take_local_seats(plan, make_distant_backend()), nullptr);
  executor.observe({watch});
  executor.start(executor.steps());
  executor.wait();
  for (const std::string& name : watch->seen) EXPECT_EQ(name, "Y");
}

TEST(DistantDevice, TimesAreThoseOfTheWorkNotOfTheAsking) {
  DistantOptions options;
  options.works_behind = true;
  options.collective_seconds = 0.002;
  const auto plan = make_plan(small_layer(2));
  Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
  executor.start(executor.steps());
  executor.wait();
  for (int rank = 0; rank < 2; ++rank) {
    testing::expect_in_order(plan->program, executor.trace(rank));
    for (const Step& step : plan->program.steps) {
      const StepEvent& event = executor.trace(rank).event(static_cast<size_t>(step.id));
      if (!is_collective(step.op)) continue;
      EXPECT_GE(event.seconds(), options.collective_seconds) << step.name;
      const StepEvent& other = executor.trace(1 - rank).event(static_cast<size_t>(step.id));
      EXPECT_EQ(event.all_arrived_seconds, std::max(event.arrival_seconds, other.arrival_seconds))
          << step.name;
      EXPECT_GE(event.wait_seconds(), 0) << step.name;
      EXPECT_GE(event.transfer_seconds(), 0) << step.name;
    }
  }
}

// A product's first rows are reduced while the next are computed, without a thread of their own.
TEST(DistantDevice, WhatRunsBesideTheStepsOverlapsThem) {
  DistantOptions options;
  options.works_behind = true;
  options.collective_seconds = 0.02;
  Settings settings = small_layer(2);
  settings.overlap_chunks = 2;
  const auto plan = make_plan(settings);
  Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
  executor.start(executor.steps());
  executor.wait();
  bool overlapped = false;
  for (const Step& step : plan->program.steps) {
    if (!step.overlapped) continue;
    const StepEvent& travelling = executor.trace(0).event(static_cast<size_t>(step.id));
    for (const Step& later : plan->program.steps) {
      if (later.id <= step.id || later.overlapped) continue;
      const StepEvent& event = executor.trace(0).event(static_cast<size_t>(later.id));
      overlapped |= event.begin_seconds < travelling.end_seconds;
    }
  }
  EXPECT_TRUE(overlapped);
  for (int rank = 0; rank < 2; ++rank) testing::expect_in_order(plan->program, executor.trace(rank));
}

TEST(DistantDeviceDeathTest, ItsMemoryIsReallyClosed) {
  const std::shared_ptr<Backend> backend = make_distant_backend();
  const std::unique_ptr<Device> device = backend->make_device(0, 1);
  auto* const memory = static_cast<volatile char*>(device->allocate(64));
  EXPECT_DEATH(memory[0] = 1, "");
  const char one = 1;
  char back = 0;
  device->copy_to_device(const_cast<char*>(memory), &one, 1);
  device->copy_to_host(&back, const_cast<char*>(memory), 1);
  EXPECT_EQ(back, 1);
  device->release(const_cast<char*>(memory));
}

// Who compares a run with another, or reads its loss or a whole tensor of it, gets the device's copy.
TEST_P(Distant, ComparisonsAndReadersGetCopies) {
  const Settings settings = small_model(2);
  const auto serial_plan = make_plan(plan_serial(settings)), plan = make_plan(settings);
  const auto serial = std::make_shared<SerialReference>();
  const auto serial_loss = std::make_shared<LossReader>(), loss = std::make_shared<LossReader>();
  Executor alone(serial_plan);
  alone.observe({serial, serial_loss});
  alone.start(alone.steps());
  alone.wait();
  const auto check = std::make_shared<ParityCheck>(plan->program, serial, true);
  Executor executor(plan, take_local_seats(plan, backend()), nullptr);
  executor.observe({check, loss});
  executor.start(executor.steps());
  executor.wait();
  EXPECT_TRUE(summarise(plan->program, check->results()).agrees);
  EXPECT_GT(loss->loss(), 0);
  EXPECT_NEAR(loss->loss(), serial_loss->loss(), 1e-5);
  // What a state is copied, saved and gone on from by.
  const TensorId weight = lasting_tensors(plan->program).front();
  const std::vector<std::byte> whole = read_whole(executor, plan->program, weight);
  write_whole(executor, plan->program, weight, whole);
  EXPECT_EQ(read_whole(executor, plan->program, weight), whole);
}

// Steps that are not traced leave no events, and no marks but those they are waited for by.
TEST_P(Distant, UntracedStepsComputeTheSame) {
  Settings settings = small_model(2);
  settings.model.layers = 8;  // more steps than a rank may be ahead of its device
  const auto plan = make_plan(settings);
  DistantOptions options;
  options.works_behind = GetParam();
  options.marks = std::make_shared<std::atomic<int>>(0);
  const auto weights_after = [&](const std::vector<bool>& traced, int& marks) {
    Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
    for (const bool one : traced) {
      executor.set_traced(one);
      executor.next_pass();
      *options.marks = 0;
      executor.start(executor.steps());
      executor.wait();
      EXPECT_EQ(executor.trace(1).finished(), one ? executor.steps() : 0);
      EXPECT_EQ(executor.position(), executor.steps());
    }
    marks = *options.marks;
    Bytes bytes;
    for (const Tensor& tensor : plan->program.tensors) {
      if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
      std::vector<std::byte>& read = bytes[tensor.name];
      read.resize(static_cast<size_t>(local_bytes(tensor, 2, 1)));
      executor.read_tensor(1, tensor.id, read.data());
    }
    return bytes;
  };
  int traced = 0, untraced = 0;
  const Bytes expected = weights_after({true, true, true}, traced);
  EXPECT_EQ(weights_after({false, true, false}, untraced), expected);
  const auto steps = static_cast<int>(plan->program.steps.size());
  constexpr int kMost = AskedSteps::kMost, kPerMark = AskedSteps::kMost - AskedSteps::kStill;
  ASSERT_GT(steps, kMost);
  const auto count = [&](const auto& is_counted) {
    return static_cast<int>(
        std::count_if(plan->program.steps.begin(), plan->program.steps.end(), is_counted));
  };
  const int calls = steps - count([](const Step& step) { return step.op == Op::AdamW; }) + 1;
  // A mark at every end, and where nothing ends there: at the begin of the pass and of an overlapped sum.
  const int begins = 1 + count([](const Step& step) { return step.overlapped; });
  EXPECT_EQ(traced, GetParam() ? 2 * (calls + begins) : 0);
  EXPECT_EQ(untraced, GetParam() ? 2 * (calls / kPerMark + 1) : 0);
  EXPECT_GT(calls, 2 * kPerMark);
}

// A device that works behind its calls is asked for all updates by one call, traced or not, and for fewer if
// the pass is stopped in their midst. The weights, and what observers see of them, are the same.
TEST_P(Distant, UpdatesTogetherAreTheSameBitsAsOneByOne) {
  Settings half = small_model(2, 2);
  half.dtype = DType::Bf16;
  for (const Settings& settings : {small_model(2), half}) {
    const auto plan = make_plan(settings);
    const std::vector<Step>& steps = plan->program.steps;
    const auto is_update = [](const Step& step) { return step.op == Op::AdamW; };
    const auto updates = static_cast<int>(std::count_if(steps.begin(), steps.end(), is_update));
    const auto first =
        static_cast<size_t>(std::find_if(steps.begin(), steps.end(), is_update) - steps.begin());
    ASSERT_GT(updates, 3);
    DistantOptions options;
    options.works_behind = GetParam();
    options.longest_adamw = std::make_shared<std::atomic<int>>(0);
    const auto seen = [&](bool traced, const std::vector<size_t>& targets) {
      Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
      const auto gather = std::make_shared<Gather>(settings.tp, is_kept);
      executor.observe({gather});
      executor.set_traced(traced);
      *options.longest_adamw = 0;
      for (int pass = 0; pass < 2; ++pass) {
        executor.next_pass();
        for (const size_t target : targets) {
          executor.start(target);
          executor.wait();
          EXPECT_EQ(executor.position(), target);
        }
      }
      Bytes bytes;
      for (const auto& [name, tensor] : gather->tensors()) bytes[name] = tensor.bytes;
      return bytes;
    };
    const Bytes expected = seen(true, {steps.size()});
    EXPECT_EQ(*options.longest_adamw, GetParam() ? updates : 1);
    EXPECT_EQ(seen(false, {steps.size()}), expected);
    EXPECT_EQ(*options.longest_adamw, GetParam() ? updates : 1);
    for (const bool traced : {true, false}) {
      EXPECT_EQ(seen(traced, {first + 1, first + 3, steps.size()}), expected);
      EXPECT_EQ(*options.longest_adamw, GetParam() ? updates - 3 : 1);
    }
  }
}

// Each says of how many it is one, and has a share of their time by what it was predicted to take, or by its
// bytes if nothing was.
class UpdatesTogether : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(PredictedOrNot, UpdatesTogether, ::testing::Values("h200-141gb", "this-machine"));

TEST_P(UpdatesTogether, HaveSharesOfTheirTime) {
  DistantOptions options;
  options.works_behind = true;
  Settings settings = small_model(2);
  settings.hardware = GetParam();
  const auto plan = make_plan(settings);
  Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
  executor.start(executor.steps());
  executor.wait();
  const std::vector<Step>& steps = plan->program.steps;
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<StepEvent>& events = executor.trace(rank).events();
    const std::vector<StepCost>& cost = plan->cost[static_cast<size_t>(rank)];
    const bool predicted = cost[0].predicted_seconds > 0;
    const auto size_of = [&](size_t step) {
      return predicted ? cost[step].predicted_seconds : static_cast<double>(cost[step].touched_bytes);
    };
    std::vector<size_t> updates;
    double sizes = 0;
    for (size_t step = 0; step < steps.size(); ++step) {
      EXPECT_EQ(events[step].flops, cost[step].flops);
      if (steps[step].op != Op::AdamW) {
        EXPECT_EQ(events[step].timed_together, 1);
        continue;
      }
      updates.push_back(step);
      sizes += size_of(step);
    }
    ASSERT_GT(sizes, 0);
    const double begin = events[updates.front()].begin_seconds,
                 all = events[updates.back()].end_seconds - begin;
    ASSERT_GT(all, 0);
    for (const size_t step : updates) {
      EXPECT_EQ(events[step].timed_together, static_cast<int>(updates.size()));
      EXPECT_EQ(events[step].begin_seconds, events[step - 1].end_seconds) << steps[step].name;
      EXPECT_NEAR(events[step].seconds() / all, size_of(step) / sizes, 1e-6);
    }
  }
}

// A step begins where the one before it ended, but not where the rank or its device did something else in
// between: it was paused or late on purpose, or somebody looked at a tensor.
TEST(DistantDevice, AStepDoesNotBeginBeforeItCould) {
  class Looks : public StepObserver {
   public:
    bool wants(const Tensor& tensor) const override { return tensor.name == "h.1.mlp.fc.out"; }
    void on_tensor(int, StepId step, const Tensor&, const void*) override {
      at = step;
      seconds = now_seconds();
    }
    StepId at = -1;
    double seconds = 0;
  };
  DistantOptions options;
  options.works_behind = true;
  constexpr size_t kPausedAt = 3, kLateAt = 5;
  Settings settings = small_model(1);
  settings.delays = {{0, std::to_string(kLateAt), 1}};
  const auto plan = make_plan(settings);
  Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
  executor.start(executor.steps());  // a first pass begins when memory is fed
  executor.wait();
  const auto looks = std::make_shared<Looks>();
  executor.observe({looks});
  executor.next_pass();
  const double begin = now_seconds();
  executor.start(kPausedAt, begin);
  executor.wait();
  const double paused = now_seconds();
  executor.start(executor.steps());
  executor.wait();
  const std::vector<StepEvent>& events = executor.trace(0).events();
  const std::vector<Step>& steps = plan->program.steps;
  EXPECT_GE(events[kPausedAt].begin_seconds + begin, paused);
  EXPECT_GE(events[kLateAt].held_seconds, 1e-3);
  EXPECT_GE(events[kLateAt].begin_seconds, events[kLateAt - 1].end_seconds + events[kLateAt].held_seconds);
  ASSERT_GT(looks->at, static_cast<int>(kLateAt));
  const auto looked = static_cast<size_t>(looks->at);
  EXPECT_GE(events[looked + 1].begin_seconds + begin, looks->seconds);
  for (size_t step = 1; step < steps.size(); ++step) {
    if (step == kPausedAt || step == kLateAt || step == looked + 1) continue;
    EXPECT_EQ(events[step].begin_seconds, events[step - 1].end_seconds) << steps[step].name;
  }
}

// The losses of passes without updates, each on a batch of its own.
std::vector<double> losses_of(const Plan& plan, Executor& executor, int passes) {
  const auto loss = std::find_if(plan.program.tensors.begin(), plan.program.tensors.end(),
                                 [](const Tensor& tensor) { return tensor.name == "loss"; });
  std::vector<double> losses;
  for (int pass = 0; pass < passes; ++pass) {
    Settings drawn = plan.program.settings;
    drawn.seed += static_cast<uint64_t>(pass);
    PassInputs inputs;
    inputs.batch = std::make_shared<const Batch>(seeded_batch(drawn));
    executor.next_pass(std::move(inputs));
    executor.start(executor.steps());
    executor.wait();
    losses.push_back(read_scalar(executor, plan.program, loss->id));
  }
  return losses;
}

// A device keeps the work of a pass that is the same each time, and repeats it on other inputs. The losses
// are those of step by step. It is not repeated where somebody looks, or where the device cannot keep it.
TEST(DistantDevice, APassThatIsTheSameEachTimeIsRepeated) {
  constexpr int kPasses = 9, kBefore = 4;
  const auto plan = make_plan(plan_evaluation(small_model(1)));
  DistantOptions options;
  options.works_behind = true;
  options.replays = std::make_shared<std::atomic<int>>(0);
  const auto losses = [&](bool traced, std::vector<std::shared_ptr<StepObserver>> observers) {
    Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
    executor.set_traced(traced);
    executor.observe(std::move(observers));
    *options.replays = 0;
    return losses_of(*plan, executor, kPasses);
  };
  const std::vector<double> expected = losses(true, {});
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_EQ(*options.replays, 0);
  EXPECT_EQ(losses(false, {}), expected);
  EXPECT_EQ(*options.replays, kPasses - kBefore);
  EXPECT_EQ(losses(false, {std::make_shared<FiniteCheck>(1)}), expected);
  EXPECT_EQ(*options.replays, 0);
  options.captures = false;
  EXPECT_EQ(losses(false, {}), expected);
  EXPECT_EQ(*options.replays, 0);
}

// What differs from pass to pass is never repeated: updates, dropout, ranks that meet, a delay.
TEST(DistantDevice, APassThatDiffersEachTimeIsNotRepeated) {
  Settings dropout = small_model(1), delayed = small_model(1);
  dropout.update = delayed.update = false;
  dropout.dropout = 0.1;
  delayed.delays = {{0, "0", 0.1}};
  const std::vector<std::shared_ptr<const Plan>> plans{make_plan(small_model(1)), make_plan(dropout),
                                                       make_plan(delayed),
                                                       make_plan(plan_evaluation(small_model(2)))};
  DistantOptions options;
  options.works_behind = true;
  options.replays = std::make_shared<std::atomic<int>>(0);
  for (const auto& plan : plans) {
    Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
    executor.set_traced(false);
    losses_of(*plan, executor, 7);
  }
  EXPECT_EQ(*options.replays, 0);
}

/// The logits of all ranks after each of some passes that continue a text; odd passes run in two parts.
std::vector<std::vector<std::byte>> logits_of(int tp, const std::shared_ptr<Backend>& with, bool traced) {
  Settings settings = small_model(tp);
  settings.update = false;
  settings.batch = settings.seq = 1;
  settings.cache_tokens = 8;
  const auto plan = make_plan(settings);
  const auto logits = std::find_if(plan->program.tensors.begin(), plan->program.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.name == "logits"; });
  Executor executor(plan, take_local_seats(plan, with), nullptr);
  executor.set_traced(traced);
  std::vector<std::vector<std::byte>> all;
  for (int32_t position = 0; position < 7; ++position) {
    PassInputs inputs;
    Batch batch;
    batch.tokens = {position + 1};
    batch.positions = {position};
    inputs.batch = std::make_shared<const Batch>(std::move(batch));
    executor.next_pass(std::move(inputs));
    if (position % 2 == 1) {
      executor.start(executor.steps() / 2);
      executor.wait();
    }
    executor.start(executor.steps());
    executor.wait();
    all.push_back(read_whole(executor, plan->program, logits->id));
  }
  return all;
}

TEST(DistantDevice, LogitsComeWithAPassThatIsNotTraced) {
  DistantOptions options;
  options.works_behind = true;
  options.fetches = std::make_shared<std::atomic<int>>(0);
  for (const int tp : {1, 2}) {
    const auto expected = logits_of(tp, make_backend(Settings{}), true);
    EXPECT_NE(expected[0], expected[1]);
    *options.fetches = 0;
    EXPECT_EQ(logits_of(tp, make_distant_backend(options), false), expected) << tp;
    EXPECT_EQ(*options.fetches, 7 * tp);
    EXPECT_EQ(logits_of(tp, make_distant_backend(options), true), expected) << tp;
    EXPECT_EQ(*options.fetches, 7 * tp) << "none while traced";
  }
}

// Of a pass that was asked for as a whole, it is not known which step failed.
TEST(DistantDevice, AFailureInAWholePassNamesItsSteps) {
  const auto plan = make_plan(plan_evaluation(small_model(1)));
  DistantOptions options;
  options.works_behind = true;
  options.fails_at = "gelu";
  Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
  executor.set_traced(false);
  executor.start(executor.steps());
  const std::string steps = "it was in one of the steps 0 to " + std::to_string(executor.steps() - 1);
  try {
    executor.wait();
    FAIL() << "a step failed and nobody knew";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(steps), std::string::npos) << error.what();
  }
}

// A failure of an untraced step ends the run, found at the end of a short pass and in the midst of a long
// one.
TEST(DistantDevice, UntracedFailuresAreFound) {
  for (const int layers : {1, 8}) {
    Settings settings = small_model(2);
    settings.model.layers = layers;
    const auto plan = make_plan(settings);
    DistantOptions options;
    options.works_behind = true;
    options.fails_at = "gelu";
    options.failing_rank = 1;
    Executor executor(plan, take_local_seats(plan, make_distant_backend(options)), nullptr);
    executor.set_traced(false);
    executor.start(executor.steps());
    try {
      executor.wait();
      FAIL() << "a step failed and nobody knew";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("the device has failed"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("it was in one of the steps "), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace distant_device_test
}  // namespace shardlens
