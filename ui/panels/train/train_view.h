// The state of the Train tab: what it trains, and which part is shown.
#pragma once

#include <optional>
#include <string>

#include "engine/train/train_snapshot.h"
#include "ui/panels/train/train_choices.h"
#include "ui/settings/change_history.h"

namespace shardlens::ui {

/// The parts of the Train tab. In a wide window the choices are beside the other two.
enum class TrainPage { Choices, Curves, Text };

/// Everything that the form sets.
struct TrainForm {
  bool comparison = false;
  TrainChoices single, compared;
  bool operator==(const TrainForm&) const = default;
};

struct TrainView {
  bool comparison = false;  ///< post-LN against pre-LN instead of one model
  TrainPage page = TrainPage::Choices;
  TrainChoices single;
  TrainChoices compared = comparison_choices();
  WritingWish writing = writing_choices();
  std::string checkpoints;                 ///< the folder for checkpoints
  ChangeHistory<TrainForm> changes;        ///< of the form, for undo and redo while Train is in front
  std::optional<TrainForm> before_lesson;  ///< the form before a scene of a lesson has set it

  const TrainChoices& choices() const { return comparison ? compared : single; }
  TrainForm form() const { return {comparison, single, compared}; }
  TrainForm own_form() const { return before_lesson.value_or(form()); }  ///< a person's
  void take(const TrainForm& form) {
    comparison = form.comparison;
    single = form.single;
    compared = form.compared;
  }

  /// Shows the curves instead of the choices.
  void show_run() { page = page == TrainPage::Text ? TrainPage::Text : TrainPage::Curves; }

  train_command::Start wish() const {
    train_command::Start start = comparison ? comparison_of(compared) : training_of(single);
    start.checkpoints = checkpoints;
    start.writing = writing;
    return start;
  }
};

}  // namespace shardlens::ui
