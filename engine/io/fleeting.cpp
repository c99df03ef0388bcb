// A list that a signal's handler can read at any moment. A path is its holder's or, once taken out of its
// slot, the handler's.
#include "engine/io/fleeting.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace shardlens {
namespace {

constexpr size_t kSlots = 64;  // one that finds none free is left to its holder's destructor
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
  // A folder goes once what is in it has gone.
  for (bool removed = true; removed;) {
    removed = false;
    for (const char* path : paths)
      if (path != nullptr && (unlink(path) == 0 || rmdir(path) == 0)) removed = true;
  }
}

}  // namespace shardlens
