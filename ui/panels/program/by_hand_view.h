// The state of the page "by hand": what a person typed and chose, the cell or number that takes the keys, and
// the run of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/base/background_call.h"
#include "engine/laboratory/worked_by_hand.h"
#include "ui/context.h"

namespace shardlens::ui {

using lab::HandForm;  ///< undo and redo go from one to another

/// A cell of an operand.
struct HandCell {
  lab::HandOperand operand = lab::HandOperand::X;
  int64_t row = 0, col = 0;
  bool operator==(const HandCell&) const = default;
};

struct ByHandView {
  HandForm form;
  std::optional<HandCell> cell;  ///< takes what is typed
  std::string typed;             ///< in that cell, as far as it is no number yet: "−"
  int before_typing = 0;         ///< the cell's number, before the first of these signs
  std::string refused;           ///< why the last text was not taken; empty: it was
  uint64_t seed = 0;             ///< of the last random numbers; 0: there were none

  /// Tensor::name of the number that is written out; empty: see shown_number().
  std::string tensor;
  int64_t row = 0, col = 0;
  /// The room that the highest number written out so far took above the steps, at this width.
  struct {
    float width = 0, height = 0;
  } number_room;
  bool scrolls_to_wrong = false;  ///< once, when the form's run is there
  bool reads_keys = false;        ///< the arrow keys go from that number to the next

  ChangeHistory<HandForm> changes;
  std::optional<HandForm> before_lesson;  ///< a person's, while a lesson shows its own

  const HandForm& own_form() const { return before_lesson ? *before_lesson : form; }  ///< a person's
};

/// Runs what the form says, by a worker of its own, one run after another. A frame never waits for it longer
/// than a few milliseconds.
class HandRuns {
 public:
  /// Starts a run of `form` if it is not the one that is shown or under way. Call it once a frame.
  void follow(const HandForm& form);
  /// The newest run that is done; null: none yet, or it failed.
  const std::shared_ptr<const lab::HandRun>& shown() const { return shown_; }
  const std::string& failed() const { return failed_; }
  bool is_running() const { return running_ != nullptr; }

 private:
  struct Made {
    std::shared_ptr<const lab::HandRun> run;
    std::string failed;
  };
  static Job<Made> make(HandForm form);
  bool take();

  std::shared_ptr<BackgroundCall<Made>> running_;
  std::optional<HandForm> form_;  ///< of the run that is under way, or of the last one
  std::shared_ptr<const lab::HandRun> shown_;
  std::string failed_;
};

/// The number that is written out: its tensor in the shown run, and its place.
struct HandNumber {
  StepId step = -1;
  TensorId tensor = kNoTensor;
  int64_t row = 0, col = 0;
};
/// The chosen one, else the first that is wrong, else the first that is summed over the ranks, else the first
/// result. step -1: a run of no steps.
HandNumber shown_number(const ByHandView& view, const lab::HandRun& run);

/// A matrix of the page: where it is drawn, and how large its cells are.
struct HandGrid {
  ImVec2 min;
  ImVec2 cell;
  int64_t rows = lab::kHandSize;
  ImVec2 max() const {
    return {min.x + cell.x * static_cast<float>(lab::kHandSize), min.y + cell.y * static_cast<float>(rows)};
  }
  ImVec2 at(int64_t row, int64_t col) const {
    return {min.x + cell.x * static_cast<float>(col), min.y + cell.y * static_cast<float>(row)};
  }
};
/// Outlines what `rank` holds of a tensor as its layout says: thin for Replicated, the rank's colour for
/// Sharded, dashed amber for Partial. by_hand_steps.cpp.
void outline_piece(const Context& context, ImDrawList* list, const HandGrid& grid, const Program& program,
                   TensorId tensor, int rank);

/// Draws the choices of cuts, numbers and mistakes. Returns the height (by_hand_choices.cpp).
float draw_hand_choices(const Context& context, ImVec2 at, float width);
/// Draws the matrices that are typed, from `at` in `width`. Returns the height (by_hand_cells.cpp).
float draw_hand_operands(const Context& context, const lab::Worked* worked, ImVec2 at, float width);
/// The least width for the steps with `lanes` matrices side by side.
float steps_width(const Context& context, const lab::HandRun& run, int lanes);
/// Draws every step with every rank's numbers, and those of one rank if there is room; forward and backward
/// side by side if there is more. Returns the height (by_hand_steps.cpp).
float draw_hand_steps(const Context& context, const lab::HandRun& run, const lab::Worked& worked, ImVec2 at,
                      float width);
/// The height of the number that is written out, or of as many of its parts as end within `most`.
float hand_number_height(const Context& context, const lab::Worked& worked, float width, float most);
/// Draws it, its parts side by side if there is room. Returns the height (by_hand_worked.cpp).
float draw_hand_number(const Context& context, const lab::Worked& worked, ImVec2 at, float width);

/// Types, moves and pastes while a cell or a number of the page has the keys. True if a key was taken
/// (by_hand_keys.cpp).
bool take_keys_to_hand(const Context& context);
/// True if the page "by hand" is in front.
bool shows_by_hand(const ViewState& view);
/// Puts another form in place, and says in `view.told` what that changed: "Undone: X[0, 1] = 3".
void take_hand_form(const Context& context, const char* what, const HandForm& form);

}  // namespace shardlens::ui
