// A lesson file that was harmed at random is read, or refused by one request Error that begins with file and
// line. SHARDLENS_HARM_SECONDS makes it longer.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "engine/base/error.h"
#include "engine/config/assets.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/parse.h"

namespace shardlens {
namespace lesson_harm_test {

class Harm {
 public:
  explicit Harm(uint64_t seed) : random_(seed) {}

  std::string harmed(std::string text) {
    const size_t times = 1 + below(6);
    for (size_t i = 0; i < times; ++i) once(text);
    return text;
  }

 private:
  size_t below(size_t count) { return count == 0 ? 0 : random_() % count; }

  void once(std::string& text) {
    static const std::vector<std::string> kPieces = {"{{",
                                                     "}}",
                                                     "\"",
                                                     "'''",
                                                     "\"\"\"",
                                                     "```",
                                                     "```scene\n",
                                                     "```question\n",
                                                     "+++\n",
                                                     "## ",
                                                     "[[",
                                                     "]]",
                                                     "[a.b.c]\n",
                                                     "= ",
                                                     "{ a = ",
                                                     "(",
                                                     ")",
                                                     ",",
                                                     "^",
                                                     "-",
                                                     "9999999999999999999",
                                                     "1e999",
                                                     "nan",
                                                     "\\u0000",
                                                     "\xEE\x80\x80",
                                                     "\xff",
                                                     std::string(1, '\0'),
                                                     "> > > ",
                                                     "1. ",
                                                     "* ",
                                                     "![",
                                                     "](",
                                                     "<b>",
                                                     "with(",
                                                     "ranks",
                                                     "\r\n",
                                                     "\n\n",
                                                     "tp = 4096\n",
                                                     "hidden = 1048576\n",
                                                     "\xE2\x80\xAE"};
    const size_t at = below(text.size() + 1), count = below(40);
    switch (below(6)) {
      case 0:
        text.erase(at, count);
        break;
      case 1:
        text.insert(at, kPieces[below(kPieces.size())]);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), count * 10));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 4: {  // a piece many times: depth
        const std::string& piece = kPieces[below(kPieces.size())];
        std::string many;
        for (size_t i = 0; i < count * 50; ++i) many += piece;
        text.insert(at, many);
        break;
      }
      default:
        text.resize(at);
    }
  }

  std::mt19937_64 random_;
};

TEST(LessonHarm, EndsWithALessonOrOneMessage) {
  const char* const wanted = std::getenv("SHARDLENS_HARM_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wanted ? std::atoi(wanted) : 4);
  int read = 0, refused = 0;
  for (uint64_t seed = 1; std::chrono::steady_clock::now() < end; ++seed) {
    Harm harm(seed);
    const auto& lessons = built_in_lessons();
    const std::string file = "lessons/" + lessons[seed % lessons.size()]->name + ".md";
    const std::string text = harm.harmed(std::string(asset(file)));
    const auto begin = std::chrono::steady_clock::now();
    try {
      parse_lesson(text, "harmed.md");
      ++read;
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.kind(), ErrorKind::Request) << seed;
      EXPECT_EQ(std::string(error.what()).find("harmed.md:"), 0u) << "seed " << seed << ": " << error.what();
    }
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 2.0) << seed;
  }
  EXPECT_GT(read, 10);
  EXPECT_GT(refused, 10);
}

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
