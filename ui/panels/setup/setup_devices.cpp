// The part of Setup for what the ranks compute on: the CPU's cores, or the GPUs that the driver found, and
// how products are computed there.
#include <imgui.h>

#include <array>

#include "engine/config/error.h"
#include "engine/config/settings.h"
#include "engine/runtime/session/machine_watch.h"
#include "ui/panels/machine_rows.h"
#include "ui/panels/setup/setup.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/form.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

std::string backend_title(BackendChoice backend) {
  switch (backend) {
    case BackendChoice::Cpu:
      return "CPU";
    case BackendChoice::Cuda:
      return "GPUs";
    case BackendChoice::Auto:
      break;
  }
  return "GPUs, else CPU";
}

std::string products_title(bool tf32) {
  return tf32 ? "TF32, operands of 11 bits" : "fp32";
}

}  // namespace

Settings with_backend(Settings settings, BackendChoice backend) {
  settings.backend = backend;
  if (backend == BackendChoice::Cpu) {
    settings.gpus.clear();
    settings.tf32 = false;
  }
  return settings;
}

void draw_devices(const Context& context, const Settings& wanted) {
  constexpr std::array kBackends{BackendChoice::Cpu, BackendChoice::Cuda, BackendChoice::Auto};
  std::vector<std::string> names;
  for (const BackendChoice backend : kBackends) names.push_back(backend_title(backend));
  const int chosen = option_row(context, "Runs on", backend_title(wanted.backend), names);
  if (chosen >= 0) context.want(with_backend(wanted, kBackends[static_cast<size_t>(chosen)]));
  const GpuFacts& found = context.machine.gpus;
  const TextStyle style{context.fonts.body, context.px(kSmallSize), context.theme.dim};
  const bool none = context.machine.known && found.gpus.empty();
  const bool on_cpu = wanted.backend == BackendChoice::Cpu;
  std::string words = gpus_words(found);
  if (!context.machine.known) words = "Asking the driver for GPUs …";
  if (none) words = on_cpu ? "No GPU can be used here" : "No GPU can be used here: " + found.why_no_gpu + ".";
  const float width = ImGui::GetContentRegionAvail().x;
  const float height =
      draw_wrapped(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), style, words, width);
  ImGui::Dummy({width, height + context.px(8)});
  if (none && on_cpu) tooltip(context, found.why_no_gpu);
  if (wanted.backend == BackendChoice::Cpu) return;
  if (wanted.dtype == DType::Fp32)
    draw_choice(context, "Products", wanted, &Settings::tf32, std::array{false, true}, products_title);
  std::string gpus = gpus_text(wanted.gpus);
  if (!path_row(context, "Which GPUs", "all, or e.g. 0,2", gpus)) return;
  Settings changed = wanted;
  try {
    changed.gpus = parse_gpus(gpus);
  } catch (const Error& error) {
    context.view.said = {error.what()};
    return;
  }
  if (changed != wanted) context.want(changed);
}

}  // namespace shardlens::ui
