#include <emscripten/emscripten.h>

#include "ui/platform/file_dialog.h"

namespace shardlens {

EM_JS(void, open_file_dialog, (const char* endings), { Module.open_file(UTF8ToString(endings)); });

bool has_file_dialog() {
  return true;
}

void ask_for_files(const char* endings) {
  open_file_dialog(endings);
}

}  // namespace shardlens
