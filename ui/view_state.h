// The state of the view that several panels share. The state of a single panel is a type next to that panel;
// ViewState::of() keeps it.
#pragma once

#include <any>
#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "engine/program/program.h"
#include "ui/frame/said.h"
#include "ui/settings/change_history.h"
#include "ui/settings/wanted.h"
#include "ui/theme/theme.h"

namespace shardlens {
struct Plan;  // engine/runtime/snapshot.h
}

namespace shardlens::ui {

enum class Tab { Start, Stage, Memory, Traffic, Scaling, Compare, Train, Program, BreakIt };

/// The panels that stand beside a page.
struct SidePanels {
  bool setup = false;
  bool inspector = false;
  bool timeline = false;
  bool operator==(const SidePanels&) const = default;
};
/// What a narrow window shows (ui/frame/narrow.h): the open page, or one of the panels that stand beside it
/// elsewhere.
enum class Front { Page, Setup, Inspector, Timeline };

inline constexpr SidePanels kNoPanels{};
inline constexpr SidePanels kOnlySetup{.setup = true};
inline constexpr SidePanels kAllPanels{true, true, true};  ///< steps can be selected on the page

/// The names of a tab, and the panels that its pages need. One row for each, in the order in which the tabs
/// stand on screen.
struct TabNames {
  Tab tab;
  const char* window;  ///< its title
  const char* word;    ///< in the file of the studio's state
  SidePanels needs;    ///< for its pages on which a step can be selected, see needs_of()
};
inline constexpr TabNames kTabs[] = {
    {Tab::Start, "Start", "start", kNoPanels},         {Tab::Stage, "Stage", "stage", kAllPanels},
    {Tab::Memory, "Memory", "memory", kAllPanels},     {Tab::Traffic, "Traffic", "traffic", kAllPanels},
    {Tab::Scaling, "Scaling", "scaling", kOnlySetup},  {Tab::Compare, "Compare", "compare", kAllPanels},
    {Tab::Train, "Train", "train", kNoPanels},         {Tab::Program, "Program", "program", kAllPanels},
    {Tab::BreakIt, "Break it", "break-it", kAllPanels}};
static_assert([] {
  for (size_t i = 0; i < std::size(kTabs); ++i)
    if (static_cast<size_t>(kTabs[i].tab) != i) return false;
  return true;
}());
constexpr const TabNames& names_of(Tab tab) {
  return kTabs[static_cast<size_t>(tab)];
}

/// True for tabs that do not show the run; they have their own notices and results.
inline bool stands_beside_the_run(Tab tab) {
  return tab == Tab::Start || tab == Tab::Train || tab == Tab::BreakIt || tab == Tab::Scaling;
}

inline constexpr int kWholeModel = -1;  ///< ViewState::open_section: all parts, none of them open

/// Stores values of different types, at most one of each type. A copy copies the values.
class TypedStore {
 public:
  /// Returns the value of type T; the first call makes a default one. The reference is valid until the store
  /// is assigned to or destroyed.
  template <class T>
  T& of() {
    std::any& value = values_[typeid(T)];
    if (!value.has_value()) value.emplace<T>();
    return *std::any_cast<T>(&value);
  }
  /// Returns a default value if there is none yet.
  template <class T>
  const T& of() const {
    static const T kDefault{};
    const auto found = values_.find(typeid(T));
    return found == values_.end() ? kDefault : *std::any_cast<T>(&found->second);
  }

 private:
  std::unordered_map<std::type_index, std::any> values_;
};

/// How much larger everything is in lecture mode: 1.6 times, and less in a window below 900 pixels (at 96
/// dpi), where the same type is a larger share of what the room sees. The smallest type has 2.3 % of 720
/// pixels. A window that is too narrow for two panels, a phone's, has no room for larger type.
inline constexpr float kLectureScale = 1.6f;
float lecture_scale_at(float window_width, float window_height);

/// A selected step and tensor, in words that hold in another plan too.
struct SelectedNames {
  StepId id = -1;  ///< in its own plan: tried first, because several steps may have the same name
  std::string step;
  Phase phase = Phase::Forward;
  int layer = -1;
  std::string tensor;
};

/// Belongs to the window; part of it is remembered between starts. The engine never sees it. Each panel's own
/// state is kept by its type: view.of<MemoryView>().
struct ViewState : TypedStore {
  // One selection, shared by all panels: a step and a tensor of the plan `shown`. A panel that draws another
  // plan, such as the newest one while an older result is shown, asks selection_in() and changes it by
  // select_step(); both find the same step in the other plan by its name.
  std::shared_ptr<const Plan> shown;     ///< the plan that is drawn; set once per frame by SelectionFollower
  StepId selected_step = -1;             ///< -1: none
  TensorId selected_tensor = kNoTensor;  ///< the tensor inspected: an input or output of the selected step
  int selected_rank = -1;                ///< -1: all ranks alike
  /// What was selected in a plan that is not shown yet; it is looked for again in the next one.
  std::optional<SelectedNames> selected_elsewhere;
  bool scroll_to_selection = false;  ///< in this frame Stage and Timeline bring the selection into view

  /// The Stage scrolls from its top to the selection, so that a picture does not depend on what was seen
  /// before.
  bool scroll_from_top = false;

  Tab tab = Tab::Stage;
  bool focus_tab = false;  ///< bring `tab` to the front in this frame
  ThemeName theme = ThemeName::Dark;
  float scale =
      1.0f;  ///< Ctrl + / - / 0; multiplied by lecture_scale in lecture mode, and by the screen's scale
  float screen_scale = 1.0f;  ///< the screen's pixels for each one at 96 dpi
  int screens = 1;            ///< how many there are
  bool lecture = false;
  float lecture_scale = kLectureScale;  ///< of this window, set once per frame
  bool lecture_given = false;           ///< by the command line: the next start is as the person had it
  bool playing = false;                 ///< Space: the selection walks through the steps
  float walk_speed = 1.0f;              ///< of that walk; at 2 it stops at a step for half as long

  // Covers: at most one is open over the panels.
  bool palette_open = false;
  bool sheet_open = false;
  bool chooser_open = false;  ///< the list of recordings
  bool closing_open = false;  ///< the question before the studio ends a training

  bool keys_lead = false;  ///< a key was pressed since the mouse was moved
  bool keys_lent = false;  ///< an open list takes the keys
  bool fit_timeline = false;
  bool setup_hidden = false;     ///< U: no Setup beside the pages that need it
  bool timeline_hidden = false;  ///< T: no Timeline beside the pages that need it
  bool wide_inspector = false;   ///< I: the Inspector takes half the window
  Front front = Front::Page;     ///< of a narrow window
  std::array<SidePanels, std::size(kTabs)>
      asked;                  ///< beside a page that has the window: U, T or I was pressed
  bool reset_layout = false;  ///< put every panel back to its first place in this frame
  float stage_zoom = 1.0f;
  int open_section = kWholeModel;  ///< of a whole model: the part whose rows the Stage shows

  std::vector<std::string> recent;  ///< paths of the recordings made or opened last, newest first
  std::string recordings;           ///< the folder for new recordings
  Said said;                        ///< the frame shows it until it is clicked away
  std::filesystem::path picture;    ///< where to write the window as a picture; empty: nowhere
  std::string told;  ///< a few words, such as what was undone: beside the tabs for some seconds
  Wanted wanted;     ///< changes of the settings that no snapshot shows yet
  ChangeHistory<Settings> changes;  ///< of the settings, for undo and redo

  /// True if a cover is open. The panels then ignore the mouse.
  bool covered() const { return palette_open || sheet_open || chooser_open || closing_open; }
  void close_covers() { palette_open = sheet_open = chooser_open = closing_open = false; }
  /// Opens one cover and closes the others, or closes it if it is open: toggle_cover(view.sheet_open).
  void toggle_cover(bool& cover) {
    const bool opens = !cover;
    close_covers();
    cover = opens;
  }
  void set_lecture(bool on) {
    lecture = on;
    lecture_given = false;
    asked = {};
  }
  SidePanels& asked_here() { return asked[static_cast<size_t>(tab)]; }
  const SidePanels& asked_here() const { return asked[static_cast<size_t>(tab)]; }
  float ui_scale() const { return screen_scale * scale * (lecture ? lecture_scale : 1.0f); }
};

struct SelectionIn {
  StepId step = -1;
  TensorId tensor = kNoTensor;
};
/// The selection in `program`, which need not be the shown one. Call it once per frame: in another plan, it
/// looks through the steps.
SelectionIn selection_in(const ViewState& view, const Program& program);
/// Selects a step of `program` and a tensor, each of which may be none.
void set_selection(ViewState& view, const Program& program, SelectionIn wanted);
/// Makes `plan`, which may be null, the shown one; what is selected is selected there too, if it has it.
void show_plan(ViewState& view, const std::shared_ptr<const Plan>& plan);

/// Selects a step, its first output as the inspected tensor, and all ranks.
void select_step(ViewState& view, const Program& program, StepId step);

/// Selects nothing, in a whole model with none of its parts open.
void select_nothing(ViewState& view);

/// Selects a step, and one rank or -1 for all; Stage and Timeline then bring the step into view.
void show_step(ViewState& view, const Program& program, StepId step, int rank = -1);

/// Selects one rank in every panel, or all ranks again if this rank is selected.
void select_rank_or_all(ViewState& view, int rank);

}  // namespace shardlens::ui
