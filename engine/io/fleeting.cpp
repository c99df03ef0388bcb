// A list that a signal handler can read at any moment. A path in a slot belongs to its Fleeting object; a
// path that the handler has taken out of its slot belongs to the handler.
#include "engine/io/fleeting.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace shardlens {
namespace {

constexpr size_t kSlots = 64;  // if none is free, only the holder's destructor removes the file
std::array<std::atomic<char*>, kSlots> slots{};

}  // namespace

Fleeting::Fleeting(const std::string& path) : slot_(0) {
  char* const copy = strdup(path.c_str());
  char* none = nullptr;
  while (slot_ < kSlots && !slots[slot_].compare_exchange_strong(none, copy)) {
    none = nullptr;
    ++slot_;
  }
  if (slot_ == kSlots) std::free(copy);
}

Fleeting::~Fleeting() {
  if (slot_ < kSlots) std::free(slots[slot_].exchange(nullptr));
}

void remove_fleeting() {
  std::array<char*, kSlots> paths;
  for (size_t i = 0; i < kSlots; ++i) paths[i] = slots[i].exchange(nullptr);
  // A folder can be removed only after the files in it.
  for (bool removed = true; removed;) {
    removed = false;
    for (const char* path : paths)
      if (path != nullptr && (unlink(path) == 0 || rmdir(path) == 0)) removed = true;
  }
}

}  // namespace shardlens
