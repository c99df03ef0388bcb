// The state of the page of the texts' figures.
#pragma once

#include <future>
#include <string>
#include <vector>

#include "engine/cost/figures.h"
#include "ui/context.h"

namespace shardlens::ui {

struct FiguresView {
  /// Planned, priced and run by a thread of their own, from the moment the page is first drawn.
  std::shared_future<std::vector<WorkedFigure>> figures;
  std::string source;  ///< the text whose figures are listed; empty: all
};

/// Shows what a figure was counted on: applies its settings and opens the page that has the number.
void show_proof(const Context& context, const WorkedFigure& figure);

}  // namespace shardlens::ui
