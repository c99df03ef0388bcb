// The table of the values, and the checks of each.
#include "ui/remember/state_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <type_traits>

#include "engine/base/error.h"
#include "engine/base/words.h"
#include "engine/config/hardware.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/io/json.h"
#include "engine/io/path_text.h"
#include "engine/lesson/parse.h"
#include "ui/frame/layout_text.h"
#include "ui/remember/hand_form_json.h"
#include "ui/remember/recent_recordings.h"

namespace shardlens::ui {
namespace {

constexpr Word<ScalingPage> kScalingPages[] = {{ScalingPage::Weak, "weak"},
                                               {ScalingPage::Strong, "strong"},
                                               {ScalingPage::Heads, "heads"},
                                               {ScalingPage::BreakEven, "break-even"},
                                               {ScalingPage::Cluster, "cluster"}};
constexpr Word<ComparePage> kComparePages[] = {{ComparePage::Splits, "splits"},
                                               {ComparePage::Tournament, "tournament"},
                                               {ComparePage::Sweep, "sweep"},
                                               {ComparePage::Recordings, "recordings"}};

/// Reads the parts of a value one by one: a part that is not right costs only itself.
class Parts {
 public:
  void read(const std::function<void()>& read_part) {
    try {
      read_part();
    } catch (const Error& error) {
      problems_.push_back(error.what());
    }
  }
  void require(bool right, const std::string& problem) {
    if (!right) problems_.push_back(problem);
  }
  /// Throws if a part was not right.
  void finish() const {
    if (problems_.empty()) return;
    const std::string more =
        problems_.size() > 1 ? fmt::format(", and {} more like it", problems_.size() - 1) : "";
    throw request_error(problems_.front() + more);
  }

 private:
  std::vector<std::string> problems_;
};

/// Calls take(text) for every text of a list.
void read_texts(const nlohmann::json& json, const std::string& where,
                const std::function<void(const std::string&)>& take) {
  const std::string problem = where + ": expected a list of texts";
  if (!json.is_array()) throw request_error(problem);
  Parts parts;
  for (const nlohmann::json& one : json) {
    parts.require(one.is_string(), problem);
    if (one.is_string()) parts.read([&] { take(one.get<std::string>()); });
  }
  parts.finish();
}

/// Leaves the default where a split no longer exists.
void read_splits(std::array<std::string, 3>& splits, const nlohmann::json& json, const std::string& where) {
  if (!json.is_array() || json.size() != splits.size())
    throw request_error(fmt::format("{}: expected {} names", where, splits.size()));
  Parts parts;
  for (size_t i = 0; i < splits.size(); ++i) {
    parts.read([&] {
      if (!json[i].is_string())
        throw request_error(fmt::format("{}: expected {} names", where, splits.size()));
      const auto name = json[i].get<std::string>();
      if (!name.empty() && name != kOwnSplit) named_split(name);
      splits[i] = name;
    });
  }
  parts.finish();
}

Tab parse_tab(const std::string& word) {
  std::vector<std::string> known;
  for (const TabNames& names : kTabs) {
    if (word == names.word) return names.tab;
    known.emplace_back(names.word);
  }
  throw unknown_name("tab", word, known);
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

/// Reads one number of an object, if it is there.
template <class T>
void read_number(Parts& parts, ObjectReader& reader, const char* key, T least, T most, T& out) {
  if (!reader.has(key)) return;
  parts.read([&] {
    T value{};
    if constexpr (std::is_floating_point_v<T>)
      value = reader.number(key);
    else
      value = static_cast<T>(reader.integer(key));
    if (!(value >= least && value <= most))
      throw request_error(
          fmt::format("{}, \"{}\": {} is not between {} and {}", reader.where(), key, value, least, most));
    out = value;
  });
}

/// Reads one word of an object, if it is there.
template <class T>
void read_word(Parts& parts, ObjectReader& reader, const char* key, const auto& parse, T& out) {
  if (reader.has(key)) parts.read([&] { out = reader.word(key, parse); });
}

void read_choices(TrainChoices& choices, const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  Parts parts;
  // Far beyond what anybody trains, and so that no product of them overflows.
  constexpr int64_t kMostLayers = 10'000, kMostRanks = 10'000, kMostRows = 1'000'000,
                    kMostSteps = 1'000'000'000;
  int64_t tp = choices.tp, dp = choices.dp;
  read_word(
      parts, reader, "model", [](const std::string& name) { return model_preset(name).name; }, choices.model);
  read_number(parts, reader, "layers", int64_t{1}, kMostLayers, choices.layers);
  read_number(parts, reader, "tp", int64_t{1}, kMostRanks, tp);
  read_number(parts, reader, "dp", int64_t{1}, kMostRanks, dp);
  read_number(parts, reader, "batch", int64_t{1}, kMostRows, choices.batch);
  read_number(parts, reader, "seq", int64_t{1}, kMostRows, choices.seq);
  read_number(parts, reader, "steps", int64_t{1}, kMostSteps, choices.steps);
  read_number(parts, reader, "peak", 0.0, 1e6, choices.peak);
  read_number(parts, reader, "warmup", int64_t{0}, kMostSteps, choices.warmup);
  read_word(parts, reader, "decay", parse_decay, choices.decay);
  read_number(parts, reader, "dropout", 0.0, 1.0, choices.dropout);
  if (reader.has("text")) parts.read([&] { choices.text = path_of(reader.string("text")); });
  read_word(parts, reader, "dtype", parse_dtype, choices.dtype);
  read_number(parts, reader, "checkpoint_every", int64_t{0}, kMostSteps, choices.checkpoint_every);
  read_number(parts, reader, "timeout_seconds", 0.0, 1e9, choices.timeout_seconds);
  choices.tp = static_cast<int>(tp);
  choices.dp = static_cast<int>(dp);
  parts.finish();
}

nlohmann::json as_json(const WritingWish& wish) {
  return {{"prompt", wish.prompt},
          {"tokens", wish.tokens},
          {"temperature", wish.temperature},
          {"every", wish.every}};
}

void read_writing(WritingWish& wish, const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  Parts parts;
  if (reader.has("prompt")) parts.read([&] { wish.prompt = reader.string("prompt"); });
  read_number(parts, reader, "tokens", int64_t{1}, int64_t{1'000'000}, wish.tokens);
  read_number(parts, reader, "temperature", 0.0, 1e6, wish.temperature);
  read_number(parts, reader, "every", int64_t{0}, int64_t{1'000'000'000}, wish.every);
  parts.finish();
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

void read_scaling(ScalingView& view, const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  Parts parts;
  const auto hardware = [](const std::string& name) { return find_hardware(name).name; };
  read_word(
      parts, reader, "page", [](const std::string& word) { return parse_word(kScalingPages, "page", word); },
      view.page);
  read_word(parts, reader, "crossing", hardware, view.crossing);
  if (reader.has("this_run")) parts.read([&] { view.this_run = reader.boolean("this_run"); });
  read_word(
      parts, reader, "model", [](const std::string& name) { return model_preset(name).name; }, view.model);
  read_word(parts, reader, "cluster", hardware, view.cluster);
  constexpr int64_t kMost = 1'000'000;
  read_number(parts, reader, "tp", int64_t{1}, kMost, view.tp);
  read_number(parts, reader, "pp", int64_t{1}, kMost, view.pp);
  read_number(parts, reader, "dp", int64_t{1}, kMost, view.dp);
  read_number(parts, reader, "parts", int64_t{1}, kMost, view.parts);
  parts.finish();
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
LessonProgress parse_progress(ObjectReader& reader) {
  LessonProgress progress;
  const std::string& where = reader.where();
  const nlohmann::json& scene = reader.child("scene");
  const nlohmann::json& seen = reader.child("seen");
  if (!is_scene(scene) || !seen.is_array() || !std::all_of(seen.begin(), seen.end(), is_scene))
    throw request_error(fmt::format("{}: scenes are numbers from 0 to {}", where, kMostScenesOfAFile - 1));
  progress.scene = scene.get<int>();
  progress.seen = seen.get<std::set<int>>();
  read_texts(reader.child("right"), where, [&](const std::string& id) { progress.right.insert(id); });
  if (reader.has("wrong"))  // not in older files
    read_texts(reader.child("wrong"), where, [&](const std::string& id) { progress.wrong.insert(id); });
  return progress;
}

void read_lessons(std::map<std::string, LessonProgress>& lessons, const nlohmann::json& json,
                  const std::string& where) {
  if (!json.is_array()) throw request_error(where + ": expected a list");
  Parts parts;
  for (const nlohmann::json& entry : json) {
    parts.read([&] {
      ObjectReader reader(entry, where);
      const std::string lesson = path_of(reader.string("lesson"));
      lessons[lesson] = parse_progress(reader);
    });
  }
  parts.finish();
}

/// What this studio has changed is taken over; else what the file has.
template <class T>
T merged(const T& before, const T& now, const T& other) {
  return now == before ? other : now;
}

template <class T>
std::set<T> merged(const std::set<T>& before, const std::set<T>& now, const std::set<T>& other) {
  std::set<T> both = other;
  for (const T& one : now)
    if (!before.contains(one)) both.insert(one);
  for (const T& one : before)
    if (!now.contains(one)) both.erase(one);
  return both;
}

LessonProgress merged(const LessonProgress& before, const LessonProgress& now, const LessonProgress& other) {
  return {merged(before.scene, now.scene, other.scene), merged(before.seen, now.seen, other.seen),
          merged(before.right, now.right, other.right), merged(before.wrong, now.wrong, other.wrong)};
}

using Lessons = std::map<std::string, LessonProgress>;
Lessons merged(const Lessons& before, const Lessons& now, const Lessons& other) {
  const auto of = [](const Lessons& lessons, const std::string& key) {
    const auto found = lessons.find(key);
    return found == lessons.end() ? LessonProgress{} : found->second;
  };
  Lessons both = other;
  for (const auto& [key, progress] : now) {
    const bool is_unchanged = before.contains(key) && progress == before.at(key);
    if (!is_unchanged) both[key] = merged(of(before, key), progress, of(other, key));
  }
  for (const auto& [key, progress] : before)
    if (!now.contains(key)) both.erase(key);
  return both;
}

/// A value with the usual way to merge. `read(out, reader)` reads it from the object of all values.
template <class T>
StateValue value(const char* key, T RememberedState::*member, const auto& write, const auto& read) {
  return {key, [=](const RememberedState& state) { return nlohmann::json(write(state.*member)); },
          [=](RememberedState& state, ObjectReader& reader) { read(state.*member, reader); },
          [=](RememberedState& into, const RememberedState& before, const RememberedState& now) {
            into.*member = merged(before.*member, now.*member, into.*member);
          }};
}

/// The same for a value with parts: `read(out, json, where)`.
template <class T>
StateValue object(const char* key, T RememberedState::*member, const auto& read) {
  return value(
      key, member, [](const T& object) { return as_json(object); },
      [=](T& out, ObjectReader& reader) {
        read(out, reader.child(key), fmt::format("{}, {}", reader.where(), key));
      });
}

StateValue boolean(const char* key, bool RememberedState::*member) {
  return value(key, member, std::identity(),
               [=](bool& out, ObjectReader& reader) { out = reader.boolean(key); });
}

template <class Enum>
StateValue word(const char* key, Enum RememberedState::*member, const auto& to_word, const auto& parse) {
  return value(key, member, to_word, [=](Enum& out, ObjectReader& reader) { out = reader.word(key, parse); });
}

StateValue scale() {
  return value("scale", &RememberedState::scale, std::identity(), [](float& out, ObjectReader& reader) {
    const double scale = reader.number("scale");
    if (!(scale >= 0.5 && scale <= 4.0))
      throw request_error(fmt::format("{}, \"scale\": {} is not between 0.5 and 4", reader.where(), scale));
    out = static_cast<float>(scale);
  });
}

StateValue layout() {
  return value("layout", &RememberedState::layout, std::identity(),
               [](std::string& out, ObjectReader& reader) {
                 const std::string text = reader.string("layout");
                 check_layout(text);
                 out = text;
               });
}

StateValue recent() {
  const auto write = [](const std::vector<std::string>& paths) {
    std::vector<std::string> texts(paths.size());
    std::ranges::transform(paths, texts.begin(), path_text);
    return texts;
  };
  StateValue list = value(
      "recent", &RememberedState::recent, write, [](std::vector<std::string>& out, ObjectReader& reader) {
        read_texts(reader.child("recent"), reader.where() + ", recent", [&](const std::string& text) {
          const std::string path = path_of(text);
          const bool is_new = std::find(out.begin(), out.end(), path) == out.end();
          if (is_new && out.size() < kRecentRecordings) out.push_back(path);
        });
      });
  list.merge = [](RememberedState& into, const RememberedState& before, const RememberedState& now) {
    into.recent = merged_recent(before.recent, now.recent, into.recent);
  };
  return list;
}

StateValue compared_splits() {
  return value("compare_splits", &RememberedState::compare_splits, std::identity(),
               [](std::array<std::string, 3>& out, ObjectReader& reader) {
                 read_splits(out, reader.child("compare_splits"), reader.where() + ", compare_splits");
               });
}

StateValue last_lesson() {
  return value("last_lesson", &RememberedState::last_lesson, path_text,
               [](std::string& out, ObjectReader& reader) { out = path_of(reader.string("last_lesson")); });
}

}  // namespace

const std::vector<StateValue>& state_values() {
  static const std::vector<StateValue> values{
      word(
          "theme", &RememberedState::theme, [](ThemeName theme) { return word_of(kThemeWords, theme); },
          [](const std::string& text) { return parse_word(kThemeWords, "theme", text); }),
      scale(),
      boolean("lecture", &RememberedState::lecture),
      word(
          "tab", &RememberedState::tab, [](Tab tab) { return names_of(tab).word; }, parse_tab),
      layout(),
      boolean("memory_this_layer", &RememberedState::memory_this_layer),
      value("program_filter", &RememberedState::program_filter, std::identity(),
            [](std::string& out, ObjectReader& reader) { out = reader.string("program_filter"); }),
      object("train", &RememberedState::train, read_choices),
      object("compared", &RememberedState::compared, read_choices),
      object("writing", &RememberedState::writing, read_writing),
      boolean("traffic_times", &RememberedState::traffic_times),
      object("scaling", &RememberedState::scaling, read_scaling),
      word(
          "compare_page", &RememberedState::compare_page,
          [](ComparePage page) { return word_of(kComparePages, page); },
          [](const std::string& text) { return parse_word(kComparePages, "page", text); }),
      compared_splits(),
      recent(),
      object("lessons", &RememberedState::lessons, read_lessons),
      last_lesson(),
      object("by_hand", &RememberedState::by_hand, read_hand_form)};
  return values;
}

}  // namespace shardlens::ui
