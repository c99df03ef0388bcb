// Reads the studio's command line with CLI11 and applies it to the view.
#include "app/studio/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>

#include "app/command_line/help.h"
#include "app/command_line/licences.h"
#include "app/command_line/outputs.h"
#include "app/command_line/request.h"
#include "app/command_line/run_options.h"
#include "engine/base/error.h"
#include "engine/base/suggest.h"
#include "engine/base/words.h"
#include "engine/config/validate.h"
#include "engine/io/file_kind.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/state_words.h"
#include "ui/collective/collective_view.h"
#include "ui/frame/spotlight.h"
#include "ui/lesson/link.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/algebra_view.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/program/program_view.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/panels/recordings/notes_view.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/traffic/traffic_view.h"
#include "ui/panels/train/train_view.h"
#include "ui/plan/sections.h"
#include "ui/product/product_view.h"
#include "ui/stage/stage_view.h"

namespace shardlens {
namespace {

constexpr double kStillsPerSecond = 5;  // a lesson's video shows stills for seconds

PixelSize parse_size(const std::string& text) {
  PixelSize size;
  const char* const end = text.data() + text.size();
  const auto [after_width, width_error] = std::from_chars(text.data(), end, size.width);
  const bool has_cross = width_error == std::errc() && after_width < end && *after_width == 'x';
  const auto [after, height_error] = std::from_chars(has_cross ? after_width + 1 : end, end, size.height);
  if (!has_cross || height_error != std::errc() || after != end || size.width < 320 || size.height < 240 ||
      size.width > 16384 || size.height > 16384) {
    throw request_error(fmt::format(
        "--size {} is not a size; write WIDTHxHEIGHT between 320x240 and 16384x16384, for example 1920x1080",
        text));
  }
  return size;
}

// Refuses a model's folder or its weights where a recording is expected, and says how to open the model.
void refuse_model(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_weights = is_weights_file(path.string());
  if (!is_weights && !std::filesystem::exists(path / "config.json", ignored)) return;
  const std::filesystem::path folder = is_weights ? std::filesystem::absolute(path).parent_path() : path;
  throw request_error(
      fmt::format("{} is a model, not a recording: open it with --model {}", path.string(), folder.string()));
}

const char* const kExamples =
    "Examples:\n"
    "  shardlens --tp 4                               GPT-2 small's first layer on four ranks\n"
    "  shardlens --model bert-base --split reversed   a split that needs one more all-reduce\n"
    "  shardlens --model gpt2-tiny --block model --tp 2   a whole model, from tokens to loss and back\n"
    "  shardlens --screenshot memory.png --view memory --size 1920x1080\n"
    "  shardlens --screenshot train.png --view train --train-dtype fp16  sixty steps, their loss scale\n"
    "  shardlens run.shardlens                        replays a run of any machine; shows it live if it\n"
    "                                                 is still being recorded\n"
    "  shardlens --export stage.pdf --tp 4            for a paper; --export layer.svg --view timeline\n"
    "  shardlens --video layer.mp4 --size 1920x1080 --speed 2 --from 5 --to 12\n"
    "  shardlens --frame-benchmark --json             how fast frames are drawn here\n"
    "\n"
    "Environment:\n"
    "  SHARDLENS_HEATMAPS=shader, or processor        who colours heatmaps; if it is not set, the shader on\n"
    "                                                 a GPU, and the processor on a software renderer\n";

}  // namespace

const std::vector<std::string>& view_names() {
  static const std::vector<std::string> names{
      "stage",           "memory",        "memory-layer",   "memory-machine", "traffic",
      "traffic-times",   "scaling",       "scaling-strong", "scaling-heads",  "break-even",
      "cluster",         "compare",       "tournament",     "sweep",          kRecordingsView,
      "train",           "train-compare", kFrozenView,      kWrittenView,     "program",
      kBreakView,        kBreakLossView,  kBrokenStageView, kSoundStageView,  kDifferenceStageView,
      "palette",         "inspector",     "start",          "sheet",          "replay",
      "replay-train",    "replay-notes",  kTimesView,       "open-recording", kLostView,
      kLostTrainView,    kClosingView,    kSpotlightView,   kInsideView,      kTreeView,
      kReplayInsideView, "fit",           kRefusedView,     kTooLargeView,    "begin-training",
      "matrices",        "heads",         "number",         "number-whole",   "number-gradient",
      "inspector-zoom",  "derivation",    kAlgebraView,     kBiasView,        kNormView,
      kFiguresView,      kByHandView,     kByHandWrongView};
  return names;
}

std::optional<Options> read_options(int count, const char* const* arguments) {
  Options options;
  cli::RunOptions run;
  run.tp = ui::first_settings().tp;
  run.unasked = ui::first_settings().block;
  std::string theme, size, train_dtype, fault;
  std::vector<std::string> state;
  float scale = 0;

  CLI::App app(
      "Shardlens: see tensor parallelism run. Opens the studio with one transformer layer, cut over T ranks.",
      "shardlens");
  cli::lay_out_help(app);
  app.footer(kExamples);
  cli::add_version(app);
  cli::add_licences(app);
  cli::add_run_options(app, run, {cli::Part::Run, cli::Part::Layer, cli::Part::Delay});
  app.add_option("--train-dtype", train_dtype, "Number type of the Train tab: fp32, bf16, fp16 or fp64");
  app.add_option(
      "--break", fault,
      "For a picture of the break-it view: the mistake to plant, such as skip-f; no mistake if left "
      "out");
  app.add_option("--view", options.view, fmt::format("{}", fmt::join(view_names(), ", ")))
      ->capture_default_str();
  app.add_option("--step", options.step, "The step selected at first: its number or its name");
  app.add_option("--open", options.open,
                 "The part of a whole model that is open at first, such as \"layer 3\"");
  app.add_option(
         "--recording", options.recording,
         "FILE.shardlens, or gallery:NAME: replays it instead of running, or shows live the run that still "
         "writes it, without disturbing that run. Needs none of the hardware of the run")
      ->group("Recording");
  app.add_option("recording", options.recording, "FILE.shardlens, or gallery:NAME: short for --recording")
      ->excludes("--recording");
  app.add_option("--compare", options.compared,
                 "Compares this with --recording and shows where they first differ: FILE.shardlens, "
                 "gallery:NAME, or here for a run on this machine")
      ->group("Recording");
  CLI::Option* const shows = app.add_option(
      "--show", state,
      "Opens a state: settings, tab, page, selection and so on, in the words of a lesson's scene, KEY=VALUE. "
      "The studio's Copy link makes it");
  shows->type_name("KEY=VALUE ...")->expected(1, -1)->excludes("--recording")->excludes("--view");
  app.add_option("--lesson", options.lesson,
                 "Opens a lesson: the name of a built-in one or of a file in your lessons' folder, or "
                 "FILE.md. --seed "
                 "draws its numbers")
      ->excludes("--show")
      ->group("Lesson");
  app.add_option("--scene", options.scene, "The scene of the lesson that is shown first, from 1")
      ->check(cli::between(int64_t{1}, int64_t{1000}))
      ->group("Lesson");
  app.add_flag("--present", options.present, "In front of a class: larger, with the keys of a lecturer")
      ->group("Lesson");
  app.add_option(
         "--handout", options.handout,
         "Write the lesson without a display: FILE.pdf to print, or FILE.html, one file that needs no "
         "network and asks the questions")
      ->group("Lesson");
  app.add_option(
         "--slides", options.slides,
         "Write a PNG of every scene into this folder, without a display: before and after each answer "
         "is revealed")
      ->group("Lesson");
  app.add_option("--theme", theme, "dark, or light (for projectors)");
  app.add_option("--scale", scale, "Size of everything, 0.5 to 4");
  app.add_flag("--lecture", options.lecture,
               "Everything up to 1.6 times larger, as the window's height allows");
  app.add_option("--size", size, "Window or picture, WIDTHxHEIGHT");
  app.add_option("--screenshot", options.screenshot,
                 "Write this PNG without a display, after everything has run");
  app.add_option(
      "--export", options.figure,
      "Write vectors with text, without a display: FILE.svg or FILE.pdf. Shows the Stage; with --view "
      "timeline the Timeline; with --view recording the timeline of all passes of --recording. Light unless "
      "--theme dark. --size is in points of 1/96 inch; if left out, 960 wide and as high as needed");
  app.add_option(
      "--video", options.video,
      "Write a video of a walk through the steps, or with --lesson of its scenes, without a display, with "
      "ffmpeg: FILE.mp4, FILE.gif, or FILE.mkv, which keeps every pixel");
  app.add_option("--fps", options.fps,
                 "Video: frames per second; 5 for a lesson if left out, because it shows still pictures")
      ->capture_default_str()
      ->check(cli::between(1.0, 240.0));
  app.add_option("--speed", options.speed, "Video: speed, 2 is twice as fast as the studio plays")
      ->capture_default_str()
      ->check(cli::between(1e-9, 1e9));
  app.add_option("--from", options.from,
                 "Video: first step, by number or name; with --recording the second at which it begins");
  app.add_option("--to", options.to, "Video: last step; with --recording the second at which it ends");
  app.add_option("--pass", options.pass, "With --recording and no window: the pass to show, from 0")
      ->check(cli::at_least_zero());
  app.add_option("--at", options.at_seconds,
                 "With --recording and no window: the moment to show, in seconds from its beginning")
      ->check(cli::at_least_zero())
      ->excludes("--pass");
  app.add_option("--render-views", options.views,
                 "Write a PNG of every view into this folder, without a display");
  cli::add_overwrite(app);
  app.add_flag("--frame-benchmark", options.frame_benchmark,
               "Print frame times without a display, idle and while ranks compute");
  app.add_flag(
      "--start-benchmark", options.start_benchmark,
      "Start the studio many times and print the times to its first frame and to its executed layer; "
      "in a window if there is a display");
  app.add_option("--starts", options.benchmark_starts, "Number of starts in the benchmark")
      ->capture_default_str()
      ->check(cli::between(int64_t{1}, int64_t{1000}));
  app.add_option("--frames", options.benchmark_frames, "Number of frames of each kind in the benchmark")
      ->capture_default_str()
      ->check(cli::between(int64_t{10}, int64_t{100000}));
  app.add_flag("--json", options.json, "Print the benchmark's figures as one JSON object");
  cli::read_values_strictly(app);
  try {
    cli::parse_words(app, count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      cli::print_help(app, error);
      return std::nullopt;
    }
    throw request_error(cli::sentence_of(error, app, arguments[count - 1]));
  }

  if (!options.recording.empty()) refuse_model(options.recording);
  if (!options.lesson.empty() && app.count("--seed") > 0) options.lesson_seed = run.seed;
  if (!options.lesson.empty() && app.count("--fps") == 0) options.fps = kStillsPerSecond;
  for (const auto& [option, path] : {std::pair("--handout", options.handout), {"--slides", options.slides}})
    if (!path.empty() && options.lesson.empty())
      throw request_error(fmt::format(
          "{} writes a lesson: add --lesson NAME; shardlens-cli lesson list has the names", option));
  if (options.frame_benchmark && app.count("--model") == 0)
    run.model = "gpt2-medium";  // its 16 heads divide by 8
  if (options.frame_benchmark && app.count("--tp") == 0) run.tp = 8;
  options.settings = cli::settings_of(run);
  Settings& settings = options.settings;
  if (!state.empty()) {
    options.shown = state_of_words(state);
    apply(options.shown->run, "--show", settings);
    options.recording = options.shown->recording;
  }
  try {
    options.remarks = cli::fit_to_files(run, settings);
  } catch (const Error&) {  // the run says why its weights cannot be read
  }
  if (settings.communicator == CommunicatorChoice::Mpi)
    throw request_error("--comm mpi is only for shardlens-cli under mpirun: leave it out");
  const bool replays = !options.recording.empty() || is_replay_view(options.view);
  if (!options.open.empty() && settings.block != Block::Model && !replays)
    throw request_error("--open is for a whole model: add --block model");
  if (app.count("--seq") == 0) settings.seq = std::min(settings.seq, settings.model.positions);
  // Settings that can be planned are shown; the studio says if they cannot run here. A link also opens the
  // refusal that its sender saw.
  if (!options.shown) validate(settings);

  if (!size.empty()) options.size = parse_size(size);
  if (!theme.empty()) options.theme = parse_word(ui::kThemeWords, "theme", theme);
  if (!fault.empty()) options.fault = parse_fault(fault);
  if (!train_dtype.empty()) options.train_dtype = parse_dtype(train_dtype);
  if (app.count("--scale") > 0) {
    if (!(scale >= 0.5f && scale <= 4)) {
      throw request_error(fmt::format("--scale {} is out of range; choose between 0.5 and 4", scale));
    }
    options.scale = scale;
  }
  options.view_given = app.count("--view") > 0;
  if ((options.pass || options.at_seconds) && options.recording.empty())
    throw request_error("--pass and --at need a recording: add --recording FILE.shardlens");
  if (!options.compared.empty() && options.recording.empty())
    throw request_error("--compare needs a recording: add --recording FILE.shardlens");
  if (options.view == kRecordingsView && !options.recording.empty() && options.compared.empty())
    throw request_error(
        "--view compare-recordings needs a second recording: add --compare FILE.shardlens, or --compare "
        "here");
  if (!options.screenshot.empty() && options.screenshot.extension() != ".png")
    throw request_error(fmt::format(
        "--screenshot {}: a screenshot is a PNG: give a name that ends in .png; for vectors use --export",
        options.screenshot.string()));
  if (!options.figure.empty()) {
    if (options.view != "stage" && options.view != kTimelineFigure && options.view != kRecordingFigure)
      throw unknown_name("view of --export", options.view, {"stage", kTimelineFigure, kRecordingFigure});
    if (options.view == kRecordingFigure && options.recording.empty())
      throw request_error("--view recording draws all passes of a recording: add --recording FILE.shardlens");
    if (options.figure.extension() != ".svg" && options.figure.extension() != ".pdf")
      throw request_error(
          fmt::format("--export {}: the name must end in .svg or .pdf; for pixels use "
                      "--screenshot",
                      options.figure.string()));
    return options;
  }
  if (std::find(view_names().begin(), view_names().end(), options.view) == view_names().end()) {
    throw unknown_name("view", options.view, view_names());
  }
  return options;
}

namespace {

const std::map<std::string, ui::ScalingPage> kScalingViews{{"scaling", ui::ScalingPage::Weak},
                                                           {"scaling-strong", ui::ScalingPage::Strong},
                                                           {"scaling-heads", ui::ScalingPage::Heads},
                                                           {"break-even", ui::ScalingPage::BreakEven},
                                                           {"cluster", ui::ScalingPage::Cluster}};

}  // namespace

/// The laboratory's views: a wrong one, and one that is right because of a choice.
static void show_experiment(const std::string& name, ui::AlgebraView& view) {
  const std::string wanted = name == kAlgebraView ? "GeLU" : name == kBiasView ? "bias" : "LayerNorm";
  const auto all = lab::experiments();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const lab::Experiment& e) { return e.name == wanted; });
  const auto experiment = static_cast<size_t>(found - all.begin());
  view.show(experiment, name == kNormView ? found->ways.size() - 1 : 0, 4);
}

/// The example by hand: right, and with GeLU of each rank's term.
static lab::HandChoice by_hand_choice(const std::string& name) {
  if (name != kByHandWrongView) return {};
  return {.fc = Cut::Row, .proj = Cut::Column, .mistake = Fault::GeluOnPartial};
}

bool is_scaling_view(const std::string& name) {
  return kScalingViews.contains(name);
}

bool is_breaking_view(const std::string& name) {
  return name.starts_with(kBreakView) || name.starts_with(kBrokenStageView);
}

bool is_training_view(const std::string& name) {
  return name.starts_with("train");
}

bool is_replay_view(const std::string& name) {
  return name.starts_with("replay");
}

bool is_inside_view(const std::string& name) {
  return name == kInsideView || name == kTreeView || name == kReplayInsideView;
}

bool is_comparing_view(const std::string& name) {
  return name == "compare" || name == "tournament" || name == "sweep" || name == kRecordingsView;
}

void show_view(const std::string& name, ui::ViewState& state) {
  state.palette_open = name == "palette";
  state.sheet_open = name == "sheet";
  state.wide_inspector = name.starts_with("inspector");
  state.of<ui::ProductView>() = {};
  state.of<ui::MemoryView>().this_layer = name == "memory-layer";
  state.of<ui::MemoryView>().this_machine = name == "memory-machine";
  state.of<ui::TrafficView>().times = name == "traffic-times" || name == kTimesView;
  state.chooser_open = name == "open-recording";
  state.closing_open = false;  // a training must run first
  state.of<ui::SpotlightView>() = {.on = name == kSpotlightView, .stays = true};
  auto& inside = state.of<ui::CollectiveView>();
  inside.wiring = name == kTreeView ? Wiring::Tree : Wiring::Ring;
  inside.open = false;  // opened when a collective is selected
  state.of<ui::NotesView>().open = name == "replay-notes";
  const auto page = kScalingViews.find(name);
  if (page != kScalingViews.end()) state.of<ui::ScalingView>().page = page->second;
  state.of<ui::TrainView>().comparison = name == "train-compare";
  state.of<ui::BreakView>().page = name == kBreakLossView ? ui::BreakPage::Loss : ui::BreakPage::Errors;
  state.of<ui::BreakView>().side = name == kSoundStageView        ? ui::BreakSide::Sound
                                   : name == kDifferenceStageView ? ui::BreakSide::Difference
                                                                  : ui::BreakSide::Broken;
  state.of<ui::CompareView>().page = name == "tournament"      ? ui::ComparePage::Tournament
                                     : name == "sweep"         ? ui::ComparePage::Sweep
                                     : name == kRecordingsView ? ui::ComparePage::Recordings
                                                               : ui::ComparePage::Splits;
  state.of<ui::ProgramView>().page = name.starts_with(kAlgebraView)  ? ui::ProgramPage::Algebra
                                     : name.starts_with(kByHandView) ? ui::ProgramPage::ByHand
                                     : name == kFiguresView          ? ui::ProgramPage::Figures
                                                                     : ui::ProgramPage::Steps;
  if (name.starts_with(kAlgebraView)) show_experiment(name, state.of<ui::AlgebraView>());
  state.of<ui::ByHandView>().form.choice = by_hand_choice(name);
  state.tab = name == "start"                                                            ? ui::Tab::Start
              : name.starts_with("memory")                                               ? ui::Tab::Memory
              : state.of<ui::TrafficView>().times                                        ? ui::Tab::Traffic
              : name == "replay-train"                                                   ? ui::Tab::Train
              : name.starts_with("traffic")                                              ? ui::Tab::Traffic
              : page != kScalingViews.end()                                              ? ui::Tab::Scaling
              : is_comparing_view(name)                                                  ? ui::Tab::Compare
              : is_training_view(name) || name == kLostTrainView || name == kClosingView ? ui::Tab::Train
              : name == "begin-training"                                                 ? ui::Tab::Train
              : name == kRefusedView                                                     ? ui::Tab::Traffic
              : name == "program" || name.starts_with(kAlgebraView) || name == kFiguresView ||
                      name.starts_with(kByHandView)
                  ? ui::Tab::Program
              : name.starts_with(kBreakView) ? ui::Tab::BreakIt
                                             : ui::Tab::Stage;
  state.focus_tab = true;
  state.asked_here().inspector = name == "inspector";  // also in lecture mode
  auto& stage = state.of<ui::StageView>();
  if (stage.fitted) state.stage_zoom = stage.zoom_before;  // after the view "fit"
  stage.fitted = name == "fit";
}

void apply_looks(const Options& options, ui::ViewState& state) {
  if (options.theme) state.theme = *options.theme;
  if (options.scale) state.scale = *options.scale;
  if (options.lecture || options.present) {
    state.set_lecture(true);
    state.lecture_given = true;
  }
  if (options.train_dtype) {
    auto& train = state.of<ui::TrainView>();
    train.single.dtype = train.compared.dtype = *options.train_dtype;
  }
  if (!options.compared.empty()) {
    auto& diff = state.of<ui::DiffView>();
    diff.a = options.recording.string();
    diff.b_here = options.compared == "here";
    if (!diff.b_here) diff.b = options.compared;
    show_view(kRecordingsView, state);
  }
  if (options.view_given) show_view(options.view, state);
}

const OpenedView* opened_view(const std::string& name) {
  static const std::map<std::string, OpenedView> views{
      {"matrices", {"mlp.proj", true, false}},        {"heads", {"attn.core", true, false}},
      {"number", {"mlp.proj", true, true}},           {"number-whole", {"mlp.fc", true, true}},
      {"number-gradient", {"mlp.fc dX", true, true}}, {"inspector-zoom", {"mlp.proj", false, false}},
      {"derivation", {"mlp.proj", true, false, true}}};
  const auto found = views.find(name);
  return found == views.end() ? nullptr : &found->second;
}

StepId wanted_step(const Program& program, const std::string& wanted) {
  int number = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  const auto steps = static_cast<int>(program.steps.size());
  if (error == std::errc() && end == wanted.data() + wanted.size()) {
    if (number >= 0 && number < steps) return number;
    throw request_error(
        fmt::format("--step {} does not exist; the Program has steps 0 to {}", number, steps - 1));
  }
  std::vector<std::string> names;
  for (const Step& step : program.steps) {
    if (step.name == wanted) return step.id;
    names.push_back(step.name);
  }
  throw unknown_name("step", wanted, names);
}

int find_part(const Program& program, const std::string& wanted) {
  const ui::Sections sections = ui::make_sections(program);
  std::vector<std::string> titles;
  for (const ui::Section& section : sections.list) {
    if (section.title == wanted) return static_cast<int>(titles.size());
    titles.push_back(section.title);
  }
  throw unknown_name("part", wanted, titles);
}

void select_wanted(const Options& options, const Program& program, ui::ViewState& state) {
  if (options.open.empty() && options.step.empty()) return;
  const ui::Sections sections = ui::make_sections(program);
  StepId step = -1;
  if (!options.step.empty()) {
    step = wanted_step(program, options.step);
  } else {
    step = sections.list[static_cast<size_t>(find_part(program, options.open))].steps.front();
  }
  select_step(state, program, step);
  if (ui::is_whole_model(program)) state.open_section = sections.of_step[static_cast<size_t>(step)];
  state.scroll_to_selection = true;
}

}  // namespace shardlens
