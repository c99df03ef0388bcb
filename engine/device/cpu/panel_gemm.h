// C = A·B with B in panels.
#pragma once

#include "engine/device/device.h"

namespace shardlens::cpu {

/// Device::gemm with B in panels of kPanelCols. The bits are those of gemm() with the same B row-major.
void panel_gemm(Device& device, const Gemm& gemm, int threads);

}  // namespace shardlens::cpu
