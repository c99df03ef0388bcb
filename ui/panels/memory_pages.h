// The two pages of the Memory tab, and the figures they share.
#pragma once

#include <string>
#include <vector>

#include "ui/context.h"

namespace shardlens::ui {

/// The whole model against one device: 16 bytes per parameter, a column per T (memory_wall.cpp).
void draw_memory_wall(const Context& context);
/// This layer on every rank: planned beside measured, and over the steps (memory_layer.cpp).
void draw_memory_layer(const Context& context);

/// Bytes in decimal units, as devices are sold: "1.99 GB", "16.6 GB", "133.1 GB", "16.0 TB".
std::string decimal_bytes(double bytes);

/// A number of parameters in the two digits people name models by: "124 M", "8.3 B", "175 B", "1.0 T".
std::string model_size(double parameters);

/// "V100" from the preset title "V100 32 GB": the words before the first figure that follows a blank.
std::string device_word(const std::string& title);

/// Degrees shown as columns: 1, 2, 4, 8 and on by doubling until `smallest` is among them, at most 1024.
std::vector<int> wall_degrees(int smallest);

}  // namespace shardlens::ui
