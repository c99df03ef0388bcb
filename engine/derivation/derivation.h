// The derivation of one step, as a slide would have it: what the step computes, how the blocks and terms of
// the ranks make it, and what follows. Everything is read from the Program: symbols, sizes, layouts.
#pragma once

#include <string>
#include <vector>

#include "engine/derivation/math.h"

namespace shardlens {

/// `left` relation `right`. A line without a left side goes on with the line before it.
struct DerivationLine {
  std::vector<Math> left;  ///< none or one
  Relation relation = Relation::Equal;
  Math right;
  std::string remark;  ///< a few words at the right of it
};

struct Derivation {
  StepId step = -1;
  std::string title;  ///< "Z = G · Wproj, row-parallel"
  std::vector<DerivationLine> lines;
  std::string then;  ///< "Then all-reduce Z (g): Partial → Replicated"; or that nothing is sent
  std::string why;   ///< explain() of that conversion, or why there is none; may be empty
};

/// Throws std::out_of_range for a step that the Program does not have.
Derivation derive(const Program& program, StepId step);

/// Plain text, a line for each line, with the remarks in a column of their own.
std::string to_text(const Derivation& derivation);
/// An align* environment; it needs amsmath and nothing else. In ASCII.
std::string to_latex(const Derivation& derivation);

}  // namespace shardlens
