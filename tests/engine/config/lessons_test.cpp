// Each planned lesson has a title and a question.
#include "engine/config/lessons.h"

#include <gtest/gtest.h>

#include <set>

namespace shardlens {
namespace lessons_test {

TEST(LessonsToCome, EachHasATitleOfItsOwnAndAsksAQuestion) {
  std::set<std::string> titles;
  for (const LessonToCome& lesson : lessons_to_come()) {
    EXPECT_TRUE(titles.insert(lesson.title).second) << lesson.title;
    EXPECT_LE(lesson.title.size(), 30u) << lesson.title;
    EXPECT_LE(lesson.asks.size(), 110u) << lesson.title << ": two lines on the start page";
    EXPECT_TRUE(lesson.asks.ends_with("?")) << lesson.title;
  }
}

}  // namespace lessons_test
}  // namespace shardlens
