#include "ui/platform/file_dialog.h"

namespace shardlens {

bool has_file_dialog() {
  return false;
}

void ask_for_files(const char*) {}

}  // namespace shardlens
