// The figures of the Memory tab and the words for them: the wall of a model against a device, and how bytes,
// parameters and devices are named. Nothing here draws.
#pragma once

#include <string>
#include <vector>

#include "engine/config/hardware.h"
#include "engine/cost/memory_wall.h"

namespace shardlens::ui {

inline constexpr double kSmallestModel = 1e8, kLargestModel = 1.4e12;  ///< ends of the slider, parameters

/// A number of parameters in the two digits people name models by: "124 M", "8.3 B", "175 B", "1.0 T".
std::string model_size(double parameters);

/// "V100" from the preset title "V100 32 GB": the words before the first figure that follows a blank.
std::string device_word(const std::string& title);

/// "32 GB": a device's memory as it is sold.
std::string capacity(const Hardware& hardware);

/// "one V100" or "this machine".
std::string one_device(const Hardware& hardware);

/// The preset called `name`, or the first that is not this machine if none has that name (a saved name may be
/// old).
const Hardware& device_or_first(const std::string& name);

/// A ratio with few digits, to be read from a distance: "4.9", "1.04", "512".
std::string ratio_text(double ratio);

/// Degrees shown as columns: 1, 2, 4, 8 and on by doubling until `smallest` is among them, at most 1024.
std::vector<int> wall_degrees(int smallest);

/// The models the slider is marked with: the GPT presets in its range by size, each size once.
struct ModelMark {
  std::string label;
  double parameters = 0;
  bool important = false;  ///< its label is drawn first if two would touch, and it is in the list
};
const std::vector<ModelMark>& model_marks();

/// Everything the first page shows, from the model's size and the device.
struct Wall {
  double parameters = 0;
  const Hardware* device = nullptr;
  int smallest = 0;   ///< the smallest T that fits; 0: none up to 1024
  int explained = 1;  ///< the column the table explains
  std::vector<int> degrees;
  std::vector<WallBytes> columns;  ///< one rank at each of the degrees

  double limit_bytes() const { return static_cast<double>(device->memory_bytes); }
  const WallBytes& explained_column() const;
};

/// The wall of `parameters` on the preset `device`; a size within 0.4 % of a marked model is taken as that
/// model. `tp` is the column to explain, if it is among the columns; else the smallest that fits.
Wall build_wall(double parameters, const std::string& device, int tp);

/// The result in sentences, with its figures.
struct WallVerdict {
  std::string claim, detail;
};
WallVerdict verdict_of(const Wall& wall);

}  // namespace shardlens::ui
