// The page knows; the command line in node has no page.
#include <emscripten/emscripten.h>

#include "engine/record/gallery_beside.h"

namespace shardlens {

EM_JS(int, page_has_beside, (const char* name),
      { return Module.beside && Module.beside.includes(UTF8ToString(name)) ? 1 : 0; });
EM_JS(void, open_piece_in_page, (const char* name), { Module.open_piece(UTF8ToString(name)); });

bool is_beside(const std::string& name) {
  return page_has_beside(name.c_str()) != 0;
}

void fetch_from_beside(const std::string& name) {
  open_piece_in_page(name.c_str());
}

}  // namespace shardlens
