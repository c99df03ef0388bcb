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

TEST(Difference, NamesOnlyWhatDiffers) {
  Settings a, b;
  EXPECT_EQ(difference(a, b), "");
  a.tp = 4;
  b.tp = 8;
  EXPECT_EQ(difference(a, b), "T = 4");
  EXPECT_EQ(difference(b, a), "T = 8");
  a.split.name = "reversed";
  a.dtype = DType::Fp64;
  EXPECT_EQ(difference(a, b), "T = 4, split reversed, fp64");
  Settings other_seed = a;
  other_seed.seed = a.seed + 1;
  EXPECT_EQ(difference(other_seed, a), "seed " + std::to_string(other_seed.seed));
  Settings lost = a;
  lost.delays = {{3, "attn.proj", 60000}};
  lost.timeout_seconds = 2;
  EXPECT_EQ(difference(lost, a), "with rank 3 lost, ranks lost after 2 s");
  EXPECT_EQ(difference(a, lost), "with every rank on time, ranks lost after 300 s");
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
