// Expressions of a lesson: `sent_bytes(collective(1)) / ranks`. No number that a reader sees is typed into a
// lesson: it comes from an expression, and the functions (functions.h) read it from a plan or a run. The
// grammar is small and has texts, names and lazy arguments (`with`, `if`), which libraries for arithmetic do
// not have, so it is parsed here: `or and not == != < <= > >= + - * / ^ ( )`, numbers, "texts", names and
// calls.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lesson/value.h"

namespace shardlens {

class Evidence;
struct Drawn;
class EvidenceStore;

/// One node of a parsed expression.
struct Expression {
  enum class Kind { Number, Text, Name, Call, Negative, Not, Binary };
  Kind kind = Kind::Number;
  double number = 0;
  std::string text;  ///< of a Text; the name of a Name or Call; the operator of a Binary
  std::vector<std::shared_ptr<const Expression>> parts;
};
using ExpressionPtr = std::shared_ptr<const Expression>;

inline constexpr size_t kLongestExpression = 2'000;  ///< characters
inline constexpr int kDeepestExpression = 40;

/// Parses `text`. `own_names`: the names that the lesson draws, which are known in addition to those of
/// functions.h. Throws a request Error that says what is wrong and what would work; it names no file.
ExpressionPtr parse_expression(std::string_view text, const Names& own_names);

/// As it may stand in a file: `1e+308 * 10`. Only for messages.
std::string written(const Expression& expression);

/// True if it reads anything from a plan, a run or the texts' figures: an answer that does not is typed in.
bool reads_evidence(const Expression& expression);

/// True if the function `name` is called in it.
bool calls(const Expression& expression, std::string_view name);
/// True if its value is that of a call of the function `name`, perhaps with other settings: inside `with`.
bool is_call_of(const Expression& expression, std::string_view name);
/// True if a run must be made for its value: a plan is not enough.
bool needs_run(const Expression& expression);

/// Where an expression is evaluated: the settings that it is about and what the lesson drew.
struct Surroundings {
  EvidenceStore& store;
  std::shared_ptr<Evidence> evidence;  ///< held: the store may free what nobody holds
  const Drawn& drawn;
};

/// Throws a request Error that says what is wrong (an unknown step, a text where a number is needed, a value
/// that is no finite number). Throws a Cancelled Error if the store was stopped.
Value evaluate(const Expression& expression, const Surroundings& where);

/// A text with {{expressions}} in it.
struct Template {
  struct Piece {
    std::string text;          ///< as in the file: of an expression with its braces
    ExpressionPtr expression;  ///< null: the piece is `text`
  };
  std::vector<Piece> pieces;
  int line = 0;  ///< in its file, from 1

  bool empty() const { return pieces.empty(); }
  bool reads_evidence() const;
};

/// Parses a text with {{expressions}}. Throws as parse_expression(), and for a "{{" without its end.
Template parse_template(std::string_view text, int line, const Names& own_names);
/// The text with the values in place of the expressions. Throws as evaluate().
std::string filled(const Template& text, const Surroundings& where);

}  // namespace shardlens
