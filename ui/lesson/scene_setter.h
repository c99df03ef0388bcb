// Brings the studio into the state of a scene, with the commands and the view state that a person would use.
// That takes several frames: steps can be selected only when the plan is there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/lesson/lesson_session.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/context.h"

namespace shardlens::ui {

class SceneSetter {
 public:
  /// Begins to show the state: settings, mistake or recording, view and page.
  void begin(const Context& context, std::shared_ptr<const ShownState> wanted);
  /// Goes on as far as the engine has come. Call it once per frame.
  void advance(const Context& context);
  /// True if all of the state is shown, or can never be.
  bool is_set() const { return wanted_ == nullptr || set_; }
  /// True while the page shows the curves of the state's training, which go on.
  bool shows_its_training(const Context& context) const;
  /// True if a person has changed the settings, the tab or the mistake since. `cut_is_asked`: another split
  /// is what the scene is about.
  bool was_left(const Context& context, bool cut_is_asked) const;
  /// Nothing is to be shown any more; the studio stays as it is.
  void stop() { wanted_ = nullptr; }
  /// The lesson was closed: takes back what its scenes have set, down to `before`, the settings of a person.
  void take_back(const Context& context, const std::optional<Settings>& before);

 private:
  void begin_training(const Context& context);
  bool has_arrived(const Context& context) const;
  bool was_changed(const Context& context);
  void place(const Context& context) const;

  std::shared_ptr<const ShownState> wanted_;
  bool set_ = false;
  double differs_since_ =
      -1;  ///< ImGui's time since when other settings run than the state's; -1: they do not
  std::shared_ptr<const RecordingFacts> recording_before_;  ///< open when the state was asked for
  std::shared_ptr<const Plan> broken_before_;               ///< of the mistake that was planted then
  uint64_t messages_before_ = 0;                            ///< of the Replay, then
  bool training_due_ = false;                  ///< the state wants to see a training, not yet begun
  std::vector<train_command::Model> trained_;  ///< of the training that was begun for a state
  Tab tab_ = Tab::Stage;                       ///< of the state
  std::optional<Settings> settings_;           ///< as wanted when all was set
};

}  // namespace shardlens::ui
