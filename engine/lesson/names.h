// What a lesson's places are called.
#pragma once

#include <optional>
#include <string>

#include "engine/lesson/lesson.h"

namespace shardlens {

class EvidenceStore;

/// The rank that "rank 2" names; none if the text names no rank.
std::optional<int> rank_named(const std::string& text);

/// As check_names() in parse.h, for what was drawn; keeps its plans in `store`.
void check_names(const Lesson& lesson, const Drawn& drawn, EvidenceStore& store);

}  // namespace shardlens
