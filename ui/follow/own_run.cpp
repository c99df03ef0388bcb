// Runs settings and remembers them for undo.
#include "ui/follow/own_run.h"

#include <imgui.h>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui {

void OwnRun::run(const Settings& settings, ViewState& view) {
  begun_ = true;
  const ImGuiIO& io = ImGui::GetIO();
  view.changes.chose(settings, io.MouseDown[0] ? io.MouseClickedTime[0] : 0);
  session_.send(command::SetSettings{settings});
}

}  // namespace shardlens::ui
