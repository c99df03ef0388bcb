// The worker that compares recordings for the studio: what it answers, what it refuses, and that it can be
// stopped.
#include "engine/train/experiments/diff_session.h"

#include <gmock/gmock.h>

#include "engine/runtime/recordings/recorder.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace diff_session_test {

using ::testing::HasSubstr;

constexpr double kTimeoutSeconds = 240;

class DiffSessionTest : public TestFolder {
 protected:
  std::string record(const std::string& name, uint64_t seed) {
    Settings settings = testing::small_model(2);
    settings.seed = seed;
    return record(name, settings, true);
  }
  std::string record(const std::string& name, const Settings& settings, bool metrics) {
    const std::shared_ptr<const Plan> plan = make_plan(settings);
    Executor executor(plan);
    Recorder recorder(path(name), "step", *plan, executor.communicator(), {},
                      {.taken = PictureOptions::Taken::All, .extent = 64});
    executor.observe({recorder.pictures()});
    for (int pass = 0; pass < 2; ++pass) {
      executor.next_pass();
      executor.start(executor.steps());
      executor.wait();
      recorder.take(executor, metrics ? std::vector<Metric>{{"loss", 3.0 - pass}, {"tokens_per_second", 7.0}}
                                      : std::vector<Metric>{});
    }
    recorder.finish();
    return path(name);
  }
  std::shared_ptr<const DiffSnapshot> compare(const std::string& a, const std::string& b) {
    session_.send(diff_command::Compare{{a, b}});
    return session_.wait_until_idle(kTimeoutSeconds);
  }
  DiffSession session_;
};

TEST_F(DiffSessionTest, OtherWeightsPartInWhatTheyWereFedWithAndTheElementIsShown) {
  const auto last = compare(record("a", 1), record("b", 2));
  ASSERT_TRUE(last->compared) << last->message;
  const auto& parting = last->compared->diff.parting;
  ASSERT_TRUE(parting);
  EXPECT_EQ(parting->a_step, -1);
  ASSERT_TRUE(parting->a_piece);
  ASSERT_TRUE(parting->b_piece);
  EXPECT_EQ(parting->a_piece->hash, parting->a_hash);
  ASSERT_TRUE(parting->element) << "a small piece is kept with its values";
  EXPECT_NE(parting->element->a, parting->element->b);
  EXPECT_LE(parting->element->differing, parting->element->elements);
  EXPECT_GE(parting->element->largest, std::abs(parting->element->a - parting->element->b));
  EXPECT_EQ(last->compared->diff.a_high_water_bytes.size(), 2u);
  EXPECT_EQ(last->compared->diff.a_step_seconds.size(), last->compared->a.program->steps.size());
  ASSERT_EQ(last->compared->curves.size(), 1u) << "what is a time is no curve";
  EXPECT_EQ(last->compared->curves[0].b.size(), 2u);
  EXPECT_EQ(last->compared->curves[0].b[1].value, 2.0);
}

TEST_F(DiffSessionTest, WhatIsMissingIsNamedAndTheNextQuestionIsAnswered) {
  const std::string a = record("a", 1);
  const auto refused = compare(a, path("nothing there"));
  EXPECT_FALSE(refused->compared);
  EXPECT_THAT(refused->message, HasSubstr("nothing there"));
  const auto last = compare(a, a);
  ASSERT_TRUE(last->compared);
  EXPECT_EQ(last->message, "");
  EXPECT_FALSE(last->compared->diff.parting);
}

TEST_F(DiffSessionTest, ARunIsMadeHereAndStoppedByTheNextCommand) {
  Settings settings = testing::small_model(2);
  settings.update = false;
  const std::string a = record("a", settings, false);
  session_.send(diff_command::Compare{{a, ""}});
  session_.send(diff_command::Stop{});
  auto last = session_.wait_until_idle(kTimeoutSeconds);
  EXPECT_FALSE(last->busy);
  EXPECT_FALSE(last->compared);
  last = compare(a, "");
  ASSERT_TRUE(last->compared) << last->message;
  EXPECT_FALSE(last->compared->diff.parting) << "the same machine, the same bits";
  EXPECT_GT(last->compared->diff.compared_hashes, 100);
  EXPECT_TRUE(last->compared->b.file.empty());
}

}  // namespace diff_session_test
}  // namespace shardlens
