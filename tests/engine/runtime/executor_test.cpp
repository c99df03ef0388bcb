// The executor: equal settings give equal bits, memory is as planned, runs can be stepped, paused and
// cancelled, and a failure on one rank reaches all ranks.
#include "engine/runtime/executor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/io/npy.h"
#include "engine/io/safetensors.h"
#include "engine/planner/planner.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/rank_priority.h"
#include "engine/runtime/sampler.h"
#include "tests/engine/expect_in_order.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/io/write_npy.h"
#include "tests/engine/small_layer.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace executor_test {

using testing::run;
using testing::small_layer;

std::map<std::string, std::vector<std::byte>> all_bytes(const Settings& settings) {
  auto gather =
      std::make_shared<Gather>(settings.tp, [](const Tensor& t) { return t.kind != MemoryKind::Workspace; });
  run(make_plan(settings), {gather});
  std::map<std::string, std::vector<std::byte>> bytes;
  for (const auto& [name, tensor] : gather->tensors()) bytes[name] = tensor.bytes;
  return bytes;
}

// Throws on one rank at one step.
class Saboteur : public StepObserver {
 public:
  Saboteur(int rank, StepId step) : rank_(rank), step_(step) {}
  void on_tensor(int rank, StepId step, const Tensor&, const void*) override {
    if (rank == rank_ && step == step_) throw std::runtime_error("planted failure");
  }

 private:
  int rank_;
  StepId step_;
};

// Makes one rank late at every step, so that the others run ahead until a collective holds them.
class Laggard : public StepObserver {
 public:
  void on_tensor(int rank, StepId, const Tensor&, const void*) override {
    if (rank == 1) std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
};

// Is slow while one rank is fed, and knows when the last of them was.
class SlowFeed : public StepObserver {
 public:
  void on_pass(int rank, uint64_t, bool) override {
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  void on_tensor(int, StepId step, const Tensor&, const void*) override {
    if (step != -1) return;
    const std::lock_guard lock(mutex_);
    fed_seconds_ = std::max(fed_seconds_, now_seconds());
  }
  double fed_seconds() const { return fed_seconds_; }

 private:
  std::mutex mutex_;
  double fed_seconds_ = 0;
};

// Counts the tensors it is shown.
class Counter : public StepObserver {
 public:
  void on_tensor(int, StepId step, const Tensor&, const void*) override {
    if (step >= 0) ++shown;
  }
  std::atomic<int> shown{0};
};

// The lowest turn that a rank's thread had.
class Turns : public StepObserver {
 public:
  void on_tensor(int, StepId, const Tensor&, const void*) override {
    const int nice = getpriority(PRIO_PROCESS, 0);
    const std::lock_guard lock(mutex_);
    lowest_ = std::max(lowest_, nice);
  }
  int lowest() const { return lowest_; }

 private:
  std::mutex mutex_;
  int lowest_ = -20;
};

TEST(Executor, RanksGiveWayToAWindowAndToNothingElse) {
  const auto lowest_turn = [] {
    const auto turns = std::make_shared<Turns>();
    Executor executor(make_plan(small_layer(2)));
    executor.observe({turns});
    executor.start(executor.steps());
    executor.wait();
    return turns->lowest();
  };
  const int own = getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(lowest_turn(), own);
  set_beside_a_window(true);
  EXPECT_EQ(lowest_turn(), 19);
  set_beside_a_window(false);
  EXPECT_EQ(lowest_turn(), own);
}

TEST(Executor, MeasuredHighWaterEqualsThePlanByKind) {
  for (const char* split : {"megatron", "reversed", "replicated"}) {
    for (int tp : {1, 3, 4}) {
      const auto plan = make_plan(small_layer(tp, split));
      Executor executor(plan);
      executor.start(executor.steps());
      executor.wait();
      for (int rank = 0; rank < tp; ++rank) {
        EXPECT_EQ(executor.high_water_bytes(rank), plan->memory[static_cast<size_t>(rank)].arena_bytes)
            << split << " rank " << rank;
      }
    }
  }
}

TEST(Executor, TheSameSettingsGiveTheSameBits) {
  EXPECT_EQ(all_bytes(small_layer(4)), all_bytes(small_layer(4)));
}

TEST(Executor, WeightsAndInputsDoNotDependOnT) {
  const auto one = all_bytes(small_layer(1));
  const auto twelve = all_bytes(small_layer(12));
  for (const Tensor& tensor : plan_program(small_layer(1)).tensors) {
    if (tensor.kind != MemoryKind::Weight && tensor.kind != MemoryKind::Input) continue;
    EXPECT_EQ(one.at(tensor.name), twelve.at(tensor.name)) << tensor.name;
  }
}

TEST(Executor, StepsForwardToACollectiveAndBackAgain) {
  const auto plan = make_plan(small_layer(3));
  Executor executor(plan);
  executor.start(7);
  executor.wait();
  EXPECT_EQ(executor.position(), 7u);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(executor.trace(rank).finished(), 7u);
  executor.start(8);
  executor.wait();
  EXPECT_EQ(executor.position(), 8u);
  executor.start(3);  // back
  executor.wait();
  EXPECT_EQ(executor.position(), 3u);
  EXPECT_EQ(executor.trace(1).finished(), 3u);
  executor.start(executor.steps());
  executor.wait();
  EXPECT_EQ(executor.position(), executor.steps());
}

TEST(Executor, ARunAfterGoingBackGivesTheSameBits) {
  const Settings settings = small_layer(2);
  const auto plan = make_plan(settings);
  Executor executor(plan);
  executor.start(executor.steps());
  executor.wait();
  executor.start(5);
  executor.wait();
  executor.start(9);
  executor.wait();
  executor.rewind();
  auto gather = std::make_shared<Gather>(2, [](const Tensor& t) { return t.kind != MemoryKind::Workspace; });
  executor.observe({gather});
  executor.start(executor.steps());
  executor.wait();
  const auto fresh = all_bytes(settings);
  for (const auto& [name, tensor] : gather->tensors()) EXPECT_EQ(tensor.bytes, fresh.at(name)) << name;
}

TEST(Executor, PauseStopsAllRanksAtOneBoundary) {
  const auto plan = make_plan(small_layer(4));
  Executor executor(plan);
  executor.observe({std::make_shared<Laggard>()});
  for (int attempt = 0; attempt < 20; ++attempt) {
    executor.rewind();
    executor.start(executor.steps());
    while (executor.position() < static_cast<size_t>(attempt)) std::this_thread::yield();  // halt mid-run
    executor.pause();
    executor.wait();
    const size_t at = executor.position();
    for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(executor.trace(rank).finished(), at);
    executor.start(executor.steps());
    executor.wait();
    EXPECT_EQ(executor.position(), executor.steps());
  }
}

TEST(Executor, AFailureOnOneRankReachesAllAndNamesRankAndStep) {
  const auto plan = make_plan(small_layer(4));
  for (StepId step : {0, 4, 20}) {
    Executor executor(plan);
    executor.observe({std::make_shared<Saboteur>(2, step)});
    executor.start(executor.steps());
    try {
      executor.wait();
      FAIL() << "the failure was lost";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::Run);
      EXPECT_NE(message.find("rank 2, step " + std::to_string(step)), std::string::npos) << message;
      EXPECT_NE(message.find("planted failure"), std::string::npos) << message;
    }
  }  // the destructor joins: a rank that still waited would hang here
}

TEST(Executor, CancelEndsARunFromAnotherThread) {
  Settings settings = small_layer(4);
  const auto plan = make_plan(settings);
  for (int attempt = 0; attempt < 10; ++attempt) {
    Executor executor(plan);
    executor.start(executor.steps());
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(200 * attempt));
      executor.cancel("a person changed their mind");
    });
    try {
      executor.wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
    }
    other.join();
  }
}

TEST(Executor, MakingWeightsAnewIsNoPartOfThePass) {
  Executor executor(make_plan(testing::small_model(2)));
  executor.start(executor.steps());
  executor.wait();
  const auto feed = std::make_shared<SlowFeed>();
  executor.observe({feed});
  executor.rewind();  // after an update, so the weights are drawn again
  executor.start(executor.steps());
  executor.wait();
  const double ended = now_seconds();
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_GE(executor.trace(rank).events().front().begin_seconds, 0);
    EXPECT_LE(executor.trace(rank).events().back().end_seconds, ended - feed->fed_seconds());
  }
}

TEST(Executor, EventsAreInOrderAndCollectivesMeet) {
  const auto plan = make_plan(small_layer(4));
  Executor executor(plan);
  executor.start(executor.steps());
  executor.wait();
  for (int rank = 0; rank < 4; ++rank) testing::expect_in_order(plan->program, executor.trace(rank));
  for (const Step& step : plan->program.steps) {
    double last_arrival = 0;
    for (int rank = 0; rank < 4; ++rank) {
      const StepEvent& event = executor.trace(rank).event(static_cast<size_t>(step.id));
      if (!is_collective(step.op)) continue;
      EXPECT_GE(event.wait_seconds(), 0);
      EXPECT_GE(event.transfer_seconds(), 0);
      EXPECT_EQ(event.sent_bytes, sent_bytes(plan->program, step.id));
      last_arrival = std::max(last_arrival, event.arrival_seconds);
    }
    if (!is_collective(step.op)) continue;
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_GE(executor.trace(rank).event(static_cast<size_t>(step.id)).all_arrived_seconds, last_arrival);
    }
  }
}

TEST(Executor, EveryObserverSeesEveryOutputOnEveryRank) {
  const auto plan = make_plan(small_layer(3));
  auto counter = std::make_shared<Counter>();
  run(plan, {counter});
  int outputs = 0;
  for (const Step& step : plan->program.steps) outputs += static_cast<int>(step.outputs.size());
  EXPECT_EQ(counter->shown.load(), 3 * outputs);
}

class ExecutorFiles : public TestFolder {};

TEST_F(ExecutorFiles, InputFromAFileReachesTheRanks) {
  Settings settings = small_layer(2);
  const std::string file = path("x.npy");
  std::vector<float> x(static_cast<size_t>(settings.tokens() * settings.model.hidden));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8.0f;
  write_npy(file, NpyType::Float32, {settings.batch, settings.seq, settings.model.hidden}, x.data());
  settings.input = {InputKind::Npy, file};
  const auto bytes = all_bytes(settings).at("X");
  ASSERT_EQ(bytes.size(), x.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), x.data(), bytes.size()), 0);

  settings.seq = 12;  // the file no longer fits
  EXPECT_THROW(Executor{make_plan(settings)}, Error);
}

// A GPT-2 layer's weights as Hugging Face stores them: matrices [in, out], biases and norms [out].
void write_layer_weights(const std::string& path, const Settings& settings, int layer,
                         bool with_nan = false) {
  const Settings one = [&] {
    Settings s = settings;
    s.tp = 1;
    s.layer = layer;
    return s;
  }();
  std::vector<std::vector<float>> data;
  std::vector<TensorToStore> stored;
  const Program program = plan_program(one);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != MemoryKind::Weight) continue;
    std::vector<float>& values = data.emplace_back(static_cast<size_t>(element_count(tensor.shape)));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.03f * std::sin(static_cast<float>(i) + 7.0f * static_cast<float>(data.size()));
    }
    if (with_nan && tensor.name.find("mlp.c_fc.weight") != std::string::npos) {
      values.back() = std::numeric_limits<float>::quiet_NaN();
    }
  }
  size_t next = 0;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != MemoryKind::Weight) continue;
    const MatrixShape matrix = matrix_shape(tensor);
    const Shape shape = tensor.row_dims == 0 ? Shape{matrix.cols} : Shape{matrix.rows, matrix.cols};
    stored.push_back({tensor.name, DType::Fp32, shape, data[next++].data()});
  }
  std::filesystem::remove(path);  // an output replaces no input
  write_safetensors(path, stored);
}

TEST_F(ExecutorFiles, WeightsFromACheckpointAreTheSameOnEveryT) {
  const std::string file = path("layer3.safetensors");
  write_layer_weights(file, small_layer(1), 3);
  std::map<int, std::map<std::string, std::vector<std::byte>>> by_degree;
  for (int tp : {1, 3, 4}) {
    Settings settings = small_layer(tp);
    settings.layer = 3;
    settings.weights_path = file;
    by_degree[tp] = all_bytes(settings);
  }
  const std::string qkv = "transformer.h.3.attn.c_attn.weight";
  ASSERT_EQ(by_degree[1].count(qkv), 1u);
  EXPECT_EQ(by_degree[1][qkv], by_degree[3][qkv]);
  EXPECT_EQ(by_degree[1][qkv], by_degree[4][qkv]);
  float first;
  std::memcpy(&first, by_degree[4][qkv].data(), sizeof first);
  EXPECT_FLOAT_EQ(first, 0.03f * std::sin(21.0f));  // the third weight of the file
}

TEST_F(ExecutorFiles, ACheckpointThatDoesNotFitIsRefusedBeforeTheRun) {
  const std::string file = path("other.safetensors");
  write_layer_weights(file, small_layer(1), 0);
  const auto refusal = [&](Settings settings) -> std::string {
    settings.weights_path = file;
    try {
      Executor executor(make_plan(settings));
      return "";
    } catch (const Error& error) {
      return error.kind() == ErrorKind::Request ? error.what() : "";
    }
  };
  Settings other_layer = small_layer(2);
  other_layer.layer = 5;
  EXPECT_NE(refusal(other_layer).find("transformer.h.5."), std::string::npos) << refusal(other_layer);
  Settings wider = small_layer(2);
  wider.model.ffn = 768;
  EXPECT_NE(refusal(wider).find("768"), std::string::npos) << refusal(wider);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 100);
  EXPECT_NE(refusal(small_layer(2)).find("other.safetensors"), std::string::npos);
}

TEST_F(ExecutorFiles, NanInTheWeightsIsNamedWithFileTensorRankAndStep) {
  const std::string file = path("nan.safetensors");
  write_layer_weights(file, small_layer(1), 0, true);
  Settings settings = small_layer(2);
  settings.weights_path = file;
  Executor executor(make_plan(settings));
  try {
    executor.start(1);
    executor.wait();
    FAIL() << "NaN went unnoticed";
  } catch (const Error& error) {
    const std::string message = error.what();
    const Settings& s = settings;
    EXPECT_NE(message.find(file + ", tensor \"transformer.h.0.mlp.c_fc.weight\""), std::string::npos)
        << message;
    EXPECT_NE(message.find(fmt::format("at [{}, {}] is NaN", s.model.hidden - 1, s.model.ffn - 1)),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("rank 1, before step 0"), std::string::npos)
        << message;  // the last column is rank 1's
  }
}

TEST_F(ExecutorFiles, NanInTheInputIsNamedWithItsFileAndPlaceBeforeTheRun) {
  Settings settings = small_layer(2);
  const std::string file = path("nan.npy");
  std::vector<float> x(static_cast<size_t>(settings.tokens() * settings.model.hidden), 1.0f);
  x[100] = std::numeric_limits<float>::quiet_NaN();
  write_npy(file, NpyType::Float32, {settings.tokens(), settings.model.hidden}, x.data());
  settings.input = {InputKind::Npy, file};
  const std::string message = error_of([&] { Executor executor(make_plan(settings)); });
  const int64_t row = 100 / settings.model.hidden, col = 100 % settings.model.hidden;
  EXPECT_NE(message.find(file + ": the value of X"), std::string::npos) << message;
  EXPECT_NE(message.find(fmt::format("at [{}, {}] is NaN", row, col)), std::string::npos) << message;
}

TEST_F(ExecutorFiles, TextIsReadByByteAndMustBeLongEnough) {
  Settings settings = small_layer(2);
  const std::string file = path("text.txt");
  std::ofstream(file) << std::string(48, 'a');
  settings.input = {InputKind::Text, file};
  const auto bytes = all_bytes(settings).at("X");
  const size_t row = static_cast<size_t>(settings.model.hidden) * sizeof(float);
  EXPECT_EQ(std::memcmp(bytes.data(), bytes.data() + row, row), 0);  // equal bytes, equal rows
  std::ofstream(file) << "short";
  EXPECT_THROW(Executor{make_plan(settings)}, Error);
}

TEST(Executor, ALayerThatNeedsATerabyteIsRefusedBeforeAllocation) {
  Settings settings;
  settings.model.hidden = 16384;
  settings.model.heads = 128;
  settings.model.ffn = 65536;
  settings.model.positions = 8192;
  settings.batch = 256;
  settings.seq = 2048;
  settings.tp = 2;
  try {
    check_runnable(*make_plan(settings));
    FAIL() << "a terabyte was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_NE(std::string(error.what()).find("TiB"), std::string::npos) << error.what();
  }
}

}  // namespace executor_test
}  // namespace shardlens
