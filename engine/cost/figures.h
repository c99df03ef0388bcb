// The worked figures that texts on tensor parallelism print, each compared with a count from the Program. If
// a text's formula is loose, both numbers are shown, with the reason. Only the printed figures are constants;
// everything else is planned, counted and priced like any other model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/program/fault.h"

namespace shardlens {

/// What shows an exact figure in the studio.
enum class ShownBy {
  Arithmetic,   ///< nothing: it needs no Program
  Traffic,      ///< the collectives of the Program
  Program,      ///< the steps and tensors of the Program
  Memory,       ///< what each rank holds
  MemoryWall,   ///< the bytes of each parameter against a device
  BreakEven,    ///< a group of ranks that leaves its node
  WeakScaling,  ///< the paper's runs beside the estimates
  BreakIt,      ///< a planted mistake, run
};

struct WorkedFigure {
  std::string what;
  std::string source;   ///< the text that prints it
  std::string printed;  ///< exactly as printed
  std::string formula;  ///< the text's formula
  double by_formula = 0;
  double exact = 0;    ///< counted on the Program, or computed without the text's simplification
  std::string unit;    ///< of both: "bytes", "FLOP", "ratio", "days", "loss", "parameters"
  std::string reason;  ///< why the two differ; empty if they are equal
  ShownBy shown_by = ShownBy::Arithmetic;
  std::optional<Settings> settings = {};  ///< of the Program that is counted; none: any
  std::optional<Fault> fault = {};        ///< the planted mistake, for BreakIt

  bool agrees() const { return by_formula == exact; }
};

/// Plans and counts for about a second.
std::vector<WorkedFigure> worked_figures();

/// "117,440,512 bytes = 112 MiB", "2.1 days": a value of a figure with its unit.
std::string figure_text(double value, const std::string& unit);

}  // namespace shardlens
