// Ctrl+T, W and R open, close and load a page, and Ctrl+PgUp goes to another one: Alt takes the place of
// Ctrl.
#include "ui/commands/own_key.h"

#include <algorithm>
#include <array>

namespace shardlens::ui {

ImGuiKeyChord own_key(ImGuiKeyChord key) {
  static constexpr std::array kTheBrowsers{ImGuiKey_T, ImGuiKey_W,      ImGuiKey_R,
                                           ImGuiKey_N, ImGuiKey_PageUp, ImGuiKey_PageDown};
  const auto is_theirs = [&](ImGuiKey one) { return key == (ImGuiMod_Ctrl | one); };
  if (std::none_of(kTheBrowsers.begin(), kTheBrowsers.end(), is_theirs)) return key;
  return (key & ~ImGuiMod_Ctrl) | ImGuiMod_Alt;
}

const char* name_of_ctrl() {
  return ImGui::GetIO().ConfigMacOSXBehaviors ? "Cmd" : "Ctrl";
}

}  // namespace shardlens::ui
