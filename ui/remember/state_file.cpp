// Reads and writes the remembered state.
#include "ui/remember/state_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"
#include "engine/io/sole_writer.h"
#include "engine/io/user_folder.h"
#include "ui/remember/state_values.h"

namespace shardlens::ui {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr int kMostKept = 99;
constexpr size_t kMostProblemsSaid = 3;
constexpr int kTries = 10;  ///< to be the only one who writes; a frame waits for it
constexpr std::chrono::milliseconds kBetweenTries{20};

/// What is in the file.
struct FoundState {
  RememberedState state;
  nlohmann::json json;  ///< with the keys that this version does not know; null: it cannot be read at all
  std::vector<std::string> problems;
};

bool is_missing(const fs::path& path) {
  std::error_code unknown;
  return fs::status(path, unknown).type() == fs::file_type::not_found;
}

FoundState find_state(const fs::path& path) {
  FoundState found;
  try {
    nlohmann::json json = read_json_file(path.string());
    ObjectReader reader(json, path.filename().string());
    if (const int64_t format = reader.integer("format"); format != kFormat)
      throw request_error(fmt::format("it has format {}, but this studio reads format {}", format, kFormat));
    for (const StateValue& value : state_values()) {
      if (!reader.has(value.key)) continue;  // it was added later than the file was written
      try {
        value.read(found.state, reader);
      } catch (const Error& error) {
        found.problems.push_back(error.what());
      }
    }
    found.json = std::move(json);
  } catch (const Error& error) {
    found = {{}, {}, {error.what()}};
  }
  return found;
}

/// Empty unless it is a regular file.
std::string bytes_of(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown)) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Copies a file that would be written over. Nothing, if it is no regular file: then it has no bytes to keep.
void keep_aside(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown)) return;
  const std::string bytes = bytes_of(path);
  const fs::path kept = kept_aside(path);
  if (!is_missing(kept) && bytes_of(kept) == bytes) return;  // kept already
  write_file_atomically(kept.string(), kOwnFile, bytes, AtomicFile::Reaches::System);
}

void make_folder_of(const fs::path& path) {
  try {
    make_folder(path.parent_path());
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("cannot write {}: {}", path.string(), error.what()));
  }
}

void write(const RememberedState& state, nlohmann::json json, const fs::path& path) {
  json["format"] = kFormat;
  for (const StateValue& value : state_values()) json[value.key] = value.write(state);
  write_file_atomically(path.string(), kOwnFile, json_text(json, 2) + '\n', AtomicFile::Reaches::System);
}

/// Another studio may be writing. It takes a moment, unless that studio is stopped.
std::unique_ptr<SoleWriter> wait_for_others(const fs::path& path) {
  for (int tries = 1;; ++tries) {
    try {
      return std::make_unique<SoleWriter>(path.string());
    } catch (const Error&) {
      if (tries == kTries) throw;
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
}

}  // namespace

fs::path default_state_path() {
  const fs::path folder = user_folder("XDG_CONFIG_HOME", ".config");
  return folder.empty() ? folder : folder / "studio.json";
}

fs::path default_recordings_folder() {
  return fs::path(user_folder("XDG_DATA_HOME", ".local/share")) / "recordings";
}

fs::path default_checkpoints_folder() {
  return fs::path(user_folder("XDG_DATA_HOME", ".local/share")) / "checkpoints";
}

RememberedState read_state(const fs::path& path, std::string& problem) {
  problem.clear();
  if (is_missing(path)) return {};
  FoundState found = find_state(path);
  if (found.problems.empty()) return std::move(found.state);
  const size_t said = std::min(found.problems.size(), kMostProblemsSaid);
  std::string why = fmt::to_string(fmt::join(found.problems.begin(), found.problems.begin() + said, "; "));
  if (said < found.problems.size()) why += fmt::format("; and {} more", found.problems.size() - said);
  std::error_code unknown;
  const std::string kept = fs::is_regular_file(path, unknown)
                               ? fmt::format(". Before it is written again, it is copied to {}",
                                             kept_aside(path).filename().string())
                               : "";
  problem = found.json.is_null()
                ? fmt::format("cannot read {} ({}): the studio starts with its first settings{}",
                              path.string(), why, kept)
                : fmt::format("cannot read all of {} ({}): what cannot be read is as at the first start{}",
                              path.string(), why, kept);
  return std::move(found.state);
}

bool has_wrong_values(const fs::path& path) {
  const FoundState found = find_state(path);
  return !found.json.is_null() && !found.problems.empty();
}

fs::path kept_aside(const fs::path& path) {
  const std::string bytes = bytes_of(path);
  for (int number = 1;; ++number) {
    fs::path kept = path.string() + ".kept" + (number > 1 ? fmt::format("-{}", number) : "");
    if (is_missing(kept) || number == kMostKept || bytes_of(kept) == bytes) return kept;
  }
}

void write_state(const RememberedState& now, const fs::path& path, const RememberedState& before) {
  make_folder_of(path);
  const auto alone = wait_for_others(path);
  if (is_missing(path)) return write(now, nlohmann::json::object(), path);
  FoundState found = find_state(path);
  if (!found.problems.empty()) keep_aside(path);
  if (found.json.is_null()) return write(now, nlohmann::json::object(), path);
  for (const StateValue& value : state_values()) value.merge(found.state, before, now);
  write(found.state, std::move(found.json), path);
}

void replace_state(const RememberedState& now, const fs::path& path) {
  make_folder_of(path);
  const auto alone = wait_for_others(path);
  keep_aside(path);
  write(now, nlohmann::json::object(), path);
}

}  // namespace shardlens::ui
