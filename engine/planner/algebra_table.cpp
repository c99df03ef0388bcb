// Fills the tables from the functions and Programs that they describe.
#include "engine/planner/algebra_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <vector>

#include "engine/planner/planner.h"

namespace shardlens {
namespace {

struct Formula {
  const char* text;
  std::function<double(double bytes, double ranks)> value;
};

// Returns the known formula that gives the ring's sent bytes at every T from 2 to 16.
std::string sent_formula(Collective collective) {
  static const std::array<Formula, 4> known{
      {{"0", [](double, double) { return 0.0; }},
       {"S (T−1)/T", [](double s, double t) { return s * (t - 1) / t; }},
       {"2 S (T−1)/T", [](double s, double t) { return 2 * s * (t - 1) / t; }},
       {"S (T−1)/T²", [](double s, double t) { return s * (t - 1) / t / t; }}}};
  constexpr int64_t kBytes = int64_t{720720} * 720720;  // divisible by T and T² for every T up to 16
  for (const Formula& formula : known) {
    bool agrees = true;
    for (int ranks = 2; ranks <= 16; ++ranks)
      agrees = agrees && static_cast<double>(ring_sent_bytes(collective, kBytes, ranks)) ==
                             formula.value(static_cast<double>(kBytes), ranks);
    if (agrees) return formula.text;
  }
  throw std::logic_error("no known formula gives what the ring sends for " + to_string(collective));
}

std::string layout_rows() {
  std::string rows;
  for (const Layout layout : {kReplicated, sharded(0), kPartial})
    rows += fmt::format("| {} | {} |\n", to_string(layout), to_string(gradient_layout(layout)));
  return rows;
}

std::string conversion_rows() {
  const std::vector<Layout> layouts{kPartial, sharded(0), sharded(1), kReplicated};
  std::string rows;
  for (const Layout from : layouts) {
    for (const Layout to : layouts) {
      const bool mirrored = from == sharded(1) || (from == kPartial && to == sharded(1)) ||
                            (from == kReplicated && to == sharded(1));
      if (to == kPartial || from == to || mirrored) continue;  // dimension 0 stands for all dimensions
      const Collective collective = conversion(from, to);
      rows += fmt::format("| {} → {} | {} | {} |\n", to_string(from), to_string(to), to_string(collective),
                          sent_formula(collective));
    }
  }
  return rows;
}

const Step& step_named(const Program& program, const std::string& name) {
  const auto found = std::find_if(program.steps.begin(), program.steps.end(),
                                  [&](const Step& step) { return step.name == name; });
  if (found == program.steps.end()) throw std::logic_error("the planner writes no step " + name);
  return *found;
}

// The table row for the first product of an MLP, planned for two ranks, with its weight cut as `cut` says.
std::string linear_row(Cut cut) {
  Settings settings;
  settings.block = Block::Mlp;
  settings.tp = 2;
  settings.split.mlp_fc = cut;
  settings.split.mlp_proj = cut == Cut::Column ? Cut::Row : Cut::Column;
  const Program program = plan_program(settings);
  const auto layout = [&](TensorId id) { return to_string(program.tensor(id).layout); };
  const Step& product = step_named(program, "mlp.fc");
  const Step& gradient = step_named(program, "mlp.fc dX");
  const auto read = [&](const Step& step, Operand operand) { return input_of(program, step, operand); };
  const bool added_later = read(product, Operand::Bias) == kNoTensor;
  const TensorId bias = read(added_later ? step_named(program, "mlp.fc bias") : product, Operand::Bias);
  return fmt::format("| {} | {} | {} | {} | {} | {}, {} |\n", to_string(cut),
                     layout(read(product, Operand::Weight)), layout(read(product, Operand::X)),
                     layout(product.outputs[0]), layout(gradient.outputs[0]), layout(bias),
                     added_later ? "added after the reduction" : "added in the product");
}

}  // namespace

std::string algebra_table() {
  std::string text =
      "# The layout algebra\n"
      "\n"
      "`shardlens-cli plan --algebra` writes this page from the code. A test checks that the two agree. "
      "Below it, the command runs every operation on terms and pieces of its operand and prints what that "
      "changes.\n"
      "\n"
      "| layout | gradient's layout |\n"
      "| --- | --- |\n";
  text += layout_rows();
  text +=
      "\nIf a step needs a tensor in another layout, one collective converts it. S is the bytes of the full "
      "tensor, T the number of ranks. The bytes are what each rank sends in a ring. No conversion leads to "
      "Partial.\n\n"
      "| from → to | collective | bytes each rank sends |\n| --- | --- | --- |\n";
  text += conversion_rows();
  text +=
      "\nThe linear layer Y = X·W + b, X `[tokens, in]`, W `[in, out]`, b `[out]`, as planned:\n\n"
      "| cut | W | X needed | X·W yielded | dX yielded | b |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const Cut cut : {Cut::Column, Cut::Row, Cut::Replicated}) text += linear_row(cut);
  return text;
}

}  // namespace shardlens
