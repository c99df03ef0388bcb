// The worked figures that texts on tensor parallelism print, each compared with a count from the Program. If
// a text's formula is loose, both numbers are shown, with the reason. Only the printed figures are constants;
// everything else is planned, counted and priced like any other model.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

struct WorkedFigure {
  std::string what;
  std::string source;   ///< the text that prints it
  std::string printed;  ///< exactly as printed
  std::string formula;  ///< the text's formula
  double by_formula = 0;
  double exact = 0;    ///< counted on the Program, or computed without the text's simplification
  std::string unit;    ///< of both: "bytes", "FLOP", "ratio"
  std::string reason;  ///< why the two differ; empty if they are equal

  bool agrees() const { return by_formula == exact; }
};

std::vector<WorkedFigure> worked_figures();

}  // namespace shardlens
