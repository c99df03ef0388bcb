// Calls Xlib.
#include "ui/platform/x_display.h"

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
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

int refused_request(Display* display, XErrorEvent* error) {
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

void handle_x_errors(std::function<void()> end) {
  at_lost_connection() = std::move(end);
  XSetIOErrorHandler(&lost_connection);
  XSetErrorHandler(&refused_request);
}

}  // namespace shardlens
