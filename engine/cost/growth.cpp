// The sizes of the growth measurement.
#include "engine/cost/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "engine/config/presets.h"
#include "engine/cost/model_price.h"
#include "engine/planner/parameters.h"

namespace shardlens {
namespace {

constexpr int64_t kVocab = 4096;  // a multiple of 128 T up to T = 32
constexpr int64_t kHead = 64;
constexpr int64_t kLongestSequence = 4096;

Model gpt(int64_t hidden, int64_t layers, int64_t positions) {
  Model model = model_preset("gpt2");
  model.layers = layers;
  model.hidden = hidden;
  model.heads = hidden / kHead;
  model.ffn = 4 * hidden;
  model.vocab = kVocab;
  model.positions = positions;
  const int64_t parameters = parameter_count(model);
  model.title = fmt::format("GPT {:.3g} M", static_cast<double>(parameters) / 1e6);
  model.name = fmt::format("gpt-{}x{}", layers, hidden);
  return model;
}

}  // namespace

std::string to_string(GrowthAxis axis) {
  constexpr std::array<const char*, kGrowthAxes> names{"model", "ranks", "sequence", "batch"};
  return names[static_cast<size_t>(axis)];
}

Model growth_model(int size, int64_t positions) {
  struct Sizes {
    int64_t hidden, layers;
  };
  constexpr std::array<Sizes, kGrowthModels> sizes{
      {{128, 3}, {256, 3}, {384, 5}, {512, 9}, {768, 14}, {1024, 24}, {2048, 20}}};
  const Sizes& one = sizes.at(static_cast<size_t>(size));
  return gpt(one.hidden, one.layers, positions);
}

Model growth_middle_model(int64_t positions) {
  return gpt(1024, 2, positions);
}

std::vector<GrowthPoint> growth_points(const Settings& base) {
  Settings common = base;
  common.block = Block::Model;
  common.update = true;
  common.dp = 1;
  common.micro_batches = 1;
  std::vector<GrowthPoint> points;
  const auto add = [&](GrowthAxis axis, double size, const Settings& settings) {
    points.push_back({axis, size, settings});
  };
  for (int size = 0; size < kGrowthModels; ++size) {
    Settings settings = common;
    settings.model = growth_model(size, base.seq);
    settings.batch = 1;
    add(GrowthAxis::Model, static_cast<double>(parameter_count(settings.model)), settings);
  }
  Settings middle = common;
  middle.model = growth_middle_model(std::max(base.seq, kLongestSequence));
  for (int tp = 1; tp <= 16; tp *= 2) {
    Settings settings = middle;
    settings.tp = tp;
    add(GrowthAxis::Ranks, tp, settings);
  }
  for (int64_t seq = 64; seq <= kLongestSequence; seq *= 2) {
    Settings settings = middle;
    settings.batch = 1;
    settings.seq = seq;
    add(GrowthAxis::Sequence, static_cast<double>(seq), settings);
  }
  for (int64_t batch = 1; batch <= 32; batch *= 2) {
    Settings settings = middle;
    settings.batch = batch;
    add(GrowthAxis::Batch, static_cast<double>(batch), settings);
  }
  return points;
}

double predicted_seconds(const GrowthPoint& point, const Hardware& hardware) {
  return price_model(point.settings, hardware).step_seconds;
}

}  // namespace shardlens
