// The layout algebra as a Markdown page. The page is generated from the code: from conversion(),
// ring_sent_bytes() and the planner. So it always agrees with what runs.
#pragma once

#include <string>

namespace shardlens {

/// Markdown tables: every layout with its gradient's layout, every conversion with its collective and bytes,
/// and the linear layer under its three cuts as planned.
std::string algebra_table();

}  // namespace shardlens
