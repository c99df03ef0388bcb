// Ways to damage a recording. Its readers must survive each of them.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace shardlens::fuzz {

using Random = std::mt19937_64;

/// The file at `path`, a sound recording, harmed in one to four places of one kind: its bytes, its pages, its
/// length, the values of its tables, its Program's JSON, or its schema. Returns what was done, in words.
std::string harm(const std::string& path, Random& random);

}  // namespace shardlens::fuzz
