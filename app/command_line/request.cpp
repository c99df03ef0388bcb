// Checks the values of a command line and writes the messages for wrong ones.
#include "app/command_line/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/suggest.h"

namespace shardlens::cli {
namespace {

// Reads all of `text` as a decimal T. Returns result_out_of_range if the number does not fit into T.
template <class T>
std::errc read_into(T& value, const std::string& text) {
  const char* begin = text.data() + (!text.empty() && text[0] == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  return stop == end ? error : std::errc::invalid_argument;
}

template <class T>
std::optional<T> read(const std::string& text) {
  T value{};
  return read_into(value, text) == std::errc() ? std::optional<T>(value) : std::nullopt;
}

// Checks a whole number and removes its leading zeros, because the parser would read it as octal.
template <class T>
CLI::Validator whole_number(const char* expected) {
  return CLI::Validator(
      [expected](std::string& text) -> std::string {
        T value{};
        const std::errc error = read_into(value, text);
        if (error == std::errc::result_out_of_range)
          return fmt::format("{} is not possible: it does not fit into 64 bits; give one such as 2", text);
        if (error != std::errc()) return fmt::format("\"{}\" is not {}", text, expected);
        text = std::to_string(value);
        return {};
      },
      "");
}

// Checks that a number is within limits. --help prints the limits too.
template <class T>
CLI::Validator within(T least, T most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        const std::optional<T> value = read<T>(text);
        if (value && *value >= least && *value <= most) return {};
        return fmt::format("{} is not possible; choose from {} to {}", text, least, most);
      },
      fmt::format(" in [{} - {}]", least, most));
}

CLI::Validator finite_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const std::optional<double> value = read<double>(text);
        if (value && std::isfinite(*value)) return {};
        return fmt::format("\"{}\" is not a number; give one such as 0.5 or 1e-3", text);
      },
      "");
}

// Refuses an empty value and an option as a value: the parser takes any word after "--checkpoint" as its
// value.
CLI::Validator a_value() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        if (text.empty())
          return "the value is empty (perhaps from a variable that is not set); give a value, or leave out "
                 "the option";
        if (text.starts_with("--"))
          return fmt::format("\"{}\" is an option, but a value is needed here; give one", text);
        return {};
      },
      "");
}

// Returns the chosen verb, or the program if no verb was read.
const CLI::App& asked_for(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? app : *verbs.front();
}

std::string full_name(const CLI::App& verb) {
  return verb.get_parent() == nullptr ? verb.get_name()
                                      : verb.get_parent()->get_name() + " " + verb.get_name();
}

// The message for words that the parser could not use: mostly an option with a typing error.
std::string left_over(const CLI::App& app) {
  const CLI::App& verb = asked_for(app);
  const std::vector<std::string> rest = app.remaining(true);
  const auto is_option = [](const std::string& text) { return text.size() > 1 && text[0] == '-'; };
  auto word = std::find_if(rest.begin(), rest.end(), is_option);
  const std::string help = fmt::format("{} --help lists all options", full_name(verb));
  if (word == rest.end())
    return fmt::format("\"{}\" is one word too many; {}", rest.empty() ? std::string() : rest.front(), help);
  const std::string name = word->substr(0, word->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  if (std::find(names.begin(), names.end(), name) != names.end())
    return fmt::format("{} is in a place where no option is read: write it after the verb and before any --",
                       name);
  const std::string nearest = nearest_name(name, names);
  const bool near = edit_distance(name, nearest) <= 2;
  return fmt::format("{} is not an option of {}{}; {}", name, verb.get_name(),
                     near ? fmt::format("; did you mean {}?", nearest) : "", help);
}

std::string missing(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = asked_for(app);
  if (&verb == &app) {
    if (!app.remaining().empty()) return left_over(app);
    std::vector<std::string> verbs;
    for (const CLI::App* one : app.get_subcommands({})) verbs.push_back(one->get_name());
    return fmt::format("no verb is given: choose one of {}; {} --help explains them", join(verbs),
                       app.get_name());
  }
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_required() && option->count() == 0)
      return fmt::format("{} is missing: {}; see {} --help", option->get_name(), option->get_description(),
                         full_name(verb));
  }
  return error.what();
}

// Values are read in the order of the options, so the last value that was read is the one that failed.
std::string not_converted(const CLI::App& verb) {
  const CLI::Option* failed = nullptr;
  for (const CLI::Option* option : verb.get_options())
    if (option->count() > 0 && option->get_callback_run()) failed = option;
  const std::string what =
      failed == nullptr ? "a value" : fmt::format("{} = {}", failed->get_name(), failed->results().front());
  return fmt::format("{} is not possible: out of range, or not a value of this option; see {} --help", what,
                     full_name(verb));
}

std::string excluded(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options())
    for (const CLI::Option* other : option->get_excludes())
      if (option->count() > 0 && other->count() > 0)
        return fmt::format("{} and {} exclude each other: give one of them", option->get_name(),
                           other->get_name());
  return "two options exclude each other: give one of them";
}

std::string in_need(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options())
    for (const CLI::Option* other : option->get_needs())
      if (option->count() > 0 && other->count() == 0)
        return fmt::format("{0} requires {1}: add {1}, or leave out {0}", option->get_name(),
                           other->get_name());
  return "an option requires another one: add that one, or leave out the first";
}

// The message for an option that was given too often, or for a last word without its value.
std::string mismatched(const CLI::App& verb, const std::string& last_word) {
  for (const CLI::Option* option : verb.get_options())
    if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw &&
        option->count() > static_cast<size_t>(std::max(option->get_items_expected_max(), 1)))
      return fmt::format("{} is given more than once", option->get_name());
  return fmt::format("{} needs a value; see {} --help", last_word.substr(0, last_word.find('=')),
                     full_name(verb));
}

// The option that a word such as "--seed=" names, of the verb that comes before it or of the program; null if
// there is none.
const CLI::Option* option_of(const CLI::App& app, const std::string& verb, const std::string& name) {
  for (const CLI::App* one : app.get_subcommands({}))
    if (one->get_name() == verb)
      if (const CLI::Option* const found = one->get_option_no_throw(name)) return found;
  return app.get_option_no_throw(name);
}

}  // namespace

void parse_words(CLI::App& app, int count, const char* const* words) {
  std::vector<std::string> reversed;  // as the parser takes them
  std::string verb;
  bool options = true;  // until the word "--"
  for (int i = 1; i < count; ++i) {
    std::string word = words[i];
    options = options && word != "--";
    if (verb.empty() && !word.starts_with('-')) verb = word;
    const bool is_empty_value =
        options && word.starts_with("--") && word.size() > 3 && word.find('=') + 1 == word.size();
    if (is_empty_value) {
      word.pop_back();
      const CLI::Option* const option = option_of(app, verb, word);
      const bool needs_none = option != nullptr && option->get_items_expected_min() == 0;
      if (needs_none && option->get_items_expected_max() == 0)
        throw request_error(fmt::format("{0}= is not possible: {0} takes no value; write {0} alone", word));
      if (needs_none)
        throw request_error(fmt::format("{0}: the value is empty; give one, or write {0} alone", word));
    }
    reversed.push_back(std::move(word));
    if (is_empty_value) reversed.emplace_back();
  }
  std::reverse(reversed.begin(), reversed.end());
  app.parse(std::move(reversed));
}

void read_values_strictly(CLI::App& verb) {
  const std::set<std::string> whole{"INT", "HEADS", "TOKENS", "[INDEX]"}, real{"FLOAT", "SECONDS"};
  for (CLI::Option* option : verb.get_options([](const CLI::Option*) { return true; })) {
    const std::string type = option->get_type_name();
    const std::string name = type.substr(0, type.find(':'));
    if (name != kWords) option->transform(a_value());
    if (whole.count(name) > 0)
      option->transform(whole_number<int64_t>("a whole number; give one in digits, such as 2"));
    if (name == "UINT")
      option->transform(whole_number<uint64_t>("a whole number of 0 or more; give one in digits, such as 7"));
    if (real.count(name) > 0) option->transform(finite_number());
  }
}

CLI::Validator one_of(const std::string& what, std::vector<std::string> names) {
  return CLI::Validator(
      [what, names = std::move(names)](std::string& text) -> std::string {
        if (std::find(names.begin(), names.end(), text) != names.end()) return {};
        return unknown_name(what, text, names).what();
      },
      "");
}

CLI::Validator at_least_zero() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const std::optional<double> value = read<double>(text);
        return value && *value >= 0 ? std::string() : fmt::format("{} is not possible; give 0 or more", text);
      },
      "");
}

CLI::Validator between(int64_t least, int64_t most) {
  return within(least, most);
}

CLI::Validator between(double least, double most) {
  return within(least, most);
}

std::string sentence_of(const CLI::ParseError& error, const CLI::App& app, const std::string& last_word) {
  const CLI::App& verb = asked_for(app);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return left_over(app);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return missing(app, error);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return not_converted(verb);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) return excluded(verb);
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) return in_need(verb);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return mismatched(verb, last_word);
  return error.what();  // from one of our own validators, with the option's name before it
}

}  // namespace shardlens::cli
