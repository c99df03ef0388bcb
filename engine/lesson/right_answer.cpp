// Finds what is right, and everything that may be answered.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/base/suggest.h"
#include "engine/lesson/answer_key.h"
#include "engine/lesson/at_line.h"
#include "engine/lesson/cut_answer.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/marking.h"
#include "engine/lesson/said_value.h"
#include "engine/lesson/written_answer.h"

namespace shardlens {
namespace {

/// The names in an answer to a Point.
Names names_in(const Value& value) {
  if (const Names* names = std::get_if<Names>(&value)) return *names;
  if (const Ordered* order = std::get_if<Ordered>(&value)) return order->names();
  if (const LessonNumber* number = std::get_if<LessonNumber>(&value)) return {number_text(number->value, "")};
  return {to_text(value)};
}

void add_new(Names& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// A question that is being answered, with all that its expressions read.
struct Asked {
  const Lesson& lesson;
  const Question& question;
  const Surroundings& where;

  Error fail(const std::string& message) const { return lesson_error(lesson.source, question.line, message); }
  Value value(const ExpressionPtr& expression, int line = 0) const {
    return at_line(lesson, line == 0 ? question.line : line, [&] { return evaluate(*expression, where); });
  }
  /// Calls `say` with the value and the words of each hint.
  void hints(const std::function<void(const Value&, const std::string&, int line)>& say) const {
    for (const LessonHint& hint : question.hints)
      say(value(hint.at, hint.line), at_line(lesson, hint.line, [&] { return filled(hint.text, where); }),
          hint.line);
  }
  Error no_choice(int line, const char* what, const Value& value, const Names& texts) const {
    return lesson_error(lesson.source, line,
                        fmt::format("the {} is {}, and no choice reads so: the choices are {}", what,
                                    to_text(value), join(texts)));
  }
};

void find_choices(const Asked& asked, const Names& texts, RightAnswer& right, AnswerKey& key) {
  key.what = "choice";
  for (const std::string& text : texts) {
    AnswerKey::Candidate& choice = key.candidates[static_cast<size_t>(key.add(text))];
    const std::optional<WrittenNumber> number = written_number(text);
    if (number && converted(1, number->unit, number->unit)) {
      choice.number = number->value;
      choice.unit = number->unit;
    }
  }
  for (const ExpressionPtr& one : asked.question.answers) {
    const Value value = asked.value(one);
    const std::vector<size_t> said = texts_that_say(value, texts);
    if (said.empty()) throw asked.no_choice(asked.question.line, "answer", value, texts);
    for (const size_t choice : said) add_new(right.accepted, texts[choice]);
  }
  if (asked.question.answers.empty()) {
    for (const LessonChoice& choice : asked.question.choices)
      if (is_yes(asked.value(choice.right, choice.text.line), asked.question, asked.lesson))
        right.accepted.push_back(filled(choice.text, asked.where));
    if (right.accepted.size() != 1)
      throw asked.fail(fmt::format("{} choices are right, and one should be: {}", right.accepted.size(),
                                   join(right.accepted)));
  }
  for (AnswerKey::Candidate& one : key.candidates)
    one.right = std::find(right.accepted.begin(), right.accepted.end(), one.name) != right.accepted.end();
  asked.hints([&](const Value& value, const std::string& words, int line) {
    const std::vector<size_t> said = texts_that_say(value, texts);
    if (said.empty()) throw asked.no_choice(line, "hint", value, texts);
    for (const size_t choice : said) key.candidates[choice].hint = words;
  });
}

void find_numbers(const Asked& asked, RightAnswer& right, AnswerKey& key) {
  const Question& question = asked.question;
  key.unit = question.unit;
  key.tolerance = question.tolerance;
  const auto number_in = [&](const Value& value, const char* what) {
    const LessonNumber* number = std::get_if<LessonNumber>(&value);
    if (!number)
      throw asked.fail(fmt::format("the {} of a number must be a number, and is {}", what, to_text(value)));
    const double in_question = in_unit(*number, question.unit);
    if (!std::isfinite(in_question))
      throw asked.fail(
          fmt::format("the {} is too large to be told in {}: choose a larger unit", what, question.unit));
    return in_question;
  };
  for (const ExpressionPtr& one : question.answers)
    key.numbers.push_back(number_in(asked.value(one), "answer"));
  asked.hints([&](const Value& value, const std::string& words, int) {
    key.number_hints.push_back({number_in(value, "hint"), words});
  });
  right.numbers = key.numbers;
  for (const double number : key.numbers)
    add_new(right.accepted, number_text(number, question.unit, question.tolerance));
}

/// The candidate of a key that a name from an expression is.
std::vector<int> place_in(const AnswerKey& key, const Program& program, const std::string& name) {
  if (key.what == "step") return {step_named(program, name)};
  if (key.what == "tensor") return {tensor_named(program, name)};
  const std::vector<int> named = named_candidates(key, name);
  if (named.empty()) throw request_error(fmt::format("there is no {} \"{}\"", key.what, name));
  return named;
}

void find_places(const Asked& asked, RightAnswer& right, AnswerKey& key) {
  const Program& program = asked.where.evidence->program();
  // A tensor stands for the step that writes it.
  const auto step_or_name = [&](const std::string& name) {
    if (asked.question.at != PointAt::Step) return name;
    return at_line(asked.lesson, asked.question.line,
                   [&] { return program.step(step_named(program, name)).name; });
  };
  for (const ExpressionPtr& one : asked.question.answers)
    for (const std::string& name : names_in(asked.value(one))) add_new(right.accepted, step_or_name(name));
  if (right.accepted.empty())
    throw asked.fail("the answer is an empty list: nothing that is pointed at would be right");
  key.what = to_string(asked.question.at);
  switch (asked.question.at) {
    case PointAt::Rank:
      for (int rank = 0; rank < program.tp() * program.dp(); ++rank)
        key.add_word(key.add(std::to_string(rank)), fmt::format("rank {}", rank), 0);
      break;
    case PointAt::Tensor:
      add_tensors(program, key);
      break;
    case PointAt::Bar:
      add_steps(program, key);
      for (const std::string& name : right.accepted)  // a bar of a chart that shows no steps
        if (named_candidates(key, name).empty()) key.add(name);
      break;
    case PointAt::Step:
      add_steps(program, key);
      break;
  }
  const auto each = [&](const std::string& name, int line, const auto& take) {
    at_line(asked.lesson, line, [&] {
      for (const int place : place_in(key, program, name)) take(key.candidates[static_cast<size_t>(place)]);
      return 0;
    });
  };
  for (const std::string& name : right.accepted)
    each(name, asked.question.line, [](AnswerKey::Candidate& one) { one.right = true; });
  asked.hints([&](const Value& value, const std::string& words, int line) {
    for (const std::string& name : names_in(value))
      each(name, line, [&](AnswerKey::Candidate& one) { one.hint = words; });
  });
  if (asked.question.at == PointAt::Tensor) join_layouts(program, key);
}

/// The same places with what the pages call them.
Ordered as_shown(const Program& program, Ordered order) {
  for (Names& place : order.places)
    for (std::string& name : place) name = with_equation(program, name);
  return order;
}

void find_orders(const Asked& asked, const std::vector<Ordered>& orders, RightAnswer& right, AnswerKey& key) {
  key.what = "item";
  const Program& program = asked.where.evidence->program();
  for (const std::string& item : asked.question.items) {
    const int candidate = key.add(item);
    for (const std::string& word : words_for(program, item)) key.add_word(candidate, word, 1);
  }
  for (const Ordered& order : orders) {
    auto& places = key.orders.emplace_back();
    for (const Names& place : order.places) {
      auto& candidates = places.emplace_back();
      for (const std::string& name : place) candidates.push_back(named_candidates(key, name).front());
    }
  }
  asked.hints([&](const Value& value, const std::string& words, int line) {
    for (const std::string& name : names_in(value)) {
      const std::vector<int> named = named_candidates(key, name);
      if (named.size() != 1)
        throw lesson_error(asked.lesson.source, line,
                           fmt::format("the hint is for {}, which is no item of the order", name));
      key.candidates[static_cast<size_t>(named.front())].hint = words;
    }
  });
  right.accepted = orders.front().names();
  for (const Ordered& order : orders) {
    right.text += (right.text.empty() ? "" : "; or ") + to_text(as_shown(program, order));
    const bool has_ties = order.places.size() < asked.question.items.size();
    if (has_ties) right.text += " (equal ones in any order)";
  }
}

}  // namespace

std::vector<Ordered> LessonRun::orders_of(const Scene& scene, const Question& question) {
  const Surroundings where = surroundings(scene.state);
  const Asked asked{lesson_, question, where};
  std::vector<Ordered> orders;
  for (const ExpressionPtr& one : question.answers) {
    const Value value = asked.value(one);
    Ordered order;
    if (const Names* names = std::get_if<Names>(&value))
      for (const std::string& name : *names) order.places.push_back({name});
    else if (const Ordered* known = std::get_if<Ordered>(&value))
      order = *known;
    const Names names = order.names();
    if (!std::is_permutation(names.begin(), names.end(), question.items.begin(), question.items.end()))
      throw asked.fail(
          fmt::format("the answer of an order must be a list of its items, and is {}", to_text(value)));
    orders.push_back(std::move(order));
  }
  return orders;
}

RightAnswer LessonRun::right_answer(const Scene& scene, const Question& question) {
  const Surroundings where = surroundings(scene.state);
  const Asked asked{lesson_, question, where};
  const auto because = [&](const Surroundings& there) {
    return at_line(lesson_, question.because.line, [&] { return filled(question.because, there); });
  };
  RightAnswer right;
  const auto key = std::make_shared<AnswerKey>();
  key->kind = question.kind;
  switch (question.kind) {
    case QuestionKind::Choice:
      find_choices(asked, show(scene, question).choices, right, *key);
      break;
    case QuestionKind::Number:
      find_numbers(asked, right, *key);
      break;
    case QuestionKind::Point:
      find_places(asked, right, *key);
      break;
    case QuestionKind::Order:
      find_orders(asked, orders_of(scene, question), right, *key);
      break;
    case QuestionKind::Cut: {
      const Settings settings = where.evidence->settings();
      for (const Split& split : splits_to_try()) {
        if (!try_cut(lesson_, question, settings, split, scene.state.mistake, where).does) continue;
        Settings cut = settings;
        cut.split = split;
        right.text = cut_text(split, settings.block);
        right.accepted = {right.text};
        right.split = split;
        right.because = because({*store_, store_->of(cut, scene.state.mistake), drawn_});
        return right;
      }
      throw asked.fail("no way to cut the matrices does what is asked");
    }
  }
  right.key = key;
  if (right.text.empty()) right.text = join(right.accepted);
  right.because = because(where);
  return right;
}

}  // namespace shardlens
