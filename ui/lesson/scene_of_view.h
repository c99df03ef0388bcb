// The present state of the studio as a scene of a lesson: what *Save as scene* writes. scene_setter.h goes
// the other way.
#pragma once

#include "engine/lesson/lesson.h"
#include "ui/context.h"

namespace shardlens::ui {

/// The settings that are shown: those of a planted mistake, else the wanted ones.
const Settings& shown_settings(const Context& context);

/// `base`: the lesson's settings; the scene states what differs from them. Of an open recording the settings
/// are its own. What a scene cannot say, such as a frozen training step, is left out.
SceneState scene_of_view(const Context& context, const Settings& base);

/// A title for it: "Stage: mlp.proj".
std::string title_of(const SceneState& scene);

}  // namespace shardlens::ui
