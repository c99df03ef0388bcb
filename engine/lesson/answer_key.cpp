// Judges answers by a key. assets/handout/answers.js does the same; the tests compare the two.
#include "engine/lesson/answer_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/lesson/written_answer.h"

namespace shardlens {
namespace {

constexpr size_t kMostNamed = 3;        ///< of many candidates that a word names
constexpr size_t kLongestGuessed = 60;  ///< characters of a word that may be a typing error

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

/// What cannot be read, and why.
struct Unreadable {
  std::string problem;
};

/// A word; a number counts as one.
std::string words_in(const AnswerKey& key, const nlohmann::json& given) {
  if (given.is_string()) return given.get<std::string>();
  if (given.is_number_integer()) return given.dump();
  if (given.is_number()) return fmt::format("{}", given.get<double>());
  const char* const wanted = key.kind == QuestionKind::Choice ? "the words of a choice" : "a name";
  throw Unreadable{fmt::format("must be {} as a text, and is {}", wanted, kind_of(given))};
}

std::string all_names(const AnswerKey& key) {
  std::vector<std::string> names;
  for (const AnswerKey::Candidate& one : key.candidates) names.push_back(one.name);
  return join(names);
}

/// The word that is meant by one with a typing error; empty: none is near.
std::string near_word(const AnswerKey& key, const std::string& plain) {
  if (plain.empty() || plain.size() > kLongestGuessed) return "";
  const AnswerKey::Word* nearest = nullptr;
  int least = 0;
  for (const auto& [known, word] : key.words) {
    const int away = edit_distance(plain, known);
    if (away > static_cast<int>(known.size() + 1) / 2 || (nearest != nullptr && away >= least)) continue;
    nearest = &word;
    least = away;
  }
  return nearest == nullptr ? "" : nearest->written;
}

Unreadable unknown(const AnswerKey& key, const std::string& given) {
  if (key.kind == QuestionKind::Choice) return {"is none of the choices: " + all_names(key)};
  if (key.kind == QuestionKind::Order) return {"must hold each of these once: " + all_names(key)};
  if (key.what == "rank")
    return {fmt::format("must be a rank, a number from 0 to {}", key.candidates.size() - 1)};
  const std::string near = near_word(key, plain_words(given));
  return {fmt::format("is an unknown {} ({})", key.what,
                      near.empty() ? fmt::format("write the {} as the page does", key.what)
                                   : fmt::format("did you mean \"{}\"?", near))};
}

Unreadable unclear(const AnswerKey& key, const std::vector<int>& named) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(named.size(), kMostNamed); ++i)
    names.push_back(key.candidates[static_cast<size_t>(named[i])].name);
  const std::string more =
      named.size() > kMostNamed ? fmt::format(" and {} more", named.size() - kMostNamed) : "";
  return {fmt::format("names {}{}: say which", join(names), more)};
}

std::vector<int> named_or_throw(const AnswerKey& key, const std::string& given) {
  std::vector<int> named = named_candidates(key, given);
  if (named.empty()) throw unknown(key, given);
  return named;
}

Judged judge_name(const AnswerKey& key, const nlohmann::json& given) {
  const std::string words = words_in(key, given);
  const std::vector<int> named = named_or_throw(key, words);
  const auto at = [&](int candidate) -> const AnswerKey::Candidate& {
    return key.candidates[static_cast<size_t>(candidate)];
  };
  if (std::all_of(named.begin(), named.end(), [&](int one) { return at(one).right; })) return {true, "", ""};
  if (named.size() > 1) throw unclear(key, named);
  return {false, "", at(named.front()).hint};
}

Judged judge_order(const AnswerKey& key, const nlohmann::json& given) {
  if (!given.is_array()) throw Unreadable{fmt::format("must be a list of names, and is {}", kind_of(given))};
  std::vector<int> order;
  for (const nlohmann::json& one : given) {
    if (!one.is_string())
      throw Unreadable{fmt::format("must be a list of names as texts, and holds {}", kind_of(one))};
    const std::string words = one.get<std::string>();
    const std::vector<int> named = named_or_throw(key, words);
    if (named.size() > 1) throw unclear(key, named);
    order.push_back(named.front());
    if (order.size() > key.candidates.size()) break;
  }
  std::vector<int> all(key.candidates.size());
  std::iota(all.begin(), all.end(), 0);
  if (!std::is_permutation(all.begin(), all.end(), order.begin(), order.end())) throw unknown(key, "");
  // Of several right orders, the one that is followed longest says which item comes too early.
  size_t followed = 0;
  for (const auto& places : key.orders) followed = std::max(followed, count_in_order(order, places));
  if (followed == order.size()) return {true, "", ""};
  return {false, "", key.candidates[static_cast<size_t>(order[followed])].hint};
}

Judged judge_number(const AnswerKey& key, const nlohmann::json& given) {
  if (!given.is_number() && !given.is_string())
    throw Unreadable{fmt::format("must be a number, and is {}", kind_of(given))};
  const std::string words = words_in(key, given);
  const std::optional<WrittenNumber> number = written_number(words);
  if (!number) throw Unreadable{"is no number: write one such as 12, 1.5 or 1,024"};
  if (!converted(number->value, number->unit, key.unit))
    throw Unreadable{fmt::format("has the unit \"{}\": write the number {}", shown(number->unit),
                                 key.unit.empty() ? "alone" : "in " + key.unit)};
  const auto says = [&](double right) { return says_number(*number, right, key.unit, key.tolerance); };
  if (std::any_of(key.numbers.begin(), key.numbers.end(), says)) return {true, "", ""};
  const auto hint = std::find_if(key.number_hints.begin(), key.number_hints.end(),
                                 [&](const auto& one) { return says(one.at); });
  return {false, "", hint == key.number_hints.end() ? "" : hint->text};
}

}  // namespace

std::string kind_of(const nlohmann::json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "true or false";
  if (value.is_number()) return "a number";
  return value.is_string() ? "a text" : value.is_array() ? "a list" : "an object";
}

int AnswerKey::add(const std::string& name) {
  candidates.push_back({name, false, "", {}, ""});
  const int place = static_cast<int>(candidates.size()) - 1;
  add_word(place, name, 0);
  return place;
}

void AnswerKey::add_word(int candidate, const std::string& written, int rank) {
  const std::string plain = plain_words(written);
  if (plain.empty()) return;
  const auto [found, is_new] = words.try_emplace(plain, Word{written, rank, {candidate}});
  Word& word = found->second;
  if (is_new || rank > word.rank) return;
  if (rank < word.rank)
    word = {written, rank, {candidate}};
  else if (std::find(word.candidates.begin(), word.candidates.end(), candidate) == word.candidates.end())
    word.candidates.push_back(candidate);
}

std::vector<std::string> AnswerKey::words_of(int candidate) const {
  std::vector<const Word*> found;
  for (const auto& [plain, word] : words) {
    const std::vector<int>& named = word.candidates;
    const bool decides = named.size() == 1 || std::all_of(named.begin(), named.end(), [&](int one) {
                           return candidates[static_cast<size_t>(one)].right;
                         });
    if (decides && std::find(named.begin(), named.end(), candidate) != named.end()) found.push_back(&word);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Word* a, const Word* b) { return a->rank < b->rank; });
  std::vector<std::string> written;
  for (const Word* word : found) written.push_back(word->written);
  return written;
}

std::vector<int> named_candidates(const AnswerKey& key, const std::string& words) {
  if (words.size() > kLongestWritten) return {};
  const std::string name = trimmed(words);
  std::vector<int> named;
  const auto collect = [&](const auto& is_named) {
    for (size_t i = 0; i < key.candidates.size(); ++i)
      if (is_named(key.candidates[i])) named.push_back(static_cast<int>(i));
  };
  collect([&](const AnswerKey::Candidate& one) { return one.name == name; });
  if (!named.empty()) return named;
  if (const auto found = key.words.find(plain_words(words)); found != key.words.end())
    return found->second.candidates;
  if (key.kind != QuestionKind::Choice) return {};
  if (const std::optional<WrittenNumber> number = written_number(words))
    collect([&](const AnswerKey::Candidate& one) {
      if (!one.number) return false;
      const std::optional<double> given =
          number->unit.empty() ? number->value : converted(number->value, number->unit, one.unit);
      return given && std::abs(*given - *one.number) <= kSameNumber * std::abs(*one.number);
    });
  return named;
}

Judged judge(const AnswerKey& key, const nlohmann::json& given) {
  try {
    switch (key.kind) {
      case QuestionKind::Number:
        return judge_number(key, given);
      case QuestionKind::Order:
        return judge_order(key, given);
      default:
        return judge_name(key, given);
    }
  } catch (const Unreadable& unreadable) {
    return {false, unreadable.problem, ""};
  }
}

nlohmann::ordered_json key_as_json(const AnswerKey& key) {
  nlohmann::ordered_json out = {{"kind", to_string(key.kind)}, {"what", key.what}};
  if (key.kind == QuestionKind::Number) {
    out["numbers"] = key.numbers;
    out["unit"] = key.unit;
    out["tolerance"] = key.tolerance;
    nlohmann::ordered_json hints = nlohmann::ordered_json::array();
    for (const AnswerKey::NumberHint& one : key.number_hints) hints.push_back({one.at, one.text});
    out["hints"] = std::move(hints);
    return out;
  }
  nlohmann::ordered_json names = nlohmann::ordered_json::array(), right = names, words = names;
  nlohmann::ordered_json hints = nlohmann::ordered_json::object(), numbers = hints;
  for (size_t i = 0; i < key.candidates.size(); ++i) {
    const AnswerKey::Candidate& one = key.candidates[i];
    names.push_back(one.name);
    if (one.right) right.push_back(i);
    if (!one.hint.empty()) hints[std::to_string(i)] = one.hint;
    if (one.number) numbers[std::to_string(i)] = {*one.number, one.unit};
  }
  for (const auto& [plain, word] : key.words) words.push_back({word.written, word.candidates});
  out["names"] = std::move(names);
  out["words"] = std::move(words);
  if (!hints.empty()) out["hints"] = std::move(hints);
  if (key.kind == QuestionKind::Order) {
    out["orders"] = key.orders;
    return out;
  }
  out["right"] = std::move(right);
  if (!numbers.empty()) out["numbers"] = std::move(numbers);
  return out;
}

}  // namespace shardlens
