// The lists of stops, and a value's place between them.
#include "ui/widgets/slider_stops.h"

#include <algorithm>
#include <cmath>

namespace shardlens::ui {

int64_t value_at(const std::vector<int64_t>& values, double share) {
  const double last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * last))];
}

double share_of(const std::vector<int64_t>& values, int64_t value) {
  if (values.size() < 2 || value <= values.front()) return 0;
  if (value >= values.back()) return 1;
  const auto above = std::upper_bound(values.begin(), values.end(), value);
  const auto below = above - 1;
  const double between = static_cast<double>(value - *below) / static_cast<double>(*above - *below);
  return (static_cast<double>(below - values.begin()) + between) / static_cast<double>(values.size() - 1);
}

std::vector<int64_t> hidden_stops(const Model& model) {
  std::vector<int64_t> stops;
  for (const int64_t features : {4, 8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256}) {
    stops.push_back(std::max<int64_t>(model.heads, 1) * features);
  }
  return stops;
}

std::vector<int64_t> heads_stops(const Model& model) {
  std::vector<int64_t> stops;
  for (int64_t heads = 1; heads * 4 <= model.hidden && heads <= 512; ++heads) {
    if (model.hidden % heads == 0) stops.push_back(heads);
  }
  if (stops.empty()) stops.push_back(1);
  return stops;
}

std::vector<int64_t> key_heads_stops(const Model& model) {
  std::vector<int64_t> stops{1};
  for (int64_t heads = 2; heads <= model.heads; ++heads) {
    if (model.heads % heads == 0) stops.push_back(heads);
  }
  return stops;
}

std::vector<int64_t> ffn_stops(const Model& model) {
  return {model.hidden, 2 * model.hidden, 4 * model.hidden, 8 * model.hidden};
}

std::vector<int64_t> layers_stops() {
  return {1, 2, 4, 6, 8, 12, 16, 24, 32, 36, 40, 48, 54, 64, 72, 80, 96, 105, 118, 128};
}

std::vector<int64_t> sequence_stops(const Model& model) {
  std::vector<int64_t> stops;
  for (const int64_t length : {8, 16, 32, 64, 128, 256, 512, 768, 1024, 2048, 4096}) {
    if (stops.empty() || model.positions <= 0 || length <= model.positions) stops.push_back(length);
  }
  return stops;
}

std::vector<int64_t> batch_stops() {
  return {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
}

}  // namespace shardlens::ui
