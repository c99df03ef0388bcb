// The studio: one Session that computes, one TrainingSession that trains, one ScalingSession that prices and
// measures, one Comparison that measures what stands beside the run, one DiffSession that sets two
// recordings side by side, one Replay that shows a recording in place of the run, and one window that shows.
// A frame takes the newest Snapshot, lets the keys and the panels look at it, and sends what they ask for
// back through the Session's queue. It never waits for the engine.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/scaling_session.h"
#include "engine/runtime/session/session.h"
#include "engine/train/experiments/break_session.h"
#include "engine/train/experiments/diff_session.h"
#include "engine/train/training_session.h"
#include "ui/commands/walk.h"
#include "ui/context.h"
#include "ui/figure/figure.h"
#include "ui/frame/layout.h"
#include "ui/platform/background_release.h"
#include "ui/platform/platform.h"
#include "ui/remember/state_file.h"
#include "ui/widgets/heatmap.h"

namespace shardlens::ui {

class Studio {
 public:
  /// Plans and runs `settings` at once. `state_path`: the file that remembers layout and looks; empty:
  /// nothing is remembered. Needs a Dear ImGui context and OpenGL, which must outlive it.
  /// `begin`: WhenAsked where a recording is opened at once; then `settings` run when it is closed.
  Studio(const Settings& settings, const Fonts& fonts, std::filesystem::path state_path = {},
         Session::Begin begin = Session::Begin::AtOnce);
  ~Studio();  ///< remembers
  Studio(const Studio&) = delete;
  Studio& operator=(const Studio&) = delete;

  /// Draws everything, between the beginning of a Dear ImGui frame and its end.
  void frame();

  /// Shows a recording in place of what runs. One that is refused is said, and changes nothing.
  void open_recording(const std::string& path);
  /// What was dropped on the window: a model's folder, or weights that lie in one, become Setup's; what is in
  /// another folder is listed; anything else is a recording, for what one is being chosen. Between frames.
  void open_dropped(const std::string& path);
  /// Writes what is looked at as a figure; see ui/figure/figure.h. Between frames.
  void write_figure(const FigureWish& wish, const std::filesystem::path& path);
  /// Writes the picture that was asked for, as soon as nothing of the asking is in it. Between render() and
  /// present().
  void write_picture(Platform& platform);
  Figure draw_figure(const FigureWish& wish);

  /// How long nothing will change by itself: what a window may sleep for unless a person does something.
  double idle_seconds() const;

  /// The snapshot that the last frame drew; before the first frame the newest.
  const Snapshot& snapshot() const { return *snapshot_; }
  ViewState& view() { return view_; }
  Session& session() { return session_; }
  TrainingSession& training() { return training_; }
  BreakSession& breaks() { return breaks_; }
  ScalingSession& scaling() { return scaling_; }
  Comparison& comparison() { return comparison_; }
  DiffSession& diff() { return diff_; }
  Replay& replay() { return replay_; }
  const ReplaySnapshot& replayed() const { return *replayed_; }  ///< that the last frame drew
  HistoryReader& history() { return history_; }
  MachineWatch& machine() { return machine_; }
  bool has_beside() const { return beside_ != nullptr; }  ///< this machine's run stands beside a recording
  const Heatmaps& heatmaps() const { return heatmaps_; }

 private:
  Context context();
  void prepare_style();
  void take_snapshots();
  void take_recording(const RecordingState& runs, const RecordingState& steps);
  void follow_calibration();
  void follow_replay(const ReplaySnapshot& before);
  void follow_recording(const ReplaySnapshot& before);
  void follow_newest(double end_seconds);
  void take_model(const std::filesystem::path& folder, const std::string& weights);
  void remember_recording(const std::string& path);
  void run_settings(const Settings& settings);
  void run_recorded_settings();
  void look_at_recording();
  void follow_diff_jump();
  void take_beside(const std::shared_ptr<const Snapshot>& live, const RecordingFacts& recording);
  void send_commands();
  void draw_folded_timeline(const Context& context, float height);
  void draw_folded_setup(const Context& context, float top, float bottom, float width);
  void draw_frozen(const Context& context);
  void follow_program();
  void follow_selection();
  void find_on_stage();
  void follow_clicks(const Context& context, StepId selected);
  void draw_strip(const Context& context, const char* name, float top, float height,
                  void (*draw)(const Context&));
  void draw_panel(const Context& context, const char* name, void (*draw)(const Context&), bool is_result);
  void draw_tab(const Context& context, const char* name, Tab tab, void (*draw)(const Context&));
  void leave_frozen();
  void draw_file(const Context& context, const std::string& file);
  void draw_offers(const Context& context);
  void draw_message(const Context& context);
  void remember();

  const Fonts& fonts_;
  std::filesystem::path state_path_;
  RememberedState remembered_;
  Said message_;           ///< shown until it is clicked away or read
  std::string told_;       ///< its words in the last frame
  double told_since_ = 0;  ///< ImGui's time at which they were first shown
  ViewState view_;
  Heatmaps heatmaps_;
  DockTree layout_;
  Player player_;
  int picture_frames_ = 0;  ///< drawn since a picture was asked for
  bool sought_ = false;     ///< a moment of the recording was asked for last: the selection follows there
  static constexpr int kFirstFrames = 3;          ///< until new windows are docked
  int docked_from_ = kFirstFrames;                ///< the frame in which every window has found its place
  bool left_stage_ = false;                       ///< another tab is in front
  std::pair<const Plan*, StepId> stage_place_{};  ///< what was selected when the Stage was last in front
  Session session_;
  TrainingSession training_;
  BreakSession breaks_;
  ScalingSession scaling_;
  Comparison comparison_;
  DiffSession diff_;
  Replay replay_;
  HistoryReader history_;
  MachineWatch machine_;
  bool watches_ = false;  ///< the machine, from when the first run has ended
  const Settings first_settings_;
  bool session_asked_;           ///< the Session has been given something to run
  bool training_waits_ = false;  ///< for the recording that was opened to be closed
  BackgroundRelease released_;   ///< of what was shown before
  std::shared_ptr<const Snapshot> snapshot_;
  std::shared_ptr<const ReplaySnapshot> replayed_;
  std::shared_ptr<const HistorySnapshot> read_;  ///< of the recording's timeline
  std::shared_ptr<const MachineFacts> watched_;
  std::shared_ptr<const Snapshot> beside_;             ///< this machine's run of what was recorded
  std::shared_ptr<const RecordingFacts> looked_into_;  ///< the recording whose samples were asked for last
  std::pair<int, StepId> looked_from_{};               ///< open part and selected step, which say
  std::vector<TensorId> looked_at_;                    ///< of which tensors
  std::shared_ptr<const Plan> compared_plan_;  ///< of that run, once it was compared with the recorded one
  bool same_program_ = false;
  BeingRecorded recorded_;
  std::shared_ptr<const ScalingSnapshot> scaled_;
  std::shared_ptr<const Hardware> calibrated_;  ///< the calibration that the plan was priced anew for
  int find_frames_ =
      0;  ///< frames that still bring the selection into view: panels take a few to find their place
  std::shared_ptr<const Plan> followed_;  ///< the plan the selection belongs to
  std::shared_ptr<const TrainSnapshot> train_;
  std::shared_ptr<const BreakSnapshot> broken_;
  std::shared_ptr<const ComparisonSnapshot> compared_;
  std::shared_ptr<const DiffSnapshot> differing_;
  /// The training step that is shown in place of the Session's run, unless a recording is.
  std::shared_ptr<const FrozenStep> frozen_;
  std::vector<Command> outbox_;
  std::vector<TrainCommand> train_outbox_;
  std::vector<BreakCommand> break_outbox_;
  std::vector<ScalingCommand> scaling_outbox_;
  std::vector<ComparisonCommand> comparison_outbox_;
  std::vector<DiffCommand> diff_outbox_;
  std::vector<ReplayCommand> replay_outbox_;
  std::vector<HistoryCommand> history_outbox_;
  ThemeName styled_theme_ = ThemeName::Dark;
  float styled_scale_ = 0;
  std::chrono::steady_clock::time_point last_change_;  ///< of what is shown
  std::chrono::steady_clock::time_point last_touch_;   ///< of mouse or keys, or a command
  std::chrono::steady_clock::time_point last_remembered_;
};

}  // namespace shardlens::ui
