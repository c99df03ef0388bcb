// The values to which a slider can be dragged.
#include "ui/widgets/slider_stops.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardlens::ui {
namespace slider_stops_test {

TEST(SliderStops, EveryStopComesBackFromItsOwnPlace) {
  for (const std::vector<int64_t>& stops : {hidden_stops(Model{}), heads_stops(Model{}),
                                            sequence_stops(Model{}), batch_stops(), layers_stops()}) {
    ASSERT_TRUE(std::is_sorted(stops.begin(), stops.end()));
    for (const int64_t stop : stops) EXPECT_EQ(value_at(stops, share_of(stops, stop)), stop);
  }
}

TEST(SliderStops, AValueBetweenStopsStandsBetweenThem) {
  EXPECT_DOUBLE_EQ(share_of({1, 2, 4}, 3), 0.75);
  EXPECT_DOUBLE_EQ(share_of({1, 2, 4}, 9), 1);
  EXPECT_DOUBLE_EQ(share_of({1, 2, 4}, 0), 0);
}

TEST(SliderStops, ADragNeverLeavesWhatTheHeadsDivide) {
  for (const int64_t heads : {1, 3, 12, 16, 25}) {
    Model model;
    model.heads = heads;
    for (const int64_t hidden : hidden_stops(model)) EXPECT_EQ(hidden % heads, 0);
  }
  Model model;
  model.hidden = 1600;
  for (const int64_t heads : heads_stops(model)) EXPECT_EQ(1600 % heads, 0);
}

TEST(SliderStops, GptTwoSmallIsOnItsStops) {
  const Model model;
  const auto has = [](const std::vector<int64_t>& stops, int64_t value) {
    return std::count(stops.begin(), stops.end(), value) == 1;
  };
  EXPECT_TRUE(has(hidden_stops(model), 768));
  EXPECT_TRUE(has(heads_stops(model), 12));
  EXPECT_TRUE(has(ffn_stops(model), 3072));
  EXPECT_TRUE(has(layers_stops(), 12));
}

TEST(SliderStops, SequencesStayWithinThePositions) {
  Model model;
  model.positions = 512;
  EXPECT_EQ(sequence_stops(model).back(), 512);
}

}  // namespace slider_stops_test
}  // namespace shardlens::ui
