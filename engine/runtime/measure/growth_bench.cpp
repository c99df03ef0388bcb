// The runs of a growth study, and its table.
#include "engine/runtime/measure/growth_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/config/validate.h"
#include "engine/cost/model_price.h"
#include "engine/io/csv.h"
#include "engine/planner/parameters.h"
#include "engine/planner/planner.h"
#include "engine/runtime/measure/step_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

constexpr double kMemoryShare = 0.85;  // of what is free: the rest is for other programs
constexpr double kBeyond = 1.1;        // growth over the model's that is reported
constexpr double kGrowthPollSeconds = 0.02;

Settings with_layers(Settings settings, int64_t layers) {
  settings.model.layers = layers;
  return settings;
}

int64_t bytes_of(const ModelPrice& price) {
  return total_bytes(price.memory_bytes) * price.ranks;
}

// Returns the largest number of layers, by repeated halving, that fits together with a model of half as many
// layers; both are run.
SampledLayers sampled_layers(const Settings& settings, const Hardware& hardware, const GrowthLimits& limits) {
  for (int64_t more = settings.model.layers / 2; more >= 2; more /= 2) {
    const ModelPrice large = price_model(with_layers(settings, more), hardware);
    const ModelPrice small = price_model(with_layers(settings, more / 2), hardware);
    if (bytes_of(large) + bytes_of(small) <= limits.memory_bytes &&
        large.step_seconds <= limits.longest_step_seconds)
      return {more / 2, more};
  }
  return {};
}

// A model in memory, ready to run a step.
class Runner {
 public:
  Runner(const Settings& settings, const Measuring& measuring)
      : plan_(make_plan(plan_program(settings))), measuring_(measuring) {
    check_runnable(*plan_);
    executor_ = std::make_unique<Executor>(plan_);
  }

  double step(const std::string& doing, double share) {
    executor_->next_pass();
    executor_->start(executor_->steps());
    do {
      measuring_.tell(doing, share);
    } while (!executor_->wait_for(kGrowthPollSeconds));
    double seconds = 0;
    for (int rank = 0; rank < plan_->program.tp(); ++rank)
      for (const StepEvent& event : executor_->trace(rank).events())
        seconds = std::max(seconds, event.end_seconds);
    return seconds;
  }

 private:
  std::shared_ptr<const Plan> plan_;
  const Measuring& measuring_;
  std::unique_ptr<Executor> executor_;
};

// Runs one row; the beginning and the budget are those of the study.
void run_row(GrowthRow& row, int repetitions, double deadline, const Measuring& measuring, double share) {
  const Settings& settings = row.point.settings;
  const std::string doing = fmt::format("{} T = {}, batch {} × sequence {}", settings.model.title,
                                        settings.tp, settings.batch, settings.seq);
  const int64_t layers = settings.model.layers;
  const SampledLayers& sampled = row.sampled;
  Runner large(with_layers(settings, sampled.is_whole() ? layers : sampled.more), measuring);
  std::optional<Runner> small;
  if (!sampled.is_whole()) small.emplace(with_layers(settings, sampled.fewer), measuring);
  for (int repetition = -1; repetition < repetitions; ++repetition) {  // the first one warms up
    double seconds = large.step(doing, share);
    if (small) {
      const double fewer = small->step(doing, share);
      const double layer = (seconds - fewer) / static_cast<double>(sampled.more - sampled.fewer);
      seconds = fewer + layer * static_cast<double>(layers - sampled.fewer);
    }
    if (repetition >= 0) row.seconds.push_back(seconds);
    if (repetition >= 0 && now_seconds() > deadline) return;
  }
}

std::string number_or_nothing(double value) {
  return value > 0 ? fmt::format("{:.9g}", value) : std::string();
}

}  // namespace

double GrowthRow::median_seconds() const {
  return seconds.empty() ? 0 : median_of(seconds);
}

double GrowthRow::lowest_seconds() const {
  return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

double GrowthRow::highest_seconds() const {
  return seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end());
}

double GrowthRow::of_prediction() const {
  return predicted_seconds > 0 ? median_seconds() / predicted_seconds : 0;
}

double growth_beyond_model(const GrowthRow& before, const GrowthRow& row) {
  return before.of_prediction() > 0 ? row.of_prediction() / before.of_prediction() : 0;
}

bool grows_worse(const GrowthRow& before, const GrowthRow& row) {
  if (before.of_prediction() <= 0 || row.of_prediction() <= 0) return false;
  const double at_least =
      row.lowest_seconds() / row.predicted_seconds / (before.highest_seconds() / before.predicted_seconds);
  return at_least > 1 && growth_beyond_model(before, row) > kBeyond;
}

std::vector<GrowthRow> predicted_growth(const std::vector<GrowthPoint>& points, const Hardware& hardware,
                                        const GrowthLimits& limits) {
  std::vector<GrowthRow> rows;
  for (const GrowthPoint& point : points) {
    GrowthRow& row = rows.emplace_back();
    row.point = point;
    try {
      validate_executable(point.settings);
      const ModelPrice price = price_model(point.settings, hardware);
      row.predicted_seconds = price.step_seconds;
      row.planned_bytes = bytes_of(price);
      const bool fits = row.planned_bytes <= limits.memory_bytes;
      if (fits && price.step_seconds <= limits.longest_step_seconds) continue;
      row.sampled = sampled_layers(point.settings, hardware, limits);
      if (!row.sampled.is_whole()) continue;
      row.left_out = fits ? fmt::format("a step would take about {:.0f} s; the limit is {:.0f} s",
                                        price.step_seconds, limits.longest_step_seconds)
                          : fmt::format("needs {}, and {} may be used",
                                        bytes_text(static_cast<double>(row.planned_bytes)),
                                        bytes_text(static_cast<double>(limits.memory_bytes)));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Request) throw;
      row.left_out = error.what();
    }
  }
  return rows;
}

Growth measure_growth(const std::vector<GrowthPoint>& points, const Hardware& hardware,
                      const GrowthLimits& limits, const Measuring& measuring) {
  const double begin = now_seconds();
  Growth growth;
  growth.machine = machine_description();
  growth.hardware = hardware;
  growth.limits = limits;
  if (growth.limits.memory_bytes == 0)
    growth.limits.memory_bytes =
        static_cast<int64_t>(kMemoryShare * static_cast<double>(available_memory_bytes()));
  growth.rows = predicted_growth(points, hardware, growth.limits);
  std::vector<GrowthRow*> left;
  for (GrowthRow& row : growth.rows)
    if (row.left_out.empty()) left.push_back(&row);
  if (left.empty())
    throw request_error(points.empty() ? "there are no sizes to run"
                                       : "not one size can be run: " + growth.rows.front().left_out);
  std::stable_sort(left.begin(), left.end(), [](const GrowthRow* a, const GrowthRow* b) {
    return a->predicted_seconds < b->predicted_seconds;
  });
  std::vector<GrowthRow*> late;
  double missing = 0;  // seconds
  for (size_t i = 0; i < left.size(); ++i) {
    GrowthRow& row = *left[i];
    const double elapsed = now_seconds() - begin;
    const double once =
        std::accumulate(left.begin() + static_cast<std::ptrdiff_t>(i), left.end(), 0.0,
                        [](double sum, const GrowthRow* other) { return sum + other->predicted_seconds; });
    const double room = limits.budget_seconds - elapsed;
    if (room < 2 * row.predicted_seconds) {
      missing += 2 * row.predicted_seconds;
      late.push_back(&row);
      continue;
    }
    // Compared before the conversion to an integer: tiny steps may be more than an int holds.
    const double most = static_cast<double>(limits.repetitions);
    const auto repetitions = static_cast<int>(std::clamp(room / once - 1, 1.0, most));
    run_row(row, repetitions, begin + limits.budget_seconds, measuring,
            std::min(1.0, elapsed / limits.budget_seconds));
  }
  for (GrowthRow* row : late)
    row->left_out =
        fmt::format("the budget was used up; about {:.0f} s more would be enough for all", missing);
  growth.seconds = now_seconds() - begin;
  return growth;
}

Growth measure_growth(const Settings& base, GrowthLimits limits, const Measuring& measuring) {
  const double begin = now_seconds();
  const double whole = limits.budget_seconds;
  const Hardware hardware = calibrate(calibration_models(base.dtype), limits.repetitions, measuring);
  limits.budget_seconds = std::max(0.0, whole - (now_seconds() - begin));
  Growth growth = measure_growth(growth_points(base), hardware, limits, measuring);
  growth.limits.budget_seconds = whole;
  growth.seconds = now_seconds() - begin;
  return growth;
}

std::string growth_csv(const Growth& growth, GrowthAxis axis) {
  std::string text =
      "axis,size,model,parameters,layers,hidden,heads,tp,batch,seq,dtype,planned_bytes,run,repetitions,"
      "median_seconds,lowest_seconds,highest_seconds,predicted_seconds,measured_over_predicted,"
      "growth_over_predicted,left_out\n";
  const GrowthRow* before = nullptr;
  for (const GrowthRow& row : growth.rows) {
    if (row.point.axis != axis) continue;
    const Settings& s = row.point.settings;
    const bool measured = !row.seconds.empty();
    const std::string run =
        !measured ? ""
        : row.sampled.is_whole()
            ? "whole"
            : fmt::format("{} and {} of {} layers", row.sampled.fewer, row.sampled.more, s.model.layers);
    text +=
        fmt::format("{},{:.0f},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", to_string(axis),
                    row.point.size, csv_quoted(s.model.title), parameter_count(s.model), s.model.layers,
                    s.model.hidden, s.model.heads, s.tp, s.batch, s.seq, to_string(s.dtype),
                    row.planned_bytes, run, row.seconds.size(), number_or_nothing(row.median_seconds()),
                    number_or_nothing(row.lowest_seconds()), number_or_nothing(row.highest_seconds()),
                    number_or_nothing(row.predicted_seconds), number_or_nothing(row.of_prediction()),
                    number_or_nothing(before == nullptr ? 0 : growth_beyond_model(*before, row)),
                    row.left_out.empty() ? "" : csv_quoted(row.left_out));
    if (measured) before = &row;
  }
  return text;
}

}  // namespace shardlens
