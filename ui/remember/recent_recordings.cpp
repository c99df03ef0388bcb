// Keeps a few absolute paths, each only once.
#include "ui/remember/recent_recordings.h"

#include <algorithm>
#include <filesystem>

#include "engine/record/gallery.h"

namespace shardlens::ui {

void add_recent(std::vector<std::string>& recent, const std::string& path) {
  if (path.starts_with(gallery_folder())) return;
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::absolute(path, unknown);
  const std::string place = unknown ? path : whole.lexically_normal().string();
  std::erase(recent, place);
  recent.insert(recent.begin(), place);
  if (recent.size() > kRecentRecordings) recent.resize(kRecentRecordings);
}

std::vector<std::string> merged_recent(const std::vector<std::string>& before,
                                       const std::vector<std::string>& now,
                                       const std::vector<std::string>& other) {
  // Behind those that were put in front, the list goes on as it was before.
  const auto is_old = [&](size_t from) {
    std::vector<std::string> rest = before;
    for (size_t i = 0; i < from; ++i) std::erase(rest, now[i]);
    return now.size() - from <= rest.size() &&
           std::equal(now.begin() + static_cast<std::ptrdiff_t>(from), now.end(), rest.begin());
  };
  size_t front = 0;
  while (front < now.size() && !is_old(front)) ++front;
  std::vector<std::string> merged(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(front));
  for (const std::string& path : other)
    if (std::find(merged.begin(), merged.end(), path) == merged.end()) merged.push_back(path);
  if (merged.size() > kRecentRecordings) merged.resize(kRecentRecordings);
  return merged;
}

}  // namespace shardlens::ui
