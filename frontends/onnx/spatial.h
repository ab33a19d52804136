// The geometry of windows: shared by convolutions and pools.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_SPATIAL_H
#define LOCKSTITCH_FRONTENDS_ONNX_SPATIAL_H

#include "frontends/onnx/node_context.h"

namespace lockstitch::onnx {

/// One entry per spatial dimension.
struct Windows {
  std::vector<int64_t> input, kernel, strides, dilations, padsBegin, padsEnd,
      output;
  int64_t rank() const { return input.size(); }
  bool isPadded() const;
};

/// Reads strides, dilations, pads, auto_pad (and ceil_mode) of a node whose
/// input 0 is [N, C, spatial...].
Windows windowsOf(const NodeContext &context, std::vector<int64_t> kernel);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_SPATIAL_H
