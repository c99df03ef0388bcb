// Looks for a file with the name of something built in.
#include "engine/io/hidden_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace shardlens {

std::string hidden_path_remark(const std::string& word, const std::vector<std::string>& built_in,
                               const std::string& what) {
  std::error_code unknown;
  if (std::find(built_in.begin(), built_in.end(), word) == built_in.end() ||
      !std::filesystem::exists(word, unknown))
    return {};
  const char* kind = std::filesystem::is_directory(word, unknown) ? "folder" : "file";
  return fmt::format("{0} is {1} here; for the {2} of this name write ./{0}", word, what, kind);
}

}  // namespace shardlens
