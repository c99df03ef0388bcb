// What a scene names is there: also recordings, and what stands in them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/base/error.h"
#include "engine/lesson/check.h"
#include "engine/lesson/parse.h"
#include "tests/engine/lesson/small_lesson.h"

namespace shardlens {
namespace check_names_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::lesson_text;
using testing::scene_block;
using ::testing::StartsWith;

std::string refusal(const std::string& scene) {
  try {
    check_names(parse_lesson(lesson_text(scene_block(scene)), "names.md"));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
  return "accepted";
}

TEST(CheckNames, ARecordingIsThereAndHoldsWhatTheSceneNames) {
  EXPECT_EQ(refusal("recording = \"gallery:late-rank\"\nselect = \"mlp.proj\"\nrank = 3"), "accepted");
  const std::string no_recording = ::testing::TempDir() + "no-recording.shardlens";
  std::ofstream(no_recording) << "Some text.\n";
  for (const char* const key : {"recording = \"{}\"", "compare = {{ recording = \"{}\" }}"})
    for (const std::string& file : {std::string("nowhere.shardlens"), no_recording})
      EXPECT_THAT(refusal(fmt::format(fmt::runtime(key), file)),
                  AllOf(StartsWith("names.md:15: "), HasSubstr(file)))
          << key;
  EXPECT_THAT(refusal("recording = \"gallery:late-rank\"\nselect = \"mlp.poj\""),
              AllOf(StartsWith("names.md:15: "), HasSubstr("did you mean \"mlp.proj\"?")));
  EXPECT_THAT(refusal("recording = \"gallery:late-rank\"\nrank = 4"), HasSubstr("they are 0 to 3"));
  EXPECT_THAT(refusal("recording = \"gallery:late-rank\"\ncallouts = [{ at = \"rank 9\", text = \"a\" }]"),
              HasSubstr("they are 0 to 3"));
}

TEST(CheckNames, ATrainingIsNotRunAgainForAComparison) {
  EXPECT_THAT(refusal("view = \"compare\"\ncompare = { recording = \"gallery:training\" }"),
              AllOf(StartsWith("names.md:15: "), HasSubstr("the training text is not in it")));
  EXPECT_EQ(refusal("view = \"compare\"\nrecording = \"gallery:training\"\n"
                    "compare = { recording = \"gallery:training\" }"),
            "accepted");
}

TEST(CheckNames, WhatASceneTrainsIsPriced) {
  const std::string run = "\nrun = { model = \"gpt2-tiny\", block = \"model\", batch = 64, seq = 128 }";
  const std::string page = "view = \"train\"\npage = \"curves\"\n";
  EXPECT_EQ(refusal(page + "train = \"model\"\ntraining_steps = 2" + run), "accepted");
  EXPECT_THAT(refusal(page + "train = \"model\"\ntraining_steps = 200" + run),
              AllOf(StartsWith("names.md:15: "), HasSubstr("200 training steps")));
  EXPECT_THAT(refusal(page + "train = \"norms\"\ntraining_steps = 150" + run),
              HasSubstr("300 training steps"));
  EXPECT_THAT(refusal("mistake = \"skip-f\"\ntraining_steps = 150" + run), HasSubstr("300 training steps"));
  EXPECT_THAT(refusal("train = \"model\"\n" + page), HasSubstr("only a whole model trains"));
  EXPECT_THAT(refusal("mistake = \"skip-f\"\nrun = { dtype = \"bf16\" }"),
              AllOf(StartsWith("names.md:15: "), HasSubstr("can be planned but not run")));
}

TEST(CheckNames, APageOpensOnlyWhatItCanShow) {
  EXPECT_EQ(refusal("page = \"product\"\nselect = \"mlp.proj\""), "accepted");
  EXPECT_THAT(refusal("page = \"product\"\nselect = \"mlp.gelu\""), HasSubstr("is no matrix product"));
  EXPECT_THAT(refusal("page = \"number\"\nselect = \"mlp.gelu\""), HasSubstr("is no matrix product"));
  EXPECT_THAT(refusal("page = \"collective\"\nselect = \"mlp.fc\""), HasSubstr("is no collective"));
}

// What the studio crashed at: a page of splits without a split.
TEST(CheckNames, ACheckedLessonWithAComparedRecordingHasItsPage) {
  const Lesson lesson = parse_lesson(
      lesson_text(scene_block("view = \"compare\"\ncompare = { recording = \"gallery:late-rank\" }")),
      "c.md");
  EXPECT_EQ(lesson.scenes[0].state.page, "recordings");
  EXPECT_TRUE(check_lesson(lesson, {}).holds());
}

}  // namespace check_names_test
}  // namespace shardlens
