// The keys of rows, and their alignment by the longest common subsequence.
#include "ui/panels/compare/compare_rows.h"

#include <algorithm>

namespace shardlens::ui {
namespace {

// For each row of `merged`: the index of the row of `keys` on the same line, or -1.
std::vector<int> matches(const std::vector<AlignedRow>& merged, const std::vector<std::string>& keys) {
  const size_t n = merged.size(), m = keys.size();
  std::vector<std::vector<int>> longest(n + 1, std::vector<int>(m + 1, 0));  // from [i] and [j] on
  for (size_t i = n; i-- > 0;) {
    for (size_t j = m; j-- > 0;)
      longest[i][j] = merged[i].key == keys[j] ? longest[i + 1][j + 1] + 1
                                               : std::max(longest[i + 1][j], longest[i][j + 1]);
  }
  std::vector<int> match(n, -1);
  for (size_t i = 0, j = 0; i < n && j < m;) {
    if (merged[i].key == keys[j]) {
      match[i++] = static_cast<int>(j++);
    } else if (longest[i + 1][j] >= longest[i][j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return match;
}

void merge(std::vector<AlignedRow>& merged, const std::vector<std::string>& keys, size_t program,
           size_t programs) {
  const std::vector<int> match = matches(merged, keys);
  std::vector<AlignedRow> wider;
  int next = 0;
  const auto add_until = [&](int end) {
    for (; next < end; ++next) {
      AlignedRow row{keys[static_cast<size_t>(next)], std::vector<int>(programs, -1)};
      row.rows[program] = next;
      wider.push_back(std::move(row));
    }
  };
  for (size_t i = 0; i < merged.size(); ++i) {
    if (match[i] >= 0) {
      add_until(match[i]);
      merged[i].rows[program] = next++;
    }
    wider.push_back(std::move(merged[i]));
  }
  add_until(static_cast<int>(keys.size()));
  merged = std::move(wider);
}

}  // namespace

std::string key_of(const Step& step) {
  const bool converts = is_conversion(step.op);
  // "all-reduce mlp.proj.sum" in one split may be "reduce-scatter mlp.proj.sum" in another.
  const std::string name = converts ? "converts" + step.name.substr(to_string(step.op).size()) : step.name;
  return to_string(step.phase) + " " + name;
}

std::string key_of(const Program& program, const stage::Row& row) {
  if (row.step >= 0) return key_of(program.step(row.step));
  if (row.kind == stage::RowKind::Input)
    return to_string(row.phase) + " input " + program.tensor(row.tensor).name;
  return to_string(row.phase) + " heading " + row.title;
}

std::vector<AlignedRow> aligned(const std::vector<std::vector<std::string>>& keys) {
  std::vector<AlignedRow> merged;
  for (size_t program = 0; program < keys.size(); ++program)
    merge(merged, keys[program], program, keys.size());
  return merged;
}

}  // namespace shardlens::ui
