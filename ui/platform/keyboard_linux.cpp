// Translates keys, and remembers what was told of a key until it is released.
#include "ui/platform/keyboard.h"

#include <algorithm>
#include <array>
#include <map>

#include "ui/platform/x_display.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define GLFW_EXPOSE_NATIVE_X11
#include <GLFW/glfw3native.h>

/// Of Dear ImGui's GLFW backend; it is in no header there.
ImGuiKey ImGui_ImplGlfw_KeyToImGuiKey(int keycode, int scancode);

namespace shardlens {
namespace {

/// A sign that commands use, with its key on a US keyboard.
struct Sign {
  char32_t written;
  int place;
  bool shift;
};
constexpr std::array<Sign, 8> kSigns{{{U'?', GLFW_KEY_SLASH, true},
                                      {U'/', GLFW_KEY_SLASH, false},
                                      {U'+', GLFW_KEY_EQUAL, true},
                                      {U'=', GLFW_KEY_EQUAL, false},
                                      {U'-', GLFW_KEY_MINUS, false},
                                      {U',', GLFW_KEY_COMMA, false},
                                      {U'.', GLFW_KEY_PERIOD, false},
                                      {U'\'', GLFW_KEY_APOSTROPHE, false}}};

const Sign* find_sign(char32_t written) {
  const auto found =
      std::find_if(kSigns.begin(), kSigns.end(), [&](const Sign& sign) { return sign.written == written; });
  return found == kSigns.end() ? nullptr : &*found;
}

ImGuiKey key_at(int place) {
  return ImGui_ImplGlfw_KeyToImGuiKey(place, 0);
}

bool is_on_keypad(int place) {
  return place >= GLFW_KEY_KP_0 && place <= GLFW_KEY_KP_EQUAL;
}

struct Modifier {
  ImGuiKey told;
  int left, right;
};
constexpr std::array<Modifier, 4> kModifiers{{{ImGuiMod_Ctrl, GLFW_KEY_LEFT_CONTROL, GLFW_KEY_RIGHT_CONTROL},
                                              {ImGuiMod_Shift, GLFW_KEY_LEFT_SHIFT, GLFW_KEY_RIGHT_SHIFT},
                                              {ImGuiMod_Alt, GLFW_KEY_LEFT_ALT, GLFW_KEY_RIGHT_ALT},
                                              {ImGuiMod_Super, GLFW_KEY_LEFT_SUPER, GLFW_KEY_RIGHT_SUPER}}};

bool is_held(GLFWwindow* window, const Modifier& modifier) {
  return glfwGetKey(window, modifier.left) == GLFW_PRESS || glfwGetKey(window, modifier.right) == GLFW_PRESS;
}

}  // namespace

ToldKey told_key(const PressedKey& pressed) {
  const ToldKey by_place{key_at(pressed.place), pressed.shift};
  if (is_on_keypad(pressed.place)) return by_place;
  const bool writes_ascii = pressed.alone.size() == 1;
  const char alone = writes_ascii ? pressed.alone.front() : '\0';
  const bool by_modifier = pressed.written != static_cast<unsigned char>(alone);
  const Sign* const sign = find_sign(pressed.written);
  if (pressed.place >= GLFW_KEY_0 && pressed.place <= GLFW_KEY_9 && !(sign != nullptr && by_modifier))
    return by_place;
  if (alone >= 'a' && alone <= 'z' && sign == nullptr)
    return {key_at(GLFW_KEY_A + (alone - 'a')), pressed.shift};
  if (sign != nullptr) return {key_at(sign->place), sign->shift};
  if (const Sign* const unshifted = find_sign(static_cast<unsigned char>(alone)))
    return {key_at(unshifted->place), pressed.shift};
  // Where a US keyboard has a sign, this one writes something else: no command means it.
  const bool is_a_signs_place =
      std::any_of(kSigns.begin(), kSigns.end(), [&](const Sign& one) { return one.place == pressed.place; });
  return is_a_signs_place && pressed.written != 0 ? ToldKey{} : by_place;
}

void tell_key(GLFWwindow* window, int place, int scancode, int action) {
  static std::map<int, ImGuiKey> told;  // by scancode; a release may come after Shift has changed
  if (action != GLFW_PRESS && action != GLFW_RELEASE) return;
  ImGuiIO& io = ImGui::GetIO();
  for (const Modifier& modifier : kModifiers) io.AddKeyEvent(modifier.told, is_held(window, modifier));
  if (action == GLFW_RELEASE) {
    const auto found = told.find(scancode);
    io.AddKeyEvent(found == told.end() ? key_at(place) : found->second, false);
    return;
  }
  const bool shift = is_held(window, kModifiers[1]);
  const char* const name = place == GLFW_KEY_UNKNOWN ? nullptr : glfwGetKeyName(place, scancode);
  const ToldKey key = told_key({.place = place,
                                .alone = name != nullptr ? name : "",
                                .written = written_by(glfwGetX11Display(), scancode, shift),
                                .shift = shift});
  told[scancode] = key.key;
  if (key.key == ImGuiKey_None) return;
  // For this press only, Shift is as a US keyboard has it. The frame ends before it changes back.
  if (key.shift != shift) io.AddKeyEvent(ImGuiMod_Shift, key.shift);
  io.AddKeyEvent(key.key, true);
  if (key.shift != shift) io.AddKeyEvent(ImGuiMod_Shift, shift);
}

}  // namespace shardlens
