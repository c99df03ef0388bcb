// *Copy link*: the present state of the studio as options of its command line, which a page takes from its
// address too. An open lesson is `--lesson=NAME --scene=N`. All else is a scene, in words
// (engine/lesson/state_words.h): `--show tp=8 view=memory`, in a page `?show&tp=8&view=memory`. So a link
// says what a lesson's scene can say, and *Save as scene* and a link never disagree.
#pragma once

#include <string>
#include <vector>

#include "ui/context.h"

namespace shardlens::ui {

/// What the studio runs if nothing is named. A link states what differs from it.
Settings first_settings();

/// Throws a request Error if a link cannot say it, or others have not the file that is shown.
std::vector<std::string> words_of_link(const Context& context);

/// Copies the link. A message says what it leaves out, or why there is none.
void copy_link(const Context& context);

}  // namespace shardlens::ui
