// The names of the metrics, with their units if they have any.
#include "engine/train/step_metrics.h"

namespace shardlens {

std::vector<Metric> metrics_of(const StepReport& report) {
  std::vector<Metric> metrics{{"step", static_cast<double>(report.step)},
                              {"loss", report.loss},
                              {"gradient_norm", report.gradient_norm},
                              {"learning_rate", report.learning_rate},
                              {"loss_scale", report.loss_scale},
                              {"skipped", report.skipped ? 1.0 : 0.0},
                              {"step_seconds", report.seconds},
                              {"tokens_per_second", report.tokens_per_second},
                              {"flops_per_second", report.flops_per_second},
                              {"gemm_ceiling_flops", report.ceiling_flops}};
  if (report.parts) {
    metrics.emplace_back("word_loss", report.parts->words);
    metrics.emplace_back("order_loss", report.parts->sentences);
  }
  return metrics;
}

std::vector<Metric> metrics_of(const ValidationReport& report) {
  std::vector<Metric> metrics{{"validation_loss", report.loss},
                              {"validation_rows", static_cast<double>(report.rows)},
                              {"validation_rows_of_text", static_cast<double>(report.all_rows)}};
  if (report.parts) {
    metrics.emplace_back("validation_word_loss", report.parts->words);
    metrics.emplace_back("validation_order_loss", report.parts->sentences);
  }
  return metrics;
}

std::string gradient_norm_metric(const std::string& group) {
  return "gradient_norm " + group;
}

}  // namespace shardlens
