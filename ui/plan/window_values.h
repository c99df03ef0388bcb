// The values in a window of a tensor of the shown run. Panels ask for a window in every frame in which they
// draw it; this file takes it from what the samples kept, and asks the Session for the rest.
#pragma once

#include <memory>
#include <string>

#include "engine/runtime/tensor_window.h"
#include "ui/context.h"

namespace shardlens::ui {

/// Returns the values; null while they are not known. The serial run's numbers may come later than the
/// ranks'.
std::shared_ptr<const WindowValues> values_in(const Context& context, const TensorWindow& window);

/// Says why values_in() returned null: "reading …", or what a recording kept instead.
std::string why_no_values(const Context& context, const TensorWindow& window);

/// Says why a window has no numbers of the serial run.
std::string why_no_serial(const Context& context);

}  // namespace shardlens::ui
