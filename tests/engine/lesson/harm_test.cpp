// A lesson file that is nested without end is read, or refused by one request Error that begins with file and
// line. Files that were harmed at random are tests/fuzz's.
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/lesson/parse.h"

namespace shardlens {
namespace lesson_harm_test {

TEST(LessonHarm, DepthIsBounded) {
  const std::string head = "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n+++\n## A\n";
  const auto many = [](const std::string& piece, size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += piece;
    return out;
  };
  for (const std::string& text :
       {head + many("> ", 100'000) + "a\n", head + many("- ", 20'000) + "a\n", head + many("*a ", 50'000),
        head + many("[", 100'000), head + "```scene\n" + many("a.", 8'000) + "a = 1\n```\n",
        head + "```scene\na = " + many("[", 8'000) + "\n```\n",
        head + "```scene\na = " + many("{a=", 5'000) + "\n```\n",
        head + "```scene\n[" + many("a.", 900) + "a]\nb=1\n```\n", head + "{{" + many("-", 1'900) + "1}}\n",
        head + "{{" + many("1+", 900) + "1}}\n", head + "{{" + many("abs(", 400) + "}}\n"}) {
    try {
      parse_lesson(text, "deep.md");
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("deep.md:"), 0u) << error.what();
    }
  }
}

}  // namespace lesson_harm_test
}  // namespace shardlens
