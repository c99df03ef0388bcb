// Which key Dear ImGui is told of. GLFW names keys by their place on a US keyboard; on other keyboards that
// is not what is written on them. The studio's commands want digits by their place (on a French keyboard the
// digits need Shift, and T = 4 is the fourth key of the row all the same), letters and signs by what the key
// writes ("?" and "+" stand at other places on a German keyboard).
//
// "-" on a French keyboard is written by the key of the 6, which is the 6: Smaller is on the keypad's minus.
#pragma once

#include <imgui.h>

#include <string_view>

struct GLFWwindow;

namespace shardlens {

/// A key as it was pressed.
struct PressedKey {
  int place = 0;           ///< GLFW_KEY_…: by its place on a US keyboard
  std::string_view alone;  ///< what it writes without Shift, in UTF-8 (glfwGetKeyName); empty: no character
  char32_t written = 0;    ///< what it writes with the Shift and AltGr that are held; 0: not known
  bool shift = false;      ///< Shift is held
};

/// What stands for it in the table of commands, which is written for a US keyboard.
struct ToldKey {
  ImGuiKey key = ImGuiKey_None;  ///< None: no command can have it
  bool shift = false;            ///< a US keyboard needs Shift for it: "?" is Shift and "/" there
};
ToldKey told_key(const PressedKey& pressed);

/// Tells the current Dear ImGui context of `window`'s keys and modifiers. Call it from GLFW's key callback.
void tell_key(GLFWwindow* window, int place, int scancode, int action);

}  // namespace shardlens
