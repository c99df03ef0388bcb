// The studio's command line: what to run, how to look at it, and what to do instead of opening a window.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/program/fault.h"
#include "ui/context.h"
#include "ui/platform/image.h"

namespace shardlens {

struct Options {
  Settings settings;
  std::optional<PixelSize> size;
  std::optional<ui::ThemeName> theme;
  std::optional<float> scale;
  bool lecture = false;
  std::string view = "stage";
  bool view_given = false;  ///< else a window opens on the view it was left with
  std::string step;  ///< number (from 0, as on screen and in files) or name; empty: the studio's own choice
  std::string open;  ///< part of a whole model: "layer 3"; empty: all of it
  std::filesystem::path screenshot;  ///< empty: none
  std::filesystem::path figure;      ///< .svg or .pdf of the Stage or the Timeline; empty: none
  std::filesystem::path video;       ///< .mp4, .gif or .mkv; empty: none
  double fps = 30, speed = 1;        ///< of the video
  /// Its stretch: steps, by number or name, or seconds of a recording; empty: all.
  std::string from, to;
  std::optional<int64_t> pass;       ///< of the recording, from 0
  std::optional<double> at_seconds;  ///< a moment of the recording, from its beginning
  std::filesystem::path views;       ///< a folder for a picture of every view; empty: none
  std::optional<DType> train_dtype;  ///< else as the Train tab was left
  std::optional<Fault> fault;        ///< planted in the Break it tab of a picture
  std::filesystem::path recording;   ///< opened in place of a run; empty: none
  std::string compared;              ///< recording beside that one, or "here"; empty: none
  bool frame_benchmark = false;
  bool start_benchmark = false;
  int benchmark_starts = 10;
  int benchmark_frames = 600;
  bool json = false;
};

/// Reads the command line. Throws a request Error that names the remedy for a wrong one; returns nothing when
/// the answer has already been printed (--help, --version).
std::optional<Options> read_options(int count, const char* const* arguments);

/// The names that --view takes.
const std::vector<std::string>& view_names();

/// The views that only a figure has, beside the Stage: the times of one pass, and of a whole recording.
inline constexpr const char* kTimelineFigure = "timeline";
inline constexpr const char* kRecordingFigure = "recording";

/// Puts what the options say about looks into `state`.
void apply_looks(const Options& options, ui::ViewState& state);
/// The views that show nothing before something was trained.
bool is_training_view(const std::string& name);
/// The pages of the Scaling tab; of those called "scaling…" points are measured here.
bool is_scaling_view(const std::string& name);
/// The views of a recording: of the one that is named, or of a short one made for the picture.
bool is_replay_view(const std::string& name);
/// The views of the Compare tab, which show what was measured.
bool is_comparing_view(const std::string& name);
/// Of the views of a training, the one that shows what the model wrote.
inline constexpr const char* kWrittenView = "train-text";
/// Of the views of a training, the one that shows the last step of it on the Stage.
inline constexpr const char* kFrozenView = "train-frozen";
/// The views of the Break it tab: its faults, or what the one Options::fault names does; and its loss.
inline constexpr const char* kBreakView = "break-it";
inline constexpr const char* kBreakLossView = "break-it-loss";
/// The views of a run and of a training that lose their last rank.
inline constexpr const char* kLostView = "lost-rank";
inline constexpr const char* kLostTrainView = "lost-rank-train";
/// The view of a recording's times beside this machine's, which has run its settings for it.
inline constexpr const char* kTimesView = "replay-times";
/// The page of the Compare tab that sets two recordings side by side.
inline constexpr const char* kRecordingsView = "compare-recordings";
/// Shows the view called `name` and nothing of another one.
void show_view(const std::string& name, ui::ViewState& state);

/// The step called `wanted` in `program`: its number on screen or its name. Throws a request Error with the
/// names.
StepId find_step(const Program& program, const std::string& wanted);

/// The part called `wanted`, among the sections of `program`. Throws a request Error with the names.
int find_part(const Program& program, const std::string& wanted);

/// Opens and selects what --open and --step ask for. Throws a request Error with what there is.
void select_wanted(const Options& options, const Program& program, ui::ViewState& state);

}  // namespace shardlens
