// Texts in SVG and HTML.
#pragma once

#include <string>
#include <string_view>

namespace shardlens::ui {

/// The text as it stands in an element or between double quotes: nothing in it is read as markup. Control
/// characters other than the end of a line are left out.
std::string escaped(std::string_view text);

}  // namespace shardlens::ui
