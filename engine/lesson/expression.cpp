// Parses expressions and templates.
#include "engine/lesson/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/lesson.h"

namespace shardlens {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Parser {
 public:
  Parser(std::string_view text, const Names& own_names) : text_(text), own_names_(own_names) {}

  ExpressionPtr whole() {
    ExpressionPtr expression = binary(0);
    skip();
    if (at_ < text_.size())
      throw fail(fmt::format("\"{}\" is left over after its end", shown(text_.substr(at_))));
    return expression;
  }

 private:
  // By rising priority. `not` stands between `and` and the comparisons.
  static constexpr size_t kComparison = 2;
  static constexpr std::array<std::array<const char*, 6>, 5> kLevels{
      {{"or"}, {"and"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/"}}};

  Error fail(const std::string& what) const {
    return request_error(fmt::format("the expression `{}` cannot be read: {}", shown(text_, 120), what));
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool take(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    const size_t end = at_ + word.size();
    if (is_letter(word[0]) && end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end])))
      return false;
    at_ = end;
    return true;
  }

  struct Deeper {
    explicit Deeper(Parser& parser) : parser_(parser) {
      if (++parser.depth_ > kDeepestExpression) throw parser.fail("it is nested too deeply");
    }
    ~Deeper() { --parser_.depth_; }
    Parser& parser_;
  };

  ExpressionPtr binary(size_t level) {
    if (level == kLevels.size()) return power();
    if (level == kComparison && take("not")) {
      const Deeper deeper(*this);
      auto node = std::make_shared<Expression>();
      node->kind = Expression::Kind::Not;
      node->parts = {binary(kComparison)};
      return node;
    }
    ExpressionPtr left = binary(level + 1);
    for (;;) {
      const auto found = std::find_if(kLevels[level].begin(), kLevels[level].end(),
                                      [&](const char* op) { return op && take(op); });
      if (found == kLevels[level].end()) return left;
      if (++binaries_ > kDeepestExpression) throw fail("it is too long: split it over two expressions");
      auto node = std::make_shared<Expression>();
      node->kind = Expression::Kind::Binary;
      node->text = *found;
      node->parts = {left, binary(level + 1)};
      left = node;
    }
  }

  ExpressionPtr power() {
    const Deeper deeper(*this);
    ExpressionPtr base = unary();
    if (!take("^")) return base;
    auto node = std::make_shared<Expression>();
    node->kind = Expression::Kind::Binary;
    node->text = "^";
    node->parts = {base, power()};
    return node;
  }

  ExpressionPtr unary() {
    const Deeper deeper(*this);
    if (!take("-")) return primary();
    auto node = std::make_shared<Expression>();
    node->kind = Expression::Kind::Negative;
    node->parts = {unary()};
    return node;
  }

  ExpressionPtr primary() {
    skip();
    if (at_ >= text_.size()) throw fail("it ends where a value should stand");
    const char c = text_[at_];
    if (is_digit(c)) return number();
    if (c == '"' || c == '\'') return quoted(c);
    if (is_letter(c)) return name_or_call();
    if (!take("(")) throw fail(fmt::format("no value begins with \"{}\"", shown(text_.substr(at_), 10)));
    ExpressionPtr inner = binary(0);
    if (!take(")")) throw fail("a \")\" is missing");
    return inner;
  }

  ExpressionPtr number() {
    auto node = std::make_shared<Expression>();
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), node->number);
    if (error != std::errc() || !std::isfinite(node->number)) throw fail("a number in it is too large");
    at_ = static_cast<size_t>(end - text_.data());
    return node;
  }

  ExpressionPtr quoted(char mark) {
    const size_t end = text_.find(mark, at_ + 1);
    if (end == std::string_view::npos) throw fail(fmt::format("a text in it has no closing {}", mark));
    auto node = std::make_shared<Expression>();
    node->kind = Expression::Kind::Text;
    node->text = std::string(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return node;
  }

  ExpressionPtr name_or_call() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    auto node = std::make_shared<Expression>();
    node->text = std::string(text_.substr(begin, at_ - begin));
    if (!take("(")) {
      node->kind = Expression::Kind::Name;
      check_name(node->text);
      return node;
    }
    node->kind = Expression::Kind::Call;
    const Function* function = find_function(node->text);
    if (!function) throw fail(no_such("function", node->text, function_names()));
    if (!take(")")) {
      do {
        node->parts.push_back(binary(0));
        if (node->parts.size() > 20) throw fail("a call in it has more than 20 arguments");
      } while (take(","));
      if (!take(")")) throw fail(fmt::format("after the arguments of {} a \")\" is missing", node->text));
    }
    const int given = static_cast<int>(node->parts.size());
    if (given < function->least || given > function->most)
      throw fail(fmt::format("{} is given {} argument{}; it is {}({})", node->text, given,
                             given == 1 ? "" : "s", node->text, function->arguments));
    return node;
  }

  static Names function_names() {
    Names names;
    for (const Function& one : functions()) names.emplace_back(one.name);
    return names;
  }

  static std::string no_such(const char* what, const std::string& text, const Names& known) {
    const std::string near = near_name(text, known);
    return fmt::format("no {} `{}`; {}", what, shown(text),
                       near.empty() ? "there are: " + join(known) : fmt::format("did you mean `{}`?", near));
  }

  void check_name(const std::string& name) const {
    if (find_known_name(name)) return;
    if (std::find(own_names_.begin(), own_names_.end(), name) != own_names_.end()) return;
    if (const Function* function = find_function(name))
      throw fail(fmt::format("`{}` is a function: write {}({})", name, name, function->arguments));
    Names known = own_names_;
    for (const KnownName& one : known_names()) known.emplace_back(one.name);
    throw fail(no_such("name", name, known) + "; a step or tensor stands in quotes");
  }

  std::string_view text_;
  const Names& own_names_;
  size_t at_ = 0;
  int depth_ = 0;
  int binaries_ = 0;
};

const Expression& part(const Expression& expression, size_t at) {
  return *expression.parts[at];
}

double number_in(const Value& value, const char* op) {
  if (const LessonNumber* number = std::get_if<LessonNumber>(&value)) return number->value;
  throw request_error(
      fmt::format("`{}` needs numbers, and \"{}\" is {}", op, shown(to_text(value)), kind_of(value)));
}

Counts counts_of(const Value& value) {
  const LessonNumber* number = std::get_if<LessonNumber>(&value);
  return number ? number->counts : Counts::Things;
}

bool truth(const Value& value, const char* op) {
  if (const bool* yes = std::get_if<bool>(&value)) return *yes;
  throw request_error(fmt::format("`{}` needs a yes or no, such as a comparison, and \"{}\" is {}", op,
                                  shown(to_text(value)), kind_of(value)));
}

bool equal(const Value& left, const Value& right) {
  const LessonNumber *a = std::get_if<LessonNumber>(&left), *b = std::get_if<LessonNumber>(&right);
  if (a && b) return std::abs(a->value - b->value) <= 1e-9 * std::max(std::abs(a->value), std::abs(b->value));
  if (left.index() != right.index())
    throw request_error(fmt::format("\"{}\" is {} and \"{}\" is {}: they cannot be compared",
                                    shown(to_text(left)), kind_of(left), shown(to_text(right)),
                                    kind_of(right)));
  return left == right;
}

Value arithmetic(const std::string& op, const Value& left, const Value& right) {
  if (op == "+" && std::holds_alternative<std::string>(left))
    return std::get<std::string>(left) + to_text(right);
  const double a = number_in(left, op.c_str()), b = number_in(right, op.c_str());
  const Counts of_a = counts_of(left), of_b = counts_of(right);
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "+") return number_of(a + b, of_a == of_b ? of_a : Counts::Things);
  if (op == "-") return number_of(a - b, of_a == of_b ? of_a : Counts::Things);
  if (op == "*")
    return number_of(a * b, of_a == Counts::Things ? of_b : of_b == Counts::Things ? of_a : Counts::Things);
  if (op == "^") return number_of(std::pow(a, b));
  if (b == 0) throw request_error("an expression divides by zero");
  return number_of(a / b, of_b == Counts::Things ? of_a : Counts::Things);
}

Value value_of(const Expression& expression, const Surroundings& where);

}  // namespace

ExpressionPtr parse_expression(std::string_view text, const Names& own_names) {
  if (text.size() > kLongestExpression)
    throw request_error(
        fmt::format("an expression has {} characters; at most {} are read", text.size(), kLongestExpression));
  return Parser(text, own_names).whole();
}

std::string written(const Expression& expression) {
  const auto inner = [&](size_t at) {
    const Expression& one = part(expression, at);
    return one.kind == Expression::Kind::Binary ? "(" + written(one) + ")" : written(one);
  };
  switch (expression.kind) {
    case Expression::Kind::Number:
      return fmt::format("{}", expression.number);
    case Expression::Kind::Text:
      return '"' + expression.text + '"';
    case Expression::Kind::Name:
      return expression.text;
    case Expression::Kind::Negative:
      return "-" + inner(0);
    case Expression::Kind::Not:
      return "not " + inner(0);
    case Expression::Kind::Binary:
      return fmt::format("{} {} {}", inner(0), expression.text, inner(1));
    case Expression::Kind::Call:
      break;
  }
  std::vector<std::string> arguments;
  for (const ExpressionPtr& one : expression.parts) arguments.push_back(written(*one));
  return fmt::format("{}({})", expression.text, join(arguments));
}

bool reads_evidence(const Expression& expression) {
  if (expression.kind == Expression::Kind::Call && find_function(expression.text)->needs != Needs::Nothing)
    return true;
  if (expression.kind == Expression::Kind::Name) {
    const KnownName* name = find_known_name(expression.text);
    return !name || name->reads;
  }
  return std::any_of(expression.parts.begin(), expression.parts.end(),
                     [](const auto& one) { return reads_evidence(*one); });
}

bool calls(const Expression& expression, std::string_view name) {
  if (expression.kind == Expression::Kind::Call && expression.text == name) return true;
  return std::any_of(expression.parts.begin(), expression.parts.end(),
                     [&](const auto& one) { return calls(*one, name); });
}

bool is_call_of(const Expression& expression, std::string_view name) {
  if (expression.kind != Expression::Kind::Call) return false;
  return expression.text == name || (expression.text == "with" && is_call_of(*expression.parts.back(), name));
}

bool needs_run(const Expression& expression) {
  if (expression.kind == Expression::Kind::Call && find_function(expression.text)->needs > Needs::Plan)
    return true;
  return std::any_of(expression.parts.begin(), expression.parts.end(),
                     [](const auto& one) { return needs_run(*one); });
}

// A value that is no finite number is refused where it arises, so that no text, comparison or answer is made
// of it.
Value evaluate(const Expression& expression, const Surroundings& where) {
  Value value = value_of(expression, where);
  if (const LessonNumber* number = std::get_if<LessonNumber>(&value); number && !std::isfinite(number->value))
    throw request_error(
        fmt::format("`{}` is {}: ask for a value that is a finite number", shown(written(expression), 120),
                    std::isnan(number->value) ? "not a number (NaN)" : "larger than any number (infinite)"));
  return value;
}

namespace {

Value value_of(const Expression& expression, const Surroundings& where) {
  switch (expression.kind) {
    case Expression::Kind::Number:
      return number_of(expression.number);
    case Expression::Kind::Text:
      return expression.text;
    case Expression::Kind::Name: {
      if (const KnownName* name = find_known_name(expression.text)) return name->value(where);
      const auto drawn = where.drawn.values.find(expression.text);
      if (drawn == where.drawn.values.end())
        throw request_error(fmt::format("`{}` was not drawn", expression.text));
      if (drawn->second.is_number()) return number_of(drawn->second.number());
      if (drawn->second.is_text()) return std::get<std::string>(drawn->second.is);
      return to_text(drawn->second);
    }
    case Expression::Kind::Call:
      return find_function(expression.text)->call(Arguments(expression, where));
    case Expression::Kind::Negative: {
      const Value value = evaluate(part(expression, 0), where);
      return number_of(-number_in(value, "-"), counts_of(value));
    }
    case Expression::Kind::Not:
      return !truth(evaluate(part(expression, 0), where), "not");
    case Expression::Kind::Binary:
      break;
  }
  const std::string& op = expression.text;
  if (op == "and" || op == "or") {
    const bool left = truth(evaluate(part(expression, 0), where), op.c_str());
    if (left == (op == "or")) return left;
    return truth(evaluate(part(expression, 1), where), op.c_str());
  }
  const Value left = evaluate(part(expression, 0), where), right = evaluate(part(expression, 1), where);
  if (op == "==") return equal(left, right);
  if (op == "!=") return !equal(left, right);
  return arithmetic(op, left, right);
}

}  // namespace

bool Template::reads_evidence() const {
  return std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) {
    return piece.expression && shardlens::reads_evidence(*piece.expression);
  });
}

Template parse_template(std::string_view text, int line, const Names& own_names) {
  Template out;
  out.line = line;
  while (!text.empty()) {
    const size_t begin = text.find("{{");
    if (begin > 0) out.pieces.push_back({std::string(text.substr(0, begin)), nullptr});
    if (begin == std::string_view::npos) break;
    const size_t end = text.find("}}", begin);
    if (end == std::string_view::npos)
      throw request_error(fmt::format("\"{}\" has no closing }}}}", shown(text.substr(begin), 40)));
    out.pieces.push_back({std::string(text.substr(begin, end + 2 - begin)),
                          parse_expression(text.substr(begin + 2, end - begin - 2), own_names)});
    text.remove_prefix(end + 2);
  }
  return out;
}

std::string filled(const Template& text, const Surroundings& where) {
  std::string out;
  for (const Template::Piece& piece : text.pieces)
    out += piece.expression ? to_text(evaluate(*piece.expression, where)) : piece.text;
  return out;
}

}  // namespace shardlens
