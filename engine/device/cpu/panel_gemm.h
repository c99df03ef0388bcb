// C = A·B with B in panels.
#pragma once

#include "engine/device/device.h"

namespace shardlens::cpu {

/// Device::gemm of a B in panels of kPanelCols, to the bits of gemm() with the same B row-major.
void panel_gemm(Device& device, const Gemm& gemm, int threads);

}  // namespace shardlens::cpu
