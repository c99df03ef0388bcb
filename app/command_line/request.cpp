// Values and refusals of the command line.
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

#include "engine/config/error.h"
#include "engine/config/suggest.h"

namespace shardlens::cli {
namespace {

// The whole of `text` as a T in decimal; result_out_of_range where it is a number that no T is.
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

// A checked whole number is handed on without leading zeros, which the parser would take for octal.
template <class T>
CLI::Validator whole_number(const char* expected) {
  return CLI::Validator(
      [expected](std::string& text) -> std::string {
        T value{};
        const std::errc error = read_into(value, text);
        if (error == std::errc::result_out_of_range)
          return fmt::format("{} is not possible: too far from 0; give one nearer to it, such as 2", text);
        if (error != std::errc()) return fmt::format("\"{}\" is not {}", text, expected);
        text = std::to_string(value);
        return {};
      },
      "");
}

// A number within limits, which --help gives too.
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

// The parser takes the word behind "--checkpoint" or "--checkpoint=" for its value, whatever it is.
CLI::Validator a_value() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        if (text.empty())
          return "the value is empty, as that of a variable that is not set; give one, or leave the option "
                 "out";
        if (text.starts_with("--"))
          return fmt::format("\"{}\" is an option, where a value should stand; give one", text);
        return {};
      },
      "");
}

// The verb that was asked for, or the program where it came to none.
const CLI::App& asked_for(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? app : *verbs.front();
}

std::string full_name(const CLI::App& verb) {
  return verb.get_parent() == nullptr ? verb.get_name()
                                      : verb.get_parent()->get_name() + " " + verb.get_name();
}

// What was left over belongs to nothing: an option with a typing error mostly.
std::string left_over(const CLI::App& app) {
  const CLI::App& verb = asked_for(app);
  const std::vector<std::string> rest = app.remaining(true);
  const auto is_option = [](const std::string& text) { return text.size() > 1 && text[0] == '-'; };
  auto word = std::find_if(rest.begin(), rest.end(), is_option);
  const std::string help = fmt::format("{} --help lists what there is", full_name(verb));
  if (word == rest.end())
    return fmt::format("\"{}\" is one word too many; {}", rest.empty() ? std::string() : rest.front(), help);
  const std::string name = word->substr(0, word->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  if (std::find(names.begin(), names.end(), name) != names.end())
    return fmt::format("{} stands where no option is read: write it after the verb and before any --", name);
  const std::string nearest = nearest_name(name, names);
  const bool near = edit_distance(name, nearest) <= 2;
  return fmt::format("{} is no option of {}{}; {}", name, verb.get_name(),
                     near ? fmt::format("; did you mean {}?", nearest) : "", help);
}

std::string missing(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = asked_for(app);
  if (&verb == &app) {
    if (!app.remaining().empty()) return left_over(app);
    std::vector<std::string> verbs;
    for (const CLI::App* one : app.get_subcommands({})) verbs.push_back(one->get_name());
    return fmt::format("say what to do: one of {}; {} --help teaches them", join(verbs), app.get_name());
  }
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_required() && option->count() == 0)
      return fmt::format("{} is missing: {}; see {} --help", option->get_name(), option->get_description(),
                         full_name(verb));
  }
  return error.what();
}

// Values are read in the options' order, so that the last one that was read is the one that failed.
std::string not_converted(const CLI::App& verb) {
  const CLI::Option* failed = nullptr;
  for (const CLI::Option* option : verb.get_options())
    if (option->count() > 0 && option->get_callback_run()) failed = option;
  const std::string what =
      failed == nullptr ? "a value" : fmt::format("{} = {}", failed->get_name(), failed->results().front());
  return fmt::format("{} is not possible: too far from 0, or nothing that it takes; see {} --help", what,
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
        return fmt::format("{} requires {}: give that too, or leave the first out", option->get_name(),
                           other->get_name());
  return "an option requires another one: give that too, or leave the first out";
}

// Too many values, or none for the last word.
std::string mismatched(const CLI::App& verb, const std::string& last_word) {
  for (const CLI::Option* option : verb.get_options())
    if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw &&
        option->count() > static_cast<size_t>(std::max(option->get_items_expected_max(), 1)))
      return fmt::format("{} is given more than once", option->get_name());
  return fmt::format("{} needs a value; see {} --help", last_word.substr(0, last_word.find('=')),
                     full_name(verb));
}

}  // namespace

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

CLI::Validator new_file() {
  return CLI::Validator(
      [](std::string& path) -> std::string {
        std::error_code ignored;
        if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) return {};
        return path + " is there already; give a name that nothing has yet, or move it away";
      },
      "");
}

CLI::Validator at_least_zero() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const std::optional<double> value = read<double>(text);
        return value && *value >= 0 ? std::string() : fmt::format("{} is below 0", text);
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
  return error.what();  // what one of our own validators said, and the option's name before it
}

}  // namespace shardlens::cli
