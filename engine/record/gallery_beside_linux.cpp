// Nothing: a program on a desktop has the whole gallery.
#include "engine/record/gallery_beside.h"

namespace shardlens {

bool is_beside(const std::string&) {
  return false;
}

void fetch_from_beside(const std::string&) {}

}  // namespace shardlens
