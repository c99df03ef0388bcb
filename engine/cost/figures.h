// The worked figures of the texts on tensor parallelism, each beside what the Program says. Where a text's
// own formula is loose both stand here, with the reason. Nothing is a constant but what the text prints: the
// rest is planned, counted and priced like any other model.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

struct WorkedFigure {
  std::string what;
  std::string source;   ///< which text prints it
  std::string printed;  ///< as it prints it
  std::string formula;  ///< the text's
  double by_formula = 0;
  double exact = 0;    ///< counted on the Program, or computed without the text's simplification
  std::string unit;    ///< of both: "bytes", "FLOP", "ratio"
  std::string reason;  ///< why the two differ; empty where they do not

  bool agrees() const { return by_formula == exact; }
};

std::vector<WorkedFigure> worked_figures();

}  // namespace shardlens
