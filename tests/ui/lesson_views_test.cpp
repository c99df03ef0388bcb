// The views that a lesson can name are the studio's tabs.
#include <gtest/gtest.h>

#include "engine/lesson/views.h"
#include "ui/view_state.h"

namespace shardlens::ui {
namespace lesson_views_test {

TEST(LessonViews, AreTheTabsInTheirOrder) {
  const auto views = lesson_views();
  ASSERT_EQ(views.size(), std::size(kTabs));
  for (size_t i = 0; i < views.size(); ++i) EXPECT_STREQ(views[i].name, kTabs[i].word);
}

}  // namespace lesson_views_test
}  // namespace shardlens::ui
