// Calls Xlib.
#include "ui/platform/x_display.h"

#include <X11/XKBlib.h>
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xproto.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "engine/io/signal_cleanup.h"

namespace shardlens {
namespace {

constexpr float kUsualDpi = 96;
constexpr float kLeastScale = 0.5F, kMostScale = 4;
constexpr int kFailedRun = 3;  // the exit code of a program that was not ended on purpose

std::function<void()>& at_lost_connection() {
  static std::function<void()> end;
  return end;
}

// Xlib ends the program when this returns.
int lost_connection(Display*) {
  if (const std::function<void()> end = std::exchange(at_lost_connection(), {})) end();
  run_signal_cleanup();
  std::_Exit(kFailedRun);
}

// Windows that were asked about after they had gone. A program has a few, and they do not come back.
std::set<XID>& gone_windows() {
  static std::set<XID> windows;
  return windows;
}

int refused_request(Display* display, XErrorEvent* error) {
  static std::set<std::pair<int, int>> logged;
  const bool is_of_a_window = error->error_code == BadWindow || error->error_code == BadDrawable;
  if (is_of_a_window) gone_windows().insert(error->resourceid);
  if (!logged.emplace(error->error_code, error->request_code).second) return 0;
  std::array<char, 256> why{};
  XGetErrorText(display, error->error_code, why.data(), static_cast<int>(why.size()));
  spdlog::warn("the display refused a request: {}", why.data());
  return 0;
}

}  // namespace

float scale_of_resources(std::string_view resources) {
  constexpr std::string_view kName = "Xft.dpi:";
  for (size_t at = resources.find(kName); at != std::string_view::npos; at = resources.find(kName, at + 1)) {
    if (at > 0 && resources[at - 1] != '\n') continue;
    const size_t number = resources.find_first_not_of(" \t", at + kName.size());
    if (number == std::string_view::npos) return 1;
    float dpi = 0;
    const char* const end = resources.data() + resources.size();
    const auto [rest, error] = std::from_chars(resources.data() + number, end, dpi);
    return error == std::errc() && dpi > 0 ? std::clamp(dpi / kUsualDpi, kLeastScale, kMostScale) : 1;
  }
  return 1;
}

float screen_scale(_XDisplay* display) {
  constexpr long kMostLongs = 1 << 18;
  Atom type = None;
  int format = 0;
  unsigned long bytes = 0, left = 0;
  unsigned char* text = nullptr;
  if (XGetWindowProperty(display, DefaultRootWindow(display), XA_RESOURCE_MANAGER, 0, kMostLongs, False,
                         XA_STRING, &type, &format, &bytes, &left, &text) != Success)
    return 1;
  const float scale = format == 8 ? scale_of_resources({reinterpret_cast<const char*>(text), bytes}) : 1;
  if (text != nullptr) XFree(text);
  return scale;
}

char32_t written_by(_XDisplay* display, int keycode, bool shift) {
  constexpr char32_t kNothing = 0xFFFD;
  XkbStateRec state{};
  if (XkbGetState(display, XkbUseCoreKbd, &state) != Success) return 0;
  const unsigned others = state.mods & ~static_cast<unsigned>(ControlMask | ShiftMask);
  unsigned used = 0;
  KeySym symbol = NoSymbol;
  if (XkbLookupKeySym(display, static_cast<KeyCode>(keycode),
                      XkbBuildCoreState(others | (shift ? ShiftMask : 0), state.group), &used,
                      &symbol) == False)
    return kNothing;
  // Symbols of Latin 1 are their characters; others are marked as characters, or are none that commands have.
  constexpr KeySym kMark = 0x01000000, kMarked = 0x00FFFFFF;
  const bool is_latin = (symbol >= 0x20 && symbol < 0x7F) || (symbol >= 0xA0 && symbol <= 0xFF);
  if (is_latin) return static_cast<char32_t>(symbol);
  return (symbol & ~kMarked) == kMark ? static_cast<char32_t>(symbol & kMarked) : kNothing;
}

bool is_gone(unsigned long window) {
  return gone_windows().contains(window);
}

void handle_x_errors(std::function<void()> end) {
  at_lost_connection() = std::move(end);
  XSetIOErrorHandler(&lost_connection);
  XSetErrorHandler(&refused_request);
}

}  // namespace shardlens
