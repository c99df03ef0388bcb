// The recordings that were made or opened last, for the start page and the list of recordings.
#pragma once

#include <string>
#include <vector>

namespace shardlens::ui {

inline constexpr size_t kRecentRecordings = 6;

/// Puts `path` first in `recent`. Recordings of the gallery are left out: the start page shows them anyway.
void add_recent(std::vector<std::string>& recent, const std::string& path);

/// Two studios have changed the list that was `before`. Returns what both want, newest first: the ones that
/// `now` has put in front, then those of `other`.
std::vector<std::string> merged_recent(const std::vector<std::string>& before,
                                       const std::vector<std::string>& now,
                                       const std::vector<std::string>& other);

}  // namespace shardlens::ui
