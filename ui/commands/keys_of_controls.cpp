// Turns Dear ImGui's keyboard navigation on and off.
#include "ui/commands/keys_of_controls.h"

#include <imgui_internal.h>

#include <string_view>
#include <utility>

#include "ui/frame/side_panels.h"
#include "ui/panels/recordings/chooser_view.h"
#include "ui/product/product_view.h"

namespace shardlens::ui {

bool keys_are_for_controls() {
  return (ImGui::GetIO().ConfigFlags & ImGuiConfigFlags_NavEnableKeyboard) != 0;
}

void set_keys_of_controls(bool are_theirs) {
  ImGuiConfigFlags& flags = ImGui::GetIO().ConfigFlags;
  flags =
      are_theirs ? flags | ImGuiConfigFlags_NavEnableKeyboard : flags & ~ImGuiConfigFlags_NavEnableKeyboard;
  if (!are_theirs) ImGui::SetNavCursorVisible(false);
}

void take_keys_to_controls(const Context& context) {
  if (keys_are_for_controls()) return;  // Tab already goes from control to control
  set_keys_of_controls(true);
  const ImGuiWindow* front = ImGui::GetCurrentContext()->NavWindow;
  const bool has_none =
      front == nullptr || (front->RootWindow->Name == std::string_view("Stage") && !shows_open_row(context));
  if (!has_none) return;
  show_setup(context.view);
  ImGui::SetWindowFocus("Setup");
}

void follow_keys_of_controls(ViewState& view) {
  const bool was_open = view.of<ChooserView>().opened_frame == ImGui::GetFrameCount() - 1;
  const bool has_chosen = was_open && !view.chooser_open;
  if (view.palette_open || view.sheet_open || has_chosen) return set_keys_of_controls(false);
  if (view.chooser_open) return;  // the list of recordings keeps the keys, also after clicks in it
  const bool list_is_open =
      ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  if (list_is_open && !keys_are_for_controls()) {
    set_keys_of_controls(true);
    view.keys_lent = true;
  }
  if (!list_is_open && std::exchange(view.keys_lent, false)) set_keys_of_controls(false);
  if (list_is_open) return;
  const bool clicked =
      ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  const bool left = ImGui::IsKeyPressed(ImGuiKey_Escape, false) && !ImGui::GetIO().WantTextInput;
  if (keys_are_for_controls() && (clicked || left)) set_keys_of_controls(false);
}

void hide_tooltips_from_keys(ViewState& view) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool moved = io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || io.MouseWheel != 0;
  if (moved || ImGui::IsAnyMouseDown()) {
    view.keys_lead = false;
  } else {
    for (int key = ImGuiKey_Tab; key < ImGuiKey_GamepadStart && !view.keys_lead; ++key)
      view.keys_lead = ImGui::IsKeyPressed(static_cast<ImGuiKey>(key), false);
  }
  if (!view.keys_lead) return;
  for (ImGuiWindow* const window : ImGui::GetCurrentContext()->Windows)
    if ((window->Flags & ImGuiWindowFlags_Tooltip) != 0 && window->Active) window->Hidden = true;
}

bool is_for_controls(ImGuiKeyChord key) {
  if (!keys_are_for_controls()) return false;
  switch (key & ~ImGuiMod_Shift) {
    case ImGuiKey_LeftArrow:
    case ImGuiKey_RightArrow:
    case ImGuiKey_UpArrow:
    case ImGuiKey_DownArrow:
    case ImGuiKey_Home:
    case ImGuiKey_End:
    case ImGuiKey_PageUp:
    case ImGuiKey_PageDown:
    case ImGuiKey_Space:
      return true;
    default:
      return false;
  }
}

}  // namespace shardlens::ui
