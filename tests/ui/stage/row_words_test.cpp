// All lanes of a row say the same, whatever the width of the window: rounding must not shorten the words of
// some lanes only.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace row_words_test {

TEST(RowWords, EveryLaneOfARowSaysTheSameOfASum) {
  Settings settings = small_settings();
  settings.tp = 8;
  settings.heads_policy = HeadsPolicy::Uneven;
  int rows = 0, short_rows = 0;
  for (int width = 1500; width < 1930; width += 29) {
    StudioHarness harness({width, 1055}, settings);
    harness.view().set_lecture(true);
    harness.wait_until_at_rest();
    harness.draw_frames(4);
    std::map<float, int> partial, terms;  // by height
    for (const mark::Words& words : words_on_screen(harness)) {
      if (words.text == "partial") ++partial[words.at.y];
      if (words.text == "Σ over 8") ++terms[words.at.y];
    }
    if (partial.empty()) continue;  // only the sign has room
    const int lanes = partial.begin()->second;
    EXPECT_GE(lanes, 5) << "some lanes are of one rank, some may be of several";
    for (const auto& [y, count] : partial) EXPECT_EQ(count, lanes) << width;
    for (const auto& [y, count] : terms) EXPECT_EQ(count, lanes) << width;
    rows += static_cast<int>(partial.size());
    short_rows += terms.empty() && !partial.empty() ? 1 : 0;
  }
  EXPECT_GT(rows, 0);
  EXPECT_GT(short_rows, 0) << "some widths have no room for the second line";
}

}  // namespace row_words_test
}  // namespace shardlens::ui
