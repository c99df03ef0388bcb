// Compares two runs: equal runs are found equal, and a planted change is found in its pass and at its tensor.
#include "engine/record/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/io/sqlite.h"
#include "engine/planner/planner.h"
#include "engine/runtime/recordings/recorder.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace diff_test {

// Adds to one element of a tensor of one rank in one pass, as a wrong kernel would.
class Tampering : public StepObserver {
 public:
  Tampering(std::string tensor, int rank, int pass) : tensor_(std::move(tensor)), rank_(rank), pass_(pass) {}
  void next_pass() { ++now_; }
  void on_tensor(int rank, StepId, const Tensor& tensor, const void* data) override {
    if (rank == rank_ && now_ == pass_ && tensor.name == tensor_)
      const_cast<float*>(static_cast<const float*>(data))[0] += 1;
  }

 private:
  std::string tensor_;
  int rank_, pass_, now_ = 0;
};

struct Change {
  std::string tensor;
  int rank = 0, pass = 0;
};

class DiffTest : public TestFolder {
 protected:
  std::string record(const std::string& name, const Settings& settings, int passes = 3,
                     const Change& change = {}, int first_step = 1) {
    const std::shared_ptr<const Plan> plan = make_plan(settings);
    Executor executor(plan);
    Recorder recorder(path(name), "step", *plan, executor.communicator(), {},
                      {.taken = PictureOptions::Taken::All, .extent = 1});
    auto tampering = std::make_shared<Tampering>(change.tensor, change.rank, change.pass);
    executor.observe({tampering, recorder.pictures()});  // what is changed is seen as changed
    for (int pass = 0; pass < passes; ++pass) {
      executor.next_pass();
      executor.start(executor.steps());
      executor.wait();
      recorder.take(executor, {{"step", static_cast<double>(first_step + pass)},
                               {"loss", 5.0 - first_step - pass},
                               {"step_seconds", 0.1 * passes},
                               {"peak_flops", 1e9 + static_cast<double>(runs_)}});
      tampering->next_pass();
    }
    recorder.finish();
    ++runs_;  // no two runs measure the same speed
    return path(name);
  }

  int runs_ = 0;

  RecordingDiff diff(const std::string& a, const std::string& b) {
    return diff_recordings(Recording(path(a)), Recording(path(b)));
  }
};

TEST_F(DiffTest, TheSameRunTwiceHasTheSameValues) {
  record("a", testing::small_model(2, 2));
  record("b", testing::small_model(2, 2));
  const RecordingDiff found = diff("a", "b");
  EXPECT_FALSE(found.parting);
  EXPECT_TRUE(found.compared_values());
  EXPECT_TRUE(found.settings.empty());
  EXPECT_TRUE(found.same_program);
  EXPECT_EQ(found.shared_passes, 3);
  EXPECT_EQ(found.hashed_passes, 3);
  EXPECT_GT(found.compared_hashes, 300);
  ASSERT_EQ(found.not_compared().size(), 1u);
  EXPECT_NE(found.not_compared()[0].find("values of the first replica"), std::string::npos);
  const Program program = plan_program(testing::small_model(2, 2));
  ASSERT_EQ(found.steps.size(), program.steps.size());
  for (size_t i = 0; i < found.steps.size(); ++i) {
    EXPECT_EQ(found.steps[i].a, static_cast<StepId>(i));
    EXPECT_EQ(found.steps[i].b, static_cast<StepId>(i));
    EXPECT_EQ(found.steps[i].a_sent_bytes, sent_bytes(program, static_cast<StepId>(i)));
  }
  EXPECT_GT(found.a_pass_seconds, 0);
  EXPECT_GT(found.memory.size(), 3u);
  for (const MemoryDiff& memory : found.memory) EXPECT_EQ(memory.a_bytes, memory.b_bytes);
  ASSERT_EQ(found.metrics.size(), 3u);  // the step's number is no value
  EXPECT_EQ(found.metrics[0].name, "loss");
  EXPECT_EQ(found.metrics[0].passes, 3);
}

// In one of the recordings every second pass has no times of steps.
TEST_F(DiffTest, TimesAreOfThePassesThatBothHaveTraced) {
  const Program program = plan_program(testing::small_model(1));
  const auto write = [&](const std::string& name, bool every_second) {
    RecordingHeader header;
    header.program = program;
    RecordingWriter writer(path(name), header);
    for (int pass = 0; pass < 6; ++pass) {
      RecordedPass one;
      one.begin_seconds = pass;
      one.events.resize(1);
      if (every_second && pass % 2 == 1) {
        one.untraced_seconds = 0.5;
      } else {
        one.events[0].resize(program.steps.size());
        for (StepEvent& event : one.events[0]) event.end_seconds = 0.25;
      }
      writer.offer(one);
    }
    writer.finish();
  };
  write("a", false);
  write("b", true);
  for (const auto& [one, other] : {std::pair("a", "b"), std::pair("b", "a")}) {
    const RecordingDiff found = diff(one, other);
    EXPECT_EQ(found.shared_passes, 6);
    EXPECT_EQ(found.timed_passes, 3);
    EXPECT_NEAR(found.a_pass_seconds, 0.25, 1e-6);
    EXPECT_NEAR(found.b_pass_seconds, 0.25, 1e-6);
    ASSERT_FALSE(found.steps.empty());
    EXPECT_NEAR(found.steps[0].a_seconds, 0.25, 1e-6);
    EXPECT_NEAR(found.steps[0].b_seconds, 0.25, 1e-6);
  }
}

TEST_F(DiffTest, TheFirstTensorThatDiffersIsNamed) {
  record("a", testing::small_model(2));
  record("b", testing::small_model(2), 3, {"h.1.mlp.fc.out", 1, 2});
  const RecordingDiff found = diff("a", "b");
  ASSERT_TRUE(found.parting);
  const Program program = plan_program(testing::small_model(2));
  EXPECT_EQ(found.parting->a_pass, 2);
  EXPECT_EQ(program.tensor(found.parting->a_tensor).name, "h.1.mlp.fc.out");
  EXPECT_EQ(program.step(found.parting->a_step).name, "h.1.mlp.fc");
  EXPECT_EQ(found.parting->rank, 1);
  EXPECT_NE(found.parting->a_hash, found.parting->b_hash);
  EXPECT_GT(found.parting->differing, 1) << "what follows from it differs too";
  EXPECT_LT(found.parting->differing, found.parting->compared);
}

TEST_F(DiffTest, OtherWeightsPartBeforeTheFirstStep) {
  Settings other = testing::small_model(2);
  other.seed = 77;
  record("a", testing::small_model(2));
  record("b", other);
  const RecordingDiff found = diff("a", "b");
  ASSERT_EQ(found.settings.size(), 1u);
  EXPECT_EQ(found.settings[0].key, "seed");
  EXPECT_EQ(found.settings[0].a, "1234");
  EXPECT_EQ(found.settings[0].b, "77");
  ASSERT_TRUE(found.parting);
  EXPECT_EQ(found.parting->a_pass, 0);
  EXPECT_EQ(found.parting->a_step, -1);
}

TEST_F(DiffTest, WhatIsOfAnotherDtypeIsNotComparedAndSaidToBe) {
  Settings half = testing::small_model(2);
  half.dtype = DType::Bf16;
  record("a", testing::small_model(2));
  record("b", half);
  const RecordingDiff found = diff("a", "b");
  EXPECT_GT(found.in_other_dtype, 0) << "activations";
  EXPECT_EQ(found.cut_otherwise, 0) << "T and split are the same";
  ASSERT_TRUE(found.parting);
  EXPECT_EQ(found.parting->a_pass, 0);
  ASSERT_EQ(found.not_compared().size(), 1u);
  EXPECT_NE(found.not_compared()[0].find("of another dtype"), std::string::npos);
}

TEST_F(DiffTest, OtherProgramsAreAlignedByWhatStepsAreCalled) {
  record("a", testing::small_layer(2));
  record("b", testing::small_layer(2, "reversed"));
  const RecordingDiff found = diff("a", "b");
  EXPECT_FALSE(found.same_program);
  EXPECT_FALSE(found.only_a.empty());
  EXPECT_FALSE(found.only_b.empty());
  const Program a = plan_program(testing::small_layer(2)),
                b = plan_program(testing::small_layer(2, "reversed"));
  EXPECT_EQ(found.steps.size() + found.only_a.size(), a.steps.size());
  EXPECT_EQ(found.steps.size() + found.only_b.size(), b.steps.size());
  for (const StepDiff& step : found.steps) EXPECT_EQ(a.step(step.a).name, b.step(step.b).name);
  for (const StepId step : found.only_b)
    EXPECT_TRUE(std::none_of(a.steps.begin(), a.steps.end(),
                             [&](const Step& other) { return other.name == b.step(step).name; }));
  EXPECT_GT(found.cut_otherwise, 0) << "weights are cut otherwise";
  EXPECT_GT(found.in_one, 0) << "each has forms of values that the other does not have";
  EXPECT_NE(found.not_compared()[0].find("in only one of the recordings"), std::string::npos);
  EXPECT_EQ(found.in_other_dtype, 0);
  int64_t sent = 0;
  for (const Step& step : b.steps) sent += sent_bytes(b, step.id);
  EXPECT_EQ(found.b_sent_bytes, sent);
  const auto gathers = std::find_if(found.kinds.begin(), found.kinds.end(),
                                    [](const KindDiff& kind) { return kind.op == Op::AllGather; });
  ASSERT_NE(gathers, found.kinds.end());
  EXPECT_EQ(gathers->a_seconds, 0);
  EXPECT_GT(gathers->b_seconds, 0);
}

// What goes on beside other steps delays nobody by waiting, so it is a kind of its own, in no other's sum.
TEST_F(DiffTest, CollectivesBesideOtherStepsAreAKindOfTheirOwn) {
  const Settings settings = testing::small_model(2, 2);
  record("a", settings);
  record("b", settings);
  const RecordingDiff found = diff("a", "b");
  const Program program = plan_program(settings);
  for (const bool beside : {false, true}) {
    double seconds = 0, waits = 0;
    for (const StepDiff& step : found.steps) {
      if (program.step(step.a).op != Op::AllReduce || program.step(step.a).overlapped != beside) continue;
      seconds += step.a_seconds;
      waits += step.a_wait_seconds;
    }
    ASSERT_GT(seconds, 0) << "the model has such steps";
    const auto kind = std::find_if(found.kinds.begin(), found.kinds.end(), [&](const KindDiff& one) {
      return one.op == Op::AllReduce && one.overlapped == beside;
    });
    ASSERT_NE(kind, found.kinds.end());
    EXPECT_DOUBLE_EQ(kind->a_seconds, seconds);
    EXPECT_DOUBLE_EQ(kind->a_wait_seconds, waits);
  }
}

// On one rank and on two what is whole on both is compared: it parts by rounding, not at what it is fed.
TEST_F(DiffTest, WholeTensorsAreComparedAcrossDegrees) {
  record("a", testing::small_layer(1));
  record("b", testing::small_layer(2));
  const RecordingDiff found = diff("a", "b");
  ASSERT_TRUE(found.parting);
  EXPECT_GT(found.parting->a_step, 0);
  EXPECT_GT(found.compared_hashes, 0);
}

TEST_F(DiffTest, TrainingStepsAreBroughtTogetherByTheirNumber) {
  record("a", testing::small_layer(2), 5, {}, 1);
  record("b", testing::small_layer(2), 3, {}, 4);
  const RecordingDiff found = diff("a", "b");
  EXPECT_EQ(found.b_offset, -3);
  EXPECT_EQ(found.shared_passes, 2);
  EXPECT_FALSE(found.parting);
  ASSERT_EQ(found.metrics[0].name, "loss");
  EXPECT_EQ(found.metrics[0].passes, 2);
  const RecordingDiff back = diff("b", "a");
  EXPECT_EQ(back.b_offset, 3);
  EXPECT_EQ(back.shared_passes, 2);
  EXPECT_FALSE(back.parting);
}

TEST_F(DiffTest, ALossAloneShowsAPartingAndSaysSo) {
  record("a", testing::small_layer(2));
  record("b", testing::small_layer(2));
  Database(path("b"), Database::Access::ReadWrite)
      .run("DELETE FROM samples; UPDATE metrics SET value = 2.5 WHERE name = 'loss' AND pass = 1");
  const RecordingDiff found = diff("a", "b");
  ASSERT_TRUE(found.parting);
  EXPECT_EQ(found.parting->metric, "loss");
  EXPECT_EQ(found.parting->a_pass, 1);
  EXPECT_EQ(found.hashed_passes, 0);
  Database(path("b"), Database::Access::ReadWrite).run("DELETE FROM metrics");
  EXPECT_FALSE(diff("a", "b").compared_values());
}

// A loss that is not a number is in the file as nothing, and equals itself.
TEST_F(DiffTest, NotANumberIsAValueLikeAnyOther) {
  for (const char* name : {"a", "b"}) {
    record(name, testing::small_layer(2));
    Database(path(name), Database::Access::ReadWrite)
        .run("UPDATE metrics SET value = NULL WHERE name = 'loss'");
  }
  EXPECT_FALSE(diff("a", "b").parting);
  Database(path("b"), Database::Access::ReadWrite)
      .run("UPDATE metrics SET value = 1.0 WHERE name = 'loss' AND pass = 2");
  const RecordingDiff found = diff("a", "b");
  EXPECT_EQ(found.metrics[0].first, 2);
  EXPECT_TRUE(std::isinf(found.metrics[0].largest));
}

TEST_F(DiffTest, ARecordingWithoutPassesSharesNone) {
  record("a", testing::small_layer(2));
  record("b", testing::small_layer(2), 0);
  const RecordingDiff found = diff("a", "b");
  EXPECT_EQ(found.shared_passes, 0);
  EXPECT_FALSE(found.compared_values());
  EXPECT_TRUE(found.same_program);
}

}  // namespace diff_test
}  // namespace shardlens
