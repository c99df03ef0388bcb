// What was typed and chosen on the page "by hand", as JSON: each matrix as the text that copying it gives.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ui/panels/program/by_hand_view.h"

namespace shardlens::lab {
nlohmann::json as_json(const HandForm& form);
}

namespace shardlens::ui {

/// Reads the parts that are there; others stay as they are in `form`. Throws a request Error that names the
/// part that is not right; the parts before it are read.
void read_hand_form(HandForm& form, const nlohmann::json& json, const std::string& where);

}  // namespace shardlens::ui
