// Turns fingers into what Dear ImGui knows: see fingers.h.
#include "ui/platform/fingers.h"

#include <imgui_internal.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace shardlens {
namespace {

constexpr float kStill = 10;               // pixels at 96 dpi that a finger moves without meaning it
constexpr double kLongPressSeconds = 0.5;  // a finger that stays longer hovers
constexpr float kLineOfWheel = 100;        // pixels at 96 dpi of a step of a mouse's wheel
constexpr float kStepsForTwice = 4;        // of the wheel, for fingers twice as far apart

/// The window under `place` that scrolls on `axis`, or the nearest one around it that does; null: none.
ImGuiWindow* scrolling_window(ImVec2 place, ImGuiAxis axis) {
  ImGuiWindow* window = nullptr;
  ImGuiWindow* unmoved = nullptr;
  ImGui::FindHoveredWindowEx(place, false, &window, &unmoved);
  while (window != nullptr && window->ScrollMax[axis] <= 0)
    window = (window->Flags & ImGuiWindowFlags_ChildWindow) != 0 ? window->ParentWindow : nullptr;
  return window;
}

}  // namespace

void Fingers::take(const std::vector<ImVec2>& places, double seconds, float scale) {
  ImGui::GetIO().AddMouseSourceEvent(ImGuiMouseSource_TouchScreen);
  if (places.size() >= 2) return move_two(places[0], places[1], scale);
  leave_two();
  if (places.empty()) return lift(seconds);
  if (doing_ == Doing::Nothing) return touch(places[0], seconds);
  move(places[0], scale);
}

void Fingers::touch(ImVec2 place, double seconds) {
  doing_ = Doing::Waits;
  began_ = place;
  began_seconds_ = seconds;
  ImGui::GetIO().AddMousePosEvent(place.x, place.y);
}

void Fingers::move(ImVec2 place, float scale) {
  ImGuiIO& io = ImGui::GetIO();
  const ImVec2 by = place - began_;
  if (doing_ == Doing::Waits && std::hypot(by.x, by.y) > kStill * scale) {
    ImGuiWindow* const window =
        scrolling_window(began_, std::abs(by.x) > std::abs(by.y) ? ImGuiAxis_X : ImGuiAxis_Y);
    doing_ = window != nullptr ? Doing::Scrolls : Doing::Drags;
    if (window != nullptr) {
      scrolled_ = window->ID;
      scroll_began_ = window->Scroll;
      io.AddMousePosEvent(-FLT_MAX, -FLT_MAX);  // nothing is hovered meanwhile
    } else {
      io.AddMouseButtonEvent(ImGuiMouseButton_Left, true);
    }
  }
  if (doing_ == Doing::Drags) io.AddMousePosEvent(place.x, place.y);
  if (doing_ != Doing::Scrolls) return;
  if (ImGuiWindow* const window = ImGui::FindWindowByID(scrolled_)) {
    if (window->ScrollMax.x > 0) ImGui::SetScrollX(window, std::max(0.0f, scroll_began_.x - by.x));
    if (window->ScrollMax.y > 0) ImGui::SetScrollY(window, std::max(0.0f, scroll_began_.y - by.y));
  }
}

void Fingers::move_two(ImVec2 a, ImVec2 b, float scale) {
  ImGuiIO& io = ImGui::GetIO();
  const Two now{{(a.x + b.x) / 2, (a.y + b.y) / 2}, std::max(1.0f, std::hypot(a.x - b.x, a.y - b.y))};
  if (doing_ != Doing::WaitsTwo && doing_ != Doing::MovesTwo && doing_ != Doing::Scales) {
    if (doing_ == Doing::Drags) io.AddMouseButtonEvent(ImGuiMouseButton_Left, false);
    doing_ = Doing::WaitsTwo;
    two_ = now;
  }
  io.AddMousePosEvent(now.middle.x, now.middle.y);
  const float doublings = std::log2(now.apart / two_.apart);
  const ImVec2 by = now.middle - two_.middle;
  if (doing_ == Doing::WaitsTwo) {
    if (std::abs(now.apart - two_.apart) > kStill * scale) {
      doing_ = Doing::Scales;
      io.AddKeyEvent(ImGuiMod_Ctrl, true);
    } else if (std::hypot(by.x, by.y) > kStill * scale) {
      doing_ = Doing::MovesTwo;
    } else {
      return;
    }
  }
  if (doing_ == Doing::Scales)
    io.AddMouseWheelEvent(0, kStepsForTwice * doublings);
  else
    io.AddMouseWheelEvent(by.x / (kLineOfWheel * scale), by.y / (kLineOfWheel * scale));
  two_ = now;
}

void Fingers::leave_two() {
  if (doing_ != Doing::WaitsTwo && doing_ != Doing::MovesTwo && doing_ != Doing::Scales) return;
  if (doing_ == Doing::Scales) ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, false);
  doing_ = Doing::Ends;
}

void Fingers::lift(double seconds) {
  ImGuiIO& io = ImGui::GetIO();
  const bool hovers = doing_ == Doing::Waits && seconds - began_seconds_ >= kLongPressSeconds;
  if (doing_ == Doing::Waits && !hovers) {
    io.AddMousePosEvent(began_.x, began_.y);
    io.AddMouseButtonEvent(ImGuiMouseButton_Left, true);
  }
  if (doing_ == Doing::Drags || doing_ == Doing::Waits) io.AddMouseButtonEvent(ImGuiMouseButton_Left, false);
  // Nothing is hovered without a finger, but for what a long press has shown.
  if (!hovers) io.AddMousePosEvent(-FLT_MAX, -FLT_MAX);
  doing_ = Doing::Nothing;
}

}  // namespace shardlens
