// Writes screenshots, figures and pictures of all views, and first brings the studio into the state that each
// shows.
#include "app/studio/offscreen.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/studio/offscreen_parts.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/base/worker.h"
#include "engine/config/heads.h"
#include "engine/config/presets.h"
#include "engine/io/atomic_file.h"
#include "engine/io/temporary_folder.h"
#include "engine/lesson/built_in.h"
#include "engine/planner/delays.h"
#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/collective/collective_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/inspector/inspector_view.h"
#include "ui/panels/program/figures_view.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/panels/recordings/replay_view.h"
#include "ui/panels/start/start_view.h"
#include "ui/panels/train/train_choices.h"
#include "ui/panels/train/train_view.h"
#include "ui/product/product_view.h"
#include "ui/stage/motion.h"

namespace shardlens {
namespace {

constexpr int64_t kPictureSteps = 60, kUnfinishedSteps = 5'000;

/// Runs a short training (seconds) for the views that show one, with the Train tab's default model.
void train_shortly(const std::string& view, Platform& platform, ui::Studio& studio) {
  if (!is_training_view(view)) return;
  auto& train = studio.view().of<ui::TrainView>();
  train.single.steps = train.compared.steps = kPictureSteps;
  train.page = view == kWrittenView ? ui::TrainPage::Text : ui::TrainPage::Curves;
  train.comparison = view == "train-compare";
  const auto begin = Clock::now();
  const uint64_t before = studio.training().wait_until_idle(kTimeoutSeconds)->version;
  studio.training().send(train.wish());
  do {
    draw_frame(platform, studio);
    let_workers_go_on(0.02);
    if (seconds_since(begin) > kTimeoutSeconds)
      throw run_error(fmt::format("the training did not finish within {:.0f} s", kTimeoutSeconds));
  } while (studio.training().snapshot()->is_active() ||
           studio.training().snapshot()->version == before);  // the end of an earlier training does not count
  const std::shared_ptr<const TrainSnapshot> trained = studio.training().snapshot();
  if (trained->state == TrainState::Refused) throw request_error(trained->message);
  if (trained->state == TrainState::Failed) throw run_error(trained->message);
}

/// Draws until `is_so()`. Throws a run Error that begins with `what` if this takes too long.
void draw_until(Platform& platform, ui::Studio& studio, const char* what, const auto& is_so) {
  const auto begin = Clock::now();
  while (!is_so()) {
    if (seconds_since(begin) > kTimeoutSeconds)
      throw run_error(fmt::format("{} after {:.0f} s", what, kTimeoutSeconds));
    draw_frame(platform, studio);
    let_workers_go_on(0.01);
  }
}

/// Loses the last rank of the run on the Stage, or of a training that has saved a checkpoint.
void lose_shortly(const std::string& view, Platform& platform, ui::Studio& studio) {
  if (view == kLostView) {
    const Program& program = studio.snapshot().plan->program;
    const int last = program.tp() * program.dp() - 1;
    if (last == 0)
      throw request_error("with one rank no other rank can notice the loss: give --tp 2 or more");
    Settings settings = studio.snapshot().settings;
    settings.timeout_seconds = ui::kLostAfterSeconds;
    settings.delays = {
        {last, delay_word(program, program.steps[program.steps.size() / 2].id), kLongestDelayMilliseconds}};
    studio.session().send(command::SetSettings{settings});
    draw_until(platform, studio, "no rank was lost", [&] { return studio.snapshot().failure.has_value(); });
  } else if (view == kLostTrainView) {
    auto& train = studio.view().of<ui::TrainView>();
    train.single.checkpoint_every = 10;
    train.single.timeout_seconds = ui::kLostAfterSeconds;
    train_command::Start start = ui::training_of(train.single);
    const TrainOptions& options = start.models.front().options;
    train.page = ui::TrainPage::Curves;
    const TemporaryFolder scratch;
    start.checkpoints = scratch.path();
    studio.training().send(start);
    const auto trained = [&] {
      const auto now = studio.training().snapshot();
      return now->curves.empty() ? 0 : now->curves.front()->saved_step;
    };
    draw_until(platform, studio, "no checkpoint was written", [&] { return trained() >= 20; });
    studio.training().send(train_command::LoseRank{options.settings.tp * options.settings.dp - 1});
    draw_until(platform, studio, "no rank was lost",
               [&] { return studio.training().snapshot()->state == TrainState::Failed; });
  }
}

/// Closes the studio while a training runs that is not saved. It stays, and asks.
void ask_to_close(const std::string& view, Platform& platform, ui::Studio& studio) {
  if (view != kClosingView) return;
  train_command::Start start = studio.view().of<ui::TrainView>().wish();
  for (train_command::Model& model : start.models) {
    model.options.steps = kUnfinishedSteps;
    model.options.checkpoint_every = 0;
  }
  studio.training().send(start);
  draw_until(platform, studio, "the training did not begin", [&] {
    const auto now = studio.training().snapshot();
    return now->state == TrainState::Running && now->curves.front()->steps.size() > 20;
  });
  studio.training().send(train_command::Pause{});
  studio.training().wait_until_idle(kTimeoutSeconds);
  draw_frame(platform, studio);
  if (studio.may_close()) throw run_error("the studio does not ask before it ends a training");
}

/// Puts the mouse where a lecturer may point, or nowhere.
void point_at(const std::string& view, PixelSize size) {
  const bool points = view == kSpotlightView;
  ImGui::GetIO().AddMousePosEvent(points ? 0.42f * static_cast<float>(size.width) : -FLT_MAX,
                                  points ? 0.38f * static_cast<float>(size.height) : -FLT_MAX);
}

/// Asks for settings that cannot run, or that this machine has no memory for.
void ask_too_much(const std::string& view, Platform& platform, ui::Studio& studio) {
  if (view != kRefusedView && view != kTooLargeView) return;
  Settings settings = studio.snapshot().settings;
  if (view == kRefusedView) {
    settings.tp = static_cast<int>(settings.model.heads) - 1;
    if (settings.tp < 1 || divides_heads(settings.model, settings.tp))
      throw request_error("every T is possible for this model: choose one with 4 heads or more");
  } else {
    settings.model = model_preset("gpt-1t");
    settings.weights_path.clear();
    settings.layer = 0;
  }
  studio.session().send(command::SetSettings{settings});
  draw_until(platform, studio, "the settings were not refused", [&] {
    return studio.snapshot().state == RunState::Refused && studio.snapshot().settings == settings;
  });
}

/// Prices a scaling view, and measures this machine's points if the view has any.
void measure_shortly(const std::string& view, Platform& platform, ui::Studio& studio) {
  if (!is_scaling_view(view)) return;
  for (int i = 0; i < kSettlingFrames; ++i) draw_frame(platform, studio);  // the page asks for its prices
  const bool has_points = view.starts_with("scaling");
  if (has_points && !studio.scaling().snapshot()->measured)
    studio.scaling().send(scaling_command::Measure{studio.snapshot().settings});
  const std::shared_ptr<const ScalingSnapshot> done = studio.scaling().wait_until_idle(kTimeoutSeconds);
  if (done->measures())
    throw run_error(fmt::format("this machine was not measured within {:.0f} s", kTimeoutSeconds));
}

/// Draws until a training step is frozen, or until none is.
void wait_for_frozen(bool frozen, Platform& platform, ui::Studio& studio) {
  const auto begin = Clock::now();
  while ((studio.training().snapshot()->frozen != nullptr) != frozen) {
    if (seconds_since(begin) > kTimeoutSeconds)
      throw run_error(fmt::format("the training step was not shown within {:.0f} s", kTimeoutSeconds));
    draw_frame(platform, studio);
    let_workers_go_on(0.02);
  }
}

/// Plants the mistake that --break names and waits until both runs end.
void break_shortly(const std::string& view, const Options& options, Platform& platform, ui::Studio& studio) {
  BreakSession& breaks = studio.breaks();
  if (!is_breaking_view(view)) {
    if (breaks.snapshot()->planted) breaks.send(break_command::Clear{});  // other views show the run
    breaks.wait_until_idle(kTimeoutSeconds);
    return;
  }
  for (int i = 0; i < kSettlingFrames; ++i) draw_frame(platform, studio);  // the tab asks what is possible
  const bool plants = options.fault || view != kBreakView;
  if (plants)
    breaks.send(break_command::Start{studio.snapshot().settings, options.fault.value_or(Fault::SkipF)});
  const std::shared_ptr<const BreakSnapshot> last = breaks.wait_until_idle(kTimeoutSeconds);
  if (last->state == BreakState::Refused && options.fault) throw request_error(last->message);
  if (last->state == BreakState::Failed) throw run_error(last->message);
}

/// Opens the selected collective, else the first one, in the hop in which the first chunks become complete.
void look_inside(const std::string& view, ui::Studio& studio) {
  if (!is_inside_view(view)) return;
  const Program& program = studio.snapshot().plan->program;
  ui::ViewState& state = studio.view();
  const auto meets = [&](const Step& step) {
    return is_collective(step.op) && group_ranks(program, step) > 1;
  };
  const auto first = std::find_if(program.steps.begin(), program.steps.end(), meets);
  if (first == program.steps.end())
    throw request_error("with one rank there is no collective to look into: give --tp 2 or more");
  const bool selected = state.selected_step >= 0 && meets(program.step(state.selected_step));
  if (!selected) select_step(state, program, first->id);
  auto& inside = state.of<ui::CollectiveView>();
  inside.open = true;
  const int ranks = group_ranks(program, program.step(state.selected_step));
  inside.stand_at(inside.wiring == Wiring::Tree ? 2 : ranks - 1);
}

/// Opens the step that a view shows, and the number or the part of it that is looked at closely.
void look_closer(const std::string& view, const Options& options, ui::Studio& studio) {
  constexpr int64_t kRow = 17, kColumn = 203;
  const OpenedView* const opened = opened_view(view);
  if (opened == nullptr) return;
  const std::shared_ptr<const Plan> plan = studio.snapshot().plan;
  const Program& program = plan->program;
  if (options.step.empty()) select_step(studio.view(), program, wanted_step(program, opened->step));
  auto& row = studio.view().of<ui::ProductView>();
  row.open = opened->on_stage;
  row.number = opened->number;
  row.derivation = opened->derivation;
  row.row = kRow;
  row.col = kColumn;
  if (opened->on_stage) return;
  const TensorId tensor = studio.view().selected_tensor;
  studio.view().of<ui::InspectorView>() = {plan, tensor, {kRow, kRow + 6}, {kColumn, kColumn + 4}, false};
}

/// Draws until the comparison has nothing left to plan or measure.
void wait_for_comparison(Platform& platform, ui::Studio& studio) {
  const auto begin = Clock::now();
  for (int quiet = 0; quiet < kSettlingFrames;) {  // the page asks for its plan in its first frames
    if (seconds_since(begin) > kTimeoutSeconds)
      throw run_error(fmt::format("the comparison did not finish within {:.0f} s", kTimeoutSeconds));
    draw_frame(platform, studio);
    studio.comparison().wait_until_idle(0.02);
    quiet = studio.comparison().snapshot()->busy ? 0 : quiet + 1;
  }
}

/// Does what the Compare tab's buttons do.
void compare_all(const std::string& view, Platform& platform, ui::Studio& studio) {
  if (!is_comparing_view(view)) return;
  wait_for_comparison(platform, studio);
  Comparison& comparison = studio.comparison();
  if (view == "compare") comparison.send(comparison_command::RunSplits{});
  if (view == "sweep")
    comparison.send(comparison_command::SweepDegrees{studio.snapshot().settings,
                                                     swept_degrees(studio.snapshot().settings)});
  if (view == "tournament") comparison.send(comparison_command::RunTop{});
  comparison.wait_until_idle(kTimeoutSeconds);
  wait_for_comparison(platform, studio);
}

/// Draws until the chosen recordings are compared. Throws a request Error if they cannot be.
void wait_for_diff(Platform& platform, ui::Studio& studio) {
  const auto begin = Clock::now();
  for (;;) {
    const auto& view = studio.view().of<ui::DiffView>();
    const std::shared_ptr<const DiffSnapshot> diff = studio.diff().wait_until_idle(0.02);
    if (diff->wish == DiffWish{view.a, view.b_here ? "" : view.b}) {
      if (diff->compared) return;
      if (!diff->message.empty()) throw request_error(diff->message);
    }
    if (seconds_since(begin) > kTimeoutSeconds)
      throw run_error(fmt::format("the recordings were not compared within {:.0f} s", kTimeoutSeconds));
    draw_frame(platform, studio);
  }
}

/// Throws what a scene's mistake, training or comparison ended with, if it is not what the scene shows.
void require_shown(Platform& platform, ui::Studio& studio) {
  const std::shared_ptr<const BreakSnapshot> breaks = studio.breaks().snapshot();
  if (breaks->planted && breaks->state == BreakState::Refused) throw request_error(breaks->message);
  if (breaks->planted && breaks->state == BreakState::Failed) throw run_error(breaks->message);
  const std::shared_ptr<const TrainSnapshot> train = studio.training().snapshot();
  if (train->state == TrainState::Refused) throw request_error(train->message);
  if (train->state == TrainState::Failed) throw run_error(train->message);
  ui::ViewState& view = studio.view();
  const auto& diff = view.of<ui::DiffView>();
  const bool compares =
      view.tab == ui::Tab::Compare && view.of<ui::CompareView>().page == ui::ComparePage::Recordings;
  if (compares && !diff.a.empty() && (diff.b_here || !diff.b.empty())) wait_for_diff(platform, studio);
}

/// Compares the two named recordings, or two of the gallery.
void compare_recordings(const std::string& view, Platform& platform, ui::Studio& studio) {
  if (view != kRecordingsView) return;
  auto& diff = studio.view().of<ui::DiffView>();
  if (diff.a.empty()) {
    diff.a = "gallery:loss-fused";
    diff.b = "gallery:loss-gathered";
  }
  for (int i = 0; i < kSettlingFrames; ++i) draw_frame(platform, studio);  // the page asks for it
  wait_for_diff(platform, studio);
}

/// Draws until `is_so()` of the replay.
void wait_for_replay(Platform& platform, ui::Studio& studio, const auto& is_so) {
  const auto begin = Clock::now();
  do {
    studio.replay().wait_until_idle(kTimeoutSeconds);
    draw_frame(platform, studio);
    if (seconds_since(begin) > kTimeoutSeconds)
      throw run_error(fmt::format("the recording was not shown within {:.0f} s", kTimeoutSeconds));
  } while (!is_so(studio.replayed()));
}

/// Opens the named recording, or a short one. Shows the pass given by --pass, else the middle one, or the
/// newest one if a run still writes the recording.
void show_recording(const std::string& view, const Options& options, ShortRecording& made, Platform& platform,
                    ui::Studio& studio) {
  const std::string path = options.recording.empty() ? made.path() : options.recording.string();
  studio.open_recording(path);
  const std::shared_ptr<const ReplaySnapshot> opened = studio.replay().wait_until_idle(kTimeoutSeconds);
  if (!opened->is_open())
    throw request_error(opened->message.empty() ? path + " is a folder; give one of the recordings in it"
                                                : opened->message);
  const int64_t passes = opened->recording->passes;
  if (options.pass && *options.pass >= passes)
    throw request_error(
        passes == 0 ? fmt::format("--pass {}: the recording has no passes", *options.pass)
                    : fmt::format("--pass {}: the recording has passes 0 to {}", *options.pass, passes - 1));
  const bool follows = opened->is_live() && !options.pass;  // a live run is shown at its newest pass
  const int64_t middle = options.pass.value_or(passes / 2);
  if (!follows) studio.replay().send(replay_command::ShowPass{middle});
  wait_for_replay(platform, studio, [&](const ReplaySnapshot& replay) {
    return replay.is_open() && (follows || replay.pass == middle || replay.recording->passes == 0);
  });
  show_view(view, studio.view());
  draw_frame(platform, studio);
  select_wanted(options, studio.snapshot().plan->program, studio.view());
  if (view != kTimesView) return;
  studio.view().of<ui::ReplayView>().run_here = true;  // also show a run on this machine
  const auto begin = Clock::now();
  do {
    draw_frame(platform, studio);
    let_workers_go_on(0.02);
    if (seconds_since(begin) > kTimeoutSeconds)
      throw run_error(fmt::format("the recording's settings did not run within {:.0f} s", kTimeoutSeconds));
  } while (studio.view().of<ui::ReplayView>().beside && !studio.has_beside());
}

}  // namespace

bool is_at_rest(const Snapshot& snapshot) {
  return snapshot.state != RunState::Planning && snapshot.state != RunState::Running &&
         snapshot.activity.empty() && (!snapshot.stale() || snapshot.only_planned());
}

void draw_frame(Platform& platform, ui::Studio& studio) {
  platform.begin_frame();
  studio.frame();
  platform.render();
  platform.present();
  const std::shared_ptr<const ReplaySnapshot> replay = studio.replay().snapshot();
  if (replay->failures > 0) throw request_error(replay->message);
  const std::shared_ptr<const HistorySnapshot> history = studio.history().snapshot();
  if (!history->message.empty()) throw request_error(history->message);
}

void wait_for_rest(Platform& platform, ui::Studio& studio) {
  const auto begin = Clock::now();
  while (!is_at_rest(studio.snapshot())) {
    if (seconds_since(begin) > kTimeoutSeconds) {
      throw run_error(fmt::format("the run did not finish within {:.0f} s ({})", kTimeoutSeconds,
                                  to_string(studio.snapshot().state)));
    }
    draw_frame(platform, studio);
    let_workers_go_on(0.01);
  }
  const Snapshot& snapshot = studio.snapshot();
  // A run that can only be planned here still gets a picture, because the studio shows the reason itself.
  if (snapshot.state == RunState::Refused && !snapshot.only_planned()) throw request_error(snapshot.message);
  if (snapshot.state == RunState::Failed) throw run_error(snapshot.message);
}

OffscreenStudio::OffscreenStudio(const Options& options, PixelSize size)
    : replays_(!options.recording.empty() || is_replay_view(options.view)),
      platform_(make_offscreen_platform(size, {}, Rasterize::when_read)),
      studio_(options.settings, platform_->fonts(), {},
              replays_ ? Session::Begin::WhenAsked : Session::Begin::AtOnce) {
  apply_looks(options, studio_.view());
  studio_.view().of<ui::MotionView>().on = false;  // a picture is of what stands still
  if (options.shown) {
    studio_.open_state(*options.shown, options.settings);
    wait_for_lesson();
    return;
  }
  if (replays_) {
    show_recording(options.view, options, made_, *platform_, studio_);
    if (options.at_seconds) show_moment(*options.at_seconds);
    compare_recordings(options.view, *platform_, studio_);
    look_inside(options.view, studio_);
    return;
  }
  wait_for_rest(*platform_, studio_);
  if (options.view != kFrozenView) select_wanted(options, studio_.snapshot().plan->program, studio_.view());
  prepare_view(options.view, options);
  if (options.lesson.empty()) return;
  find_lesson(options.lesson);  // throws if there is none
  studio_.open_lesson(options.lesson, options.scene - 1, options.lesson_seed);
  wait_for_lesson();
}

void OffscreenStudio::wait_for_lesson() {
  draw_until(*platform_, studio_, "the scene was not shown", [&] { return studio_.lesson_is_settled(); });
  const auto lesson = studio_.lesson().snapshot();
  if (!lesson->message.empty()) throw request_error(lesson->message);
  if (!studio_.snapshot().result || !studio_.snapshot().result->replayed) wait_for_rest(*platform_, studio_);
  studio_.breaks().wait_until_idle(kTimeoutSeconds);
  // A page asks for what it shows when it is drawn first.
  draw_frame();
  studio_.scaling().wait_until_idle(kTimeoutSeconds);
  studio_.comparison().wait_until_idle(kTimeoutSeconds);
  studio_.diff().wait_until_idle(kTimeoutSeconds);
  draw_frame();
  require_shown(*platform_, studio_);
}

void OffscreenStudio::show_scene(int scene) {
  studio_.show_scene(scene);
  draw_frame();
  wait_for_lesson();
}

void OffscreenStudio::draw_frame() {
  shardlens::draw_frame(*platform_, studio_);
}

void OffscreenStudio::prepare_view(const std::string& view, const Options& options) {
  if (is_replay_view(view)) {
    show_recording(view, options, made_, *platform_, studio_);
    return look_inside(view, studio_);
  }
  if (view == "open-recording") studio_.replay().send(replay_command::List{});
  break_shortly(view, options, *platform_, studio_);
  compare_all(view, *platform_, studio_);
  compare_recordings(view, *platform_, studio_);
  train_shortly(view, *platform_, studio_);
  measure_shortly(view, *platform_, studio_);
  lose_shortly(view, *platform_, studio_);
  ask_to_close(view, *platform_, studio_);
  point_at(view, platform_->framebuffer_size());
  look_inside(view, studio_);
  ask_too_much(view, *platform_, studio_);
  if (view == "start" || view == "begin-training") {
    draw_frame();  // the page begins to read the gallery
    draw_frame();
    const auto& start = studio_.view().of<ui::StartView>();
    if (start.glimpses) start.glimpses->wait();
    if (start.shelf) start.shelf->wait();
  }
  look_closer(view, options, studio_);
  if (view == kFiguresView) {
    draw_frame();  // the page begins to compute them
    draw_frame();
    const auto& figures = studio_.view().of<ui::FiguresView>().figures;
    if (figures) figures->get();
  }
  if (view != kFrozenView) return;
  studio_.training().send(train_command::Freeze{});
  wait_for_frozen(true, *platform_, studio_);
  draw_frame();  // from here on the panels show the step
  select_wanted(options, studio_.snapshot().plan->program, studio_.view());
}

void OffscreenStudio::show_moment(double seconds) {
  studio_.replay().send(replay_command::Seek{seconds});
  studio_.replay().wait_until_idle(kTimeoutSeconds);
  draw_frame();
  const Snapshot& shown = studio_.snapshot();
  if (shown.plan->program.steps.empty()) return;
  const auto position = static_cast<StepId>(shown.position);
  select_step(studio_.view(), shown.plan->program, std::max(0, position - 1));
}

// Waits for everything that the frames requested; a picture taken earlier would lack a recording's values or
// the machine's GPUs.
void OffscreenStudio::settle() {
  for (int i = 0; i < kSettlingFrames; ++i) {
    studio_.replay().wait_until_idle(kTimeoutSeconds);
    studio_.session().wait_until_idle(kTimeoutSeconds);
    studio_.history().wait_until_idle(kTimeoutSeconds);
    studio_.machine().wait_until_idle(kTimeoutSeconds);
    studio_.view().scroll_to_selection = true;
    draw_frame();
  }
}

Image OffscreenStudio::settled_picture() {
  studio_.view().scroll_from_top = true;
  settle();
  platform_->begin_frame();
  studio_.frame();
  platform_->render();
  Image image = platform_->read_pixels();
  platform_->present();
  return image;
}

void write_screenshot(const Options& options) {
  const OutputPlace place(options.screenshot.string(), kPicture);
  OffscreenStudio shown(options, options.size.value_or(kDefaultSize));
  write_png(shown.settled_picture(), options.screenshot);
}

void export_figure(const Options& options) {
  const OutputPlace place(options.figure.string(), ui::kVectorFile);
  OffscreenStudio shown(options, kDefaultSize);
  shown.draw_frame();
  ui::ViewState& view = shown.studio().view();
  if (!options.at_seconds) {
    view.selected_step = -1;  // a figure shows all steps alike unless one is asked for
    view.selected_tensor = kNoTensor;
    select_wanted(options, shown.studio().snapshot().plan->program, view);
  }
  const bool whole = options.view == kRecordingFigure;
  shown.settle();
  const auto kind = whole                             ? ui::FigureKind::Recording
                    : options.view == kTimelineFigure ? ui::FigureKind::Timeline
                                                      : ui::FigureKind::Stage;
  shown.studio().write_figure({kind, options.theme.value_or(ui::ThemeName::Light), options.size},
                              options.figure);
}

void write_views(const Options& options) {
  const OutputFolder place(options.views.string());
  for (const std::string& name : view_names())
    require_writable((options.views / (name + ".png")).string(), kPicture);
  Options run = options;  // without a recording: the replay views open their own
  run.view = "stage";
  run.recording.clear();
  OffscreenStudio shown(run, options.size.value_or(kDefaultSize));
  Platform& platform = shown.platform();
  ui::Studio& studio = shown.studio();
  for (const std::string& name : view_names()) {
    const std::filesystem::path path = options.views / (name + ".png");
    show_view(name, studio.view());
    shown.prepare_view(name, options);
    write_png(shown.settled_picture(), path);
    studio.replay().send(replay_command::Close{});
    wait_for_replay(platform, studio, [](const ReplaySnapshot& replay) { return !replay.is_open(); });
    if (name == kLostView || name == kTimesView || name == kRefusedView ||
        name == kTooLargeView) {  // the next views show the requested run again
      studio.session().send(command::SetSettings{options.settings});
      draw_until(platform, studio, "the run did not begin", [&] {
        return !studio.snapshot().failure && studio.snapshot().settings == options.settings;
      });
      wait_for_rest(platform, studio);
    }
    if (name == kClosingView) studio.training().send(train_command::Stop{});
    studio.training().send(train_command::LetGo{});
    wait_for_frozen(false, platform, studio);
    fmt::print("{}\n", std::filesystem::absolute(path).lexically_normal().string());
  }
}

}  // namespace shardlens
