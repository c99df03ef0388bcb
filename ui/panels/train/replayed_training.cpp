// Turns a recording's columns of metrics into the steps of a curve.
#include "ui/panels/train/replayed_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/train/gradient_norms.h"
#include "engine/train/step_metrics.h"

namespace shardlens::ui {
namespace {

/// A column that may be missing: then every value is `otherwise`.
struct Column {
  const std::vector<double>* values;
  double otherwise = std::numeric_limits<double>::quiet_NaN();
  double at(size_t i) const { return values ? (*values)[i] : otherwise; }
};

/// A count that was recorded as a metric; 0 if it is none.
int64_t count_of(double recorded) {
  constexpr double kMost = 1e15;
  return recorded >= 0 && recorded < kMost ? std::llround(recorded) : 0;
}

/// The step of a row: the number that its pass recorded, because a recording may begin in the middle of a
/// training and lack passes that the disk was too slow for. Without a number, `stride` after the row before.
int64_t step_after(int64_t before, int64_t stride, double recorded) {
  constexpr double kMost = 1e15;
  return recorded >= static_cast<double>(before + 1) && recorded < kMost ? std::llround(recorded)
                                                                         : before + stride;
}

/// `before`: the curve of fewer rows of the same table, whose steps are reused; null: there is none.
std::shared_ptr<const TrainCurve> curve_of(const RecordingFacts& facts, const MetricTable& metrics,
                                           const TrainCurve* before) {
  auto curve = std::make_shared<TrainCurve>();
  curve->plan = facts.plan;
  curve->communicator = facts.communicator;
  curve->options.settings = facts.plan->program.settings;
  curve->name = facts.plan->program.settings.model.title;
  curve->stride = metrics.stride;
  const Column number{metrics.column("step")}, loss{metrics.column("loss")},
      norm{metrics.column("gradient_norm")}, rate{metrics.column("learning_rate"), 0},
      scale{metrics.column("loss_scale"), 1}, skipped{metrics.column("skipped"), 0},
      seconds{metrics.column("step_seconds"), 0}, tokens{metrics.column("tokens_per_second")},
      flops{metrics.column("flops_per_second"), 0};
  // A training of the studio is recorded with the norms of its layers' gradients.
  curve->groups = gradient_groups(facts.plan->program);
  std::vector<Column> norms;
  for (const std::string& group : curve->groups)
    norms.push_back({metrics.column(gradient_norm_metric(group))});
  if (std::none_of(norms.begin(), norms.end(), [](const Column& column) { return column.values; })) {
    norms.clear();
    curve->groups.clear();
  }
  const bool grows = before != nullptr && before->plan == facts.plan && before->stride == metrics.stride &&
                     before->groups == curve->groups && before->steps.size() <= metrics.rows();
  if (grows) {
    curve->steps = before->steps;
    curve->validations = before->validations;
  }
  const Column words{metrics.column("word_loss")}, order{metrics.column("order_loss")},
      validation{metrics.column("validation_loss")}, validation_words{metrics.column("validation_word_loss")},
      validation_order{metrics.column("validation_order_loss")},
      validation_rows{metrics.column("validation_rows"), 0},
      validation_rows_of_text{metrics.column("validation_rows_of_text"), 0};
  const auto parts_at = [](const Column& of_words, const Column& of_order, size_t i) {
    return std::isfinite(of_words.at(i)) ? std::optional(LossParts{of_words.at(i), of_order.at(i)})
                                         : std::nullopt;
  };
  int64_t last = grows && !curve->steps.empty() ? curve->steps.back()->report.step : 1 - metrics.stride;
  for (size_t i = curve->steps.size(); i < metrics.rows(); ++i) {
    auto step = std::make_shared<TrainStep>();
    last = step->report.step = step_after(last, metrics.stride, number.at(i));
    step->report.loss = loss.at(i);
    step->report.parts = parts_at(words, order, i);
    step->report.gradient_norm = norm.at(i);
    step->report.learning_rate = rate.at(i);
    step->report.loss_scale = scale.at(i) > 0 ? scale.at(i) : 1;
    step->report.skipped = skipped.at(i) > 0;
    step->report.seconds = seconds.at(i);
    step->report.tokens_per_second = tokens.at(i);
    step->report.flops_per_second = flops.at(i);
    for (const Column& column : norms) step->gradient_norms.push_back(column.at(i));
    if (std::isfinite(validation.at(i))) {
      curve->validations.push_back({.step = last,
                                    .loss = validation.at(i),
                                    .parts = parts_at(validation_words, validation_order, i),
                                    .rows = count_of(validation_rows.at(i)),
                                    .all_rows = count_of(validation_rows_of_text.at(i))});
    }
    curve->steps.push_back(std::move(step));
  }
  const int64_t first = curve->steps.empty() ? 1 : curve->steps.front()->report.step;
  curve->options.steps = std::max(last, first - 1 + facts.passes);
  return curve;
}

}  // namespace

std::shared_ptr<const TrainSnapshot> replayed_training(const ReplaySnapshot& replay) {
  static std::shared_ptr<const MetricTable> known;
  static std::shared_ptr<const TrainSnapshot> made;
  if (made && known == replay.metrics) return made;
  auto training = std::make_shared<TrainSnapshot>();
  training->machine = replay.recording->machine;
  training->state = TrainState::Idle;
  if (replay.metrics && replay.metrics->column("loss") != nullptr) {
    training->state = TrainState::Done;
    const bool any = made && !made->curves.empty();
    training->curves.push_back(
        curve_of(*replay.recording, *replay.metrics, any ? made->curves.front().get() : nullptr));
  }
  if (replay.metrics) {
    const Column entropy{replay.metrics->column(kUnigramEntropyMetric), 0};
    if (replay.metrics->rows() > 0 && std::isfinite(entropy.at(0)))
      training->text.unigram_entropy_nats = entropy.at(0);
  }
  known = replay.metrics;
  made = std::move(training);
  return made;
}

}  // namespace shardlens::ui
