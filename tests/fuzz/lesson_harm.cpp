// Damage to lessons: to what Markdown, TOML and expressions are made of, so that the rest still reads.
#include <fmt/format.h>

#include <algorithm>

#include "engine/lesson/functions.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/views.h"
#include "tests/fuzz/file_harm.h"

namespace shardlens::fuzz {
namespace {

const std::string kPieces[] = {
    "{{",           "}}",     "\"",   "'''",         "\"\"\"", "```",       "```scene\n", "```question\n",
    "```notes\n",   "+++\n",  "## ",  "[[",          "]]",     "[a.b.c]\n", "[run]\n",    "[draw]\n",
    "= ",           "{ a = ", "(",    ")",           ",",      "^",         "-",          "\\u0000",
    "\xEE\x80\x80", "> > > ", "1. ",  "* ",          "![",     "](",        "<b>",        "with(",
    "not ",         "\r\n",   "\n\n", "\xE2\x80\xAE"};

// Values that stand in lessons, and some that do not.
const std::string kValues[] = {"\"gpt2-tiny\"",
                               "\"bert-tiny\"",
                               "\"model\"",
                               "\"mlp\"",
                               "\"reversed\"",
                               "\"padded\"",
                               "\"gallery:late-rank\"",
                               "\"gallery:nothing\"",
                               "\"skip-f\"",
                               "\"mlp.proj\"",
                               "\"all-reduce mlp.proj.sum\"",
                               "\"rank 3\"",
                               "\"rank 99999999999\"",
                               "\"model\\u0007\"",
                               "\"collectives(forward) == 0\"",
                               "\"1e308 * 10\"",
                               "true",
                               "1e999",
                               "nan",
                               "0.5",
                               "1979-05-27T07:32:00Z",
                               "[]",
                               "[1, \"a\"]",
                               "[\"ranks\", \"collective(1)\"]",
                               "{ splits = [\"megatron\"] }",
                               "{ recording = \"gallery:late-rank\" }",
                               "{ row = 3, column = 5 }",
                               "[{ at = \"mlp.proj\", text = \"{{ranks}}\" }]",
                               "{ \"mlp.fc\" = \"row\" }"};

const std::string kSceneKeys[] = {
    "view",      "page",    "select",  "rank",  "zoom",           "fit",       "spotlight", "callouts",
    "number",    "hop",     "mistake", "train", "training_steps", "recording", "moment",    "compare",
    "operation", "way",     "run_to",  "play",  "panels",         "run",       "ask",       "kind",
    "answer",    "because", "choices", "items", "unit",           "tolerance", "at",        "points",
    "shows",     "title",   "minutes", "hints"};

std::string any_lesson_value(Random& random) {
  return below(random, 3) == 0 ? std::to_string(one_of(random, kNumbers)) : one_of(random, kValues);
}

std::string any_lesson_key(Random& random) {
  return below(random, 2) == 0 ? one_of(random, kSceneKeys) : std::string(one_of(random, run_keys()).name);
}

// Where a line of TOML has its key, its value and its end; nothing if there is none after `from`.
struct Entry {
  size_t key = 0, value = 0, end = 0;
};
std::optional<Entry> entry_after(const std::string& text, size_t from) {
  const size_t equals = text.find(" = ", from);
  if (equals == std::string::npos) return std::nullopt;
  const size_t before = text.find_last_of("\n,{", equals);
  return Entry{before == std::string::npos ? 0 : before + 1, equals + 3,
               std::min(text.find('\n', equals), text.size())};
}

// [begin, end) of an expression's inside; nothing if there is none after `from`.
std::optional<std::pair<size_t, size_t>> expression_after(const std::string& text, size_t from) {
  const size_t begin = text.find("{{", from);
  const size_t end = begin == std::string::npos ? begin : text.find("}}", begin);
  return end == std::string::npos ? std::nullopt : std::make_optional(std::pair{begin + 2, end});
}

std::string any_call(Random& random) {
  static const std::string kArguments[] = {"",
                                           "1",
                                           "'mlp.proj'",
                                           "'mlp.fc.weight'",
                                           "forward",
                                           "ranks, 2",
                                           "1e308",
                                           "'tp', 8, bytes()",
                                           "'skip-g'",
                                           "'f'",
                                           "'Partial'",
                                           "-1",
                                           "'gpt2', 4, 'h100'",
                                           "9999999999",
                                           "'', ''",
                                           "steps(), 1",
                                           "0.0, 1",
                                           "'micro_batches', 100000, 'block', 'model', bytes()"};
  return fmt::format("{}({})", one_of(random, functions()).name, one_of(random, kArguments));
}

void harm_entry(std::string& text, Random& random, std::string& done) {
  const std::optional<Entry> entry = entry_after(text, below(random, text.size() + 1));
  if (!entry) return;
  switch (below(random, 3)) {
    case 0:
      text.replace(entry->value, entry->end - entry->value, any_lesson_value(random));
      done += "another value";
      break;
    case 1:
      text.replace(entry->key, entry->value - 3 - entry->key, any_lesson_key(random));
      done += "another key";
      break;
    default:
      text.insert(entry->end, fmt::format("\n{} = {}", any_lesson_key(random), any_lesson_value(random)));
      done += "one more key";
  }
}

void harm_expression(std::string& text, Random& random, std::string& done) {
  const auto place = expression_after(text, below(random, text.size() + 1));
  if (!place) return;
  const auto [begin, end] = *place;
  const std::string inside = text.substr(begin, end - begin);
  static const std::string kOperators[] = {" + ", " - ", " * ", " / ", " ^ ", " == ", " < ", " and "};
  switch (below(random, 4)) {
    case 0:
      text.replace(begin, end - begin, any_call(random));
      break;
    case 1:
      text.insert(end, one_of(random, kOperators) + any_call(random));
      break;
    case 2:
      text.replace(
          begin, end - begin,
          fmt::format("with('{}', {}, {})", any_lesson_key(random), one_of(random, kNumbers), inside));
      break;
    default:
      text.replace(begin, end - begin,
                   fmt::format("if({} > 1, {}, {})", any_call(random), inside, any_call(random)));
  }
  done += "another expression";
}

void harm_block(std::string& text, Random& random, std::string& done) {
  const size_t begin = text.find("```", below(random, text.size() + 1));
  const size_t end = begin == std::string::npos ? begin : text.find("```", begin + 3);
  if (end == std::string::npos) return;
  const std::string block = text.substr(begin, end + 3 - begin) + "\n";
  const size_t line = text.find('\n', below(random, text.size() + 1));
  text.insert(line == std::string::npos ? text.size() : line + 1, block);
  done += "a block again";
}

}  // namespace

std::string harm_lesson(std::string text, Random& random, std::string& done) {
  switch (below(random, 8)) {
    case 0:
      return harm_lines(std::move(text), random, done);
    case 1:
      text.insert(below(random, text.size() + 1), one_of(random, kPieces));
      done += "a piece";
      break;
    case 2: {
      const std::string& piece = one_of(random, kPieces);
      const size_t times = below(random, 2000);
      std::string many;
      for (size_t i = 0; i < times; ++i) many += piece;
      text.insert(below(random, text.size() + 1), many);
      done += fmt::format("a piece {} times", times);
      break;
    }
    case 3:
      harm_block(text, random, done);
      break;
    case 4:
    case 5:
      harm_expression(text, random, done);
      break;
    default:
      harm_entry(text, random, done);
  }
  return text;
}

}  // namespace shardlens::fuzz
