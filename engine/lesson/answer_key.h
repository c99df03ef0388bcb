// What may be answered to a question, and what is right: every word for everything that can be chosen, made
// once by the engine. The studio and the command line judge by it, and a handout's script by a copy of it
// (assets/handout/answers.js), so all three accept the same words.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/lesson/lesson.h"
#include "engine/program/program.h"

namespace shardlens {

struct AnswerKey {
  /// A choice, a step, a tensor, a rank or an item of an order.
  struct Candidate {
    std::string name;  ///< what a click answers
    bool right = false;
    std::string hint;              ///< said to who gives it, or puts it too early in an order; empty: nothing
    std::optional<double> number;  ///< of a choice that is a number
    std::string unit;              ///< of that number, in small letters
  };
  /// Of words that read the same, those of the lowest rank count: a name before a letter of an equation.
  struct Word {
    std::string written;  ///< as a page shows it
    int rank = 0;
    std::vector<int> candidates;
  };
  struct NumberHint {
    double at = 0;  ///< in the question's unit
    std::string text;
  };

  QuestionKind kind = QuestionKind::Choice;
  std::string what;  ///< of a candidate: "choice", "step", "tensor", "rank", "bar", "item"
  std::vector<Candidate> candidates;
  std::map<std::string, Word> words;  ///< by their plain_words()
  /// Of an Order, any of them is right: places from first to last, and the candidates that share each.
  std::vector<std::vector<std::vector<int>>> orders;
  // Of a Number.
  std::vector<double> numbers;  ///< in the unit; any of them is right
  std::string unit;
  double tolerance = 0;
  std::vector<NumberHint> number_hints;

  /// Adds a candidate with its name as a word, and returns its place.
  int add(const std::string& name);
  void add_word(int candidate, const std::string& written, int rank);
  /// What is written for a candidate and for no wrong one, its name first.
  std::vector<std::string> words_of(int candidate) const;
};

/// Candidates with all their words: what a page calls them.
void add_steps(const Program& program, AnswerKey& key);
void add_tensors(const Program& program, AnswerKey& key);
/// Other words for a step or tensor of this name.
std::vector<std::string> words_for(const Program& program, const std::string& name);
/// Of several tensors that a letter names, layouts of one value, those that are right count, or else the
/// first. For add_tensors(), once it is known what is right.
void join_layouts(const Program& program, AnswerKey& key);

/// How many of `given`, from the first on, stand where their place is; within one, any order is right.
template <class Name>
size_t count_in_order(const std::vector<Name>& given, const std::vector<std::vector<Name>>& places) {
  size_t next = 0;
  for (const std::vector<Name>& place : places)
    for (size_t i = 0; i < place.size(); ++i, ++next)
      if (next == given.size() || std::find(place.begin(), place.end(), given[next]) == place.end())
        return next;
  return next;
}

template <class Name>
bool is_in_order(const std::vector<Name>& given, const std::vector<std::vector<Name>>& places) {
  return count_in_order(given, places) == given.size();
}

/// How an answer was read.
struct Judged {
  bool right = false;
  std::string problem;  ///< why it could not be read, and what would do; empty: it could
  std::string hint;     ///< of the question's author, for this wrong answer
};

/// Judges an answer in the form of an answers file. Never throws for what it holds. Not for a Cut.
Judged judge(const AnswerKey& key, const nlohmann::json& given);

/// "a number", "a list": for messages.
std::string kind_of(const nlohmann::json& value);

/// The candidates that words name; empty: none.
std::vector<int> named_candidates(const AnswerKey& key, const std::string& words);

/// For a handout's script.
nlohmann::ordered_json key_as_json(const AnswerKey& key);

}  // namespace shardlens
