// Follows the open lesson from frame to frame: asks for the values of the shown scene, brings the studio into
// its state, shows what an answer means, and looks whether the lesson's file has changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "engine/lesson/lesson_session.h"
#include "ui/context.h"
#include "ui/lesson/scene_setter.h"

namespace shardlens::ui {

class LessonFollower {
 public:
  /// Call it once per frame, before the panels.
  void follow(const Context& context);
  /// True if no lesson is open, or all of its scene is shown.
  bool is_settled(const Context& context) const;

 private:
  void take_reading(const Context& context);
  void show(const Context& context);
  void show_answer(const Context& context);
  void tell_teacher(const Context& context, bool rests);

  SceneSetter setter_;
  uint64_t reading_ = 0;                         ///< of the lesson that is followed
  bool was_open_ = false;                        ///< a lesson, in the last frame
  int scene_ = -1;                               ///< the scene that was set last; -1: none
  std::shared_ptr<const ShownState> answer_;     ///< the state that an answer shows, set after the scene
  std::string told_;                             ///< the question whose answer was asked for who teaches
  std::tuple<StepId, TensorId, int> selection_;  ///< in the last frame
  double looked_ = 0;                            ///< ImGui's time of the last look at the file
  std::string message_;                          ///< the last one that was said
};

}  // namespace shardlens::ui
