// Ways to damage a recording. Its readers must survive each of them.
#pragma once

#include <string>

#include "tests/fuzz/form.h"

namespace shardlens::fuzz {

/// The file at `path`, a sound recording, harmed in one to four places of one kind: its bytes, its pages, its
/// length, the values of its tables, its Program's JSON, or its schema. Returns what was done, in words.
std::string harm_recording(const std::string& path, Random& random);

}  // namespace shardlens::fuzz
