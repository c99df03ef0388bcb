// The cards of the start page: one thing to open each, with words, a small picture or a bar.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ui/context.h"
#include "ui/panels/parts.h"

namespace shardlens::ui {

using Picture = std::function<void(ImDrawList*, ImVec2, ImVec2)>;

struct Card {
  std::string id, icon, title, words, note;
  std::string help = {};  ///< its tooltip
  Picture picture = {};
  std::optional<float> done = {};  ///< the share of a bar below the note; none: no bar
  bool opens = true;               ///< false: it cannot be clicked
};

/// The name of a group of cards, with a few words beside it.
void draw_section_head(const Context& context, const Type& type, const char* title, const std::string& words);

/// A grid of cards as wide as the page; returns the one clicked, or -1.
int draw_cards(const Context& context, const Type& type, const std::vector<Card>& cards,
               int most_columns = 3);

}  // namespace shardlens::ui
