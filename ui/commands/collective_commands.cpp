// The commands of the view inside a collective. Its hops have the keys that walk through the steps elsewhere:
// those commands ask whether the view is open.
#include "engine/program/program.h"
#include "ui/collective/collective_view.h"
#include "ui/collective/inside.h"
#include "ui/commands/command_table.h"

namespace shardlens::ui {

void add_collective_commands(std::vector<UiCommand>& table) {
  const auto add = adder(table, CommandGroup::View);
  add(
      "collective.inside", "Inside a collective",
      "The selected all-reduce, reduce-scatter, all-gather or all-to-all, hop by hop: which rank holds whose "
      "terms. If another step is selected, the next collective. Esc goes back",
      {ImGuiKey_C},
      [](const Context& c) {
        if (!leave_collective(c)) look_inside(c);
      },
      has_collective);
  add(
      "collective.wiring", "Inside a collective: ring or tree",
      "Show an all-reduce as a tree, or as a ring again", {},
      [](const Context& c) {
        if (!is_inside_collective(c)) look_inside(c);
        change_wiring(c);
      },
      has_collective);
}

}  // namespace shardlens::ui
