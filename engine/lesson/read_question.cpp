// Reads a block `question`.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/suggest.h"
#include "engine/base/words.h"
#include "engine/lesson/marking.h"
#include "engine/lesson/read_blocks.h"

namespace shardlens {
namespace {

constexpr Word<QuestionKind> kKinds[] = {{QuestionKind::Choice, "choice"},
                                         {QuestionKind::Number, "number"},
                                         {QuestionKind::Point, "point"},
                                         {QuestionKind::Order, "order"},
                                         {QuestionKind::Cut, "cut"}};
constexpr Word<PointAt> kPlaces[] = {
    {PointAt::Step, "step"}, {PointAt::Tensor, "tensor"}, {PointAt::Rank, "rank"}, {PointAt::Bar, "bar"}};

constexpr size_t kMostItems = 12;
constexpr size_t kMostConditions = 9;
constexpr size_t kMostAnswers = 9;
constexpr size_t kMostHints = 9;
constexpr int64_t kMostPoints = 100;

class QuestionReader {
 public:
  QuestionReader(const TomlValue& table, const BlockPlace& place)
      : place_(place), reader_(table, place.file, "the question") {
    question_.line = table.line;
  }

  Question read() {
    // What a question is follows from what it states; `kind` is for who wants to say it.
    const bool says_choices = reader_.has("choices"), says_at = reader_.has("at"),
               says_items = reader_.has("items"), says_unit = reader_.has("unit");
    question_.kind = reader_.has("kind") ? reader_.word("kind", parse_question_kind)
                     : says_choices      ? QuestionKind::Choice
                     : says_at           ? QuestionKind::Point
                     : says_items        ? QuestionKind::Order
                     : says_unit         ? QuestionKind::Number
                                         : throw reader_.fail("ask",
                                                              "say what kind of question it is: kind = \"choice\", "
                                                                      "\"number\", \"point\", \"order\" or \"cut\"");
    question_.ask = text("ask");
    if (question_.ask.empty()) throw reader_.fail("ask", "must not be empty");
    if (reader_.has("points"))
      question_.points = static_cast<double>(reader_.integer("points", 1, kMostPoints));
    switch (question_.kind) {
      case QuestionKind::Choice:
        read_choices();
        break;
      case QuestionKind::Number:
        read_number();
        break;
      case QuestionKind::Point:
        question_.at = reader_.word("at", parse_point_at);
        break;
      case QuestionKind::Order:
        read_items();
        break;
      case QuestionKind::Cut:
        break;
    }
    read_answer();
    read_hints();
    read_because();
    if (reader_.has("shows")) question_.shows = read_scene(reader_.value("shows"), place_, "`shows`");
    reader_.finish();
    return std::move(question_);
  }

 private:
  Template as_template(const std::string& text, int line) const {
    try {
      return parse_template(text, line, place_.own_names);
    } catch (const Error& error) {
      throw lesson_error(place_.file, line, error.what());
    }
  }

  ExpressionPtr as_expression(const std::string& text, int line) const {
    try {
      return parse_expression(text, place_.own_names);
    } catch (const Error& error) {
      throw lesson_error(place_.file, line, error.what());
    }
  }

  Template text(const std::string& key) {
    const std::string given = reader_.text(key);
    return as_template(given, reader_.line_of(key));
  }

  void read_choices() {
    const TomlValue& list = reader_.value("choices");
    if (!list.is_list())
      throw reader_.fail("choices", "must be a list of texts, or of { text = \"…\", right = \"…\" }");
    size_t judged = 0;
    for (const TomlValue& one : std::get<TomlValue::List>(list.is)) {
      LessonChoice choice;
      if (one.is_text()) {
        choice.text = as_template(std::get<std::string>(one.is), one.line);
      } else {
        TableReader reader(one, place_.file, "a choice");
        choice.text = as_template(reader.text("text"), one.line);
        if (reader.has("right")) {
          choice.right = as_expression(reader.text("right"), one.line);
          if (!reads_evidence(*choice.right))
            throw reader.fail("right",
                              "must not be typed in: say it by an expression that reads the plan or the run");
          ++judged;
        }
        if (reader.has("shows")) choice.shows = read_scene(reader.value("shows"), place_, "`shows`");
        reader.finish();
      }
      question_.choices.push_back(std::move(choice));
    }
    if (question_.choices.size() < 2 || question_.choices.size() > kMostChoices)
      throw reader_.fail("choices",
                         fmt::format("must be 2 to {}, and are {}", kMostChoices, question_.choices.size()));
    if (judged > 0 && judged < question_.choices.size())
      throw reader_.fail(
          "choices", "either every choice says when it is `right`, or none and the question has an `answer`");
    judges_choices_ = judged > 0;
  }

  void read_number() {
    question_.unit = reader_.text_or("unit", "");
    std::vector<std::string> names;
    for (const LessonUnit& unit : lesson_units()) names.emplace_back(unit.name);
    if (std::find(names.begin(), names.end(), question_.unit) == names.end())
      throw reader_.fail("unit", unknown_name("unit", question_.unit, names).what());
    if (reader_.has("tolerance")) question_.tolerance = reader_.number("tolerance", 0, 0.5);
  }

  void read_items() {
    question_.items = reader_.texts_or_none("items");
    if (question_.items.size() < 2 || question_.items.size() > kMostItems)
      throw reader_.fail(
          "items", fmt::format("must be 2 to {} names, and are {}", kMostItems, question_.items.size()));
    std::vector<std::string> sorted = question_.items;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      throw reader_.fail("items", fmt::format("\"{}\" stands in it twice", *twice));
  }

  void read_answer() {
    if (judges_choices_) {
      if (reader_.has("answer"))
        throw reader_.fail("answer", "the choices say themselves which is right: leave it out");
      return;
    }
    if (question_.kind == QuestionKind::Cut && reader_.value("answer").is_list()) return read_conditions();
    const bool several = reader_.value("answer").is_list();
    const std::vector<std::string> answers =
        several ? reader_.texts_or_none("answer") : std::vector{reader_.text("answer")};
    if (answers.empty() || answers.size() > kMostAnswers)
      throw reader_.fail("answer", fmt::format("must be an expression, or a list of 1 to {}", kMostAnswers));
    for (const std::string& one : answers) {
      question_.answers.push_back(as_expression(one, reader_.line_of("answer")));
      if (!reads_evidence(*question_.answers.back()))
        throw reader_.fail(
            "answer", "must not be typed in: take it from the plan or the run, as in collectives(forward)");
    }
    if (question_.kind != QuestionKind::Cut) return;
    add_conditions(question_.answers.front());
    question_.answers.clear();
  }

  // What is said to known wrong answers.
  void read_hints() {
    if (!reader_.has("hints")) return;
    if (question_.kind == QuestionKind::Cut)
      throw reader_.fail("hints",
                         "are for questions with a choice, a number, a place to point at or an order");
    const TomlValue& list = reader_.value("hints");
    const TomlValue::List* const all = std::get_if<TomlValue::List>(&list.is);
    if (all == nullptr || all->empty() || all->size() > kMostHints)
      throw reader_.fail(
          "hints",
          fmt::format("must be a list of 1 to {} of {{ at = \"expression\", text = \"…\" }}", kMostHints));
    for (const TomlValue& one : *all) {
      TableReader reader(one, place_.file, "a hint");
      question_.hints.push_back(
          {as_expression(reader.text("at"), one.line), as_template(reader.text("text"), one.line), one.line});
      if (question_.hints.back().text.empty()) throw reader.fail("text", "must not be empty");
      reader.finish();
    }
  }

  // What a cut must do, one by one.
  void read_conditions() {
    for (const TomlValue& one : std::get<TomlValue::List>(reader_.value("answer").is)) {
      TableReader reader(one, place_.file, "a condition");
      question_.conditions.push_back(
          {as_expression(reader.text("right"), one.line), as_template(reader.text("wrong"), one.line)});
      if (!reads_evidence(*question_.conditions.back().right))
        throw reader.fail("right",
                          "must not be typed in: say it by an expression that reads the plan or the run");
      reader.finish();
    }
    if (question_.conditions.empty() || question_.conditions.size() > kMostConditions)
      throw reader_.fail("answer",
                         fmt::format("must be an expression, or a list of 1 to {} of {{ right = \"…\", "
                                     "wrong = \"…\" }}",
                                     kMostConditions));
  }

  // `a and b` are two conditions.
  void add_conditions(const ExpressionPtr& answer) {
    if (answer->kind != Expression::Kind::Binary || answer->text != "and") {
      question_.conditions.push_back({answer, {}});
      return;
    }
    for (const ExpressionPtr& part : answer->parts) add_conditions(part);
  }

  // An expression, or a text with {{expressions}}.
  void read_because() {
    const std::string given = reader_.text("because");
    const int line = reader_.line_of("because");
    if (given.find("{{") != std::string::npos) {
      question_.because = as_template(given, line);
    } else {
      question_.because.line = line;
      try {
        question_.because.pieces.push_back({"", parse_expression(given, place_.own_names)});
      } catch (const Error& error) {
        throw reader_.fail("because",
                           fmt::format("{}. A text needs an {{{{expression}}}} in it", error.what()));
      }
    }
    if (!question_.because.reads_evidence())
      throw reader_.fail(
          "because", "must not be typed in: take it from the plan or the run, as in explain(collective(1))");
  }

  const BlockPlace& place_;
  TableReader reader_;
  Question question_;
  bool judges_choices_ = false;
};

}  // namespace

std::string to_string(QuestionKind kind) {
  return word_of(kKinds, kind);
}
QuestionKind parse_question_kind(const std::string& text) {
  return parse_word(kKinds, "kind of question", text);
}
std::string to_string(PointAt at) {
  return word_of(kPlaces, at);
}
PointAt parse_point_at(const std::string& text) {
  return parse_word(kPlaces, "place to point at", text);
}

std::vector<LessonUnit> lesson_units() {
  return {{"", 1},      {"bytes", 1}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
          {"KB", 1e3},  {"MB", 1e6},  {"GB", 1e9},     {"s", 1},           {"ms", 1e-3},
          {"us", 1e-6}, {"%", 0.01},  {"times", 1},    {"ranks", 1},       {"heads", 1}};
}

Question read_question(const std::string& toml, const BlockPlace& place) {
  const TomlValue table = parse_toml(toml, place.file, place.first_line);
  return QuestionReader(table, place).read();
}

}  // namespace shardlens
