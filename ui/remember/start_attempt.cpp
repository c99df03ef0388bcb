// The file holds the hash of the state and the number of the attempt. It is locked while its start lives.
#include "ui/remember/start_attempt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

#include "engine/io/hash.h"

namespace shardlens::ui {
namespace {

constexpr size_t kMostBytes = 64 << 20;  ///< as large as a JSON file that is read may be

/// Empty if there is no regular file.
std::string contents(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown) ||
      std::filesystem::file_size(path, unknown) > kMostBytes)
    return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

StartAttempt::StartAttempt(const std::filesystem::path& path) : marker_(path.string() + ".starting") {
  const std::string state = contents(path);
  std::error_code unknown;
  if (state.empty()) {
    std::filesystem::remove(marker_, unknown);  // there is nothing to put in place
    return;
  }
  file_ = open(marker_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file_ < 0) return;
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {  // another start, which lives
    close(file_);
    file_ = -1;
    return;
  }
  const std::string hash = fmt::format("{:016x}", hash64(state.data(), state.size()));
  std::array<char, 64> read_bytes{};
  const ssize_t count = pread(file_, read_bytes.data(), read_bytes.size() - 1, 0);
  if (const std::string_view found(read_bytes.data(), count > 0 ? static_cast<size_t>(count) : 0);
      found.starts_with(hash))
    std::sscanf(read_bytes.data() + hash.size(), " %2d", &died_before_);
  const std::string text = fmt::format("{} {}\n", hash, died_before_ + 1);
  if (ftruncate(file_, 0) != 0 || pwrite(file_, text.data(), text.size(), 0) < 0) died_before_ = 0;
  cleanup_.emplace(marker_);
}

void StartAttempt::went_well() {
  if (file_ < 0) return;
  cleanup_.reset();
  unlink(marker_.c_str());
  close(file_);
  file_ = -1;
}

}  // namespace shardlens::ui
