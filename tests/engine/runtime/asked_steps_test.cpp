// How collectives begin: once each, and before the step that hides them if nothing else keeps them back.
#include "engine/runtime/asked_steps.h"

#include <gmock/gmock.h>

#include <string>

namespace shardlens {
namespace asked_steps_test {

using ::testing::ElementsAre;

/// Notes how collectives begin and are joined.
class Noting final : public WorkBehind {
 public:
  void begin_collective(bool goes_first) override { notes.emplace_back(goes_first ? "first" : "begin"); }
  void join_collectives() override { notes.emplace_back("join"); }
  void provide_marks(size_t) override {}
  void set_clock() override {}
  void mark(size_t, WorkOrder) override {}
  void wait_for_mark(size_t) override {}
  double marked_seconds(size_t) override { return 0; }
  void provide_fetch(size_t) override {}
  void fetch(const void*, size_t) override {}
  const void* fetched() override { return nullptr; }
  bool capture(const std::function<void()>&) override { return false; }
  void replay() override {}

  std::vector<std::string> notes;
};

TEST(AskedSteps, ACollectiveBesideTheStepsGoesFirstUnlessAnEarlierOneMayStillRun) {
  enum { kStep, kBeside, kMeeting };
  for (const bool traced : {false, true}) {
    Program program;
    program.steps.resize(6);
    for (size_t i = 0; i < program.steps.size(); ++i) program.steps[i].id = static_cast<StepId>(i);
    Noting behind;
    AskedSteps asked(program, behind);
    size_t next = 0;
    const auto ask = [&](int kind) {
      Step& step = program.steps[next++];
      step.op = kind == kStep ? Op::Linear : Op::AllReduce;
      step.overlapped = kind == kBeside;
      asked.ask({&step, 1}, traced, [] { return StepEvent(); });
    };
    ask(kBeside);
    ask(kStep);
    ask(kBeside);  // the one before may still run
    asked.join_collectives();
    ask(kBeside);
    ask(kMeeting);
    ask(kBeside);
    EXPECT_THAT(behind.notes, ElementsAre("first", "begin", "join", "first", "begin", "join", "first"));
  }
}

}  // namespace asked_steps_test
}  // namespace shardlens
