// Keeps the identities of inputs.
#include "engine/io/inputs.h"

#include <mutex>
#include <optional>
#include <set>

#include "engine/io/file_identity.h"

namespace shardlens {
namespace {

std::mutex inputs_mutex;
std::set<FileIdentity> inputs;

void note(const std::optional<FileIdentity>& identity) noexcept {
  if (!identity) return;
  try {
    const std::lock_guard lock(inputs_mutex);
    inputs.insert(*identity);
  } catch (...) {  // no memory: whoever reads the file will say so
  }
}

}  // namespace

void note_input(int file) noexcept {
  note(identity_of_file(file));
}

void note_input(const std::string& path) noexcept {
  note(identity_of_file(path));
}

bool is_input(const std::string& path) {
  const std::optional<FileIdentity> identity = identity_of_file(path);
  if (!identity) return false;
  const std::lock_guard lock(inputs_mutex);
  return inputs.contains(*identity);
}

}  // namespace shardlens
