// *Save as scene*: writes the present state of the studio into a lesson.
#pragma once

#include <string>

#include "ui/context.h"

namespace shardlens::ui {

/// The file that was begun for scenes without an open lesson of one's own; later scenes go to its end, so
/// that a talk is made by saving moments.
struct SavedScenes {
  std::string file;  ///< empty: none yet
};

/// Writes the state at the end of the open lesson if that is a file, else into a new file in
/// lessons_folder(). A message says where it is, or why nothing was written and what would work.
void save_scene(const Context& context);

}  // namespace shardlens::ui
