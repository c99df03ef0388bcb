// The Program as text: one row of cells for each step, a filter for the rows, and the rows as JSON. The
// Program tab shows and copies them. They are computed from the Plan alone.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/widgets/copy_table.h"

namespace shardlens::ui {

/// The columns, in this order.
enum class ProgramColumn { Step, Phase, Mark, Name, Equation, Output, Layout, PerRank, Flops, Sent };
inline constexpr size_t kProgramColumns = 10;

struct ProgramRow {
  StepId step = 0;
  std::vector<std::string> cells;  ///< one per ProgramColumn
  const std::string& cell(ProgramColumn column) const { return cells[static_cast<size_t>(column)]; }
};

std::vector<ProgramRow> program_rows(const Plan& plan);

/// The rows that hold every word of `filter`, in any cell, in upper or lower case; all for an empty filter.
std::vector<ProgramRow> filtered(const std::vector<ProgramRow>& rows, const std::string& filter);

/// The rows as a table with the columns' names.
TextTable as_table(const std::vector<ProgramRow>& rows);
/// Every tensor the step reads and writes.
TextTable tensor_table(const Program& program, const Step& step);

/// The rows' steps as a JSON array: op, phase, conjugate, name, equation, FLOPs, bytes sent, and every input
/// and output with shape, layout and rank 0's own shape and bytes.
std::string as_json(const Plan& plan, const std::vector<ProgramRow>& rows);

/// "f", "g" or "".
std::string mark_of(const Step& step);

/// Rank 0's shape of a tensor; with "…" after it when the ranks' shapes differ.
std::string shape_per_rank(const Program& program, const Tensor& tensor);

}  // namespace shardlens::ui
