// Writes the lines and the CSV rows of a training run.
#include "app/cli/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/file_problem.h"
#include "engine/io/input_file.h"

namespace shardlens::cli {
namespace {

constexpr const char* kHeader =
    "step,loss,gradient_norm,learning_rate,loss_scale,skipped,step_seconds,tokens_per_second,flops_per_"
    "second,of_gemm_ceiling,"
    "validation_loss,word_loss,order_loss,validation_word_loss,validation_order_loss,validation_rows,"
    "validation_rows_of_text\n";

static_assert(std::string_view(kHeader).starts_with(kLogHead));

std::string time_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(std::max(0.0, seconds)));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

std::string scale_text(double scale) {
  return grouped_text(static_cast<int64_t>(scale));
}

std::string step_text(int64_t step, int64_t steps) {
  return fmt::format("step {:>{}}/{}", step, std::to_string(steps).size(), steps);
}

// " (words 5.2301, order 0.6931)" for a BERT.
std::string parts_text(const std::optional<LossParts>& parts) {
  return parts ? fmt::format(" (words {:.4f}, order {:.4f})", parts->words, parts->sentences) : "";
}

// Two CSV columns, empty if there are no parts.
std::string parts_columns(const std::optional<LossParts>& parts) {
  return parts ? fmt::format("{:.9g},{:.9g}", parts->words, parts->sentences) : ",";
}

constexpr size_t kAnyWidth = std::numeric_limits<size_t>::max();

// Makes the line fit into `columns`: the least important parts are left out first.
std::string line_of(const StepReport& r, int64_t steps, size_t columns) {
  const std::string share = r.of_ceiling > 0 ? fmt::format(" ({:.0f}% of ceiling)", 100 * r.of_ceiling) : "";
  const std::string scale = r.loss_scale > 1 ? "  scale " + scale_text(r.loss_scale) : "";
  struct Part {
    std::string text;
    int missed_best = 0;  // 1: first
  };
  std::vector<Part> parts{
      {step_text(r.step, steps), 7},
      {fmt::format("loss {:.4f}{}", r.loss, parts_text(r.parts)), 6},
      {fmt::format("|g| {:.3f}", r.gradient_norm), 3},
      {fmt::format("lr {:.2e}{}", r.learning_rate, scale), 2},
      {r.tokens_per_second > 0
           ? fmt::format("{} tok/s", grouped_text(static_cast<int64_t>(r.tokens_per_second)))
           : "? tok/s",  // the clock stood still
       4},
      {fmt::format("{:.1f} GFLOP/s{}", r.flops_per_second / 1e9, share), 1},
      {time_text(r.seconds_left) + " left", 5}};
  const auto line = [&] {
    std::string text;
    for (const Part& part : parts) text += (text.empty() ? "" : "  ") + part.text;
    return text;
  };
  while (parts.size() > 1 && line().size() > columns)
    parts.erase(std::min_element(parts.begin(), parts.end(), [](const Part& one, const Part& other) {
      return one.missed_best < other.missed_best;
    }));
  return line();
}

}  // namespace

TrainReport::TrainReport(FILE* out, const TrainOptions& options, const std::string& csv, int64_t done)
    : out_(out), line_(out), steps_(std::max(options.steps, done)), validate_every_(options.validate_every) {
  if (!csv.empty()) open_csv(csv, done);
}

TrainReport::~TrainReport() {
  if (csv_ && row_waits_) flush_row({});
  line_.keep();
}

// A run that was killed may have logged steps that its checkpoint does not have. They are run again, so their
// rows are dropped.
void TrainReport::open_csv(const std::string& path, int64_t done) {
  std::string kept = kHeader;
  std::error_code unknown;
  const bool goes_on = done > 0 && std::filesystem::exists(path, unknown);
  std::istringstream file(goes_on ? InputFile(path).text() : "");
  std::string line;
  if (std::getline(file, line)) {
    if (line + "\n" != kHeader)
      throw request_error(
          fmt::format("{} exists and is not the log of a training run; give another --log", path));
    while (std::getline(file, line)) {
      if (std::strtoll(line.c_str(), nullptr, 10) <= done && !line.empty()) kept += line + "\n";
    }
  }
  csv_ = std::make_unique<GrowingFile>(path, kTrainingLog, kept);
}

void TrainReport::flush_row(const std::optional<ValidationReport>& validation) {
  row_waits_ = false;
  const std::string last =
      fmt::format("{},{},{},{}", validation ? fmt::format("{:.9g}", validation->loss) : "",
                  parts_columns(last_.parts), parts_columns(validation ? validation->parts : std::nullopt),
                  validation ? fmt::format("{},{}", validation->rows, validation->all_rows) : ",");
  const std::string row =
      fmt::format("{},{:.9g},{:.9g},{:.9g},{:.9g},{:d},{:.6f},{:.1f},{:.6g},{:.4f},{}\n", last_.step,
                  last_.loss, last_.gradient_norm, last_.learning_rate, last_.loss_scale, last_.skipped,
                  last_.seconds, last_.tokens_per_second, last_.flops_per_second, last_.of_ceiling, last);
  try {
    if (const std::string said = csv_->append(row); !said.empty()) note(said);
  } catch (const std::exception& error) {
    csv_.reset();
    note(fmt::format("{}; the run goes on without its log", message_of(error)));
  }
}

void TrainReport::note(const std::string& text) {
  line_.clear();
  fmt::print(out_, "{}\n", text);
  std::fflush(out_);
}

void TrainReport::on_step(const StepReport& report) {
  if (last_.ceiling_flops > 0 && report.ceiling_flops > last_.ceiling_flops) {
    note(
        fmt::format("{}  the GEMM ceiling is {:.1f} GFLOP/s, not {:.1f}: a step was faster, so the machine "
                    "was busy when the ceiling was measured",
                    step_text(report.step, steps_), report.ceiling_flops / 1e9, last_.ceiling_flops / 1e9));
  }
  last_ = report;
  row_waits_ = csv_ && is_due(validate_every_, report.step);
  if (csv_ && !row_waits_) flush_row({});
  if (report.skipped) {
    return note(fmt::format(
        "{}  skipped on all ranks: gradients overflowed at loss scale {}; the next step uses "
        "{}",
        step_text(report.step, steps_), scale_text(report.loss_scale), scale_text(report.loss_scale / 2)));
  }
  const bool last = report.step == steps_;
  if (line_.is_live()) {
    if (last || line_.is_due()) line_.show(line_of(report, steps_, line_.columns()));
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (!last && now - noted_ < std::chrono::seconds(1)) return;
  noted_ = now;
  note(line_of(report, steps_, kAnyWidth));
}

void TrainReport::on_validation(const ValidationReport& report) {
  last_validation_ = report;
  if (csv_ && row_waits_) flush_row(report);
  const std::string reading =
      report.parts ? parts_text(report.parts) : fmt::format(" (perplexity {:.2f})", std::exp(report.loss));
  note(fmt::format("{}  validation loss {:.4f}{}, {}", step_text(report.step, steps_), report.loss, reading,
                   rows_text(report)));
}

void TrainReport::on_saved(const std::string& folder, int64_t step) {
  note(fmt::format("{}  saved to {}", step_text(step, steps_), folder));
}

void TrainReport::on_save_failed(const std::string& why) {
  note("not saved: " + why);
}

}  // namespace shardlens::cli
