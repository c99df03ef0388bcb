// An out-of-date picture is marked, and the notice says what it shows and which settings are requested.
#include "ui/frame/notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui {
namespace notice_test {

using ::testing::HasSubstr;

std::shared_ptr<const Result> result_of(const Settings& settings) {
  auto plan = std::make_shared<Plan>();
  plan->program.settings = settings;
  auto result = std::make_shared<Result>();
  result->plan = plan;
  return result;
}

TEST(Notice, IsEmptyWhenWhatIsShownIsWhatIsWanted) {
  Snapshot snapshot;
  snapshot.state = RunState::Done;
  EXPECT_EQ(notice(snapshot), "");
  snapshot.result = result_of(snapshot.settings);
  snapshot.plan = snapshot.result->plan;
  EXPECT_EQ(notice(snapshot), "");
}

TEST(Notice, SaysWhatIsShownAndWhatIsWanted) {
  Snapshot snapshot;
  Settings shown;
  shown.tp = 4;
  snapshot.result = result_of(shown);
  snapshot.settings.tp = 6;
  snapshot.state = RunState::Planning;
  EXPECT_THAT(notice(snapshot), HasSubstr("Out of date: this is T = 4"));
  EXPECT_THAT(notice(snapshot), HasSubstr("Planning T = 6"));
}

TEST(Notice, NamesWhatWasAskedForLast) {
  Snapshot snapshot;
  snapshot.result = result_of(snapshot.settings);
  snapshot.settings.tp = 6;
  snapshot.state = RunState::Running;
  EXPECT_THAT(notice(snapshot), HasSubstr("Running T = 6"));
  Settings newest = snapshot.settings;
  newest.tp = 2;
  EXPECT_THAT(notice(snapshot, newest), HasSubstr("Planning T = 2"));
}

TEST(Notice, CarriesTheRemedyOfARefusal) {
  Snapshot snapshot;
  snapshot.state = RunState::Refused;
  snapshot.message = "12 heads are not divisible by 5; try 4 or 6";
  EXPECT_EQ(notice(snapshot), snapshot.message);
  snapshot.result = result_of(snapshot.settings);
  EXPECT_THAT(notice(snapshot), HasSubstr("try 4 or 6"));
}

}  // namespace notice_test
}  // namespace shardlens::ui
