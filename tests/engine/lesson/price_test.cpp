// What is too dear for a lesson is refused before it is planned or run, with its line and what would work.
#include "engine/lesson/price.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/lesson/check.h"
#include "engine/lesson/marking.h"
#include "tests/engine/lesson/small_lesson.h"

namespace shardlens {
namespace lesson_price_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::lesson_text;
using testing::scene_block;
using ::testing::StartsWith;

std::string shown(const std::string& text) {
  try {
    const Lesson lesson = parse_lesson(text, "dear.md");
    check_names(lesson);
    LessonRun run(lesson, {});
    std::string all;
    for (const Scene& scene : lesson.scenes)
      for (const ShownParagraph& paragraph : run.show(scene).text)
        for (const ShownSpan& span : paragraph.spans) all += span.text;
    return all;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
}

const std::string kWhole = "'model', 'gpt2-tiny', 'block', 'model', ";

TEST(LessonPrice, APlanThatIsTooLargeIsRefusedByItsLine) {
  EXPECT_THAT(shown(lesson_text("Words.\n\n{{with(" + kWhole +
                                "'batch', 40000, 'micro_batches', 10000, bytes())}}\n")),
              AllOf(StartsWith("dear.md:16: "), HasSubstr("10,000 micro-batches"),
                    HasSubstr("choose fewer micro_batches")));
  EXPECT_THAT(shown(lesson_text("{{with(" + kWhole +
                                "'layers', 2000, 'tp', 4096, 'hidden', 4096, 'heads', 4096, "
                                "bytes())}}\n")),
              AllOf(StartsWith("dear.md:14: "), HasSubstr("2,000 layers"), HasSubstr("4,096 ranks")));
  EXPECT_THAT(
      shown(lesson_text(scene_block(
          "run = { model = \"gpt2-tiny\", block = \"model\", batch = 40000, micro_batches = 10000 }"))),
      StartsWith("dear.md:15: "))
      << "also what a scene itself shows";
  EXPECT_THAT(shown(lesson_text("{{with(" + kWhole + "'batch', 8, 'micro_batches', 8, bytes())}}\n")),
              HasSubstr("MiB"));
}

TEST(LessonPrice, ARunThatIsTooLongIsRefusedByItsLine) {
  EXPECT_THAT(shown(lesson_text(
                  "{{with('model', 'gpt3-175b', 'block', 'layer', 'batch', 8, 'seq', 512, agrees())}}\n")),
              AllOf(StartsWith("dear.md:14: "), HasSubstr("FLOPs"), HasSubstr("choose a smaller model")));
  EXPECT_THAT(shown(lesson_text("{{with(" + kWhole + "'batch', 64, 'seq', 128, loss(200))}}\n")),
              AllOf(StartsWith("dear.md:14: "), HasSubstr("200 training steps"), HasSubstr("at most")));
  EXPECT_THAT(shown(lesson_text("{{with(" + kWhole +
                                "'mistake', 'skip-f', 'batch', 64, 'seq', 128, "
                                "looks_healthy(200))}}\n")),
              AllOf(StartsWith("dear.md:14: "), HasSubstr("training steps")));
  EXPECT_THAT(
      shown("+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[run]\ndelays = [\"1:attn.proj:9000\"]\n+++\n"
            "## A\n{{pass_time()}}\n"),
      AllOf(StartsWith("dear.md:9: "), HasSubstr("9 s"), HasSubstr("fewer milliseconds")));
}

}  // namespace lesson_price_test
}  // namespace shardlens
