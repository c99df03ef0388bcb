// The table of functions and names, and the functions that read nothing.
#include "engine/lesson/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/config/presets.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/function_tables.h"
#include "engine/lesson/run_keys.h"

namespace shardlens {
namespace {

Value choose(const Arguments& a) {
  const Value condition = a.value(0);
  if (!std::holds_alternative<bool>(condition))
    throw request_error("if: the first argument must be a yes or no");
  return a.value(std::get<bool>(condition) ? 1 : 2);
}

// Other settings for one expression.
Value with(const Arguments& a) {
  if (a.count() % 2 == 0)
    throw request_error("with: needs pairs of a key and a value, and an expression at its end");
  Settings settings = a.evidence().settings();
  std::optional<Fault> mistake = a.evidence().mistake();
  RunChange change;
  TomlValue::Table table;
  for (size_t i = 0; i + 1 < a.count(); i += 2) {
    const std::string key = a.text(i);
    const Value value = a.value(i + 1);
    if (key == "mistake") {
      mistake = parse_fault(a.text(i + 1));
      continue;
    }
    TomlValue toml;
    if (const LessonNumber* number = std::get_if<LessonNumber>(&value)) {
      if (std::floor(number->value) == number->value && std::abs(number->value) < 1e15)
        toml.is = static_cast<int64_t>(number->value);
      else
        toml.is = number->value;
    } else {
      toml.is = to_text(value);
    }
    for (const RunKey& row : run_keys())
      if (row.name == key) {
        try {
          row.apply(settings, toml);
        } catch (const Error& error) {
          throw request_error(fmt::format("with: {}: {}", key, error.what()));
        }
      }
    if (!is_run_key(key)) throw unknown_name("setting in with()", key, run_key_names());
  }
  const std::shared_ptr<Evidence> other = a.where().store.of(settings, mistake);
  return a.value(a.count() - 1, {a.where().store, other, a.where().drawn});
}

Value most(const Arguments& a) {
  Value best = a.value(0);
  for (size_t i = 0; i < a.count(); ++i)
    if (a.number(i) > std::get<LessonNumber>(number_of(a.number(0))).value &&
        a.number(i) > std::get<LessonNumber>(best).value)
      best = a.value(i);
  return best;
}
Value least(const Arguments& a) {
  double found = a.number(0);
  size_t at = 0;
  for (size_t i = 1; i < a.count(); ++i)
    if (a.number(i) < found) found = a.number(i), at = i;
  return a.value(at);
}
Value absolute(const Arguments& a) {
  const Value value = a.value(0);
  return number_of(std::abs(a.number(0)), std::holds_alternative<LessonNumber>(value)
                                              ? std::get<LessonNumber>(value).counts
                                              : Counts::Things);
}
Value rounded(const Arguments& a) {
  const double scale = std::pow(10.0, a.count() > 1 ? static_cast<double>(a.whole(1, 0, 9)) : 0.0);
  return number_of(std::round(a.number(0) * scale) / scale);
}
Value percent(const Arguments& a) {
  const double share = a.number(0) * 100;
  if (!std::isfinite(share)) throw request_error("percent: the number is too large");
  return fmt::format("{:.{}f} %", share, std::abs(share) < 10 && share != std::round(share) ? 1 : 0);
}
Value exactly(const Arguments& a) {
  const double value = a.number(0);
  return std::floor(value) == value ? fmt::format("{:.0f}", value) : fmt::format("{:.9g}", value);
}
Value digits(const Arguments& a) {
  return fmt::format("{:.{}g}", a.number(0), a.whole(1, 1, 17));
}
Value square_root(const Arguments& a) {
  if (a.number(0) < 0) throw request_error("sqrt: the number is below zero");
  return number_of(std::sqrt(a.number(0)));
}
Value plain(const Arguments& a) {
  return number_of(a.number(0));
}
/// Of a list or an order; none: the value is neither.
std::optional<Names> names_in(const Value& value) {
  if (const Names* names = std::get_if<Names>(&value)) return *names;
  if (const Ordered* order = std::get_if<Ordered>(&value)) return order->names();
  return std::nullopt;
}
Value length(const Arguments& a) {
  const Value value = a.value(0);
  if (const std::optional<Names> names = names_in(value)) return things(static_cast<int64_t>(names->size()));
  if (const Shape* extents = std::get_if<Shape>(&value)) return things(static_cast<int64_t>(extents->size()));
  throw request_error(
      fmt::format("count: counts a list, and \"{}\" is {}", shown(to_text(value)), kind_of(value)));
}
Value item(const Arguments& a) {
  const Value value = a.value(0);
  const std::optional<Names> names = names_in(value);
  if (!names || names->empty())
    throw request_error("item: the first argument must be a list with something in it");
  return (*names)[static_cast<size_t>(a.whole(1, 1, static_cast<int64_t>(names->size())) - 1)];
}

// clang-format off
constexpr Function kOfNothing[] = {
    {"with", "key, value, …, expression", 3, 13, Needs::Nothing, "the expression for other settings: with(\"tp\", 8, bytes()); the keys are those of [run], and \"mistake\"", with},
    {"if", "condition, then, else", 3, 3, Needs::Nothing, "one of two values", choose},
    {"max", "number, number, …", 1, 20, Needs::Nothing, "the largest", most},
    {"min", "number, number, …", 1, 20, Needs::Nothing, "the smallest", least},
    {"abs", "number", 1, 1, Needs::Nothing, "its size", absolute},
    {"sqrt", "number", 1, 1, Needs::Nothing, "its square root", square_root},
    {"round", "number[, places]", 1, 2, Needs::Nothing, "rounded to so many places", rounded},
    {"percent", "number", 1, 1, Needs::Nothing, "0.25 as \"25 %\"", percent},
    {"exactly", "number", 1, 1, Needs::Nothing, "all its digits, without a unit", exactly},
    {"digits", "number, count", 2, 2, Needs::Nothing, "so many significant digits, without a unit", digits},
    {"plain", "number", 1, 1, Needs::Nothing, "the number without its unit: bytes become a count", plain},
    {"count", "list", 1, 1, Needs::Nothing, "how many are in it", length},
    {"item", "list, number", 2, 2, Needs::Nothing, "its first, second, …", item},
};
// clang-format on

// clang-format off
#define SETTING(expression) [](const Surroundings& w) { const Settings& s = w.evidence->settings(); return expression; }
const KnownName kNames[] = {
    {"ranks", "T, the ranks that share a layer", true, SETTING(things(s.tp))},
    {"replicas", "D, the copies of those T", true, SETTING(things(s.dp))},
    {"split", "the split's name", true, SETTING(Value(s.split.name))},
    {"model", "the model's name", true, SETTING(Value(s.model.name))},
    {"model_title", "the model's title", true, SETTING(Value(s.model.title))},
    {"hidden", "the model's width", true, SETTING(things(s.model.hidden))},
    {"ffn", "the MLP's width", true, SETTING(things(s.model.ffn))},
    {"heads", "query heads", true, SETTING(things(s.model.heads))},
    {"key_heads", "key and value heads", true, SETTING(things(s.model.key_heads()))},
    {"head_dim", "width of a head", true, SETTING(things(s.model.head_dim()))},
    {"layers", "the model's layers", true, SETTING(things(s.model.layers))},
    {"vocab", "its vocabulary", true, SETTING(things(s.model.vocab))},
    {"padded_vocab", "the vocabulary, padded for T", true, SETTING(things(padded_vocab(s.model, s.tp)))},
    {"batch", "sequences", true, SETTING(things(s.batch))},
    {"seq", "tokens of a sequence", true, SETTING(things(s.seq))},
    {"tokens", "tokens that one replica works on at a time", true, SETTING(things(s.tokens()))},
    {"hardware", "the machine that times are predicted for", true, SETTING(Value(s.hardware))},
    {"mistake", "the planted mistake; \"none\"", true,
     [](const Surroundings& w) { return Value(w.evidence->mistake() ? to_string(*w.evidence->mistake()) : std::string("none")); }},
    {"forward", "the phase", false, [](const Surroundings&) { return Value(to_string(Phase::Forward)); }},
    {"backward", "the phase", false, [](const Surroundings&) { return Value(to_string(Phase::Backward)); }},
    {"update", "the phase: the optimizer", false, [](const Surroundings&) { return Value(to_string(Phase::Update)); }},
    {"yes", "true", false, [](const Surroundings&) { return Value(true); }},
    {"no", "false", false, [](const Surroundings&) { return Value(false); }},
};
#undef SETTING
// clang-format on

const char* word_of_needs(Needs needs) {
  return needs == Needs::Plan       ? "plan"
         : needs == Needs::Run      ? "run"
         : needs == Needs::Training ? "training"
                                    : "";
}

}  // namespace

std::span<const Function> functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> rows;
    for (const auto of : {functions_of_plans(), functions_of_models(), functions_of_runs(),
                          functions_of_laboratory(), std::span<const Function>(kOfNothing)})
      rows.insert(rows.end(), of.begin(), of.end());
    return rows;
  }();
  return all;
}

std::span<const KnownName> known_names() {
  return kNames;
}

const Function* find_function(const std::string& name) {
  const auto found = std::ranges::find(functions(), name, &Function::name);
  return found == functions().end() ? nullptr : &*found;
}

const KnownName* find_known_name(const std::string& name) {
  const auto found = std::find_if(std::begin(kNames), std::end(kNames),
                                  [&](const KnownName& one) { return name == one.name; });
  return found == std::end(kNames) ? nullptr : found;
}

std::string functions_as_markdown() {
  std::string out = "| function | yields | needs |\n| --- | --- | --- |\n";
  for (const Function& one : functions())
    out += fmt::format("| `{}({})` | {} | {} |\n", one.name, one.arguments, one.sentence,
                       word_of_needs(one.needs));
  out += "\n| name | is |\n| --- | --- |\n";
  for (const KnownName& one : kNames) out += fmt::format("| `{}` | {} |\n", one.name, one.sentence);
  return out;
}

}  // namespace shardlens
