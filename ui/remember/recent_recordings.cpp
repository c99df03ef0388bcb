// Keeps a few absolute paths, each only once.
#include "ui/remember/recent_recordings.h"

#include <filesystem>

#include "engine/record/gallery.h"

namespace shardlens::ui {

constexpr size_t kRecentRecordings = 6;

void add_recent(std::vector<std::string>& recent, const std::string& path) {
  if (path.starts_with(gallery_folder())) return;
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::absolute(path, unknown);
  const std::string place = unknown ? path : whole.lexically_normal().string();
  std::erase(recent, place);
  recent.insert(recent.begin(), place);
  if (recent.size() > kRecentRecordings) recent.resize(kRecentRecordings);
}

}  // namespace shardlens::ui
