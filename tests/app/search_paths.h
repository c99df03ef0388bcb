// Where a program or library looks for the libraries that it needs, as readelf reads it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/app/process.h"

namespace shardlens {

/// The programs and libraries in a folder.
inline std::vector<std::filesystem::path> code_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string mark(4, '\0');
    if (entry.is_regular_file()) std::ifstream(entry.path(), std::ios::binary).read(mark.data(), 4);
    if (mark ==
        "\x7f"
        "ELF")
      files.push_back(entry.path());
  }
  return files;
}

/// What readelf says in brackets in the lines that hold `tag`.
inline std::vector<std::string> dynamic_entries(const std::filesystem::path& file, const std::string& tag) {
  std::vector<std::string> found;
  const Ended ended = run_program("readelf -d -W", file.string());
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find('['), end = line.rfind(']');
    if (line.find("(" + tag + ")") != std::string::npos && begin != std::string::npos && end > begin)
      found.push_back(line.substr(begin + 1, end - begin - 1));
  }
  return found;
}

/// Expects that no entry of its search path depends on the current folder.
inline void expect_no_relative_search_path(const std::filesystem::path& file) {
  for (const std::string tag : {"RPATH", "RUNPATH"}) {
    for (const std::string& path : dynamic_entries(file, tag)) {
      std::istringstream entries(path + ":");
      for (std::string entry; std::getline(entries, entry, ':');)
        EXPECT_TRUE(entry.starts_with("/") || entry.starts_with("$ORIGIN"))
            << file << " has [" << path << "]";
    }
  }
}

}  // namespace shardlens
