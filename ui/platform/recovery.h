// Continues a Dear ImGui frame after something was thrown in it. Platform::abandon_frame() ends one instead.
#pragma once

#include <imgui.h>
#include <imgui_internal.h>

namespace shardlens {

/// While it exists, Dear ImGui ends what was begun and not ended without reporting it as our mistake.
class WithoutComplaints {
 public:
  WithoutComplaints();
  ~WithoutComplaints();
  WithoutComplaints(const WithoutComplaints&) = delete;
  WithoutComplaints& operator=(const WithoutComplaints&) = delete;

 private:
  bool asserts_, logs_, shows_;
};

/// Ends the frame of the current Dear ImGui context, and every window that was begun in it. Nothing if there
/// is none.
void abandon_gui_frame();

/// Remembers how far the frame is: the windows that are begun, and what is pushed. back() ends and pops
/// everything since.
class FramePoint {
 public:
  FramePoint();
  void back() const;

 private:
  ImGuiErrorRecoveryState state_;
  ImDrawList* list_;  ///< of the current window
  int clip_rects_;
};

}  // namespace shardlens
