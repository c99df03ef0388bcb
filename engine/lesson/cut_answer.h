// Answers to a question that asks for a cut: the run decides whether one does what is asked.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/lesson/evidence.h"
#include "engine/lesson/lesson.h"

namespace shardlens {

/// The cuts to try for such a question: the named splits, then every way to cut the four matrices.
std::vector<Split> splits_to_try();

/// "mlp.fc column, mlp.proj row": the matrices of the block.
std::string cut_text(const Split& split, Block block);

struct CutTried {
  bool does = false;
  std::string why_not;
};
/// Does this split do what is asked, in these settings? Not only its plan, also its run.
CutTried try_cut(const Lesson& lesson, const Question& question, Settings settings, const Split& split,
                 const std::optional<Fault>& mistake, const Surroundings& where);

}  // namespace shardlens
