// What every panel is handed to draw one frame: the newest Snapshot to read, the view state it shares with
// the other panels, and an outbox for Commands. Data takes one way through the house, so a panel holds
// nothing else.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/machine_watch.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "engine/train/experiments/diff_session.h"
#include "engine/train/train_snapshot.h"
#include "ui/panels/train/train_choices.h"
#include "ui/settings/remedies.h"
#include "ui/settings/settings_history.h"
#include "ui/settings/wanted.h"
#include "ui/theme/theme.h"
#include "ui/widgets/sort_order.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {

enum class Tab { Start, Stage, Memory, Traffic, Scaling, Compare, Train, Program, BreakIt };

/// What trains, is broken or is priced beside the run, with a state of its own to tell.
inline bool stands_beside_the_run(Tab tab) {
  return tab == Tab::Start || tab == Tab::Train || tab == Tab::BreakIt || tab == Tab::Scaling;
}

inline constexpr int kWholeModel = -1;  ///< ViewState::open_section: every part, none of them open

/// What the Memory tab shows.
struct MemoryView {
  bool this_layer = false;    ///< the second page: this layer as planned and measured, not the whole model
  bool this_machine = false;  ///< the third: what its memory and its GPUs tell of themselves
  double parameters = 8.3e9;  ///< of the model against the wall
  Model model = Settings().model;    ///< Setup's, when the wall was drawn last
  std::string device = "v100-32gb";  ///< hardware preset whose memory is the wall
  int tp = 0;                        ///< the column explained beside the wall; 0: the smallest T that fits
};

enum class ScalingPage { Weak, Strong, Heads, BreakEven, Cluster };

/// What the Scaling tab shows.
struct ScalingView {
  ScalingPage page = ScalingPage::Weak;
  std::string crossing = "a100-80gb";  ///< the machine whose node is left
  bool this_run = false;               ///< with this run's layer instead of the paper's largest model's
  // the cluster: a model on T x D x P devices, each replica's batch in so many parts of one sequence
  std::string model = "gpt-1t";
  std::string cluster = "a100-80gb";
  int64_t tp = 8, pp = 64, dp = 6, parts = 512;

  bool operator==(const ScalingView&) const = default;
};

/// What the Scaling tab has asked to be priced, so that it asks once.
struct ScalingAsked {
  bool paper = false;
  Settings crossing, cluster;
  int stages = 0;
};

enum class ComparePage { Splits, Tournament, Sweep, Recordings };

inline constexpr const char* kOwnSplit = "this one";  ///< of CompareView::splits: the settings' own

/// What two recordings are compared in, below the answer.
enum class DiffPart { Steps, Totals, Memory, Metrics };

/// A moment of one of two recordings that is to be looked at as soon as it is open.
struct DiffJump {
  std::string file;
  int64_t pass = 0;
  StepId step = -1;
  TensorId tensor = kNoTensor;  ///< none: the step's first output
};

/// Two recordings side by side: which, and what of them is looked at.
struct DiffView {
  std::string a, b;     ///< paths, or "gallery:NAME"; empty: none is chosen
  bool b_here = false;  ///< B is what A recorded, run here
  DiffPart part = DiffPart::Steps;
  SortOrder order;                ///< of the steps
  std::string metric;             ///< whose curves are shown; empty: the loss, or what there is
  int row = -1;                   ///< of the steps, as they are without an order; -1: none was clicked
  std::optional<DiffWish> asked;  ///< what was last asked for
  std::optional<DiffJump> jump;
};

/// What the Compare tab compares.
struct CompareView {
  ComparePage page = ComparePage::Splits;
  std::array<std::string, 3> splits{"megatron", "reversed", ""};  ///< named, or kOwnSplit; empty: no column
  std::string row;       ///< the row that is followed through all splits: compare_rows.h's key
  StepId followed = -1;  ///< the selected step it was taken from, and its key
  std::string followed_key;
  std::string hardware;   ///< the tournament's; empty: this machine where it is calibrated, else an H100
  int ranks = 0;          ///< T x D of the tournament; 0: the settings' own
  int limit_divisor = 1;  ///< a rank may hold this part of the memory it has there
  std::optional<comparison_command::PlanSplits> asked;  ///< what was last asked for
  std::optional<TournamentWish> asked_tournament;
  SortOrder order;  ///< of the tournament's entrants
  DiffView diff;
};

/// Who is to be made late next, and by how much.
struct LateView {
  int rank = -1;  ///< of all T x D; -1: the selected rank
  int64_t milliseconds = 20;
  double timeout_before_seconds = -1;  ///< of the settings, before a rank was lost on purpose; -1: none was
};

/// What is shown of a run that lost a rank, or of a training that did.
struct FaultView {
  bool run_details = false, training_details = false;  ///< the whole message
  bool training_closed = false;                        ///< its strip, until another training begins
};

/// What the Inspector's pictures show of the selected tensor: the same part of every rank's piece.
struct InspectorView {
  TensorId tensor = kNoTensor;  ///< the zoom belongs to this one
  Stretch rows, cols;           ///< shown part in fractions of a rank's matrix; empty: all
  bool enlarged = false;        ///< view.selected_rank is drawn large
};

/// The parts of the Train tab: where there is room, the choices stand beside the other two.
enum class TrainPage { Choices, Curves, Text };

/// What the Train tab trains.
struct TrainView {
  bool comparison = false;  ///< post-LN against pre-LN instead of one model
  TrainPage page = TrainPage::Choices;
  TrainChoices single;
  TrainChoices compared = comparison_choices();
  WritingWish writing = writing_choices();

  std::string checkpoints;  ///< the folder they go to

  /// What is trained is looked at.
  void show_run() { page = page == TrainPage::Text ? TrainPage::Text : TrainPage::Curves; }

  train_command::Start wish() const {
    train_command::Start start = comparison ? comparison_of(compared) : training_of(single);
    start.checkpoints = checkpoints;
    start.writing = writing;
    return start;
  }
};

/// The parts of the Break it tab, of which a small window shows one at a time.
enum class BreakPage { Faults, Errors, Loss };

/// What the Break it tab shows.
struct BreakView {
  std::optional<Settings> asked;  ///< the engine was asked which faults are possible at these
  BreakPage page = BreakPage::Faults;
  int64_t probe = 0;  ///< the training step whose errors are shown; 0: the first in which something is wrong
};

/// What the chosen recording is for.
enum class ChosenFor { Replay, Attach, CompareA, CompareB };

/// What the list of recordings remembers from frame to frame.
struct ChooserView {
  int opened_frame = -2;      ///< in which it lay over everything last
  bool has_own = false;       ///< there is a folder of what this studio recorded
  double listed_seconds = 0;  ///< when its folder was asked for last, as what runs comes and goes
  std::string missing;        ///< a path that was entered, where nothing lies
  bool refused = false;       ///< just now: one goes on typing
};

/// How the recording that is open is played and annotated, and how another one is chosen.
struct ReplayView {
  double speed =
      0;  ///< recorded seconds a second; 0: step by step, each held still, as a run is walked through
  bool choosing = false;  ///< the list of recordings lies over everything
  ChosenFor chosen_for = ChosenFor::Replay;
  ChooserView chooser;
  std::string path;  ///< typed there
  bool notes_open = false;
  bool writes_note = false;  ///< the field for a new note takes the keyboard in this frame
  std::string note;          ///< being written
  std::string note_filter;   ///< words the listed notes must hold
  int64_t edited = 0;        ///< id of the note that is being changed; 0: none
  std::string edited_text;
  bool run_here = false;        ///< run the recording's settings on this machine, in this frame
  bool beside = false;          ///< that run stands beside the recording
  bool whole_timeline = false;  ///< meanwhile the Timeline shows the recording, and not the two passes
};

/// A stretch of a recording that was asked for.
struct HistoryAsked {
  uint64_t number = 0;  ///< 0: none was
  int64_t begin_ns = 0, end_ns = 0;
  int64_t bucket_ns = 0;
};

/// What the mouse holds of the Timeline's map until it lets go.
enum class MapGrip { Begin, End, Window };

/// What the Timeline shows of a recording, and what is looked for in it.
struct HistoryView {
  Stretch shown;         ///< seconds from the beginning of the recording; empty: all of it
  uint64_t numbers = 0;  ///< of questions asked so far
  HistoryAsked asked;
  MapGrip map_grip = MapGrip::Window;
  std::string words;  ///< in the name of a step
  bool search_focus = false;
  HistoryFind find = HistoryFind::Step;  ///< what was looked for last
  uint64_t find_number = 0;
  bool find_pending = false;
  std::optional<HistoryPlace> found;
  std::string said;  ///< of the last search
};

/// A sentence about the studio itself, with the files it tells of, whose paths stand below it, or with
/// changes of the settings that help, to be clicked: those are there as long as the settings are the ones it
/// is about.
struct Said {
  Said(std::string sentence = {}, std::vector<std::string> its_files = {})
      : words(std::move(sentence)), files(std::move(its_files)) {}
  Said(std::string sentence, const Settings& its_settings, std::vector<Remedy> its_offers)
      : words(std::move(sentence)), offers(std::move(its_offers)), about(its_settings) {}

  std::string words;
  std::vector<std::string> files;
  std::vector<Remedy> offers;
  std::optional<Settings> about;

  bool empty() const { return words.empty(); }
};

/// What the palette remembers from frame to frame; starts anew whenever it opens.
struct PaletteView {
  std::string typed;
  int chosen = 0;
  int opened_frame = -2;
  bool refused = false;  ///< what was chosen is not possible now: one goes on typing
};

/// What a person looks at. Belongs to the window, is remembered between starts, and never reaches the engine.
struct ViewState {
  // one selection, shared by Stage, Inspector and Timeline
  StepId selected_step = -1;             ///< -1: none
  TensorId selected_tensor = kNoTensor;  ///< the tensor inspected: an input or output of the selected step
  int selected_rank = -1;                ///< -1: all ranks alike
  bool scroll_to_selection = false;  ///< set by whoever selects; the Stage and Timeline bring it into view

  /// The Stage's scroll follows from the selection alone: a picture does not depend on what was seen before.
  bool scroll_from_top = false;

  Tab tab = Tab::Stage;
  bool focus_tab = false;  ///< bring `tab` to the front in this frame
  ThemeName theme = ThemeName::Dark;
  float scale = 1.0f;  ///< Ctrl + / - / 0; multiplied by 1.6 in lecture mode
  bool lecture = false;
  bool playing = false;  ///< Space: the selection walks through the steps
  bool palette_open = false;
  bool keys_lead = false;  ///< a key was pressed since the mouse was moved
  bool keys_lent = false;  ///< to a list, which is open
  PaletteView palette;
  bool sheet_open = false;
  bool fit_stage = false;  ///< F: the Stage fits its rows into the panel in this frame
  bool fit_timeline = false;
  bool setup_hidden = false;     ///< U: no Setup, more Stage; lecture mode begins without it
  bool timeline_hidden = false;  ///< T: no Timeline, for a window that is low
  bool wide_inspector = false;   ///< I: the Inspector takes half the window
  bool page_alone = true;        ///< side_panels(): T and I end it, and T begins it again
  bool reset_layout = false;     ///< put every panel back to its first place in this frame
  float stage_zoom = 1.0f;
  int open_section = kWholeModel;  ///< of a whole model: the part whose rows the Stage shows
  MemoryView memory;
  bool traffic_times = false;  ///< the Traffic tab's second page: every step's time, predicted and measured
  ScalingView scaling;
  ScalingAsked scaling_asked;
  TrainView train;
  BreakView breaks;
  CompareView compare;
  LateView late;
  FaultView fault;
  InspectorView inspector;
  ReplayView replay;
  HistoryView history;
  std::vector<std::string> recent;  ///< paths of the recordings made or opened last, the newest first
  std::string program_filter;       ///< words the Program tab's steps must hold
  double timeline_begin_seconds = 0, timeline_end_seconds = 0;  ///< shown stretch; equal: fit
  std::string recordings;                                       ///< folder that recordings go to
  Said said;                      ///< the frame shows it until it is clicked away
  std::filesystem::path picture;  ///< what the window shows is to be written there; empty: nowhere
  Wanted wanted;                  ///< changes of the settings that no snapshot carries yet
  SettingsHistory changes;        ///< of the settings, to be taken back

  /// Palette or sheet lies over everything: what is beneath says nothing about the mouse.
  bool covered() const { return palette_open || sheet_open || replay.choosing; }
  void close_covers() { palette_open = sheet_open = replay.choosing = false; }
  /// Opens that one alone, or closes it where it is open: toggle_cover(view.sheet_open).
  void toggle_cover(bool& cover) {
    const bool opens = !cover;
    close_covers();
    cover = opens;
  }
  void set_lecture(bool on) {
    lecture = setup_hidden = on;
    page_alone = true;
  }
  float ui_scale() const { return scale * (lecture ? 1.6f : 1.0f); }
};

/// What is being recorded now, whatever snapshot is shown.
struct BeingRecorded {
  RecordingState runs;   ///< of the Session
  RecordingState steps;  ///< of the TrainingSession
};

class Heatmaps;  // ui/widgets/heatmap.h

struct Context {
  /// Of the recording while one is open, of a frozen training step while there is one, else the Session's.
  const Snapshot& snapshot;
  const BeingRecorded& recorded;
  const TrainSnapshot& train;  ///< of a recording the training it recorded
  const BreakSnapshot& breaks;
  const ScalingSnapshot& scaling;
  const ComparisonSnapshot& comparison;
  const DiffSnapshot& diff;
  const ReplaySnapshot& replay;
  const Snapshot* beside;          ///< this machine's run of the recorded Program, timed; null: there is none
  const HistorySnapshot& history;  ///< the timeline of the recording that is open
  const MachineFacts& machine;     ///< its memory and its GPUs, as they were told a moment ago
  ViewState& view;
  const Theme& theme;
  const Fonts& fonts;
  Heatmaps& heatmaps;
  std::vector<Command>& outbox;                       ///< sent to the Session after the frame
  std::vector<TrainCommand>& train_outbox;            ///< sent to the TrainingSession after the frame
  std::vector<BreakCommand>& break_outbox;            ///< sent to the BreakSession after the frame
  std::vector<ScalingCommand>& scaling_outbox;        ///< sent to the ScalingSession after the frame
  std::vector<ComparisonCommand>& comparison_outbox;  ///< sent to the Comparison after the frame
  std::vector<DiffCommand>& diff_outbox;              ///< sent to the DiffSession after the frame
  std::vector<ReplayCommand>& replay_outbox;          ///< sent to the Replay after the frame
  std::vector<HistoryCommand>& history_outbox;        ///< sent to the HistoryReader after the frame

  float px(float at_scale_one) const { return at_scale_one * view.ui_scale(); }
  /// The same, looking at something else in another way: for a panel that shows more than one plan.
  Context of(const Snapshot& other, ViewState& other_view) const {
    return looking_at(other, nullptr, other_view, theme);
  }
  /// The same, looked at in another way and in other inks: for a figure on paper.
  Context with(ViewState& other_view, const Theme& other_theme) const {
    return looking_at(snapshot, beside, other_view, other_theme);
  }
  void send(Command command) const;
  void send(TrainCommand command) const;
  void send(BreakCommand command) const;
  void send(ScalingCommand command) const;
  void send(ComparisonCommand command) const;
  void send(DiffCommand command) const;
  void send(ReplayCommand command) const;
  void send(HistoryCommand command) const;

  /// The settings as they are wanted now: read these, change a copy, and want() it. Those of a recording
  /// stay, which it says.
  const Settings& wanted() const { return view.wanted.settings(snapshot); }
  void want(const Settings& settings) const;
  void undo() const;  ///< wants what ran before the last change
  void redo() const;

 private:
  void ask_for(const Settings& settings) const;
  Context looking_at(const Snapshot& other, const Snapshot* other_beside, ViewState& other_view,
                     const Theme& other_theme) const {
    return {other,       recorded,      train,         breaks,         scaling,
            comparison,  diff,          replay,        other_beside,   history,
            machine,     other_view,    other_theme,   fonts,          heatmaps,
            outbox,      train_outbox,  break_outbox,  scaling_outbox, comparison_outbox,
            diff_outbox, replay_outbox, history_outbox};
  }
};

// The panels. Each draws into the current Dear ImGui window, which the frame has begun.
void draw_bar(const Context& context);
void draw_setup(const Context& context);
void draw_stage(const Context& context);
void draw_inspector(const Context& context);
void draw_timeline(const Context& context);
void draw_memory(const Context& context);
void draw_traffic(const Context& context);
void draw_scaling(const Context& context);
void draw_compare(const Context& context);
void draw_train(const Context& context);
void draw_program(const Context& context);
void draw_break_it(const Context& context);
void draw_start(const Context& context);

// Of the recording that is open; each draws a window of its own, or nothing.
void draw_replay_bar(const Context& context);        ///< into the current window
void draw_notes(const Context& context, float top);  ///< below `top`, at the right
void draw_recording_chooser(const Context& context);

/// The result that is drawn. None where the wanted plan is right but cannot run here: then it is the plan
/// that is looked at, not what ran before it.
inline std::shared_ptr<const Result> shown_result(const Snapshot& snapshot) {
  return snapshot.only_planned() ? nullptr : snapshot.result;
}
/// The plan that is drawn: the result's, so that picture and numbers belong together even when the settings
/// have moved on; the wanted one before there is a result; null when there is neither.
inline std::shared_ptr<const Plan> shared_shown_plan(const Snapshot& snapshot) {
  const std::shared_ptr<const Result> result = shown_result(snapshot);
  return result ? result->plan : snapshot.plan;
}
inline const Plan* shown_plan(const Snapshot& snapshot) {
  return shared_shown_plan(snapshot).get();
}
/// "measured", or of a recording "replayed": what stands beside a figure of the result shown.
inline const char* how_known(const Snapshot& snapshot) {
  return snapshot.result ? snapshot.result->how() : "measured";
}
/// What is drawn belongs to settings that are no longer wanted.
inline bool shows_stale(const Snapshot& snapshot) {
  return snapshot.stale() && !snapshot.only_planned();
}

/// The Timeline shows the pass that is looked at and this machine's run of the same Program below each other.
inline bool shows_beside(const Context& context) {
  return context.beside != nullptr && !context.view.replay.whole_timeline;
}
/// The Timeline is that of a whole recording; else that of a run, or for the first frames of a recording of
/// the pass that is looked at.
inline bool shows_history(const Context& context) {
  return context.replay.is_open() && !shows_beside(context) &&
         context.history.path == context.replay.recording->path;
}

/// Selects a step and, as the tensor inspected, its first output (of all ranks).
void select_step(ViewState& view, const Program& program, StepId step);

/// Moves the timeline by `share` of what it shows: the keys A and D.
void pan_timeline(ViewState& view, const Snapshot& snapshot, double share);
/// Shows `factor` times as much time, about the selected step when it is in view: the keys W and S.
void zoom_timeline(ViewState& view, const Snapshot& snapshot, double factor);
/// The same of a recording's; it is zoomed about its middle.
void pan_history(HistoryView& view, const HistorySnapshot& history, double share);
void zoom_history(HistoryView& view, const HistorySnapshot& history, double factor);

}  // namespace shardlens::ui
