// The commands that choose what Setup offers in lists: T, the part of the model, where the norms stand, the
// split and the number type. What cannot run is answered by the page.
#include <algorithm>
#include <array>

#include "engine/config/splits.h"
#include "engine/config/validate.h"
#include "ui/commands/command_table.h"
#include "ui/panels/setup/setup.h"
#include "ui/settings/remedies.h"

namespace shardlens::ui {
namespace {

/// `changed` returns the settings with the choice made.
UiCommand choice(std::string id, std::string title, std::string help,
                 std::function<Settings(Settings)> changed) {
  return {.id = std::move(id),
          .title = std::move(title),
          .help = std::move(help),
          .group = CommandGroup::Settings,
          .run = [changed = std::move(changed)](const Context& c) { c.want(changed(c.wanted())); }};
}

void add_degrees(std::vector<UiCommand>& table) {
  struct Degree {
    int tp;
    std::vector<ImGuiKeyChord> keys;
  };
  const std::array<Degree, 8> degrees{{{1, {ImGuiKey_1}},
                                       {2, {ImGuiKey_2}},
                                       {3, {ImGuiKey_3}},
                                       {4, {ImGuiKey_4}},
                                       {6, {ImGuiKey_6}},
                                       {8, {ImGuiKey_8}},
                                       {12, {}},
                                       {16, {}}}};
  for (const Degree& degree : degrees) {
    const int tp = degree.tp;
    const std::string number = std::to_string(tp);
    table.push_back(
        choice("settings.tp." + number, "T = " + number,
               tp == 1 ? "One rank: the serial Program" : "Cut the layer over " + number + " ranks",
               [tp](Settings settings) {
                 settings.tp = tp;
                 return settings;
               }));
    table.back().keys = degree.keys;
  }
}

void add_parts(std::vector<UiCommand>& table) {
  for (const Block block : kParts)
    table.push_back(choice("settings.part." + to_string(block), "Part: " + block_title(block),
                           "What is planned and run: the whole model, one layer, or one block of it",
                           [block](Settings settings) { return with_block(std::move(settings), block); }));
  for (const NormPlacement place : kNormPlaces) {
    table.push_back(choice("settings.norm." + to_string(place), "LayerNorm: " + norm_title(place),
                           norm_help(place),
                           [place](Settings settings) { return with_norm(std::move(settings), place); }));
    table.back().enabled = [](const Context& c) { return has_norms(c.wanted().block); };
  }
}

}  // namespace

void add_setup_commands(std::vector<UiCommand>& table) {
  add_degrees(table);
  add_parts(table);
  for (const std::string& name : split_names())
    table.push_back(choice("settings.split." + name, "Split: " + name,
                           "Cut the four weight matrices as in " + name, [name](Settings settings) {
                             settings.split = named_split(name);
                             return settings;
                           }));
  for (const DType dtype : {DType::Fp32, DType::Fp64, DType::Bf16, DType::Fp16}) {
    table.push_back(choice("settings.dtype." + to_string(dtype), "Compute in " + to_string(dtype),
                           "The type of every activation, weight and gradient", [dtype](Settings settings) {
                             settings.dtype = dtype;
                             return settings;
                           }));
    table.back().enabled = [dtype](const Context& c) {
      const std::vector<DType> runnable = runnable_dtypes(c.wanted().block);
      return std::find(runnable.begin(), runnable.end(), dtype) != runnable.end();
    };
  }
}

}  // namespace shardlens::ui
