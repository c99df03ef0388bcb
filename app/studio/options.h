// The studio's command line: what to run, how to show it, and what to do instead of opening a window.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/lesson/lesson.h"
#include "engine/program/fault.h"
#include "ui/context.h"
#include "ui/platform/image.h"

namespace shardlens {

struct Options {
  Settings settings;
  std::vector<std::string> remarks;  ///< what a person should know about the model's files, a sentence each
  std::optional<PixelSize> size;
  std::optional<ui::ThemeName> theme;
  std::optional<float> scale;
  bool lecture = false;
  std::string view = "stage";
  bool view_given = false;  ///< false: a window opens on the view it was closed with
  std::string step;  ///< number (from 0, as on screen and in files) or name; empty: the studio's own choice
  std::string open;  ///< part of a whole model: "layer 3"; empty: all of it
  std::filesystem::path screenshot;  ///< empty: none
  std::filesystem::path figure;      ///< .svg or .pdf of the Stage or the Timeline; empty: none
  std::filesystem::path video;       ///< .mp4, .gif or .mkv; empty: none
  double fps = 30, speed = 1;        ///< of the video
  /// Begin and end of the video: steps, by number or name, or seconds of a recording; empty: all.
  std::string from, to;
  std::optional<int64_t> pass;          ///< of the recording, from 0
  std::optional<double> at_seconds;     ///< a moment of the recording, from its beginning
  std::filesystem::path views;          ///< a folder for a picture of every view; empty: none
  std::optional<DType> train_dtype;     ///< none: the Train tab's last choice
  std::optional<Fault> fault;           ///< planted in the Break it tab of a picture
  std::filesystem::path recording;      ///< opened in place of a run; empty: none
  std::optional<SceneState> shown;      ///< brought about at the start; `settings` are its own
  std::string lesson;                   ///< a name or file, opened at once; empty: none
  bool present = false;                 ///< the lesson is shown in front of a class
  int scene = 1;                        ///< of the lesson, from 1
  std::optional<uint64_t> lesson_seed;  ///< draws the lesson's numbers
  std::filesystem::path handout;        ///< .pdf or .html of the lesson; empty: none
  std::filesystem::path slides;         ///< a folder for a PNG of every scene of the lesson; empty: none
  std::string compared;                 ///< recording to compare with it, or "here"; empty: none
  bool frame_benchmark = false;
  bool start_benchmark = false;
  int benchmark_starts = 10;
  int benchmark_frames = 600;
  bool json = false;
};

/// Reads the command line. Throws a request Error that names the remedy if it is wrong. Returns nothing if
/// the answer is already printed (--help, --version).
std::optional<Options> read_options(int count, const char* const* arguments);

/// The names that --view takes.
const std::vector<std::string>& view_names();

/// Views that only --export has, in addition to the Stage: the times of one pass, and of a whole recording.
inline constexpr const char* kTimelineFigure = "timeline";
inline constexpr const char* kRecordingFigure = "recording";

/// Copies the options about the look into `state`.
void apply_looks(const Options& options, ui::ViewState& state);
/// True for the views that need a training first.
bool is_training_view(const std::string& name);
/// True for the pages of the Scaling tab. The pages called "scaling…" have points that are measured here.
bool is_scaling_view(const std::string& name);
/// True for the views of a recording: the named one, or a short one made for the picture.
bool is_replay_view(const std::string& name);
/// True for the views of the Compare tab, which show measured results.
bool is_comparing_view(const std::string& name);
/// The view of a training that shows the text that the model wrote.
inline constexpr const char* kWrittenView = "train-text";
/// The view of a training that shows its last step on the Stage.
inline constexpr const char* kFrozenView = "train-frozen";
/// The views of the Break it tab: the list of faults or the effect of Options::fault; and the loss.
inline constexpr const char* kBreakView = "break-it";
inline constexpr const char* kBreakLossView = "break-it-loss";
/// The Stage of a planted mistake's run: broken, sound, and the difference.
inline constexpr const char* kBrokenStageView = "broken-stage";
inline constexpr const char* kSoundStageView = "broken-stage-sound";
inline constexpr const char* kDifferenceStageView = "broken-stage-difference";
/// True for the views of a planted mistake that need its runs.
bool is_breaking_view(const std::string& name);
/// The views of a T that does not divide the heads, and of a model that this machine has no memory for.
inline constexpr const char* kRefusedView = "refused";
inline constexpr const char* kTooLargeView = "too-large";
/// The views of a run and of a training that have lost their last rank.
inline constexpr const char* kLostView = "lost-rank";
inline constexpr const char* kLostTrainView = "lost-rank-train";
/// The view that compares a recording's times with those of the same settings on this machine.
inline constexpr const char* kTimesView = "replay-times";
/// The page of the Compare tab that compares two recordings.
inline constexpr const char* kRecordingsView = "compare-recordings";
/// The view of the question that a close asks during a training.
inline constexpr const char* kClosingView = "closing";
/// The Stage with the spot of light at the mouse.
inline constexpr const char* kSpotlightView = "spotlight";
/// The views inside a collective: its ring, its tree, and the ring of a recording.
inline constexpr const char* kInsideView = "collective";
inline constexpr const char* kTreeView = "collective-tree";
inline constexpr const char* kReplayInsideView = "replay-collective";
bool is_inside_view(const std::string& name);
/// The views of what a sum allows: GeLU of shares, the bias on every rank, and LayerNorm from sums over the
/// ranks.
inline constexpr const char* kAlgebraView = "algebra";
inline constexpr const char* kBiasView = "algebra-bias";
inline constexpr const char* kNormView = "algebra-norm";
/// The view of the texts' figures.
inline constexpr const char* kFiguresView = "figures";
inline constexpr const char* kByHandView = "by-hand";
inline constexpr const char* kByHandWrongView = "by-hand-wrong";  ///< GeLU before the sum
/// Shows the view called `name` and closes everything of other views.
void show_view(const std::string& name, ui::ViewState& state);

/// A view of one step looked at closely.
struct OpenedView {
  const char* step;  ///< its name, unless --step names another
  bool on_stage;     ///< opened in place of the Stage's rows; else zoomed in the Inspector
  bool number;       ///< one number of it
  bool derivation = false;
};
/// Null if `name` is no such view.
const OpenedView* opened_view(const std::string& name);

/// Returns the step with the number or the name `wanted`. Throws a request Error that lists the names if
/// there is none.
StepId wanted_step(const Program& program, const std::string& wanted);

/// Returns the index of the section called `wanted`. Throws a request Error that lists the names if there is
/// none.
int find_part(const Program& program, const std::string& wanted);

/// Opens and selects what --open and --step name. Throws a request Error that lists the names if there is
/// none.
void select_wanted(const Options& options, const Program& program, ui::ViewState& state);

}  // namespace shardlens
