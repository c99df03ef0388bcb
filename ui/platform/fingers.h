// What fingers on a screen mean to a program that knows a mouse. A tap is a click. A finger that moves
// scrolls what is under it, or drags it where nothing scrolls that way. A finger that stays is a mouse that
// hovers: it shows tooltips. Two fingers move, and scale what Ctrl and the wheel scale.
#pragma once

#include <imgui.h>

#include <vector>

namespace shardlens {

class Fingers {
 public:
  /// Takes the places of all fingers that are on the screen now, in pixels, and passes on to Dear ImGui what
  /// they mean. `seconds`: of any clock. `scale`: pixels for each one at 96 dpi.
  void take(const std::vector<ImVec2>& places, double seconds, float scale);

 private:
  enum class Doing {
    Nothing,
    Waits,     ///< it is not known yet what the one finger will do
    Scrolls,   ///< the window `scrolled_`
    Drags,     ///< with the mouse's button
    WaitsTwo,  ///< it is not known yet whether the two fingers move or scale
    MovesTwo,
    Scales,  ///< with Ctrl and the wheel
    Ends,    ///< one of the two was lifted: until all are
  };
  struct Two {
    ImVec2 middle;
    float apart = 0;
  };

  void touch(ImVec2 place, double seconds);
  void move(ImVec2 place, float scale);
  void move_two(ImVec2 a, ImVec2 b, float scale);
  void leave_two();
  void lift(double seconds);

  Doing doing_ = Doing::Nothing;
  ImVec2 began_;
  double began_seconds_ = 0;
  ImGuiID scrolled_ = 0;
  ImVec2 scroll_began_;
  Two two_;
};

}  // namespace shardlens
