// Brings the studio into the state that a link names, in the first frames. From then on it is a person's.
#pragma once

#include <memory>

#include "ui/context.h"
#include "ui/lesson/scene_setter.h"

namespace shardlens::ui {

class StateOpener {
 public:
  void open(SceneState state, const Settings& settings);
  /// Call it once per frame, before the panels.
  void follow(const Context& context);
  bool is_done() const { return wanted_ == nullptr; }

 private:
  std::shared_ptr<const ShownState> wanted_;  ///< null: all is shown
  bool begun_ = false;
  SceneSetter setter_;
};

}  // namespace shardlens::ui
