// Figures of the Memory tab in the words people use for them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "engine/base/units.h"
#include "engine/config/hardware_file.h"
#include "engine/config/presets.h"
#include "engine/planner/parameters.h"
#include "ui/panels/memory/memory_figures.h"

namespace shardlens::ui {
namespace {

std::string with_unit(double value, const char* format, const char* unit) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return std::string(text.data()) + " " + unit;
}

std::vector<ModelMark> make_marks() {
  std::vector<ModelMark> found;
  for (const Model& model : model_presets()) {
    if (model.objective != Objective::NextToken) continue;
    const double count = static_cast<double>(parameter_count(model));
    const std::string label = model_size(count);
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const ModelMark& mark) { return mark.label == label; });
    if (count < kSmallestModel || known) continue;
    const bool paper = model.name.find("-b") != std::string::npos || model.name.rfind("megatron-", 0) == 0;
    found.push_back(
        {label, count, paper || model.name.rfind("gpt-", 0) == 0 || model.name.rfind("gpt3", 0) == 0});
  }
  std::sort(found.begin(), found.end(),
            [](const ModelMark& a, const ModelMark& b) { return a.parameters < b.parameters; });
  return found;
}

}  // namespace

std::string model_size(double parameters) {
  size_t unit = 0;
  while (parameters >= 999.5 && unit + 1 < kCountUnits.size()) {
    parameters /= 1000;
    ++unit;
  }
  return with_unit(parameters, parameters < 9.95 ? "%.1f" : "%.0f", kCountUnits[unit].data());
}

std::string device_word(const std::string& title) {
  const size_t figure = title.find_first_of("0123456789", title.find(' '));
  if (title.find(' ') == std::string::npos || figure == std::string::npos) return title;
  std::string word = title.substr(0, figure);
  word.erase(word.find_last_not_of(" (,") + 1);
  return word;
}

std::vector<int> wall_degrees(int smallest) {
  std::vector<int> degrees{1, 2, 4, 8};
  while (degrees.back() < smallest && degrees.back() < 1024) degrees.push_back(degrees.back() * 2);
  return degrees;
}

std::string capacity(const Hardware& hardware) {
  const std::string amount = decimal_bytes(static_cast<double>(hardware.memory_bytes));
  const size_t zero = amount.find(".0 ");
  return zero == std::string::npos ? amount : amount.substr(0, zero) + amount.substr(zero + 2);
}

std::string one_device(const Hardware& hardware) {
  return (hardware.name == kThisMachine ? "" : "one ") + device_word(hardware.title);
}

std::string ratio_text(double ratio) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ratio < 1.095 ? "%.2f" : ratio < 99.5 ? "%.1f" : "%.0f", ratio);
  return text.data();
}

const Hardware& device_or_first(const std::string& name) {
  const auto& presets = hardware_presets();
  auto found =
      std::find_if(presets.begin(), presets.end(), [&](const Hardware& h) { return h.name == name; });
  if (found == presets.end())
    found = std::find_if(presets.begin(), presets.end(),
                         [](const Hardware& h) { return h.name != kThisMachine; });
  return *found;
}

const std::vector<ModelMark>& model_marks() {
  static const std::vector<ModelMark> marks = make_marks();
  return marks;
}

const WallBytes& Wall::explained_column() const {
  const auto at = std::find(degrees.begin(), degrees.end(), explained);
  return columns[static_cast<size_t>(at - degrees.begin())];
}

Wall build_wall(double parameters, const std::string& device, int tp) {
  Wall wall;
  wall.parameters = parameters;
  for (const ModelMark& mark : model_marks())
    if (std::abs(parameters / mark.parameters - 1) < 0.004) wall.parameters = mark.parameters;
  wall.device = &device_or_first(device);
  wall.smallest = smallest_degree(wall.parameters, wall.limit_bytes());
  wall.degrees = wall_degrees(wall.smallest > 0 ? wall.smallest : 1024);
  for (int degree : wall.degrees) wall.columns.push_back(wall_bytes(wall.parameters, degree));
  const bool chosen = std::find(wall.degrees.begin(), wall.degrees.end(), tp) != wall.degrees.end();
  wall.explained = chosen ? tp : wall.smallest > 0 ? wall.smallest : wall.degrees.back();
  return wall;
}

WallVerdict verdict_of(const Wall& wall) {
  const std::string size = model_size(wall.parameters);
  const double whole = wall.columns.front().total();
  const std::string sum = size + " × 16 bytes = " + decimal_bytes(whole);
  if (wall.smallest == 0)
    return {"No T up to 1024 fits " + one_device(*wall.device), sum + " before activations."};
  const double part = whole / wall.smallest;
  WallVerdict verdict;
  verdict.claim = wall.smallest == 1
                      ? "T = 1: " + one_device(*wall.device) + " holds all of it"
                      : "T = " + std::to_string(wall.smallest) + " is the smallest power of 2 that fits";
  verdict.detail = sum;
  if (wall.smallest > 1) verdict.detail += "; a rank keeps " + decimal_bytes(part);
  verdict.detail += ". " + decimal_bytes(wall.limit_bytes() - part) + " are left for activations.";
  if (wall.device->name == kThisMachine)
    verdict.detail += " Its ranks share this memory, so read T as a number of such machines.";
  else if (wall.smallest > 1)
    verdict.detail += " A data-parallel copy does not help: each keeps all " + decimal_bytes(whole) + ".";
  return verdict;
}

}  // namespace shardlens::ui
