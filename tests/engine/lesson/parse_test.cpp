// What a lesson file says, and what is said about one that is wrong.
#include "engine/lesson/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/base/error.h"
#include "engine/lesson/run_keys.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/lesson/small_lesson.h"

namespace shardlens {
namespace lesson_parse_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kHead;
using testing::lesson_text;
using ::testing::Not;
using testing::question_block;
using testing::scene_block;
using ::testing::StartsWith;

// Parses and looks names up; returns the message.
std::string refusal(const std::string& text) {
  try {
    check_names(parse_lesson(text, "bad.md"));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
  return "accepted";
}

TEST(LessonParse, ReadsHeadScenesAndQuestions) {
  const Lesson lesson = parse_lesson(
      kHead +
          "## Where do the ranks meet?\n\n"
          "**{{ranks}}** ranks hold `{{local_shape(\"mlp.fc.weight\")}}` each, *by columns*.\n\n"
          "- one\n- two\n\n1. first\n2. second\n\n"
          "```scene\nview = \"stage\"\nselect = \"mlp.proj\"\nspotlight = [\"mlp.proj\", \"rank 2\"]\n"
          "callouts = [{ at = \"mlp.proj\", text = \"a share of {{ranks}}\" }]\npanels = [\"setup\"]\n"
          "run = { split = \"reversed\" }\n```\n"
          "```notes\nSay this.\n```\n"
          "```question\nask = \"How often?\"\nchoices = [\"0\", \"{{collectives(forward)}}\"]\n"
          "answer = \"collectives(forward)\"\nbecause = \"explain(collective(1))\"\n```\n",
      "folder/where.md");
  EXPECT_EQ(lesson.name, "where");
  EXPECT_EQ(lesson.asks, "Why?");
  EXPECT_EQ(lesson.minutes, 5);
  ASSERT_EQ(lesson.scenes.size(), 1u);
  const Scene& scene = lesson.scenes.front();
  EXPECT_EQ(scene.id, "where-do-the-ranks-meet");
  EXPECT_EQ(scene.line, 13);
  ASSERT_EQ(scene.text.paragraphs.size(), 5u);
  EXPECT_TRUE(scene.text.paragraphs[0].spans[0].strong);
  EXPECT_TRUE(scene.text.paragraphs[0].spans[2].code);
  EXPECT_TRUE(scene.text.paragraphs[0].spans[4].emphasis);
  EXPECT_EQ(scene.text.paragraphs[1].kind, LessonParagraph::Kind::Bullet);
  EXPECT_EQ(scene.text.paragraphs[4].kind, LessonParagraph::Kind::Numbered);
  EXPECT_EQ(scene.text.paragraphs[4].number, 2);
  EXPECT_EQ(scene.text.words, 11);
  EXPECT_EQ(scene.notes.words, 2);
  EXPECT_EQ(scene.state.view, "stage");
  EXPECT_EQ(scene.state.spotlight, (std::vector<std::string>{"mlp.proj", "rank 2"}));
  ASSERT_EQ(scene.state.callouts.size(), 1u);
  EXPECT_FALSE(scene.state.run.empty());
  ASSERT_EQ(scene.questions.size(), 1u);
  EXPECT_EQ(scene.questions[0].id, "where-do-the-ranks-meet/1");
  EXPECT_EQ(scene.questions[0].kind, QuestionKind::Choice);
}

// Pages keep back what a question is about; a formula of it is another question.
TEST(LessonParse, AQuestionAsksForWhatItsAnswerGives) {
  const auto asks = [](const std::string& answer, const char* function) {
    const Lesson lesson = testing::asking("ask = \"How many?\"\nkind = \"number\"\nanswer = \"" + answer +
                                          "\"" + testing::kBecause);
    return asks_for(lesson.scenes.front().questions.front(), function);
  };
  EXPECT_TRUE(asks("sent_bytes(collective(1))", "sent_bytes"));
  EXPECT_TRUE(asks("with('tp', 2 * ranks, sent_bytes(collective(1)))", "sent_bytes"));
  EXPECT_FALSE(asks("with('tp', 8, sent_bytes()) / sent_bytes()", "sent_bytes"));
  EXPECT_FALSE(asks("sent_bytes(collective(1))", "waiting_ranks"));
  const Lesson choice = testing::asking(
      "ask = \"Any?\"\nchoices = [{ text = \"some\", right = \"sent_bytes() > 0\" }, "
      "{ text = \"none\", right = \"sent_bytes() == 0\" }]" +
      testing::kBecause);
  EXPECT_TRUE(asks_for(choice.scenes.front().questions.front(), "sent_bytes"));
}

// An expression may hold what Markdown reads as emphasis.
TEST(LessonParse, ExpressionsAreNoMarkdown) {
  const Lesson lesson =
      parse_lesson(lesson_text("{{ranks*ranks}} and {{seq*2}} and {{shape('mlp.fc.weight')}}\n"), "a.md");
  ASSERT_EQ(lesson.scenes[0].text.paragraphs[0].spans.size(), 1u);
  EXPECT_EQ(lesson.scenes[0].text.paragraphs[0].spans[0].text.pieces.size(), 5u);
}

struct Bad {
  std::string text;
  std::string where;    ///< the message begins so
  std::string message;  ///< and has this in it
};

TEST(LessonParse, AWrongFileIsNamedWithLineAndRemedy) {
  const std::string question = "ask = \"?\"\nchoices = [\"1\", \"2\"]\n";
  const std::string because = "because = \"explain(collective(1))\"";
  const std::vector<Bad> bad = {
      {"# A text\n", "bad.md:1: ", "begins with a line +++"},
      {"+++\ntitle = \"T\"\n", "bad.md:1: ", "the head has no end"},
      {"+++\ntitle = T\n+++\n", "bad.md:2: ", "this is not TOML"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\n+++\n## A\n", "bad.md:2: ", "lacks `minutes`"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\nminutes = \"ten\"\n+++\n## A\n",
       "bad.md:4: ", "must be a whole number from 1 to 600"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\nminuets = 5\nminutes = 5\n+++\n## A\n",
       "bad.md:4: ", "did you mean \"minutes\"?"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[run]\nmodell = \"gpt2\"\n+++\n## A\n",
       "bad.md:6: ", "did you mean \"model\"?"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[run]\nmodel = \"gtp2\"\n+++\n## A\n",
       "bad.md:6: ", "did you mean \"gpt2\"?"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[run]\ntp = 0\n+++\n## A\n",
       "bad.md:6: ", "from 1 to 4096"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[run]\nsplit = \"revesed\"\n+++\n## A\n",
       "bad.md:6: ", "did you mean \"reversed\"?"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[draw]\ntp = 4\n+++\n## A\n",
       "bad.md:6: ", "a list of the values"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[draw]\ntp = [2, \"x\"]\n+++\n## A\n",
       "bad.md:6: ", "a whole number"},
      {"+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[draw]\nranks = [2]\n+++\n## A\n",
       "bad.md:6: ", "expressions have this name already"},
      {kHead + "Words.\n", "bad.md:13: ", "before the first scene"},
      {kHead, "bad.md:13: ", "there is no scene"},
      {kHead + "# A\n", "bad.md:13: ", "a scene begins with ##"},
      {kHead + "## A\n\n## a\n", "bad.md:15: ", "another scene has this title"},
      {kHead + "## ?\n", "bad.md:13: ", "a title with letters"},
      {lesson_text("![picture](a.png)\n"), "bad.md:14: ", "shows no pictures of its own"},
      {lesson_text("<b>bold</b>\n"), "bad.md:14: ", "HTML is not shown"},
      {lesson_text("\n\n{{colectives(forward)}}\n"), "bad.md:16: ", "did you mean `collectives`?"},
      {lesson_text("{{ranks\n"), "bad.md:14: ", "has no closing }}"},
      {lesson_text("{{rank}}\n"), "bad.md:14: ", "did you mean `ranks`?"},
      {lesson_text("{{collectives}}\n"), "bad.md:14: ", "is a function: write collectives([phase"},
      {lesson_text("{{shape()}}\n"), "bad.md:14: ", "is given 0 arguments"},
      {lesson_text("{{1 +}}\n"), "bad.md:14: ", "ends where a value should stand"},
      {lesson_text("{{(1}}\n"), "bad.md:14: ", "a \")\" is missing"},
      {lesson_text("```scen\n```\n"), "bad.md:14: ", "did you mean \"scene\"?"},
      {lesson_text(scene_block("view = \"stage\"") + scene_block("view = \"stage\"")),
       "bad.md:17: ", "has one block `scene`"},
      {lesson_text(scene_block("view = \"stag\"")), "bad.md:15: ", "did you mean \"stage\"?"},
      {lesson_text(scene_block("\nviw = \"stage\"")), "bad.md:16: ", "did you mean \"view\"?"},
      {lesson_text(scene_block("view = \"memory\"\npage = \"wal\"")),
       "bad.md:16: ", "did you mean \"wall\"?"},
      {lesson_text(scene_block("view = \"start\"\npage = \"x\"")), "bad.md:16: ", "has one page"},
      {lesson_text(scene_block("select = \"mlp.prj\"")), "bad.md:15: ", "did you mean \"mlp.proj\"?"},
      {lesson_text(scene_block("spotlight = [\"rank 4\"]")), "bad.md:15: ", "they are 0 to 3"},
      {lesson_text(scene_block("spotlight = [\"mlp.proj\", 3]")), "bad.md:15: ", "must be a list of texts"},
      {lesson_text(scene_block("callouts = [{ at = \"mlp.proj\" }]")), "bad.md:15: ", "lacks `text`"},
      {lesson_text(scene_block("mistake = \"skip-h\"")), "bad.md:15: ", "skip-f"},
      {lesson_text(scene_block("zoom = 100")), "bad.md:15: ", "must be a number from 0.25 to 4"},
      {lesson_text(scene_block("page = \"number\"")), "bad.md:15: ", "opens the selected step"},
      {lesson_text(scene_block("page = \"number\"\nselect = \"mlp.proj\"\nnumber = { row = 8, column = 0 }")),
       "bad.md:15: ", "has 8 rows and 96 columns"},
      {lesson_text(scene_block("page = \"collective\"\nselect = \"mlp.proj\"")),
       "bad.md:15: ", "is no collective"},
      {lesson_text(scene_block("train = \"model\"")), "bad.md:15: ", "add view = \"train\""},
      {lesson_text(scene_block("view = \"train\"\npage = \"curves\"\ntrain = \"norm\"")),
       "bad.md:17: ", "did you mean \"norms\"?"},
      {lesson_text(scene_block("view = \"train\"\npage = \"curves\"\ntrain = \"norms\"")),
       "bad.md:15: ", "add block = \"model\""},
      {lesson_text(scene_block("training_steps = 3")), "bad.md:15: ", "add train = \"model\""},
      {lesson_text(scene_block("moment = 1.5")), "bad.md:15: ", "is of a recording"},
      {lesson_text(scene_block("recording = \"gallery:late-rnk\"")),
       "bad.md:15: ", "did you mean \"late-rank\"?"},
      {lesson_text(scene_block("compare = { splits = [\"megatorn\"] }")),
       "bad.md:15: ", "did you mean \"megatron\"?"},
      {lesson_text(scene_block("run = { block = \"attention\", tp = 5 }")), "bad.md:15: ", "5"},
      {lesson_text(question_block("ask = \"?\"\nanswer = \"ranks\"\n" + because)),
       "bad.md:15: ", "what kind of question"},
      {lesson_text(question_block(question + "answer = \"4\"\n" + because)),
       "bad.md:17: ", "must not be typed in"},
      {lesson_text(question_block(question + "answer = \"2 + 2\"\n" + because)),
       "bad.md:17: ", "must not be typed in"},
      {lesson_text(question_block(question + "answer = \"ranks\"\nbecause = \"Because it is so.\"")),
       "bad.md:18: ", "A text needs an {{expression}}"},
      {lesson_text(question_block(question + "answer = \"ranks\"")), "bad.md:15: ", "lacks `because`"},
      {lesson_text(question_block("ask = \"?\"\nchoices = [\"1\"]\nanswer = \"ranks\"\n" + because)),
       "bad.md:16: ", "must be 2 to 9"},
      {lesson_text(question_block("ask = \"?\"\nunit = \"Mib\"\nanswer = \"ranks\"\n" + because)),
       "bad.md:16: ", "did you mean \"KiB\"?"},
      {lesson_text(question_block(
           "ask = \"?\"\nitems = [\"mlp.fc\", \"mlp.fc\"]\nanswer = \"in_order('mlp.fc', 'mlp.proj')\"\n" +
           because)),
       "bad.md:16: ", "stands in it twice"},
      {lesson_text(question_block(
           "ask = \"?\"\nitems = [\"mlp.fc\", \"mlp.pro\"]\nanswer = \"in_order('mlp.fc', 'mlp.proj')\"\n" +
           because)),
       "bad.md:15: ", "did you mean \"mlp.proj\"?"},
      {lesson_text(question_block("ask = \"?\"\nat = \"stp\"\nanswer = \"collective(1)\"\n" + because)),
       "bad.md:16: ", "did you mean \"step\"?"},
      {lesson_text(
           question_block("ask = \"?\"\nkind = \"number\"\ntolerance = 9\nanswer = \"ranks\"\n" + because)),
       "bad.md:17: ", "from 0 to 0.5"},
      {"+++\n\xff\n+++\n", "bad.md:1: ", "not UTF-8"},
      {std::string("+++\n\0\n+++\n", 10), "bad.md:1: ", "byte of 0"},
      {std::string(kLargestLesson + 1, '+'), "bad.md:1: ", "a lesson has at most"},
      {lesson_text(scene_block("select = \"" + std::string(20'000, 'a') + "\"")),
       "bad.md:15: ", "at most 16384 are read"},
      {lesson_text("{{" + std::string(100, '(') + "}}\n"), "bad.md:14: ", "nested too deeply"},
  };
  for (const Bad& one : bad) {
    const std::string message = refusal(one.text);
    EXPECT_THAT(message, StartsWith(one.where)) << one.text.substr(0, 400);
    EXPECT_THAT(message, HasSubstr(one.message)) << one.text.substr(0, 400);
  }
}

TEST(LessonParse, KeysThatNoViewShowsTogetherAreRefused) {
  const std::string recording = "recording = \"gallery:late-rank\"\n";
  const std::pair<std::string, std::string> scenes[] = {
      {"view = \"compare\"\npage = \"splits\"\ncompare = { recording = \"gallery:late-rank\" }",
       "leave out `page`"},
      {"view = \"compare\"\npage = \"sweep\"\ncompare = { recording = \"gallery:late-rank\" }",
       "leave out `page`"},
      {"view = \"compare\"\npage = \"recordings\"\ncompare = { splits = [\"megatron\"] }",
       "leave out `page`"},
      {recording + "view = \"start\"", "choose another view"},
      {recording + "mistake = \"skip-f\"", "leave out `mistake`"},
      {recording + "run_to = \"mlp.fc\"", "its `moment`"},
      {"mistake = \"skip-f\"\nrun_to = \"mlp.fc\"", "leave it out"},
      {recording + "run = { tp = 2 }", "leave out `run`"},
  };
  for (const auto& [scene, remedy] : scenes)
    EXPECT_THAT(refusal(lesson_text(scene_block(scene))), AllOf(StartsWith("bad.md:1"), HasSubstr(remedy)))
        << scene;
}

// The library's own sentences are about its grammar.
TEST(LessonParse, WhatIsNoTomlIsSaidInOurWords) {
  const std::pair<std::string, std::string> blocks[] = {
      {"view = stage", "a text stands in quotes"},
      {"view = \"stage", "not closed on its line"},
      {"view = \"a\"\nview = \"b\"", "a key stands twice"},
      {"view \"stage\"", "a key needs = and a value"},
      {"view =", "a value is missing"},
      {"zoom = 99999999999999999999", "too large"},
      {"zoom = 01", "begins with 0"},
      {"select = \"a\\qb\"", "write two, or put the text in single quotes"},
      {"spotlight = [\"a\" \"b\"]", "a comma is missing"},
      {"spotlight = [\"a\"", "is closed"},
      {"a = " + std::string(600, '['), "nested too deeply"},
      {"[run\ntp = 2", "is not TOML"},
  };
  for (const auto& [block, words] : blocks) {
    const std::string message = refusal(lesson_text(scene_block(block)));
    EXPECT_THAT(message, AllOf(HasSubstr("this is not TOML"), HasSubstr(words)));
    for (const char* const theirs : {"saw '", "encountered", "expected", "TOML_", "prohibited", "bare key"})
      EXPECT_THAT(message, Not(HasSubstr(theirs)));
  }
}

// toml++ was undefined for them; a build with sanitizers ends here without our tables of letters.
TEST(LessonParse, ALetterOfAnotherAlphabetIsNoKey) {
  for (const char* letter : {"\u00e9", "e\u0301", "\u0438", "\u1e00", "\u4e2d"})
    EXPECT_THAT(refusal(lesson_text(scene_block(std::string(letter) + " = 1"))),
                HasSubstr("this is not TOML"))
        << letter;
}

TEST(LessonParse, ASavedSceneIsReadBack) {
  SceneState state;
  state.view = "stage";
  state.page = "number";
  state.select = "mlp.proj";
  state.number = SceneNumber{2, 5};
  state.rank = 1;
  state.zoom = 1.5;
  state.spotlight = {"mlp.proj", "rank 1"};
  state.mistake = Fault::SkipF;
  state.training_steps = 20;
  state.compare = SceneComparison{{"megatron", "reversed"}, ""};
  state.panels = {"setup"};
  state.play = true;
  state.run.table = parse_toml("tp = 2\nsplit = \"reversed\"", "here", 1);
  const Lesson lesson = parse_lesson(kHead + scene_as_markdown("A \"quoted\" moment", state), "saved.md");
  check_names(lesson);
  const SceneState& read = lesson.scenes.at(0).state;
  EXPECT_EQ(lesson.scenes[0].title, "A \"quoted\" moment");
  EXPECT_EQ(read.view, state.view);
  EXPECT_EQ(read.page, state.page);
  EXPECT_EQ(read.select, state.select);
  EXPECT_EQ(read.number->col, 5);
  EXPECT_EQ(read.rank, state.rank);
  EXPECT_EQ(read.zoom, state.zoom);
  EXPECT_EQ(read.spotlight, state.spotlight);
  EXPECT_EQ(read.mistake, state.mistake);
  EXPECT_EQ(read.training_steps, state.training_steps);
  EXPECT_EQ(read.compare->splits, state.compare->splits);
  EXPECT_EQ(read.panels, state.panels);
  EXPECT_TRUE(read.play);
  EXPECT_EQ(read.run.table.entries().size(), 2u);
}

TEST(LessonParse, ASavedSceneTrainsTheSame) {
  SceneState state;
  state.view = "train";
  state.page = "curves";
  state.train = SceneTraining::Norms;
  state.training_steps = 12;
  state.run.table = parse_toml("model = \"gpt2-tiny\"\nblock = \"model\"", "here", 1);
  const Lesson lesson = parse_lesson(kHead + scene_as_markdown("A training", state), "saved.md");
  check_names(lesson);
  EXPECT_EQ(lesson.scenes.at(0).state.train, state.train);
  EXPECT_EQ(lesson.scenes.at(0).state.training_steps, state.training_steps);
}

TEST(LessonFile, ASavedSceneKeepsExpressionsAndTheOperation) {
  const std::string scene =
      "\n## A\n\n```scene\nview = \"program\"\npage = \"algebra\"\ncallouts = [{ at = \"mlp.fc\", text = "
      "\"one of {{ranks}} terms\" }]\noperation = \"LayerNorm\"\nway = 2\n```\n";
  const Lesson lesson = parse_lesson(kHead + scene, "saved.md");
  EXPECT_EQ(lesson.scenes.at(0).state.way, 1) << "files count from 1";
  EXPECT_EQ(scene_as_markdown("A", lesson.scenes.at(0).state), scene);
  const std::pair<const char*, const char*> wrong[] = {
      {"page = \"algebra\"\noperation = \"LayerNrm\"", "did you mean \"LayerNorm\"?"},
      {"page = \"algebra\"\noperation = \"LayerNorm\"\nway = 0", "way"},
      {"page = \"algebra\"\nway = 1", "add operation"},
      {"operation = \"LayerNorm\"", "add page = \"algebra\""}};
  for (const auto& [lines, why] : wrong) {
    try {
      parse_lesson(kHead + std::string("\n## A\n```scene\nview = \"program\"\n") + lines + "\n```\n",
                   "saved.md");
      ADD_FAILURE() << lines;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(why));
    }
  }
}

TEST(LessonFile, ASceneRunsWhatIsDrawn) {
  const std::string head =
      "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[run]\ntp = 2\n[draw]\nlater = [4, 6]\n"
      "wall = [\"a100-80gb\"]\n+++\n\n## A\n\nWords.\n\n```scene\n";
  const Lesson lesson =
      parse_lesson(head + "run = { tp = \"{{later}}\", seq = 32, hardware = \"{{wall}}\" }\n```\n", "a.md");
  const SceneState& state = lesson.scenes.at(0).state;
  const Settings first = settings_of(lesson, state, draw(lesson, {}));
  EXPECT_EQ(first.tp, 4);
  EXPECT_EQ(first.seq, 32);
  EXPECT_EQ(first.hardware, "a100-80gb");
  std::set<int> degrees;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    degrees.insert(settings_of(lesson, state, draw(lesson, seed)).tp);
  EXPECT_EQ(degrees, (std::set<int>{4, 6}));
  EXPECT_EQ(settings_of(lesson, draw(lesson, {})).tp, 2) << "the lesson's own run stays";
  const std::pair<const char*, const char*> wrong[] = {
      {"run = { tp = \"{{earlier}}\" }", "a.md:17: nothing is drawn for \"earlier\""},
      {"run = { tpp = \"{{later}}\" }", "did you mean \"tp\"?"},
      {"run = { tp = \"{{later}}\", seq = \"long\" }", "seq"}};
  for (const auto& [line, why] : wrong)
    EXPECT_THAT(error_of([&] { parse_lesson(head + line + "\n```\n", "a.md"); }), ::testing::HasSubstr(why));
}

TEST(LessonFile, ASceneHasItsOwnNumbersByHand) {
  const std::string keys =
      "by_hand = { fc = \"row\", gelu = false, mistake = \"skip-g\", X = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, "
      "1, "
      "0], [-9, 0, 0, 9]], \"b of Wfc\" = [1, 2, 3, 4] }\n";
  const std::string scene = "\n## A\n\n```scene\nview = \"program\"\npage = \"by-hand\"\n" + keys + "```\n";
  const Lesson lesson = parse_lesson(kHead + scene, "saved.md");
  const lab::HandForm& form = *lesson.scenes.at(0).state.by_hand;
  EXPECT_EQ(form.choice.fc, Cut::Row);
  EXPECT_EQ(form.choice.proj, Cut::Row) << "as the page begins";
  EXPECT_EQ(form.choice.mistake, Fault::SkipG);
  EXPECT_EQ(form.operands.at(lab::HandOperand::X, 3, 0), -9);
  EXPECT_EQ(form.operands.at(lab::HandOperand::FcBias, 0, 3), 4);
  EXPECT_EQ(form.operands.values[3], lab::HandForm().operands.values[3]);
  EXPECT_EQ(scene_as_markdown("A", lesson.scenes.at(0).state), scene);
  const std::pair<const char*, const char*> wrong[] = {
      {"{ X = [[1, 0, 0, 0]] }", "must be 4 rows of [4 numbers], and has another number of rows"},
      {"{ X = [[1, 0, 0, 0], [1, 0], [0, 0, 0, 0], [0, 0, 0, 0]] }", "and row 1 is not"},
      {"{ \"b of Wfc\" = [1, 2, 3, 12] }", "12"},
      {"{ dY = 3 }", "must be 4 rows"},
      {"{ fc = \"rows\" }", "row"},
      {"{ fc = \"replicated\", proj = \"replicated\", mistake = \"skip-g\" }", "has no place"},
      {"{ wfc = 1 }", "Wfc"}};
  for (const auto& [line, why] : wrong)
    EXPECT_THAT(error_of([&] {
                  parse_lesson(kHead +
                                   std::string("\n## A\n```scene\nview = \"program\"\npage = \"by-hand\"\n") +
                                   "by_hand = " + line + "\n```\n",
                               "saved.md");
                }),
                ::testing::HasSubstr(why));
  EXPECT_THAT(error_of([&] {
                parse_lesson(kHead + std::string("\n## A\n```scene\nby_hand = { gelu = false }\n```\n"),
                             "saved.md");
              }),
              ::testing::HasSubstr("add page = \"by-hand\""));
}

}  // namespace lesson_parse_test
}  // namespace shardlens
