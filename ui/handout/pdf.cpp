// Writes a handout as A4 pages: scenes with their questions and room to answer them, then the answers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ui/handout/flow.h"
#include "ui/handout/handout.h"

namespace shardlens::ui {
namespace {

constexpr float kMillimetre = 96 / 25.4f;
constexpr ImVec2 kMargin{15 * kMillimetre, 17 * kMillimetre};
constexpr PageFrame kPaper{{210 * kMillimetre, 297 * kMillimetre}, kMargin};
constexpr float kTitle = 28, kHeading = 20, kText = 15, kNote = 13;
constexpr float kIndent = 30;       // of answers, below a question's number
constexpr float kAnswerPitch = 26;  // from one answer to the next
constexpr float kHighestPicture = 760;

/// The styles of a page, in the colours of paper.
struct Inks {
  explicit Inks(const Fonts& of) : fonts(of) {}
  const Fonts& fonts;
  const Theme& paper = theme(ThemeName::Light);

  TextStyle of(ImFont* font, float size, ImU32 colour) const { return {font, size, colour}; }
  TextStyle title() const { return of(fonts.bold, kTitle, paper.text); }
  TextStyle heading() const { return of(fonts.bold, kHeading, paper.text); }
  TextStyle text() const { return of(fonts.body, kText, paper.text); }
  TextStyle strong() const { return of(fonts.bold, kText, paper.text); }
  TextStyle code() const { return of(fonts.mono, kText, paper.text); }
  TextStyle note() const { return of(fonts.body, kNote, paper.dim); }
  TextStyle of(const ShownSpan& span) const {
    ImFont* const font = span.code       ? fonts.mono
                         : span.strong   ? fonts.bold
                         : span.emphasis ? fonts.italic
                                         : fonts.body;
    return of(font, kText, paper.text);
  }
};

void add_paragraph(Flow& flow, const Inks& inks, const ShownParagraph& paragraph) {
  std::vector<StyledWords> words;
  for (const ShownSpan& span : paragraph.spans) words.push_back({span.text, inks.of(span)});
  flow.add_space(6);
  switch (paragraph.kind) {
    case LessonParagraph::Kind::Bullet:
      return flow.add_words(words, 18, {"\u2022", inks.text()});
    case LessonParagraph::Kind::Numbered:
      return flow.add_words(words, 24, {fmt::format("{}.", paragraph.number), inks.text()});
    case LessonParagraph::Kind::Quote:
      return flow.add_words(words, 18);
    case LessonParagraph::Kind::Code:
      // Line by line: where an author broke it.
      for (const StyledWords& one : words)
        for (size_t from = 0; from <= one.text.size();) {
          const size_t to = std::min(one.text.find('\n', from), one.text.size());
          flow.add_words({{one.text.substr(from, to - from), inks.code()}}, 18);
          from = to + 1;
        }
      return;
    case LessonParagraph::Kind::Plain:
      return flow.add_words(words);
  }
}

void add_picture(Flow& flow, const HandoutPicture& picture) {
  Tape marks;
  ImVec2 size;
  if (const Figure* figure = std::get_if<Figure>(&picture)) {
    size = figure->page.size;
    const float scale =
        std::min({1 / figure->page.pixels, kPaper.width() / size.x, kHighestPicture / size.y});
    marks.put(figure->tape, {(kPaper.width() - size.x * scale) / 2, 0}, scale);
    size = {size.x * scale, size.y * scale};
  } else {
    const Image& image = std::get<Image>(picture);
    const ImVec2 whole(static_cast<float>(image.size.width), static_cast<float>(image.size.height));
    const float scale = std::min(kPaper.width() / whole.x, kHighestPicture / whole.y);
    size = {whole.x * scale, whole.y * scale};
    const float left = (kPaper.width() - size.x) / 2;
    marks.put(mark::Pixels{{left, 0}, {left + size.x, size.y}, std::make_shared<Image>(image), 1, true});
  }
  flow.add_picture(std::move(marks), size.y);
}

/// A line to write on, after `words`.
void add_answer_line(Flow& flow, const Inks& inks, const std::string& words) {
  constexpr float kHeight = 34, kLongest = 320;
  Tape marks;
  const float begin = kIndent + (words.empty() ? 0 : set_width(inks.fonts, inks.note(), words) + 10);
  marks.put(mark::Words{{kIndent, kHeight - kNote - 6}, inks.note(), Align::Left, words});
  marks.put(mark::Line{
      {begin, kHeight - 4}, {std::min(begin + kLongest, kPaper.width()), kHeight - 4}, inks.paper.dim, 1});
  flow.add_block(std::move(marks), kHeight);
}

/// A box to mark or to write a number into, and the words beside it.
void add_answer_box(Flow& flow, const Inks& inks, const StyledWords& words) {
  constexpr float kBox = 15;
  const size_t first = flow.size();
  flow.add_space(4);
  Tape box;
  box.put(mark::Outline{{kIndent, 2}, {kIndent + kBox, 2 + kBox}, inks.paper.dim, 2, 1});
  flow.add_block(std::move(box), 0);
  flow.add_words({words}, kIndent + kBox + 9);
  flow.add_space(kAnswerPitch - kText * 1.32f - 4);
  flow.keep_together(first);
}

void add_question(Flow& flow, const Inks& inks, const HandoutQuestion& question, const std::string& number) {
  flow.add_space(16);
  const size_t first = flow.size();
  flow.add_words({{question.ask, inks.strong()}}, kIndent, {number, inks.strong()});
  const std::string how = question.how_to_answer();
  switch (question.kind) {
    case QuestionKind::Choice:
      for (const std::string& choice : question.choices) add_answer_box(flow, inks, {choice, inks.text()});
      break;
    case QuestionKind::Order:
      flow.add_words({{how, inks.note()}}, kIndent);
      for (const std::string& item : question.choices) add_answer_box(flow, inks, {item, inks.code()});
      break;
    case QuestionKind::Cut:
      add_answer_line(flow, inks, how);
      add_answer_line(flow, inks, "");
      break;
    case QuestionKind::Number:
    case QuestionKind::Point:
      add_answer_line(flow, inks, how);
      break;
  }
  flow.keep_together(first);
}

void add_scene(Flow& flow, const Inks& inks, const HandoutScene& scene, size_t place) {
  flow.add_space(26);
  const size_t first = flow.size();
  flow.add_bookmark(scene.title);
  flow.add_words({{scene.title, inks.heading()}}, kIndent, {std::to_string(place + 1), inks.heading()});
  flow.keep_with_next();
  for (const ShownParagraph& paragraph : scene.text) add_paragraph(flow, inks, paragraph);
  if (!scene.light.empty()) {
    if (!scene.text.empty()) flow.keep_with_next();
    for (const HandoutPicture& picture : scene.light) {
      flow.add_space(12);
      add_picture(flow, picture);
      if (&picture != &scene.light.back()) flow.keep_with_next();
    }
    for (const ShownCallout& callout : scene.callouts) {
      flow.keep_with_next();
      flow.add_space(4);
      flow.add_words({{callout.at + ":", inks.of(inks.fonts.mono, kNote, inks.paper.text)},
                      {" " + callout.text, inks.of(inks.fonts.body, kNote, inks.paper.text)}});
    }
    flow.keep_with_next();
    flow.add_space(4);
    flow.add_words({{scene.numbers, inks.note()}});
  }
  for (size_t i = 0; i < scene.questions.size(); ++i)
    add_question(flow, inks, scene.questions[i], Handout::number_of(place, i));
  flow.keep_scene_together(first);
}

void add_glossary(Flow& flow, const Inks& inks, const Handout& handout) {
  const std::vector<std::string_view> words = handout.words();
  if (words.empty()) return;
  flow.add_space(26);
  flow.add_bookmark("Words");
  flow.add_words({{"Words", inks.heading()}});
  flow.keep_with_next();
  for (const std::string_view one : words) {
    const size_t end = one.find(':') + 1;  // "Rank: One of the T workers …"
    flow.add_space(6);
    flow.add_words(
        {{std::string(one.substr(0, end)), inks.strong()}, {std::string(one.substr(end)), inks.text()}});
  }
}

void add_answers(Flow& flow, const Inks& inks, const Handout& handout) {
  if (handout.question_count() == 0) return;
  flow.begin_page();
  flow.add_bookmark("Answers");
  flow.add_words({{"Answers", inks.heading()}});
  flow.keep_with_next();
  for (size_t scene = 0; scene < handout.scenes.size(); ++scene)
    for (size_t i = 0; i < handout.scenes[scene].questions.size(); ++i) {
      const HandoutQuestion& question = handout.scenes[scene].questions[i];
      flow.add_space(14);
      flow.add_words({{question.right_text(), inks.strong()}}, kIndent,
                     {Handout::number_of(scene, i), inks.strong()});
      flow.keep_with_next();
      flow.add_space(2);
      flow.add_words({{question.right.because, inks.text()}}, kIndent);
    }
}

void add_beginning(Flow& flow, const Inks& inks, const Handout& handout) {
  flow.add_words({{handout.title, inks.title()}});
  flow.add_space(4);
  flow.add_words({{handout.asks, inks.of(inks.fonts.body, 18, inks.paper.text)}});
  flow.add_space(10);
  std::string facts = handout.extent();
  if (handout.seed) facts += fmt::format(" · seed {}", *handout.seed);
  flow.add_words({{facts, inks.note()}});
  if (!handout.sources.empty())
    flow.add_words({{fmt::format("Sources: {}", fmt::join(handout.sources, "; ")), inks.note()}});
  flow.add_words(
      {{"Every number and picture is from a plan or a run that was made for these pages. At the end the "
        "words of the field are explained, then come the answers and reasons.",
        inks.note()}});
}

void add_foot(PdfDocument& document, const Inks& inks, const Handout& handout) {
  const TextStyle style = inks.note();
  const float y = kPaper.size.y - kMargin.y + 14;
  std::string name = handout.title;
  if (handout.seed) name += fmt::format(" · seed {}", *handout.seed);
  for (size_t i = 0; i < document.pages.size(); ++i) {
    Tape& tape = document.pages[i].tape;
    tape.put(mark::Words{{kMargin.x, y}, style, Align::Left, name});
    tape.put(mark::Words{{kPaper.size.x - kMargin.x, y},
                         style,
                         Align::Right,
                         fmt::format("page {} of {}", i + 1, document.pages.size())});
  }
}

}  // namespace

std::string to_pdf(const Handout& handout, const Fonts& fonts) {
  const Inks inks(fonts);
  Flow flow(fonts, kPaper);
  add_beginning(flow, inks, handout);
  for (size_t i = 0; i < handout.scenes.size(); ++i) add_scene(flow, inks, handout.scenes[i], i);
  add_glossary(flow, inks, handout);
  add_answers(flow, inks, handout);
  PdfDocument document = flow.pages(handout.title, inks.paper.panel);
  add_foot(document, inks, handout);
  return to_pdf(document, fonts);
}

}  // namespace shardlens::ui
