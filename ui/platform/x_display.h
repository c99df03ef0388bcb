// What the studio asks of the X server beside what GLFW does: the screen's scale, which GLFW reads only once,
// and word of a server that has gone away.
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

/// From now on a lost connection calls `end`, which must not return. Without it the program ends at once, and
/// removes only temporary files. An error that the server reports about one request is logged and ends
/// nothing.
void handle_x_errors(std::function<void()> end);

}  // namespace shardlens
