// The zoom of the Inspector's pictures. They show the same part of every rank's piece.
#pragma once

#include "engine/program/program.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {

struct InspectorView {
  TensorId tensor = kNoTensor;  ///< the zoom belongs to this one
  Stretch rows, cols;           ///< shown part in fractions of a rank's matrix; empty: all
  bool enlarged = false;        ///< the selected rank is drawn large
};

}  // namespace shardlens::ui
