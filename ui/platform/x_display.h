// What the studio asks of the X server beside what GLFW does: the screen's scale, which GLFW reads only once,
// what a key writes, and word of a server or a window that has gone away.
#pragma once

#include <functional>
#include <string_view>

struct _XDisplay;

namespace shardlens {

/// Returns the scale in the text of the server's resources, "Xft.dpi:\t192": 2. It is 1 without such a line,
/// because some desktops leave it out for 96 dpi; and for a senseless one.
float scale_of_resources(std::string_view resources);

/// Asks the server for the scale now; about a tenth of a millisecond.
float screen_scale(_XDisplay* display);

/// Returns the character that a key writes now, with the present layout and AltGr, and with Shift or without.
/// U+FFFD: it writes none. 0: the server cannot tell.
char32_t written_by(_XDisplay* display, int keycode, bool shift);

/// True if the server has refused a request because this window is no longer there: another program has
/// destroyed it.
bool is_gone(unsigned long window);

/// From now on a lost connection calls `end`, which must not return. Without it the program ends at once, and
/// removes only temporary files. An error that the server reports about one request ends nothing. It is
/// logged once, though the request may come again in every frame.
void handle_x_errors(std::function<void()> end);

}  // namespace shardlens
