// Reads a block `scene`, and writes one.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/base/words.h"
#include "engine/config/splits.h"
#include "engine/laboratory/laboratory.h"
#include "engine/lesson/parse.h"
#include "engine/lesson/price.h"
#include "engine/lesson/read_blocks.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/views.h"
#include "engine/record/gallery.h"

namespace shardlens {
namespace {

constexpr size_t kMostSpotlights = 50;
constexpr size_t kMostCallouts = 12;
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
constexpr std::string_view kGallery = "gallery:";
constexpr Word<SceneTraining> kTrainings[] = {{SceneTraining::Model, "model"},
                                              {SceneTraining::Norms, "norms"}};

std::string known_word(const std::string& what, const std::string& word,
                       const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) == known.end()) throw unknown_name(what, word, known);
  return word;
}

const StudioView& view_of(const std::string& name) {
  const auto views = lesson_views();
  return *std::find_if(views.begin(), views.end(), [&](const StudioView& view) { return view.name == name; });
}

void read_view(TableReader& reader, SceneState& state) {
  if (reader.has("view"))
    state.view = reader.word(
        "view", [](const std::string& word) { return known_word("view", word, lesson_view_names()); });
  if (!reader.has("page")) return;
  const StudioView& view = view_of(state.view.empty() ? "stage" : state.view);
  if (view.pages.empty())
    throw reader.fail("page", fmt::format("the view {} has one page: leave `page` out", view.name));
  state.page = reader.word("page", [&](const std::string& word) {
    return known_word(fmt::format("page of {}", view.name), word, view.pages);
  });
}

void read_callouts(TableReader& reader, const BlockPlace& place, SceneState& state) {
  if (!reader.has("callouts")) return;
  const TomlValue& list = reader.value("callouts");
  if (!list.is_list()) throw reader.fail("callouts", "must be a list: [{ at = \"mlp.proj\", text = \"…\" }]");
  for (const TomlValue& one : std::get<TomlValue::List>(list.is)) {
    if (state.callouts.size() == kMostCallouts)
      throw reader.fail("callouts", fmt::format("at most {} are drawn", kMostCallouts));
    TableReader callout(one, place.file, "a callout");
    const std::string at = callout.text("at"), text = callout.text("text");
    callout.finish();
    try {
      state.callouts.push_back({at, parse_template(text, one.line, place.own_names), one.line});
    } catch (const Error& error) {
      throw lesson_error(place.file, one.line, error.what());
    }
  }
}

// A recording of the gallery is looked up; a file is opened when all names are checked (check_names.cpp).
std::string read_recording(TableReader& reader) {
  return reader.word("recording", [](const std::string& word) {
    if (!word.starts_with(kGallery)) return word;
    std::vector<std::string> names;
    for (const GalleryPiece& piece : gallery()) names.push_back(piece.name);
    known_word("recording", word.substr(kGallery.size()), names);
    return word;
  });
}

/// What is drawn is known when a seed is, so only the names of such values are checked here.
void read_run(TableReader& reader, const BlockPlace& place, SceneState& state) {
  state.run.table = reader.value("run");
  RunChange known;
  TomlValue::Table table;
  for (const auto& entry : state.run.table.entries()) {
    const std::string name = drawn_name(entry.second);
    if (name.empty()) {
      table.push_back(entry);
    } else if (!is_run_key(entry.first)) {
      throw lesson_error(place.file, entry.second.line,
                         unknown_name("key", entry.first, run_key_names()).what());
    } else if (const Names& drawn = place.own_names;
               std::find(drawn.begin(), drawn.end(), name) == drawn.end()) {
      throw lesson_error(
          place.file, entry.second.line,
          fmt::format("nothing is drawn for \"{}\": [draw] in the head has no such name", shown(name)));
    }
  }
  known.table = {std::move(table), state.run.table.line};
  Settings settings = lesson_defaults();
  apply(known, place.file, settings);
}

/// What the page "algebra" shows. A file counts the ways from 1, as people do.
void read_operation(TableReader& reader, SceneState& state) {
  if (!reader.has("operation")) {
    if (reader.has("way"))
      throw reader.fail("way", "is of an operation: add operation = \"LayerNorm\" or another");
    return;
  }
  std::vector<std::string> names;
  for (const lab::Experiment& experiment : lab::experiments()) names.push_back(experiment.name);
  state.operation =
      reader.word("operation", [&](const std::string& word) { return known_word("operation", word, names); });
  if (state.page != "algebra")
    throw reader.fail("operation",
                      "is of the page \"algebra\" of the view \"program\": add page = \"algebra\"");
  const auto experiment =
      std::find_if(lab::experiments().begin(), lab::experiments().end(),
                   [&](const lab::Experiment& one) { return one.name == state.operation; });
  if (reader.has("way"))
    state.way = static_cast<int>(reader.integer("way", 1, std::ssize(experiment->ways))) - 1;
}

void read_comparison(TableReader& reader, const BlockPlace& place, SceneState& state) {
  if (!reader.has("compare")) return;
  TableReader compare(reader.value("compare"), place.file, "compare");
  SceneComparison comparison;
  comparison.splits = compare.texts_or_none("splits");
  if (comparison.splits.size() > 3)
    throw compare.fail("splits", "at most three splits stand beside each other");
  for (const std::string& split : comparison.splits)
    if (std::vector<std::string> names = split_names();
        std::find(names.begin(), names.end(), split) == names.end())
      throw compare.fail("splits", unknown_name("split", split, names).what());
  if (compare.has("recording")) comparison.recording = read_recording(compare);
  compare.finish();
  if (comparison.splits.empty() == comparison.recording.empty())
    throw reader.fail("compare",
                      "needs `splits = [\"megatron\", \"reversed\"]` or `recording = \"…\"`, one of them");
  state.compare = std::move(comparison);
}

void check_together(const TableReader& reader, const SceneState& state) {
  const auto need = [&](bool given, const char* key, bool there, const char* what) {
    if (given && !there) throw reader.fail(key, what);
  };
  need(state.number.has_value(), "number", state.page == "number",
       "is of the page \"number\": add page = \"number\"");
  need(state.hop.has_value(), "hop", state.page == "collective",
       "is of the page \"collective\": add page = \"collective\"");
  need(state.by_hand.has_value(), "by_hand", state.page == "by-hand",
       "is of the page \"by-hand\" of the view \"program\": add page = \"by-hand\"");
  need(state.moment.has_value(), "moment", !state.recording.empty(),
       "is of a recording: add recording = \"gallery:…\"");
  need(state.training_steps.has_value(), "training_steps", state.mistake || state.train,
       "trains with a planted mistake beside the sound run: add mistake = \"skip-f\" or another; or, on the "
       "page \"curves\", add train = \"model\"");
  need(state.train.has_value(), "train", state.view == "train" && state.page == "curves",
       "shows curves: add view = \"train\" and page = \"curves\"");
  need(state.train.has_value(), "train", !state.mistake && state.recording.empty(),
       "trains the scene's own model: leave out `mistake` and `recording`");
  need(opens_selection(state.page), "page", !state.select.empty(),
       "opens the selected step: add select = \"…\"");
  need(!state.recording.empty() && !state.run.empty(), "recording", false,
       "has its own settings: leave out `run`, or the recording");
  need(!state.recording.empty() && state.view == "start", "recording", false,
       "is not shown by the view \"start\": choose another view, such as \"stage\"");
  need(!state.recording.empty() && state.mistake, "mistake", false,
       "is planted in a run made here: leave out `mistake`, or the recording");
  need(!state.run_to.empty(), "run_to", state.recording.empty() && !state.mistake && !state.train,
       "stops the scene's own sound run: leave it out; a recording stands still at its `moment`");
  const bool recordings = state.view == "compare" && state.page == "recordings";
  need(recordings && state.compare, "compare", state.compare && !state.compare->recording.empty(),
       "names splits, which the page \"splits\" shows: leave out `page`");
}

}  // namespace

std::string to_string(SceneTraining training) {
  return word_of(kTrainings, training);
}
SceneTraining parse_scene_training(const std::string& text) {
  return parse_word(kTrainings, "training", text);
}

SceneState read_scene(const TomlValue& table, const BlockPlace& place, const std::string& what) {
  TableReader reader(table, place.file, what);
  SceneState state;
  state.line = table.line;
  if (reader.has("run")) read_run(reader, place, state);
  read_view(reader, state);
  state.select = reader.text_or("select", "");
  if (reader.has("rank")) state.rank = static_cast<int>(reader.integer("rank", 0, kLargest));
  if (reader.has("zoom")) state.zoom = reader.number("zoom", 0.25, 4);
  state.fit = reader.flag_or("fit", false);
  state.spotlight = reader.texts_or_none("spotlight");
  if (state.spotlight.size() > kMostSpotlights)
    throw reader.fail("spotlight", fmt::format("at most {} places are lit", kMostSpotlights));
  read_callouts(reader, place, state);
  if (reader.has("mistake")) state.mistake = reader.word("mistake", parse_fault);
  if (reader.has("train")) state.train = reader.word("train", parse_scene_training);
  if (reader.has("training_steps"))
    state.training_steps = reader.integer("training_steps", 0, kMostLessonSteps);
  if (reader.has("recording")) state.recording = read_recording(reader);
  if (reader.has("moment")) state.moment = reader.number("moment", 0, 1e9);
  read_comparison(reader, place, state);
  if (reader.has("number")) {
    TableReader number(reader.value("number"), place.file, "number");
    state.number = SceneNumber{number.integer("row", 0, kLargest), number.integer("column", 0, kLargest)};
    number.finish();
  }
  if (reader.has("hop")) state.hop = static_cast<int>(reader.integer("hop", 0, kLargest));
  read_operation(reader, state);
  if (reader.has("by_hand")) state.by_hand = read_by_hand(reader.value("by_hand"), place.file);
  state.run_to = reader.text_or("run_to", "");
  state.play = reader.flag_or("play", false);
  state.panels = reader.texts_or_none("panels");
  for (const std::string& panel : state.panels)
    if (std::find(lesson_panels().begin(), lesson_panels().end(), panel) == lesson_panels().end())
      throw reader.fail(
          "panels", unknown_name("panel", panel, {lesson_panels().begin(), lesson_panels().end()}).what());
  reader.finish();
  // A recording has one page that compares it.
  if (state.view == "compare" && state.compare && !state.compare->recording.empty()) {
    if (!state.page.empty() && state.page != "recordings")
      throw reader.fail("compare",
                        "names a recording, which the page \"recordings\" compares: leave out `page`");
    state.page = "recordings";
  }
  check_together(reader, state);
  return state;
}

SceneState read_scene(const std::string& toml, const BlockPlace& place) {
  return read_scene(parse_toml(toml, place.file, place.first_line), place, "the scene");
}

std::string scene_as_toml(const SceneState& state) {
  std::string out;
  const auto line = [&](const char* key, const std::string& value) {
    out += fmt::format("{} = {}\n", key, value);
  };
  const auto quoted = [](const std::string& text) { return to_text(TomlValue{text, 0}); };
  const auto list = [&](const std::vector<std::string>& texts) {
    std::vector<std::string> each;
    for (const std::string& text : texts) each.push_back(quoted(text));
    return "[" + join(each) + "]";
  };
  if (!state.view.empty()) line("view", quoted(state.view));
  if (!state.page.empty()) line("page", quoted(state.page));
  if (!state.select.empty()) line("select", quoted(state.select));
  if (state.rank) line("rank", fmt::format("{}", *state.rank));
  if (state.zoom)
    line("zoom", fmt::format("{:.3}", *state.zoom).find('.') == std::string::npos
                     ? fmt::format("{:.1f}", *state.zoom)
                     : fmt::format("{:.3}", *state.zoom));
  if (state.fit) line("fit", "true");
  if (!state.spotlight.empty()) line("spotlight", list(state.spotlight));
  std::vector<std::string> callouts;
  for (const Callout& callout : state.callouts) {
    std::string text;
    for (const Template::Piece& piece : callout.text.pieces) text += piece.text;
    callouts.push_back(fmt::format("{{ at = {}, text = {} }}", quoted(callout.at), quoted(text)));
  }
  if (!callouts.empty()) line("callouts", "[" + join(callouts) + "]");
  if (state.mistake) line("mistake", quoted(to_string(*state.mistake)));
  if (state.train) line("train", quoted(to_string(*state.train)));
  if (state.training_steps) line("training_steps", fmt::format("{}", *state.training_steps));
  if (!state.recording.empty()) line("recording", quoted(state.recording));
  if (state.moment) line("moment", fmt::format("{:.6f}", *state.moment));
  if (state.compare && !state.compare->splits.empty())
    line("compare", fmt::format("{{ splits = {} }}", list(state.compare->splits)));
  if (state.compare && !state.compare->recording.empty())
    line("compare", fmt::format("{{ recording = {} }}", quoted(state.compare->recording)));
  if (state.number)
    line("number", fmt::format("{{ row = {}, column = {} }}", state.number->row, state.number->col));
  if (state.hop) line("hop", fmt::format("{}", *state.hop));
  if (!state.operation.empty()) line("operation", quoted(state.operation));
  if (state.way) line("way", fmt::format("{}", *state.way + 1));
  if (state.by_hand) line("by_hand", by_hand_as_toml(*state.by_hand));
  if (!state.run_to.empty()) line("run_to", quoted(state.run_to));
  if (state.play) line("play", "true");
  if (!state.panels.empty()) line("panels", list(state.panels));
  if (!state.run.empty()) {
    out += "\n[run]\n";
    for (const auto& [key, value] : state.run.table.entries()) line(key.c_str(), to_text(value));
  }
  return out;
}

std::string scene_as_markdown(const std::string& title, const SceneState& state) {
  return fmt::format("\n## {}\n\n```scene\n{}```\n", title, scene_as_toml(state));
}

}  // namespace shardlens
