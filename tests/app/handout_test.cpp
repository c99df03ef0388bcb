// Writes lessons on paper, in the web, as slides and as a video, as a lecturer does. Independent parsers read
// them; what they say is compared with what shardlens-cli says of the same lesson.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/lesson/answer_key.h"
#include "engine/lesson/marking.h"
#include "engine/lesson/parse.h"
#include "engine/lesson/written_answer.h"
#include "tests/app/process.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace handout_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// All kinds of questions, each view that is drawn in another way, and words that look like markup.
constexpr const char* kLesson = R"lesson(+++
title = "Two <b>matrices</b> & </script>"
asks = "Where do the \"ranks\" meet?"
minutes = 3
sources = ["A text & another"]

[run]
model = "gpt2-tiny"
block = "mlp"
tp = 2
batch = 1
seq = 8

[draw]
seq = [8, 16]
+++

## The share of a sum

This `</script><script>alert(1)</script>` is text. Each of **{{ranks}} ranks** holds `{{local_shape("mlp.proj.weight")}}`:

- a part of the *rows*
- and no more

```scene
view = "stage"
select = "mlp.proj"
callouts = [{ at = "mlp.proj", text = "full shape </script>, a share of {{ranks}}" }]
```

```question
ask = "How many times do the ranks meet forward? <i>"
choices = ["0 < 1", "{{ranks - 1}}", "</script>"]
answer = "collectives(forward)"
because = "explain(collective(1))"
```

```question
ask = "How many bytes does each rank send forward?"
unit = "KiB"
tolerance = 0.01
answer = "sent_bytes(forward)"
because = "It is {{sent_bytes(forward)}}."
```

```question
ask = "Click the step that leaves a share of a sum."
at = "step"
answer = "output('mlp.proj')"
because = "{{equation('mlp.proj')}} is {{layout('mlp.proj.sum@partial')}}."
```

## Memory

```scene
view = "memory"
page = "wall"
```

```question
ask = "In which order do they run?"
items = ["mlp.proj", "mlp.fc", "mlp.gelu"]
answer = "in_order('mlp.fc', 'mlp.gelu', 'mlp.proj')"
because = "{{equation('mlp.fc')}}"
```

```question
ask = "Cut them so that the ranks meet once forward."
kind = "cut"
answer = "collectives(forward) == 1"
because = "explain(collective(1))"
```
)lesson";

class Handouts : public TestFolder {
 protected:
  void SetUp() override {
    TestFolder::SetUp();
    write("lesson.md", kLesson);
    write("none.json", R"({"answers": {}})");
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }
  std::string lesson() const { return " --lesson " + path("lesson.md") + " --seed 3 "; }

  /// The questions of the lesson at that seed, and what is right, as shardlens-cli says.
  json questions() const {
    return json::parse(
        run_cli("lesson " + path("lesson.md") + " --seed 3 --questions --json").out)["questions"];
  }
  json marks() const {
    return json::parse(
        run_cli("lesson " + path("lesson.md") + " --seed 3 --json --answers " + path("none.json"))
            .out)["questions"];
  }
};

/// The text without spaces and ends of lines: pdftotext guesses both from distances.
std::string letters(const std::string& text) {
  std::istringstream words(text);
  std::string all;
  for (std::string word; words >> word;) all += word;
  return all;
}

TEST_F(Handouts, ThePageOfTheWebSaysAllAndFetchesNothing) {
  const Ended drawn = draw_offscreen(lesson() + "--handout " + path("lesson.html"));
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  const Ended checked =
      run_program("python3 " + test_data_folder() + "/exports/check_handout.py", path("lesson.html"));
  ASSERT_EQ(checked.code, 0) << checked.err;
  const json page = json::parse(checked.out), asked = questions(), right = marks();
  ASSERT_EQ(page["questions"].size(), asked.size());
  ASSERT_EQ(page["answers"].size(), asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    const json& shown = page["questions"][i];
    EXPECT_EQ(shown["id"], asked[i]["id"]);
    EXPECT_EQ(shown["kind"], asked[i]["kind"]);
    EXPECT_EQ(shown["ask"], asked[i]["ask"]);
    EXPECT_EQ(shown["choices"], asked[i].value("choices", json::array()));
    const std::string name = i < 3 ? "a1." + std::to_string(i + 1) : "a2." + std::to_string(i - 2);
    const json& answer = page["answers"][name];
    EXPECT_THAT(answer["right"].get<std::string>(), HasSubstr(right[i]["correct"].get<std::string>()));
    EXPECT_EQ(answer["because"], right[i]["because"]);
  }
  // The script judges by the engine's own keys and tables.
  const Lesson lesson = read_lesson(path("lesson.md"));
  LessonRun run(lesson, 3);
  for (size_t i = 0; i < 4; ++i) {
    const Scene& scene = lesson.scenes[i / 3];
    const auto key = run.right_answer(scene, scene.questions[i % 3]).key;
    const std::string name = "a" + std::to_string(i / 3 + 1) + "." + std::to_string(i % 3 + 1);
    EXPECT_EQ(page["answers"][name]["key"], json(key_as_json(*key))) << name;
  }
  EXPECT_EQ(page["rules"], json(rules_of_writing()));
  EXPECT_THAT(page["answers"]["a1.3"]["key"].dump(), HasSubstr("Z = G · Wproj")) << "as rows are headed";
  EXPECT_EQ(page["headings"], (json{"The share of a sum", "Memory", "Words", "Answers"}));
  const std::string text = page["text"];
  for (const char* words :
       {"Two <b>matrices</b> & </script>", "This </script><script>alert(1)</script> is text.",
        "Where do the \"ranks\" meet?", "seed 3", "A text & another", "full shape </script>, a share of 2",
        "GPT-2 toy", "One of the T workers", "equals the run on one rank", "sent by each rank",
        "measured on"})
    EXPECT_THAT(text, HasSubstr(words));
  EXPECT_GT(page["uses"], 10) << "tensors, as pictures that figures share";
  EXPECT_GE(page["faces"], 3);
}

TEST_F(Handouts, ThePagesOfPaperSayAllAndEndWithTheAnswers) {
  const Ended drawn = draw_offscreen(lesson() + "--handout " + path("lesson.pdf"));
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_THAT(run_program("pdfinfo", path("lesson.pdf")).out, HasSubstr("A4"));
  const Ended fonts = run_program("pdffonts", path("lesson.pdf") + " | tail -n +3");
  std::istringstream lines(fonts.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_THAT(line, ::testing::ContainsRegex("yes +yes +yes")) << "embedded, cut down, with its characters";
  const std::string said = letters(run_program("pdftotext", path("lesson.pdf") + " -").out);
  const size_t answers = said.rfind("Answers1.1");
  ASSERT_NE(answers, std::string::npos);
  const json asked = questions(), right = marks();
  for (size_t i = 0; i < asked.size(); ++i) {
    const size_t at = said.find(letters(asked[i]["ask"].get<std::string>()));
    ASSERT_NE(at, std::string::npos) << asked[i]["ask"];
    EXPECT_LT(at, answers) << asked[i]["ask"];
    for (const json& choice : asked[i].value("choices", json::array()))
      EXPECT_NE(said.find(letters(choice.get<std::string>()), at), std::string::npos) << choice;
    EXPECT_NE(said.find(letters(right[i]["because"].get<std::string>()), answers), std::string::npos)
        << right[i]["because"];
    EXPECT_NE(said.find(letters(right[i]["correct"].get<std::string>()), answers), std::string::npos);
  }
  for (const char* words :
       {"Two <b>matrices</b> & </script>", "3 minutes · 2 scenes · 5 questions · seed 3",
        "Each of 2 ranks holds", "rank 0", "Z = G · Wproj", "Rank: One of the T workers", "page 1 of"})
    EXPECT_THAT(said, HasSubstr(letters(words)));
}

TEST_F(Handouts, APictureHasTheStepThatItsQuestionPointsAt) {
  write("far.md",
        "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 1\n[run]\nmodel = \"gpt2-tiny\"\nblock = "
        "\"layer\"\ntp = 2\nbatch = 1\nseq = 8\n+++\n## A\n\nText.\n\n```scene\nview = \"stage\"\nselect = "
        "\"attn.qkv\"\n```\n\n```question\nask = \"Which?\"\nat = \"step\"\nanswer = "
        "\"output('mlp.proj')\"\nbecause = \"{{layout('mlp.proj.sum@partial')}}\"\n```\n");
  const Ended drawn = draw_offscreen("--lesson " + path("far.md") + " --handout " + path("far.html"));
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  const Ended checked =
      run_program("python3 " + test_data_folder() + "/exports/check_handout.py", path("far.html"));
  ASSERT_EQ(checked.code, 0) << checked.err;
  const std::string text = json::parse(checked.out)["text"];
  constexpr std::string_view kRow = "Z = G · Wproj";
  int rows = 0;
  for (size_t at = text.find(kRow); at != std::string::npos; at = text.find(kRow, at + 1)) ++rows;
  EXPECT_EQ(rows, 3) << "in the light picture, in the dark one and in the answer";
}

TEST_F(Handouts, SlidesShowEachQuestionBeforeAndAfterItsAnswer) {
  const Ended drawn = draw_offscreen(lesson() + "--size 960x540 --slides " + path("slides"));
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path("slides")))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), 10u);
  EXPECT_EQ(names[0], "01-the-share-of-a-sum.png");
  EXPECT_EQ(names[1], "02-the-share-of-a-sum-answer.png");
  EXPECT_EQ(names[9], "10-memory-answer.png");
  std::vector<std::string> pictures;
  for (const std::string& name : names) pictures.push_back(slurp(path("slides/" + name)));
  for (size_t i = 1; i < pictures.size(); ++i) EXPECT_TRUE(pictures[i - 1] != pictures[i]) << names[i];
  EXPECT_EQ(std::count(drawn.out.begin(), drawn.out.end(), '\n'), 10) << "the path of each";
}

TEST_F(Handouts, TheVideoShowsEachAsLongAsItTakesToRead) {
  const Ended drawn = draw_offscreen(lesson() + "--size 640x360 --fps 1 --video " + path("lesson.mkv"));
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  const json found = json::parse(
      run_program("ffprobe -v error -count_frames -of json -show_streams -show_format", path("lesson.mkv"))
          .out);
  EXPECT_EQ(found["streams"][0]["width"], 640);
  const int frames = std::stoi(found["streams"][0]["nb_read_frames"].get<std::string>());
  EXPECT_GT(frames, 10 * 3) << "ten pictures, each for more than three seconds";
  EXPECT_LT(frames, 10 * 30);
}

// Only a question keeps back where a mistake begins: of two scenes that differ in it alone, the pictures do.
// Before, the answers at a handout's end were known when its pictures were drawn.
TEST_F(Handouts, NoMediumShowsAnAnswerBeforeItsQuestion) {
  const std::string scene =
      "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 1\n[run]\nmodel = \"gpt2-tiny\"\nblock = "
      "\"mlp\"\ntp = 2\nbatch = 1\nseq = 8\n+++\n## A\n\nText.\n\n```scene\nview = \"break-it\"\npage = "
      "\"errors\"\nmistake = \"skip-g\"\n```\n";
  write("told.md", scene);
  write("asked.md",
        scene +
            "\n```question\nask = \"Which is the first wrong tensor?\"\nat = \"tensor\"\nanswer = "
            "\"first_wrong()\"\nbecause = \"{{symbol(first_wrong())}}\"\n```\n");
  const auto picture = [&](const std::string& name) {
    const Ended drawn =
        draw_offscreen("--lesson " + path(name + ".md") + " --handout " + path(name + ".html"));
    EXPECT_EQ(drawn.code, 0) << drawn.err;
    const std::string page = slurp(path(name + ".html"));
    const std::string begin = " src=\"data:image/png;base64,";  // of the page; a heatmap has no src
    const size_t from = page.find(begin);
    return from == std::string::npos ? "none" : page.substr(from, page.find('"', from + begin.size()) - from);
  };
  const std::string told = picture("told"), asked = picture("asked");
  EXPECT_NE(told, "none");
  EXPECT_TRUE(told == picture("told")) << "else the next comparison says nothing";
  EXPECT_TRUE(told != asked) << "where the error starts stands above the question";

  const std::string size = " --size 960x540 ";
  const Ended slides = draw_offscreen("--lesson " + path("asked.md") + size + "--slides " + path("slides"));
  ASSERT_EQ(slides.code, 0) << slides.err;
  const Ended film =
      draw_offscreen("--lesson " + path("asked.md") + size + "--fps 1 --video " + path("asked.mkv"));
  ASSERT_EQ(film.code, 0) << film.err;
  const auto grey = [](const std::string& file) {
    return run_program("ffmpeg -v error -i " + file, "-frames:v 1 -pix_fmt gray -f rawvideo -").out;
  };
  const std::string first = grey(path("asked.mkv"));
  const auto distance = [&](const std::string& slide) {
    const std::string pixels = grey(path("slides/" + slide));
    EXPECT_EQ(pixels.size(), first.size());
    double sum = 0;
    for (size_t i = 0; i < std::min(pixels.size(), first.size()); ++i)
      sum += std::abs(static_cast<unsigned char>(pixels[i]) - static_cast<unsigned char>(first[i]));
    return sum;
  };
  EXPECT_LT(distance("01-a.png"), distance("02-a-answer.png")) << "the film begins with the answer";
}

TEST_F(Handouts, AWrongRequestNamesTheRemedyAndLeavesNothing) {
  const size_t before = files_in_folder();
  const auto refused = [&](const std::string& arguments, const std::string& words) {
    const Ended ended = draw_offscreen(arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.err, HasSubstr(words)) << arguments;
  };
  refused("--lesson colum-then-row --handout " + path("a.pdf"), "column-then-row");
  refused("--lesson heads --handout " + path("a.docx"), ".pdf or .html");
  refused("--lesson heads --handout " + path("absent/a.pdf"), "folder");
  refused("--lesson heads --slides " + path("lesson.md"), "lesson.md");
  refused("--handout " + path("a.pdf"), "--lesson");
  refused("--slides " + path("a"), "--lesson");
  EXPECT_EQ(files_in_folder(), before);
  write("broken.md",
        "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 1\n[run]\nmodel = \"gpt2-tiny\"\nblock = "
        "\"mlp\"\ntp = 2\nseq = 8\n+++\n## A\n\nText.\n\n## B\n\nHeads: {{1 / 0}}\n");
  refused("--lesson " + path("broken.md") + " --handout " + path("a.pdf"), "broken.md:17: ");
  refused("--lesson " + path("broken.md") + " --handout " + path("a.html"), "broken.md:17: ");
  EXPECT_EQ(files_in_folder(), before + 1);
}

// The limit on a file's size stands for a full disk.
TEST_F(Handouts, AFullDiskLeavesTheOldFile) {
  const std::string drawing = lesson() + "--handout " + path("lesson.html");
  ASSERT_EQ(draw_offscreen(drawing).code, 0);
  const std::string old = contents("lesson.html");
  const size_t files = files_in_folder();
  const Ended ended = run_program("sh", "-c \"trap '' XFSZ; ulimit -f 64; env -u DISPLAY " +
                                            std::string(SHARDLENS_PROGRAM) + drawing + "\"");
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("lesson.html"));
  EXPECT_EQ(contents("lesson.html"), old);
  EXPECT_EQ(files_in_folder(), files);
}

}  // namespace handout_test
}  // namespace shardlens
