// Reads lesson files: the head, then scene by scene. read_scene.cpp and read_question.cpp read the blocks.
#include "engine/lesson/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/base/suggest.h"
#include "engine/base/utf8.h"
#include "engine/io/input_file.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/read_blocks.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/text.h"

namespace shardlens {
namespace {

constexpr size_t kMostDrawnValues = 50;
constexpr size_t kMostDraws = 10;

bool is_identifier(const std::string& text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

void read_draws(const TomlValue& table, Lesson& lesson) {
  TableReader reader(table, lesson.source, "[draw]");
  for (const auto& [name, value] : table.entries()) {
    const auto fail = [&](const std::string& message) { return reader.fail(name, message); };
    if (lesson.draws.size() == kMostDraws) throw fail(fmt::format("at most {} names are drawn", kMostDraws));
    if (!is_identifier(name)) throw fail("a name that is drawn has small letters, digits and _");
    if (!is_run_key(name) && (find_function(name) || find_known_name(name)))
      throw fail("expressions have this name already: choose another");
    if (!value.is_list() || std::get<TomlValue::List>(value.is).empty())
      throw fail("must be a list of the values to draw from, such as [2, 4, 8]");
    const auto& values = std::get<TomlValue::List>(value.is);
    if (values.size() > kMostDrawnValues)
      throw fail(fmt::format("at most {} values are drawn from", kMostDrawnValues));
    lesson.draws.push_back({name, values, value.line});
    reader.has(name);
  }
  // Every value by itself: a wrong one is found when the file is read, and not by the student who draws it.
  for (const Draw& draw : lesson.draws) {
    if (!is_run_key(draw.name)) continue;
    for (const TomlValue& value : draw.values) {
      Settings settings = lesson_defaults();
      RunChange change;
      change.table.is = TomlValue::Table{{draw.name, value}};
      change.table.line = draw.line;
      apply(change, lesson.source, settings);
    }
  }
}

void read_head(const TomlValue& head, Lesson& lesson) {
  TableReader reader(head, lesson.source, "the head");
  lesson.title = reader.text("title");
  lesson.asks = reader.text("asks");
  lesson.minutes = static_cast<int>(reader.integer("minutes", 1, 600));
  lesson.sources = reader.texts_or_none("sources");
  if (reader.has("run")) {
    lesson.run.table = reader.value("run");
    Settings settings = lesson_defaults();
    apply(lesson.run, lesson.source, settings);
  }
  if (reader.has("draw")) read_draws(reader.value("draw"), lesson);
  reader.finish();
}

class FileReader {
 public:
  FileReader(const std::string& text, const std::string& file) : text_(text) {
    lesson_.source = file;
    lesson_.name = std::filesystem::path(file).stem().string();
  }

  Lesson read() {
    const size_t begin = read_the_head();
    const int first_line = 1 + static_cast<int>(std::count(
                                   text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
    for (const Draw& draw : lesson_.draws) own_names_.push_back(draw.name);
    for (MarkdownBlock& block : read_markdown(text_.substr(begin), lesson_.source, first_line, own_names_))
      take(block);
    if (lesson_.scenes.empty()) throw fail(first_line, "there is no scene: a line `## Title` begins one");
    return std::move(lesson_);
  }

  Lesson read_head_alone() {
    read_the_head();
    return std::move(lesson_);
  }

 private:
  Error fail(int line, const std::string& message) const {
    return lesson_error(lesson_.source, line, message);
  }

  // Returns where the head ends.
  size_t read_the_head() {
    if (!text_.starts_with("+++\n"))
      throw fail(1, "a lesson begins with a line +++, then title, asks and minutes in TOML, then a line +++");
    const size_t end = text_.find("\n+++", 3);
    if (end == std::string::npos) throw fail(1, "the head has no end: put a line +++ after it");
    const size_t next = text_.find('\n', end + 1);
    if (text_.substr(end + 1, next - end - 1).find_first_not_of("+ \t") != std::string::npos)
      throw fail(1, "the head ends with a line +++ on which nothing else stands");
    read_head(parse_toml(std::string_view(text_).substr(4, end + 1 - 4), lesson_.source, 2), lesson_);
    return next == std::string::npos ? text_.size() : next + 1;
  }

  void take(MarkdownBlock& block) {
    if (block.kind == MarkdownBlock::Kind::Heading) return begin_scene(block);
    if (lesson_.scenes.empty())
      throw fail(block.line, "this stands before the first scene: begin one with a line `## Title`");
    Scene& scene = lesson_.scenes.back();
    if (block.kind == MarkdownBlock::Kind::Words) return add(std::move(block.paragraphs), scene.text);
    const BlockPlace place{lesson_.source, block.line + 1, own_names_};
    if (block.info == "scene") {
      if (has_state_) throw fail(block.line, "a scene has one block `scene`: put both into one");
      has_state_ = true;
      scene.state = read_scene(block.text, place);
    } else if (block.info == "question") {
      if (scene.questions.size() == kMostQuestionsOfAScene)
        throw fail(block.line, fmt::format("a scene has at most {} questions", kMostQuestionsOfAScene));
      Question question = read_question(block.text, place);
      question.id = fmt::format("{}/{}", scene.id, scene.questions.size() + 1);
      scene.questions.push_back(std::move(question));
    } else if (block.info == "notes") {
      for (MarkdownBlock& note : read_markdown(block.text, lesson_.source, block.line + 1, own_names_)) {
        if (note.kind != MarkdownBlock::Kind::Words)
          throw fail(note.line, "notes are plain paragraphs and lists");
        add(std::move(note.paragraphs), scene.notes);
      }
    } else {
      throw fail(block.line, unknown_name("block", block.info, {"scene", "question", "notes"}).what());
    }
  }

  void begin_scene(const MarkdownBlock& block) {
    if (block.level != 2)
      throw fail(block.line,
                 "a scene begins with ##: the lesson's title is in the head, and a scene has no parts");
    if (lesson_.scenes.size() == kMostScenesOfAFile)
      throw fail(block.line,
                 fmt::format("a file has at most {} scenes: write a second one", kMostScenesOfAFile));
    Scene scene;
    scene.title = block.text;
    scene.id = scene_id(block.text);
    scene.line = scene.state.line = block.line;
    has_state_ = false;
    if (scene.id.empty()) throw fail(block.line, "a scene needs a title with letters");
    if (!ids_.insert(scene.id).second)
      throw fail(block.line,
                 "another scene has this title, and answers name a question by it: choose another");
    lesson_.scenes.push_back(std::move(scene));
  }

  const std::string& text_;
  Lesson lesson_;
  Names own_names_;
  std::set<std::string> ids_;
  bool has_state_ = false;
};

std::string unix_lines(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

}  // namespace

bool asks_for(const Question& question, std::string_view function) {
  return std::any_of(question.answers.begin(), question.answers.end(),
                     [&](const ExpressionPtr& one) { return is_call_of(*one, function); }) ||
         std::any_of(question.choices.begin(), question.choices.end(), [&](const LessonChoice& choice) {
           return choice.right && calls(*choice.right, function);
         });
}

int Lesson::question_count() const {
  size_t count = 0;
  for (const Scene& scene : scenes) count += scene.questions.size();
  return static_cast<int>(count);
}

const Question* Lesson::find_question(const std::string& id) const {
  for (const Scene& scene : scenes)
    for (const Question& question : scene.questions)
      if (question.id == id) return &question;
  return nullptr;
}

std::string scene_id(const std::string& title) {
  std::string id;
  for (const char c : title) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || byte >= 0x80)
      id += c;
    else if (c >= 'A' && c <= 'Z')
      id += static_cast<char>(c - 'A' + 'a');
    else if (!id.empty() && id.back() != '-')
      id += '-';
  }
  while (!id.empty() && id.back() == '-') id.pop_back();
  return id;
}

// Refuses what is no text, and returns it with the line ends of Unix.
static std::string as_text(const std::string& text, const std::string& file) {
  if (text.size() > kLargestLesson)
    throw lesson_error(
        file, 1, fmt::format("the file has {} bytes; a lesson has at most {}", text.size(), kLargestLesson));
  if (!is_utf8(text)) throw lesson_error(file, 1, "the file is not UTF-8: save it as UTF-8");
  if (text.find('\0') != std::string::npos)
    throw lesson_error(file, 1, "the file holds a byte of 0: it is no text");
  return unix_lines(text);
}

Lesson parse_lesson(const std::string& text, const std::string& file) {
  const std::string lines = as_text(text, file);
  return FileReader(lines, file).read();
}

Lesson parse_lesson_head(const std::string& text, const std::string& file) {
  const std::string lines = as_text(text, file);
  return FileReader(lines, file).read_head_alone();
}

Lesson read_lesson(const std::string& path, std::stop_token stop) {
  const InputFile file(path);
  if (file.size() > static_cast<int64_t>(kLargestLesson))
    throw lesson_error(
        path, 1, fmt::format("the file has {} bytes; a lesson has at most {}", file.size(), kLargestLesson));
  Lesson lesson = parse_lesson(file.text(), path);
  check_names(lesson, std::move(stop));
  return lesson;
}

}  // namespace shardlens
