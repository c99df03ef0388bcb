// Asks for the selection as the ICCCM has it: a small text comes at once, a large one in parts.
#include "ui/platform/x_clipboard.h"

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <climits>
#include <optional>

#include "engine/base/error.h"

namespace shardlens {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRest{3};  // before an owner that did not answer is asked again
constexpr size_t kMostBytes = 64 << 20;   // of a text
constexpr double kStepSeconds = 0.01;

Atom clipboard(Display* display) {
  return XInternAtom(display, "CLIPBOARD", False);
}

struct Property {
  Atom type = None;
  std::string bytes;
};

/// Bytes of ISO 8859-1 as UTF-8.
std::string as_utf8(const std::string& latin) {
  std::string text;
  for (const char one : latin) {
    const auto byte = static_cast<unsigned char>(one);
    if (byte < 0x80) {
      text += one;
    } else {
      text += static_cast<char>(0xC0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

}  // namespace

/// One question, in a window of its own: an answer that comes too late reaches nobody.
class XClipboard::Request {
 public:
  explicit Request(Display* display)
      : display_(display),
        window_(XCreateSimpleWindow(display, DefaultRootWindow(display), -1, -1, 1, 1, 0, 0, 0)),
        property_(XInternAtom(display, "SHARDLENS_CLIPBOARD", False)) {
    XSelectInput(display_, window_, PropertyChangeMask);
  }
  ~Request() {
    XDestroyWindow(display_, window_);
    XSync(display_, True);  // what still comes is for nobody
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  void ask(Atom selection, Atom target, bool with_property = true) {
    XConvertSelection(display_, selection, target, with_property ? property_ : None, window_, CurrentTime);
    XFlush(display_);
  }

  /// True once the answer to ask() is there.
  bool is_answered() {
    return wait_for([](const XEvent& event) { return event.type == SelectionNotify; }, Clock::now());
  }

  /// The text as `target`; none: its owner has none of that kind. Throws if the owner does not answer.
  std::optional<std::string> text_as(Atom target) {
    ask(clipboard(display_), target);
    const auto notified = [](const XEvent& event) { return event.type == SelectionNotify; };
    if (!wait_for(notified, Clock::now() + kPatience)) fail();
    if (event_.xselection.property == None) return {};
    const Atom in_parts = XInternAtom(display_, "INCR", False);
    Property found = take_property();
    if (found.type == target) return std::move(found.bytes);
    if (found.type != in_parts) return {};
    const auto has_part = [](const XEvent& event) {
      return event.type == PropertyNotify && event.xproperty.state == PropertyNewValue;
    };
    std::string text;
    while (true) {
      if (!wait_for(has_part, Clock::now() + kPatience)) fail();
      const std::string part = take_property().bytes;
      if (part.empty()) return text;
      text += part;
      if (text.size() > kMostBytes) throw run_error("the clipboard's text has more than 64 MB");
    }
  }

 private:
  [[noreturn]] static void fail() {
    throw run_error(fmt::format("the program that has the clipboard's text has not answered for {:g} s",
                                std::chrono::duration<double>(kPatience).count()));
  }

  bool wait_for(bool (*is_wanted)(const XEvent&), Clock::time_point end) {
    while (true) {
      while (XPending(display_) > 0) {
        XNextEvent(display_, &event_);
        if (event_.xany.window == window_ && is_wanted(event_)) return true;
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      if (left.count() <= 0) return false;
      pollfd connection{ConnectionNumber(display_), POLLIN, 0};
      poll(&connection, 1, static_cast<int>(left.count()));
    }
  }

  /// Reads the property and deletes it, which asks for the next part.
  Property take_property() {
    Property found;
    int format = 0;
    unsigned long count = 0, left = 0;
    unsigned char* bytes = nullptr;
    if (XGetWindowProperty(display_, window_, property_, 0, LONG_MAX, True, AnyPropertyType, &found.type,
                           &format, &count, &left, &bytes) != Success)
      return {};
    if (format == 8 && bytes != nullptr) found.bytes.assign(reinterpret_cast<const char*>(bytes), count);
    if (bytes != nullptr) XFree(bytes);
    return found;
  }

  Display* display_;
  Window window_;
  Atom property_;
  XEvent event_{};
};

XClipboard::~XClipboard() {
  if (own_ != nullptr) XCloseDisplay(own_);
}

_XDisplay* XClipboard::connection() {
  if (own_ == nullptr) own_ = XOpenDisplay(DisplayString(window_display_));
  if (own_ == nullptr) throw run_error("the display takes no second connection, which the clipboard needs");
  return own_;
}

unsigned long XClipboard::owner() const {
  return XGetSelectionOwner(window_display_, clipboard(window_display_));
}

std::string XClipboard::text() {
  const unsigned long asked = owner();
  if (asked == None) return {};
  if (asked == silent_owner_ && Clock::now() < asked_again_)
    throw run_error("the program that has the clipboard's text does not answer");
  Display* const display = connection();
  try {
    Request request(display);
    if (auto text = request.text_as(XInternAtom(display, "UTF8_STRING", False))) return *text;
    if (auto text = request.text_as(XA_STRING)) return as_utf8(*text);
  } catch (const Error&) {
    silent_owner_ = asked;
    asked_again_ = Clock::now() + kRest;
    throw;
  }
  return {};
}

void XClipboard::hand_over(void (*answer)(double most_seconds)) {
  Display* const display = connection();
  {
    Request request(display);
    request.ask(XInternAtom(display, "CLIPBOARD_MANAGER", False), XInternAtom(display, "SAVE_TARGETS", False),
                false);
    const auto end = Clock::now() + kPatience;
    while (!request.is_answered() && Clock::now() < end) answer(kStepSeconds);
  }
  XSetSelectionOwner(window_display_, clipboard(window_display_), None, CurrentTime);
  XSync(window_display_, False);
}

}  // namespace shardlens
