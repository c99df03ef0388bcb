// Shared by the files of the worked figures (figures.h): the texts' names, the chapter's exercise, and what
// is counted of a forward pass. Only for these files.
#pragma once

#include <vector>

#include "engine/config/hardware.h"
#include "engine/cost/figures.h"

namespace shardlens {

inline constexpr const char* kChapter = "chapter on linearity";
inline constexpr const char* kPaper = "Megatron-LM paper";
inline constexpr const char* kExplainer = "interactive explanation";
inline constexpr const char* kBook = "textbook section";
inline constexpr const char* kWalkThrough = "implementation walk-through";

/// The chapter's exercise: hidden 4096, sequence 2048, batch 4, T = 8, fp16.
Settings chapters_exercise();

struct ForwardCount {
  int64_t all_reduce_bytes = 0;  ///< sent by each rank in one all-reduce
  int64_t sent_bytes = 0;
  int64_t flops = 0;  ///< of a rank
  double tp_seconds = 0;
};
ForwardCount count_forward(const Settings& settings, const Hardware& hardware);

/// Says for the figures from index `first` on which Program they are counted on, and what shows it.
void prove(std::vector<WorkedFigure>& figures, size_t first, const Settings& settings, ShownBy shown_by);

/// The figures that texts state in a sentence, without a calculation.
void add_claims(std::vector<WorkedFigure>& figures);

}  // namespace shardlens
