// Reports of `plan` and `bench` other than a Program: the tournament of all splits, the worked figures of the
// texts, scaling, and overlap. Each function returns the exit code.
#pragma once

#include <cstdint>
#include <string>

#include "engine/config/hardware.h"
#include "engine/config/settings.h"

namespace shardlens::cli {

struct TournamentWish {
  int ranks = 0;  ///< T x D; 0: the settings' own
  size_t listed = 10;
  int run = 0;              ///< how many of the listed are run here
  double memory_bytes = 0;  ///< limit a rank; 0: the preset's
};

/// Says why no time can be predicted, and what helps.
std::string no_time_text(const Hardware& hardware, DType dtype);

/// `plan --tournament`.
int print_tournament(const Settings& settings, const TournamentWish& wish, bool json);

/// `plan --figures`.
int print_figures(bool json);

/// `plan --algebra`: the layouts, and every operation run on terms and pieces of its operand on `ranks`
/// ranks. The JSON has only the runs.
int print_algebra(int ranks, bool json);

/// `bench scaling`: the paper's points, the model's curve, the break-even of `settings` across nodes, and
/// this machine's own runs of one layer of it.
int print_scaling(Settings settings, int repetitions, bool json);

/// `bench overlap`: one layer or model. Compares row-parallel products reduced in 2, 4 and 8 parts (or as
/// many as the settings say) with products reduced whole.
int print_overlap(const Settings& settings, int repetitions, bool json);

/// `bench fusion`: the same model. Compares passes over the same elements as one step with the same passes
/// one by one.
int print_fusion(Settings settings, int repetitions, bool json);

/// `bench speedup`: compares T ranks of one thread with T = 1 on one thread. Throws a request Error if T = 1.
int print_speedup(Settings settings, int repetitions, bool json);

}  // namespace shardlens::cli
