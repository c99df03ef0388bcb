// In a window of its own every key is the studio's.
#include "ui/commands/own_key.h"

namespace shardlens::ui {

ImGuiKeyChord own_key(ImGuiKeyChord key) {
  return key;
}

const char* name_of_ctrl() {
  return "Ctrl";
}

}  // namespace shardlens::ui
