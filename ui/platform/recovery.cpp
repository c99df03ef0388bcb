// Uses what Dear ImGui has for this, and puts right what it leaves: layers of draw lists, and a plot.
#include "ui/platform/recovery.h"

#include <implot.h>
#include <implot_internal.h>

#include "ui/platform/platform.h"

namespace shardlens {
namespace {

void forget_plot() {
  ImPlotContext* const plots = ImPlot::GetCurrentContext();
  if (plots->CurrentPlot == nullptr) return;
  plots->CurrentPlot = nullptr;
  ImPlot::ResetCtxForNextPlot(plots);
}

}  // namespace

WithoutComplaints::WithoutComplaints() {
  ImGuiIO& io = ImGui::GetIO();
  asserts_ = io.ConfigErrorRecoveryEnableAssert;
  logs_ = io.ConfigErrorRecoveryEnableDebugLog;
  shows_ = io.ConfigErrorRecoveryEnableTooltip;
  io.ConfigErrorRecoveryEnableAssert = io.ConfigErrorRecoveryEnableTooltip = false;
  io.ConfigErrorRecoveryEnableDebugLog = true;  // one of the three must be on; it goes to no file
}

WithoutComplaints::~WithoutComplaints() {
  ImGuiIO& io = ImGui::GetIO();
  io.ConfigErrorRecoveryEnableAssert = asserts_;
  io.ConfigErrorRecoveryEnableDebugLog = logs_;
  io.ConfigErrorRecoveryEnableTooltip = shows_;
}

FramePoint::FramePoint() : list_(ImGui::GetWindowDrawList()), clip_rects_(list_->_ClipRectStack.Size) {
  ImGui::ErrorRecoveryStoreState(&state_);
}

void FramePoint::back() const {
  forget_plot();
  // The windows that hold docked panels have layers until the frame is drawn.
  for (ImGuiWindow* const window : ImGui::GetCurrentContext()->Windows)
    if (window->Active && (window->Flags & ImGuiWindowFlags_DockNodeHost) == 0 &&
        window->DrawList->_Splitter._Count > 1)
      window->DrawList->ChannelsMerge();
  const WithoutComplaints quiet;
  ImGui::ErrorRecoveryTryToRecoverState(&state_);
  while (list_->_ClipRectStack.Size > clip_rects_) list_->PopClipRect();
}

void Platform::abandon_frame() {
  abandon_gui_frame();
}

void abandon_gui_frame() {
  if (!ImGui::GetCurrentContext()->WithinFrameScope) return;  // it was thrown before or after
  forget_plot();
  const WithoutComplaints quiet;
  ImGui::EndFrame();  // ends every window that was begun
}

}  // namespace shardlens
