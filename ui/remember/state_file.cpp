// Reads and writes the remembered state.
#include "ui/remember/state_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/words.h"
#include "engine/config/hardware.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/io/json_text.h"
#include "engine/io/path_text.h"
#include "engine/io/user_folder.h"

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

/// Throws for a split that no longer exists.
std::array<std::string, 3> parse_compared_splits(const nlohmann::json& json) {
  const auto splits = json.get<std::array<std::string, 3>>();
  for (const std::string& name : splits) {
    if (!name.empty() && name != kOwnSplit) named_split(name);
  }
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
TrainChoices parse_choices(const nlohmann::json& json) {
  TrainChoices choices;
  choices.model = model_preset(json.at("model").get<std::string>()).name;
  choices.layers = json.at("layers").get<int64_t>();
  choices.tp = json.at("tp").get<int>();
  choices.dp = json.at("dp").get<int>();
  choices.batch = json.at("batch").get<int64_t>();
  choices.seq = json.at("seq").get<int64_t>();
  choices.steps = json.at("steps").get<int64_t>();
  choices.peak = json.at("peak").get<double>();
  choices.warmup = json.at("warmup").get<int64_t>();
  choices.decay = parse_decay(json.at("decay").get<std::string>());
  choices.dropout = json.at("dropout").get<double>();
  choices.text = path_of(json.at("text").get<std::string>());
  choices.dtype = parse_dtype(json.value("dtype", to_string(choices.dtype)));  // not in older files
  choices.checkpoint_every = json.value("checkpoint_every", choices.checkpoint_every);
  choices.timeout_seconds = json.value("timeout_seconds", choices.timeout_seconds);
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
WritingWish parse_writing(const nlohmann::json& json) {
  const WritingWish wish{json.at("prompt").get<std::string>(), json.at("tokens").get<int64_t>(),
                         json.at("temperature").get<double>(), json.at("every").get<int64_t>()};
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
ScalingView parse_scaling(const nlohmann::json& json) {
  ScalingView view;
  view.page = parse_word(kScalingPages, "page", json.at("page").get<std::string>());
  view.crossing = find_hardware(json.at("crossing").get<std::string>()).name;
  view.this_run = json.at("this_run").get<bool>();
  view.model = model_preset(json.at("model").get<std::string>()).name;
  view.cluster = find_hardware(json.at("cluster").get<std::string>()).name;
  view.tp = json.at("tp").get<int64_t>();
  view.pp = json.at("pp").get<int64_t>();
  view.dp = json.at("dp").get<int64_t>();
  view.parts = json.at("parts").get<int64_t>();
  for (const int64_t count : {view.tp, view.pp, view.dp, view.parts}) {
    if (count < 1 || count > 1'000'000)
      throw request_error(fmt::format("a number of the cluster is {}, not 1 to 1,000,000", count));
  }
  return view;
}

RememberedState parse(const nlohmann::json& json) {
  if (const int format = json.at("format").get<int>(); format != kFormat) {
    throw request_error(fmt::format("it has format {}, but this studio reads format {}", format, kFormat));
  }
  RememberedState state;
  state.theme = parse_word(kThemeWords, "theme", json.at("theme").get<std::string>());
  state.scale = json.at("scale").get<float>();
  if (!(state.scale >= 0.5f && state.scale <= 4.0f)) {
    throw request_error(fmt::format("scale {} is not between 0.5 and 4", state.scale));
  }
  state.lecture = json.at("lecture").get<bool>();
  state.tab = parse_tab(json.at("tab").get<std::string>());
  // Added later, so older files do not have them.
  state.memory_this_layer = json.value("memory_this_layer", false);
  state.program_filter = json.value("program_filter", std::string());
  state.layout = json.at("layout").get<std::string>();
  if (json.contains("train")) state.train = parse_choices(json.at("train"));  // not in older files
  if (json.contains("compare_page"))
    state.compare_page = parse_word(kComparePages, "page", json.at("compare_page").get<std::string>());
  if (json.contains("compare_splits"))
    state.compare_splits = parse_compared_splits(json.at("compare_splits"));
  if (json.contains("compared")) state.compared = parse_choices(json.at("compared"));
  if (json.contains("writing")) state.writing = parse_writing(json.at("writing"));
  state.traffic_times = json.value("traffic_times", false);
  state.recent = json.value("recent", std::vector<std::string>());
  std::ranges::transform(state.recent, state.recent.begin(), path_of);
  if (json.contains("scaling")) state.scaling = parse_scaling(json.at("scaling"));
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
    std::ifstream file(path);
    if (!file) throw request_error(std::strerror(errno));
    return parse(nlohmann::json::parse(file));
  } catch (const nlohmann::json::exception&) {
    problem = fmt::format("{} is damaged: the studio starts with its first settings", path.string());
    return {};
  } catch (const std::exception& error) {
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
                            {"recent", recent}};
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  const std::filesystem::path beside = fmt::format("{}.{}", path.string(), getpid());
  {
    std::ofstream file(beside);
    file << json_text(json, 2) << '\n';
    if (!file.flush()) throw run_error(fmt::format("cannot write {}", beside.string()));
  }
  std::filesystem::rename(beside, path, failed);
  if (failed) {
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    throw run_error(fmt::format("cannot write {}: {}", path.string(), failed.message()));
  }
}

}  // namespace shardlens::ui
