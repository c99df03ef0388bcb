// The state of the open recording's notes.
#pragma once

#include <cstdint>
#include <string>

namespace shardlens::ui {

struct NotesView {
  bool open = false;
  bool focus_new = false;  ///< the field for a new note takes the keyboard in this frame
  std::string text;        ///< of a new note, while it is written
  std::string filter;      ///< words that the listed notes must contain
  int64_t edited = 0;      ///< id of the note that is being changed; 0: none
  std::string edited_text;
};

}  // namespace shardlens::ui
