// Reads and writes the remembered state.
#include "ui/remember/state_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/words.h"
#include "engine/config/hardware.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"
#include "engine/io/path_text.h"
#include "engine/io/user_folder.h"
#include "engine/lesson/parse.h"

namespace shardlens::ui {
namespace {

constexpr int kFormat = 1;
constexpr Word<ScalingPage> kScalingPages[] = {{ScalingPage::Weak, "weak"},
                                               {ScalingPage::Strong, "strong"},
                                               {ScalingPage::Heads, "heads"},
                                               {ScalingPage::BreakEven, "break-even"},
                                               {ScalingPage::Cluster, "cluster"}};
constexpr Word<ComparePage> kComparePages[] = {{ComparePage::Splits, "splits"},
                                               {ComparePage::Tournament, "tournament"},
                                               {ComparePage::Sweep, "sweep"},
                                               {ComparePage::Recordings, "recordings"}};

std::vector<std::string> texts_of(const nlohmann::json& json, const std::string& where) {
  const bool texts = json.is_array() && std::all_of(json.begin(), json.end(), [](const nlohmann::json& one) {
                       return one.is_string();
                     });
  if (!texts) throw request_error(where + ": expected a list of texts");
  return json.get<std::vector<std::string>>();
}

/// Throws for a split that no longer exists.
std::array<std::string, 3> parse_compared_splits(const nlohmann::json& json, const std::string& where) {
  std::array<std::string, 3> splits;
  const std::vector<std::string> names = texts_of(json, where);
  if (names.size() != splits.size())
    throw request_error(fmt::format("{}: expected {} names", where, splits.size()));
  for (const std::string& name : names) {
    if (!name.empty() && name != kOwnSplit) named_split(name);
  }
  std::copy(names.begin(), names.end(), splits.begin());
  return splits;
}

Tab parse_tab(const std::string& word) {
  for (const TabNames& names : kTabs)
    if (word == names.word) return names.tab;
  throw request_error(fmt::format("unknown tab \"{}\"", word));
}

nlohmann::json as_json(const TrainChoices& choices) {
  return {{"model", choices.model},
          {"layers", choices.layers},
          {"tp", choices.tp},
          {"dp", choices.dp},
          {"batch", choices.batch},
          {"seq", choices.seq},
          {"steps", choices.steps},
          {"peak", choices.peak},
          {"warmup", choices.warmup},
          {"decay", to_string(choices.decay)},
          {"dropout", choices.dropout},
          {"text", path_text(choices.text)},
          {"dtype", to_string(choices.dtype)},
          {"checkpoint_every", choices.checkpoint_every},
          {"timeout_seconds", choices.timeout_seconds}};
}

/// Throws for a preset that no longer exists, and for missing values.
TrainChoices parse_choices(const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  TrainChoices choices;
  choices.model = reader.word("model", model_preset).name;
  choices.layers = reader.integer("layers");
  choices.tp = reader.small_integer("tp");
  choices.dp = reader.small_integer("dp");
  choices.batch = reader.integer("batch");
  choices.seq = reader.integer("seq");
  choices.steps = reader.integer("steps");
  choices.peak = reader.number("peak");
  choices.warmup = reader.integer("warmup");
  choices.decay = reader.word("decay", parse_decay);
  choices.dropout = reader.number("dropout");
  choices.text = path_of(reader.string("text"));
  if (reader.has("dtype")) choices.dtype = reader.word("dtype", parse_dtype);  // not in older files
  choices.checkpoint_every = reader.integer_or("checkpoint_every", choices.checkpoint_every);
  choices.timeout_seconds = reader.number_or("timeout_seconds", choices.timeout_seconds);
  if (choices.checkpoint_every < 0 || !(choices.timeout_seconds >= 0))
    throw request_error("the checkpoint interval or the time-out of a training is below 0");
  for (const int64_t count : {choices.layers, static_cast<int64_t>(choices.tp),
                              static_cast<int64_t>(choices.dp), choices.batch, choices.seq, choices.steps}) {
    if (count < 1) throw request_error(fmt::format("a number of a training is {}, not 1 or more", count));
  }
  return choices;
}

nlohmann::json as_json(const WritingWish& wish) {
  return {{"prompt", wish.prompt},
          {"tokens", wish.tokens},
          {"temperature", wish.temperature},
          {"every", wish.every}};
}

/// Throws for missing values and for values below their minimum.
WritingWish parse_writing(const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  const WritingWish wish{reader.string("prompt"), reader.integer("tokens"), reader.number("temperature"),
                         reader.integer("every")};
  if (wish.tokens < 1 || wish.every < 0 || !(wish.temperature >= 0))
    throw request_error("a text needs 1 or more tokens, and a temperature and interval of 0 or more");
  return wish;
}

nlohmann::json as_json(const ScalingView& view) {
  return {{"page", word_of(kScalingPages, view.page)},
          {"crossing", view.crossing},
          {"this_run", view.this_run},
          {"model", view.model},
          {"cluster", view.cluster},
          {"tp", view.tp},
          {"pp", view.pp},
          {"dp", view.dp},
          {"parts", view.parts}};
}

/// Throws for a preset that no longer exists, and for missing values.
ScalingView parse_scaling(const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  ScalingView view;
  view.page =
      reader.word("page", [](const std::string& word) { return parse_word(kScalingPages, "page", word); });
  view.crossing = reader.word("crossing", find_hardware).name;
  view.this_run = reader.boolean("this_run");
  view.model = reader.word("model", model_preset).name;
  view.cluster = reader.word("cluster", find_hardware).name;
  view.tp = reader.integer("tp");
  view.pp = reader.integer("pp");
  view.dp = reader.integer("dp");
  view.parts = reader.integer("parts");
  for (const int64_t count : {view.tp, view.pp, view.dp, view.parts}) {
    if (count < 1 || count > 1'000'000)
      throw request_error(fmt::format("a number of the cluster is {}, not 1 to 1,000,000", count));
  }
  return view;
}

/// Progress in lessons, as a list: a file's path is a value, because it need not be UTF-8.
nlohmann::json as_json(const std::map<std::string, LessonProgress>& lessons) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [key, progress] : lessons)
    list.push_back({{"lesson", path_text(key)},
                    {"scene", progress.scene},
                    {"seen", progress.seen},
                    {"right", progress.right},
                    {"wrong", progress.wrong}});
  return list;
}

bool is_scene(const nlohmann::json& number) {
  return number.is_number_unsigned() && number.get<uint64_t>() < kMostScenesOfAFile;
}

/// Throws for missing values, and for scenes that no lesson can have.
std::map<std::string, LessonProgress> parse_lessons(const nlohmann::json& json, const std::string& where) {
  if (!json.is_array()) throw request_error(where + ": expected a list");
  std::map<std::string, LessonProgress> lessons;
  for (const nlohmann::json& entry : json) {
    ObjectReader reader(entry, where);
    LessonProgress& progress = lessons[path_of(reader.string("lesson"))];
    const nlohmann::json& scene = reader.child("scene");
    const nlohmann::json& seen = reader.child("seen");
    if (!is_scene(scene) || !seen.is_array() || !std::all_of(seen.begin(), seen.end(), is_scene))
      throw request_error(fmt::format("{}: scenes are numbers from 0 to {}", where, kMostScenesOfAFile - 1));
    progress.scene = scene.get<int>();
    progress.seen = seen.get<std::set<int>>();
    for (std::string& id : texts_of(reader.child("right"), where)) progress.right.insert(std::move(id));
    if (reader.has("wrong"))  // not in older files
      for (std::string& id : texts_of(reader.child("wrong"), where)) progress.wrong.insert(std::move(id));
  }
  return lessons;
}

RememberedState parse(const nlohmann::json& json, const std::string& path) {
  ObjectReader reader(json, path);
  if (const int64_t format = reader.integer("format"); format != kFormat) {
    throw request_error(fmt::format("it has format {}, but this studio reads format {}", format, kFormat));
  }
  const auto part = [&](const char* key, const auto& parse_part, auto& out) {
    if (reader.has(key)) out = parse_part(reader.child(key), fmt::format("{}, {}", path, key));
  };
  RememberedState state;
  state.theme =
      reader.word("theme", [](const std::string& word) { return parse_word(kThemeWords, "theme", word); });
  state.scale = static_cast<float>(reader.number("scale"));
  if (!(state.scale >= 0.5f && state.scale <= 4.0f)) {
    throw request_error(fmt::format("scale {} is not between 0.5 and 4", state.scale));
  }
  state.lecture = reader.boolean("lecture");
  state.tab = reader.word("tab", parse_tab);
  state.layout = reader.string("layout");
  // Added later, so older files do not have them.
  state.memory_this_layer = reader.boolean_or("memory_this_layer", false);
  state.program_filter = reader.string_or("program_filter", "");
  part("train", parse_choices, state.train);
  if (reader.has("compare_page"))
    state.compare_page = reader.word(
        "compare_page", [](const std::string& word) { return parse_word(kComparePages, "page", word); });
  part("compare_splits", parse_compared_splits, state.compare_splits);
  part("compared", parse_choices, state.compared);
  part("writing", parse_writing, state.writing);
  state.traffic_times = reader.boolean_or("traffic_times", false);
  part("recent", texts_of, state.recent);
  std::ranges::transform(state.recent, state.recent.begin(), path_of);
  part("scaling", parse_scaling, state.scaling);
  part("lessons", parse_lessons, state.lessons);
  state.last_lesson = path_of(reader.string_or("last_lesson", ""));
  return state;
}

}  // namespace

std::filesystem::path default_state_path() {
  const std::filesystem::path folder = user_folder("XDG_CONFIG_HOME", ".config");
  return folder.empty() ? folder : folder / "studio.json";
}

std::filesystem::path default_recordings_folder() {
  return std::filesystem::path(user_folder("XDG_DATA_HOME", ".local/share")) / "recordings";
}

std::filesystem::path default_checkpoints_folder() {
  return std::filesystem::path(user_folder("XDG_DATA_HOME", ".local/share")) / "checkpoints";
}

RememberedState read_state(const std::filesystem::path& path, std::string& problem) {
  problem.clear();
  std::error_code unknown;
  if (std::filesystem::status(path, unknown).type() == std::filesystem::file_type::not_found) return {};
  try {
    return parse(read_json_file(path.string()), path.string());
  } catch (const Error& error) {
    problem = fmt::format("cannot read {} ({}): the studio starts with its first settings", path.string(),
                          error.what());
    return {};
  }
}

void write_state(const RememberedState& state, const std::filesystem::path& path) {
  std::vector<std::string> recent(state.recent.size());
  std::ranges::transform(state.recent, recent.begin(), path_text);
  const nlohmann::json json{{"format", kFormat},
                            {"theme", word_of(kThemeWords, state.theme)},
                            {"scale", state.scale},
                            {"lecture", state.lecture},
                            {"tab", names_of(state.tab).word},
                            {"memory_this_layer", state.memory_this_layer},
                            {"program_filter", state.program_filter},
                            {"layout", state.layout},
                            {"train", as_json(state.train)},
                            {"compared", as_json(state.compared)},
                            {"writing", as_json(state.writing)},
                            {"traffic_times", state.traffic_times},
                            {"scaling", as_json(state.scaling)},
                            {"compare_page", word_of(kComparePages, state.compare_page)},
                            {"compare_splits", state.compare_splits},
                            {"recent", recent},
                            {"lessons", as_json(state.lessons)},
                            {"last_lesson", path_text(state.last_lesson)}};
  make_folder(path.parent_path());
  write_file_atomically(path.string(), kOwnFile, json_text(json, 2) + '\n', AtomicFile::Reaches::System);
}

}  // namespace shardlens::ui
