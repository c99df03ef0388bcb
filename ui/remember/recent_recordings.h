// The recordings that were made or opened last, for the start page and the list of recordings.
#pragma once

#include <string>
#include <vector>

namespace shardlens::ui {

/// Puts `path` first in `recent`. Recordings of the gallery are left out: the start page shows them anyway.
void add_recent(std::vector<std::string>& recent, const std::string& path);

}  // namespace shardlens::ui
