// The comparison of two recordings as text: the answer in words, and the tables below it. Nothing here draws.
#pragma once

#include <string>
#include <vector>

#include "engine/train/experiments/diff_session.h"
#include "ui/widgets/copy_table.h"
#include "ui/widgets/sort_order.h"

namespace shardlens::ui {

/// A recording's name for people: the file's name without folder and ending, or its title in the gallery.
std::string recording_title(const std::string& path);
/// A metric's name in words: "gradient norm" of gradient_norm.
std::string metric_words(std::string name);
/// "step of GPT-2 small · fp32 · T = 4 · megatron · 2 × 256 · 3 passes · AMD EPYC, 2 cores".
std::string run_words(const ComparedRun& run, int64_t passes);

enum class DiffVerdict { Same, Parted, Unknown };

/// The answer to: where did they part?
struct Answer {
  DiffVerdict verdict = DiffVerdict::Unknown;
  std::string headline;
  std::vector<std::string> lines;  ///< more about the difference, the most important first
  std::vector<std::string> notes;  ///< how much was compared, in short
};
Answer answer_of(const ComparedRuns& runs);
/// What differs between the two in settings and steps. Empty: nothing.
std::string unlike_words(const ComparedRuns& runs);

/// A step of both Programs, or of one.
struct DiffRow {
  StepId a = -1, b = -1;  ///< -1: it has none
  std::string name;
  int layer = -1;
  Phase phase = Phase::Forward;
  bool collective = false;
  double a_seconds = 0, b_seconds = 0;
  double a_wait_seconds = 0, b_wait_seconds = 0;
  int64_t a_sent_bytes = 0, b_sent_bytes = 0;

  bool in_both() const { return a >= 0 && b >= 0; }
  double ratio() const { return in_both() && a_seconds > 0 ? b_seconds / a_seconds : 0; }  ///< 0: none
};

/// In A's order. A step that only B has follows the step that precedes it in B.
std::vector<DiffRow> diff_rows(const ComparedRuns& runs);

enum class DiffColumn { Step, Name, Phase, TimeA, TimeB, Ratio, WaitA, WaitB, SentA, SentB };
/// Places of `rows` in this order; rows that lack the figure come last.
std::vector<size_t> sorted_places(const std::vector<DiffRow>& rows, const SortOrder& order);

/// One figure of both.
struct FigureRow {
  std::string name;
  std::string a, b, ratio;
  std::string help;
  bool is_head = false;  ///< begins a group
};
std::vector<FigureRow> total_rows(const ComparedRuns& runs);
std::vector<FigureRow> memory_rows(const ComparedRuns& runs);  ///< of the fullest rank, by kind

/// "0.84", or "" without a ratio.
std::string ratio_words(double a, double b);

TextTable steps_table(const std::vector<DiffRow>& rows, const std::vector<size_t>& places);
TextTable figures_table(const std::vector<FigureRow>& rows);
TextTable ranks_table(const ComparedRuns& runs);  ///< memory of every rank by kind
TextTable curve_table(const ComparedCurve& curve);
/// The answer and a description of both runs, line by line.
std::string answer_text(const ComparedRuns& runs);

}  // namespace shardlens::ui
