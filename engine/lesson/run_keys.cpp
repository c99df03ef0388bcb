// The table of settings keys, and the settings of a scene.
#include "engine/lesson/run_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/base/suggest.h"
#include "engine/config/hardware.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/config/validate.h"
#include "engine/train/data/draws.h"

namespace shardlens {
namespace {

constexpr uint32_t kDrawPurpose = 0x1e550;
constexpr int kMostAttempts = 200;
constexpr int64_t kLargestSeed = std::numeric_limits<int64_t>::max();

const std::string& text_in(const TomlValue& value) {
  if (value.is_text()) return std::get<std::string>(value.is);
  throw request_error(fmt::format("must be a text in quotes, and is {}", kind_of(value)));
}

int64_t whole_in(const TomlValue& value, int64_t least, int64_t most) {
  const int64_t* whole = std::get_if<int64_t>(&value.is);
  if (whole && *whole >= least && *whole <= most) return *whole;
  throw request_error(fmt::format("must be a whole number from {} to {}, and is {}", least, most,
                                  whole ? to_text(value) : kind_of(value)));
}

double number_in(const TomlValue& value, double least, double most) {
  if (value.is_number() && value.number() >= least && value.number() <= most) return value.number();
  throw request_error(fmt::format("must be a number from {} to {}, and is {}", least, most,
                                  value.is_number() ? to_text(value) : kind_of(value)));
}

// A preset, not a file: a lesson is the same wherever it is opened.
const Hardware& hardware_in(const TomlValue& value) {
  const std::string& name = text_in(value);
  for (const Hardware& hardware : hardware_presets())
    if (hardware.name == name) return hardware;
  throw unknown_name("hardware", name, hardware_names());
}

std::string quoted(const std::string& text) {
  return to_text(TomlValue{text, 0});
}

Split split_in(const TomlValue& value) {
  if (value.is_text()) return named_split(text_in(value));
  nlohmann::json json = nlohmann::json::object();
  if (!value.is_table())
    throw request_error("must be a split's name, or a table of cuts, and is " + kind_of(value));
  for (const auto& [key, cut] : value.entries()) json[key] = text_in(cut);
  return split_from_json(json, "own");
}

std::string split_written(const Split& split) {
  for (const Split& named : named_splits()) {
    Split renamed = split;
    renamed.name = named.name;
    if (renamed == named) return quoted(named.name);
  }
  return fmt::format(
      "{{ \"attn.qkv\" = \"{}\", \"attn.proj\" = \"{}\", \"mlp.fc\" = \"{}\", \"mlp.proj\" = \"{}\", "
      "embedding = \"{}\", "
      "norm = \"{}\", loss = \"{}\" }}",
      to_string(split.attn_qkv), to_string(split.attn_proj), to_string(split.mlp_fc),
      to_string(split.mlp_proj), to_string(split.embedding), to_string(split.norm), to_string(split.loss));
}

std::string delays_written(const Settings& settings) {
  std::vector<std::string> delays;
  for (const Delay& delay : settings.delays) delays.push_back(quoted(to_string(delay)));
  return "[" + join(delays) + "]";
}

std::vector<Delay> delays_in(const TomlValue& value) {
  // An expression has no lists: with("delays", "2:attn.proj:20", waiting_ranks()) has one late rank.
  if (std::holds_alternative<std::string>(value.is)) return {parse_delay(text_in(value))};
  if (!value.is_list())
    throw request_error("must be a list such as [\"2:attn.proj:20\"]: rank, step, milliseconds");
  std::vector<Delay> delays;
  for (const TomlValue& one : std::get<TomlValue::List>(value.is))
    delays.push_back(parse_delay(text_in(one)));
  return delays;
}

// clang-format off
constexpr RunKey kKeys[] = {
    {"model", "a model's name, as plan --model takes it",
     [](Settings& s, const TomlValue& v) { s.model = model_preset(text_in(v)); },
     [](const Settings& s) { return quoted(s.model.name); }},
    {"norm", "\"pre\", \"post\"",
     [](Settings& s, const TomlValue& v) { s.model.norm = parse_norm_placement(text_in(v)); },
     [](const Settings& s) { return quoted(to_string(s.model.norm)); }},
    {"layers", "the model's layers",
     [](Settings& s, const TomlValue& v) { s.model.layers = whole_in(v, 1, kLargestLayers); },
     [](const Settings& s) { return fmt::format("{}", s.model.layers); }},
    {"hidden", "the model's width; ffn becomes four times as wide",
     [](Settings& s, const TomlValue& v) { s.model.hidden = whole_in(v, 1, kLargestHidden); s.model.ffn = 4 * s.model.hidden; },
     [](const Settings& s) { return fmt::format("{}", s.model.hidden); }},
    {"ffn", "the width of the MLP",
     [](Settings& s, const TomlValue& v) { s.model.ffn = whole_in(v, 1, kLargestFfn); },
     [](const Settings& s) { return fmt::format("{}", s.model.ffn); }},
    {"heads", "the model's query heads",
     [](Settings& s, const TomlValue& v) { s.model.heads = whole_in(v, 1, kLargestHidden); },
     [](const Settings& s) { return fmt::format("{}", s.model.heads); }},
    {"kv_heads", "its key and value heads; 0: as heads",
     [](Settings& s, const TomlValue& v) { s.model.kv_heads = whole_in(v, 0, kLargestHidden); },
     [](const Settings& s) { return fmt::format("{}", s.model.kv_heads); }},
    {"vocab", "the model's vocabulary",
     [](Settings& s, const TomlValue& v) { s.model.vocab = whole_in(v, 1, kLargestVocab); },
     [](const Settings& s) { return fmt::format("{}", s.model.vocab); }},
    {"block", "\"layer\", \"mlp\", \"attention\", \"model\"",
     [](Settings& s, const TomlValue& v) { s.block = parse_block(text_in(v)); },
     [](const Settings& s) { return quoted(to_string(s.block)); }},
    {"layer", "which layer of the model, from 0",
     [](Settings& s, const TomlValue& v) { s.layer = whole_in(v, 0, kLargestLayers); },
     [](const Settings& s) { return fmt::format("{}", s.layer); }},
    {"tp", "T, from 1",
     [](Settings& s, const TomlValue& v) { s.tp = static_cast<int>(whole_in(v, 1, kLargestDegree)); },
     [](const Settings& s) { return fmt::format("{}", s.tp); }},
    {"dp", "D, from 1; above 1 only for a whole model",
     [](Settings& s, const TomlValue& v) { s.dp = static_cast<int>(whole_in(v, 1, kLargestDegree)); },
     [](const Settings& s) { return fmt::format("{}", s.dp); }},
    {"heads_policy", "\"strict\", \"uneven\", \"padded\"",
     [](Settings& s, const TomlValue& v) { s.heads_policy = parse_heads_policy(text_in(v)); },
     [](const Settings& s) { return quoted(to_string(s.heads_policy)); }},
    {"split", "a split's name, or a table of cuts as in a split file",
     [](Settings& s, const TomlValue& v) { s.split = split_in(v); },
     [](const Settings& s) { return split_written(s.split); }},
    {"loss", "\"fused\", \"gather\"",
     [](Settings& s, const TomlValue& v) { s.split.loss = parse_loss_form(text_in(v)); },
     [](const Settings& s) { return quoted(to_string(s.split.loss)); }},
    {"dtype", "\"fp32\", \"fp64\", \"bf16\", \"fp16\"",
     [](Settings& s, const TomlValue& v) { s.dtype = parse_dtype(text_in(v)); },
     [](const Settings& s) { return quoted(to_string(s.dtype)); }},
    {"operands", "\"normal\", \"integer\"",
     [](Settings& s, const TomlValue& v) { s.operands = parse_operands(text_in(v)); },
     [](const Settings& s) { return quoted(to_string(s.operands)); }},
    {"batch", "sequences",
     [](Settings& s, const TomlValue& v) { s.batch = whole_in(v, 1, kLargestBatch); },
     [](const Settings& s) { return fmt::format("{}", s.batch); }},
    {"seq", "tokens of a sequence",
     [](Settings& s, const TomlValue& v) { s.seq = whole_in(v, 1, kLargestPositions); },
     [](const Settings& s) { return fmt::format("{}", s.seq); }},
    {"micro_batches", "parts of the batch",
     [](Settings& s, const TomlValue& v) { s.micro_batches = static_cast<int>(whole_in(v, 1, kLargestBatch)); },
     [](const Settings& s) { return fmt::format("{}", s.micro_batches); }},
    {"overlap_chunks", "parts of a row-parallel product, each reduced while the next is computed",
     [](Settings& s, const TomlValue& v) { s.overlap_chunks = static_cast<int>(whole_in(v, 1, kMostOverlapChunks)); },
     [](const Settings& s) { return fmt::format("{}", s.overlap_chunks); }},
    {"recompute", "\"none\", \"selective\", \"full\"",
     [](Settings& s, const TomlValue& v) { s.recompute = parse_recompute(text_in(v)); },
     [](const Settings& s) { return quoted(to_string(s.recompute)); }},
    {"fusion", "\"auto\", \"on\", \"off\"",
     [](Settings& s, const TomlValue& v) { s.fusion = parse_fusion(text_in(v)); },
     [](const Settings& s) { return quoted(to_string(s.fusion)); }},
    {"dropout", "a probability below 1; only a whole model has dropout",
     [](Settings& s, const TomlValue& v) { s.dropout = number_in(v, 0, 0.99); },
     [](const Settings& s) { return fmt::format("{}", s.dropout); }},
    {"update", "true: the optimizer's steps follow; only of a whole model",
     [](Settings& s, const TomlValue& v) {
       if (!std::holds_alternative<bool>(v.is)) throw request_error("must be true or false, and is " + kind_of(v));
       s.update = std::get<bool>(v.is);
     },
     [](const Settings& s) { return std::string(s.update ? "true" : "false"); }},
    {"seed", "the seed of weights and inputs",
     [](Settings& s, const TomlValue& v) { s.seed = static_cast<uint64_t>(whole_in(v, 0, kLargestSeed)); },
     [](const Settings& s) { return fmt::format("{}", s.seed); }},
    {"hardware", "a machine's name, as plan --hardware takes it",
     [](Settings& s, const TomlValue& v) { s.hardware = hardware_in(v).name; },
     [](const Settings& s) { return quoted(s.hardware); }},
    {"delays", "ranks that are late: [\"2:attn.proj:20\"] is rank, step, milliseconds; one alone may be a text",
     [](Settings& s, const TomlValue& v) { s.delays = delays_in(v); },
     [](const Settings& s) { return delays_written(s); }},
};
// clang-format on

}  // namespace

std::span<const RunKey> run_keys() {
  return kKeys;
}

std::vector<std::string> run_key_names() {
  std::vector<std::string> names;
  for (const RunKey& key : kKeys) names.emplace_back(key.name);
  return names;
}

bool is_run_key(const std::string& name) {
  return std::any_of(std::begin(kKeys), std::end(kKeys), [&](const RunKey& key) { return name == key.name; });
}

std::string run_keys_as_markdown() {
  std::string out = "| key | takes |\n| --- | --- |\n";
  for (const RunKey& key : kKeys) out += fmt::format("| `{}` | {} |\n", key.name, key.takes);
  return out;
}

Settings lesson_defaults() {
  Settings settings;
  settings.tp = 4;
  settings.batch = 2;
  settings.seq = 64;
  return settings;
}

std::string drawn_name(const TomlValue& value) {
  if (!value.is_text()) return "";
  const auto& text = std::get<std::string>(value.is);
  return text.starts_with("{{") && text.ends_with("}}") ? text.substr(2, text.size() - 4) : "";
}

void apply(const RunChange& change, const std::string& file, Settings& settings) {
  TableReader reader(change.table, file, "the run");
  for (const RunKey& key : kKeys) {
    if (!reader.has(key.name)) continue;
    try {
      key.apply(settings, reader.value(key.name));
    } catch (const Error& error) {
      throw reader.fail(key.name, error.what());
    }
  }
  reader.finish();
}

std::string difference_as_toml(const Settings& base, const Settings& settings) {
  std::string out;
  Settings reached = base;
  for (const RunKey& key : kKeys) {
    if (key.written(reached) == key.written(settings)) continue;
    out += fmt::format("{} = {}\n", key.name, key.written(settings));
    // What follows from a key need not be stated: a model's sizes, a split's loss.
    key.apply(reached,
              parse_toml(fmt::format("v = {}", key.written(settings)), key.name, 1).entries().front().second);
  }
  return out;
}

Settings settings_of(const Lesson& lesson, const Drawn& drawn) {
  Settings settings = lesson_defaults();
  apply(lesson.run, lesson.source, settings);
  RunChange change;
  TomlValue::Table table;
  for (const auto& [name, value] : drawn.values)
    if (is_run_key(name)) table.emplace_back(name, value);
  change.table.is = std::move(table);
  apply(change, lesson.source, settings);
  return settings;
}

Settings settings_of(const Lesson& lesson, const SceneState& state, const Drawn& drawn) {
  Settings settings = settings_of(lesson, drawn);
  TomlValue::Table table = state.run.table.entries();
  for (auto& [key, value] : table)
    if (const auto found = drawn.values.find(drawn_name(value)); found != drawn.values.end())
      value.is = found->second.is;  // the line stays the scene's
  RunChange change;
  change.table = {std::move(table), state.run.table.line};
  apply(change, lesson.source, settings);
  return settings;
}

Drawn draw(const Lesson& lesson, std::optional<uint64_t> seed) {
  Drawn drawn;
  drawn.seed = seed;
  for (int attempt = 0;; ++attempt) {
    for (size_t i = 0; i < lesson.draws.size(); ++i) {
      const Draw& one = lesson.draws[i];
      if (seed) {
        Draws draws(*seed, kDrawPurpose + static_cast<uint32_t>(attempt), i);
        drawn.values[one.name] = one.values[draws.below(static_cast<uint32_t>(one.values.size()))];
        continue;
      }
      drawn.values[one.name] = one.values.front();
      for (const auto& [key, value] : lesson.run.table.entries())
        if (key == one.name) drawn.values[one.name] = value;
    }
    if (!seed) return drawn;
    try {
      validate(settings_of(lesson, drawn));
      return drawn;
    } catch (const Error& error) {
      if (attempt + 1 >= kMostAttempts)
        throw lesson_error(lesson.source, lesson.draws.empty() ? 1 : lesson.draws.front().line,
                           fmt::format("nothing that [draw] yields can be run: {}", error.what()));
    }
  }
}

}  // namespace shardlens
