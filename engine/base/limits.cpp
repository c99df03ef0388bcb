// Reads the limits.
#include "engine/base/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "engine/base/machine.h"
#include "engine/base/units.h"

namespace shardlens {
namespace {

// Address space that a run needs beside its planned bytes: the stacks of its threads and what malloc reserves
// for each of them, most of which is never touched, and the code of libraries that are loaded later.
constexpr int64_t kAddressesBeside = int64_t{256} << 20;

std::string at_root(const std::string& root, const std::string& path) {
  return root == "/" ? path : root + path;
}

// The text behind the first line's `key`; nothing without one.
std::optional<std::string> text_behind(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.rfind(key, 0) == 0) return line.substr(key.size());
  return std::nullopt;
}

std::optional<int64_t> number_behind(const std::string& path, const std::string& key) {
  const std::optional<std::string> text = text_behind(path, key);
  std::istringstream in(text.value_or(""));
  int64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;  // also "unlimited"
}

// A file that is one number; nothing for "max".
std::optional<int64_t> number_in(const std::string& path) {
  return number_behind(path, "");
}

std::optional<int64_t> kibibytes_behind(const std::string& path, const std::string& key) {
  const std::optional<int64_t> number = number_behind(path, key);
  return number ? std::optional(*number * 1024) : std::nullopt;
}

// A path in /proc/self/mountinfo has "\040" for a space.
std::string without_escapes(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool is_in_list(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');)
    if (one == word) return true;
  return false;
}

// Where a tree of control groups can be seen.
struct Mount {
  std::string top;  // the group that is seen at `folder`: "/" or, in a container, one further down
  std::string folder;
};

// The tree of `controller`, or the one tree of version 2 if `controller` is empty.
std::optional<Mount> mount_of(const std::string& controller, const std::string& root) {
  std::ifstream file(at_root(root, "/proc/self/mountinfo"));
  for (std::string line; std::getline(file, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream first(line), second(line.substr(dash + 3));
    std::string id, parent, device, top, folder, type, source, options;
    first >> id >> parent >> device >> top >> folder;
    second >> type >> source >> options;
    const bool is_it =
        controller.empty() ? type == "cgroup2" : type == "cgroup" && is_in_list(options, controller);
    if (is_it) return Mount{without_escapes(top), at_root(root, without_escapes(folder))};
  }
  return std::nullopt;
}

// Adds the group `path` and all above it that can be seen.
void add_groups(const Mount& mount, const std::string& path, std::vector<ControlGroup>& groups) {
  std::string below = path;
  if (mount.top != "/") {
    const bool is_below =
        path.rfind(mount.top, 0) == 0 && (path.size() == mount.top.size() || path[mount.top.size()] == '/');
    below = is_below ? path.substr(mount.top.size()) : "";
  }
  if (below.find("..") != std::string::npos) below.clear();  // outside of what can be seen from here
  for (;;) {
    while (!below.empty() && below.back() == '/') below.pop_back();
    const std::string name = (mount.top == "/" ? "" : mount.top) + below;
    groups.push_back({mount.folder + below, name.empty() ? "/" : name});
    if (below.empty()) return;
    below.resize(below.rfind('/'));
  }
}

// The limits of a group, in the words of both versions.
struct GroupMemory {
  std::optional<int64_t> limit, used;
};
GroupMemory memory_of(const ControlGroup& group) {
  const auto number = [&](const char* of_2, const char* of_1) {
    const std::optional<int64_t> newer = number_in(group.folder + "/" + of_2);
    return newer ? newer : number_in(group.folder + "/" + of_1);
  };
  GroupMemory memory{number("memory.max", "memory.limit_in_bytes"),
                     number("memory.current", "memory.usage_in_bytes")};
  // Pages of files that were read, and that the system takes back when memory is wanted.
  const std::string stat = group.folder + "/memory.stat";
  std::optional<int64_t> reclaimable = number_behind(stat, "total_inactive_file ");
  if (!reclaimable) reclaimable = number_behind(stat, "inactive_file ");
  if (memory.used) memory.used = std::max<int64_t>(0, *memory.used - reclaimable.value_or(0));
  return memory;
}

// Calls note(limit, used, name) for every limit on this process's memory; `used` may be unknown.
template <class Note>
void for_memory_limits(const std::string& root, const Note& note) {
  for (const ControlGroup& group : control_groups("memory", root)) {
    const GroupMemory memory = memory_of(group);
    if (memory.limit) note(*memory.limit, memory.used, "control group " + group.name);
  }
  if (const std::optional<OwnMemory> own = own_memory()) note(own->limit_bytes, own->used_bytes, own->name);
  const std::string limits = at_root(root, "/proc/self/limits"), status = at_root(root, "/proc/self/status");
  const auto beside = [](std::optional<int64_t> used) {
    return used ? std::optional(*used + kAddressesBeside) : std::nullopt;
  };
  if (const auto limit = number_behind(limits, "Max address space"))
    note(*limit, beside(kibibytes_behind(status, "VmSize:")), "ulimit -v");
  if (const auto limit = number_behind(limits, "Max data size"))
    note(*limit, beside(kibibytes_behind(status, "VmData:")), "ulimit -d");
}

std::optional<int64_t> machine_bytes(const std::string& root, const std::string& field) {
  return kibibytes_behind(at_root(root, "/proc/meminfo"), field + ":");
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& root) {
  std::vector<ControlGroup> groups;
  std::ifstream file(at_root(root, "/proc/self/cgroup"));
  for (std::string line; std::getline(file, line);) {  // "4:memory:/job", or of version 2 "0::/job"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !is_in_list(controllers, controller)) continue;
    if (const std::optional<Mount> mount = mount_of(controllers.empty() ? "" : controller, root))
      add_groups(*mount, line.substr(second + 1), groups);
  }
  return groups;
}

MemoryRoom memory_in_all(const std::string& root) {
  MemoryRoom room{machine_bytes(root, "MemTotal").value_or(std::numeric_limits<int64_t>::max()), ""};
  for_memory_limits(root, [&](int64_t limit, std::optional<int64_t>, const std::string& name) {
    if (limit < room.bytes) room = {limit, name};
  });
  return room;
}

MemoryRoom memory_left(const std::string& root) {
  const MemoryRoom all = memory_in_all(root);
  MemoryRoom room{std::min(all.bytes, machine_bytes(root, "MemAvailable").value_or(all.bytes)), ""};
  for_memory_limits(root, [&](int64_t limit, std::optional<int64_t> used, const std::string& name) {
    const int64_t left = std::max<int64_t>(0, limit - used.value_or(0));
    if (left < room.bytes || (left == room.bytes && room.limit.empty())) room = {left, name};
  });
  return room;
}

std::string memory_text(const std::string& root) {
  const MemoryRoom all = memory_in_all(root);
  const bool of_addresses = all.limit == "ulimit -v";
  const int64_t held =
      kibibytes_behind(at_root(root, "/proc/self/status"), of_addresses ? "VmSize:" : "VmRSS:").value_or(0);
  return fmt::format("this process holds {}, and may have {} ({})", bytes_text(static_cast<double>(held)),
                     bytes_text(static_cast<double>(all.bytes)),
                     all.limit.empty() ? "the memory of this machine" : all.limit);
}

std::string thread_limits_text(const std::string& root) {
  std::string text;
  const auto add = [&](int64_t number, const std::string& of) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped_text(number), of);
  };
  // The limit of ulimit -u does not hold for root.
  const std::string proc = at_root(root, "/proc/self/");
  const bool is_root = number_behind(proc + "status", "Uid:") == 0;
  if (const auto limit = number_behind(proc + "limits", "Max processes"); limit && !is_root)
    add(*limit, "processes and threads of this user (ulimit -u)");
  for (const ControlGroup& group : control_groups("pids", root))
    if (const auto limit = number_in(group.folder + "/pids.max"))
      add(*limit, "of control group " + group.name + " (pids.max)");
  if (const auto limit = number_behind(proc + "limits", "Max address space"))
    text += fmt::format("{}{} of address space, where each thread needs a stack (ulimit -v)",
                        text.empty() ? "" : ", ", bytes_text(static_cast<double>(*limit)));
  if (!text.empty()) return text;
  if (const auto limit = number_in(at_root(root, "/proc/sys/kernel/threads-max")))
    add(*limit, "of the whole machine (/proc/sys/kernel/threads-max)");
  return text;
}

}  // namespace shardlens
