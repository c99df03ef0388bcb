// The Bar over Train. A training has settings of its own, in the form on the page; the Bar only names them.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

void draw_training_bar(const Context& context);

}  // namespace shardlens::ui
