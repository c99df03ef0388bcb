// The studio: the window, and the parts of the engine that it shows. A frame takes the newest snapshots,
// draws the panels and handles keys, and sends their commands to the engine. It never waits for the engine.
//
// Its parts: sessions.h has the engine, frame/ the windows and their places, follow/ the reactions to new
// snapshots, remember/ the state kept between starts, panels/ the contents.
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
#include "ui/follow/broken_run.h"
#include "ui/follow/own_run.h"
#include "ui/follow/recording_watch.h"
#include "ui/follow/replay_follower.h"
#include "ui/follow/selection_follower.h"
#include "ui/frame/layout.h"
#include "ui/frame/message_card.h"
#include "ui/frame/window_picture.h"
#include "ui/frame/windows.h"
#include "ui/lesson/lesson_follower.h"
#include "ui/lesson/notes_window.h"
#include "ui/lesson/state_opener.h"
#include "ui/outbox.h"
#include "ui/platform/background_release.h"
#include "ui/platform/platform.h"
#include "ui/remember/remembered_view.h"
#include "ui/sessions.h"
#include "ui/widgets/heatmap.h"

namespace shardlens::ui {

class Studio {
 public:
  /// Plans and runs `settings` at once. `state_path`: the file that stores layout and look; empty: nothing is
  /// stored. Needs a Dear ImGui context and OpenGL, which must outlive it. `begin`: use WhenAsked if a
  /// recording is opened at once; then `settings` run when it is closed.
  Studio(const Settings& settings, const Fonts& fonts, std::filesystem::path state_path = {},
         Session::Begin begin = Session::Begin::AtOnce);
  ~Studio();  ///< ends it, if that was not done
  Studio(const Studio&) = delete;
  Studio& operator=(const Studio&) = delete;

  /// Ends the engine's work as a close of the window does: a training saves its steps, recordings are
  /// finished, and layout and look are saved. Needs no display. Only the destructor may follow.
  void end();
  /// A person or the system wants the studio to close. Returns true if it may; if not, it asks, and ends()
  /// becomes true with the answer.
  bool may_close();
  bool ends() const;
  /// After end(): says what could not be written down, though nobody wanted to drop it; empty if nothing.
  std::string not_saved();
  /// Says that the last picture could not be drawn, and makes the next one begin soundly: without what covers
  /// the panels, a selection, an open part or a walk. If frame() has not come to its end since the last call,
  /// the next one shows the page Start. What panels had sent is kept, and is sent with the next frame.
  void recover(const std::string& problem);

  /// Writes what is remembered now, and not only every few seconds.
  void save_state() { unsaved_state_ = remembered_.save(view_, layout_); }

  /// Draws everything. Call it between the beginning and the end of a Dear ImGui frame.
  void frame();

  /// Shows a recording in place of the run. If it cannot be opened, shows a message and changes nothing.
  void open_recording(const std::string& path);
  /// Handles a file or folder dropped on the window, between frames. A model's folder, or weights in one, go
  /// to Setup. Another folder opens the list of recordings. Anything else is opened as a recording, or chosen
  /// in the open list.
  void open_dropped(const std::string& path);
  /// Writes the shown snapshot as a figure, between frames; see ui/figure/figure.h.
  void write_figure(const FigureWish& wish, const std::filesystem::path& path);
  /// Writes the requested picture of the window, after the palette or list that requested it has closed. Call
  /// it between render() and present().
  void write_picture(Platform& platform);
  Figure draw_figure(const FigureWish& wish);
  /// Opens, draws or closes the window with the notes of a lesson, as the view wants it. Call it after
  /// present().
  void draw_notes_window(Platform& platform);

  /// How long a window may sleep if there is no input.
  double idle_seconds() const;
  /// How long the last picture may stay if there is no input, whatever workers that take turns have to do.
  double seconds_between_frames() const;

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
  const ReplaySnapshot& replayed() const { return *held_.replay; }  ///< as drawn in the last frame
  HistoryReader& history() { return sessions_.history; }
  MachineWatch& machine() { return sessions_.machine; }
  LessonSession& lesson() { return sessions_.lesson; }
  /// Opens a lesson, by name or file, at a scene; from the next frame on. `seed` draws its numbers.
  void open_lesson(const std::string& name_or_file, int scene, std::optional<uint64_t> seed = {});
  void show_scene(int scene);
  /// Brings the studio into a state, from the next frame on.
  void open_state(SceneState state, const Settings& settings);
  /// True if no lesson is open, or all of its scene is shown; and all of a state that was opened.
  bool lesson_is_settled() const { return lesson_is_settled_; }
  bool has_beside() const {
    return held_.beside != nullptr;
  }  ///< this machine's run is compared with a recording
  /// The words of the message card; empty: there is none.
  const std::string& message() const { return message_.words(); }
  const Heatmaps& heatmaps() const { return heatmaps_; }

 private:
  Context context();
  void prepare_style();
  void draw_words_beside_tabs(const Context& context);
  void take_snapshots();
  void follow_calibration();
  void leave_frozen();
  bool stays_open();             ///< false, for may_close(), and the next frames come quickly
  void end_frame(ImVec2 mouse);  ///< `mouse`: where it was before a picture hid it
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
  BrokenRun broken_run_;
  LessonFollower lesson_;
  StateOpener state_opener_;
  bool lesson_is_settled_ = true;
  NotesWindow notes_window_;
  RecordingWatch recording_;
  Outbox outbox_;                   ///< commands of this frame
  int docked_from_ = kFirstFrames;  ///< the frame from which every window is docked
  ThemeName styled_theme_ = ThemeName::Dark;
  float styled_scale_ = 0;
  std::chrono::steady_clock::time_point last_change_;  ///< of what is shown
  std::chrono::steady_clock::time_point last_touch_;   ///< of mouse or keys, or a command
  int failed_frames_ = 0;                              ///< in which frame() failed, since one that did not

  Sessions sessions_;
  OwnRun own_run_;
  ReplayFollower replay_follower_;
  bool watches_machine_ = false;                ///< true after the first run has ended
  std::shared_ptr<const Hardware> calibrated_;  ///< the calibration used for the plan's predicted times
  BackgroundRelease released_;
  bool ended_ = false;
  std::string unsaved_state_;  ///< why the state could not be written at the end
  std::string told_;           ///< the words beside the tabs in the last frame
  double told_since_ = 0;      ///< ImGui's time at which they came
  HeldSnapshots held_;         ///< the snapshots of this frame; before the first frame the newest
};

}  // namespace shardlens::ui
