// The studio: the window, and the parts of the engine it shows. A frame takes the newest snapshots, lets the
// keys and the panels look at them, and sends what they ask for back to the engine. It never waits for the
// engine.
//
// Its parts: sessions.h holds the engine, frame/ the windows and where they stand, follow/ what the view does
// when snapshots change, remember/ what is kept between starts, panels/ the contents.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ui/commands/walk.h"
#include "ui/context.h"
#include "ui/figure/figure.h"
#include "ui/follow/own_run.h"
#include "ui/follow/recording_watch.h"
#include "ui/follow/replay_follower.h"
#include "ui/follow/selection_follower.h"
#include "ui/frame/layout.h"
#include "ui/frame/message_card.h"
#include "ui/frame/window_picture.h"
#include "ui/frame/windows.h"
#include "ui/outbox.h"
#include "ui/platform/background_release.h"
#include "ui/platform/platform.h"
#include "ui/remember/remembered_view.h"
#include "ui/sessions.h"
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
  const Snapshot& snapshot() const { return *held_.shown; }
  ViewState& view() { return view_; }
  Session& session() { return sessions_.run; }
  TrainingSession& training() { return sessions_.training; }
  BreakSession& breaks() { return sessions_.breaks; }
  ScalingSession& scaling() { return sessions_.scaling; }
  Comparison& comparison() { return sessions_.comparison; }
  DiffSession& diff() { return sessions_.diff; }
  Replay& replay() { return sessions_.replay; }
  const ReplaySnapshot& replayed() const { return *held_.replay; }  ///< that the last frame drew
  HistoryReader& history() { return sessions_.history; }
  MachineWatch& machine() { return sessions_.machine; }
  bool has_beside() const {
    return held_.beside != nullptr;
  }  ///< this machine's run stands beside a recording
  const Heatmaps& heatmaps() const { return heatmaps_; }

 private:
  Context context();
  void prepare_style();
  void take_snapshots();
  void follow_calibration();
  void take_model(const std::filesystem::path& folder, const std::string& weights);
  void leave_frozen();
  void send_commands();

  const Fonts& fonts_;
  ViewState view_;
  Heatmaps heatmaps_;
  DockTree layout_;
  RememberedView remembered_;
  MessageCard message_;
  WindowPicture window_picture_;
  Player player_;
  SelectionFollower selection_;
  RecordingWatch recording_;
  Outbox outbox_;                   ///< of the frame that is drawn
  int docked_from_ = kFirstFrames;  ///< the frame in which every window has found its place
  ThemeName styled_theme_ = ThemeName::Dark;
  float styled_scale_ = 0;
  std::chrono::steady_clock::time_point last_change_;  ///< of what is shown
  std::chrono::steady_clock::time_point last_touch_;   ///< of mouse or keys, or a command

  Sessions sessions_;
  OwnRun own_run_;
  ReplayFollower replay_follower_;
  bool watches_machine_ = false;                ///< from when the first run has ended
  std::shared_ptr<const Hardware> calibrated_;  ///< the calibration that the plan was last priced with
  BackgroundRelease released_;
  HeldSnapshots held_;  ///< of the frame that is drawn; before the first frame the newest
};

}  // namespace shardlens::ui
