// The geometry of windows: shared by convolutions, their transposes and pools.
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

/// The numbers of a list attribute, one per spatial dimension or as many as
/// `size` says; `fallback` for each where it is absent.
std::vector<int64_t> listOf(const NodeContext &context, std::string_view name,
                            size_t size, int64_t fallback);

/// Extents of the kernel of a convolution whose filter has the shape `filter`,
/// [outputs or inputs, channels, kernel...]; kernel_shape, if given, says the
/// same.
std::vector<int64_t> kernelOf(const NodeContext &context,
                              const Extents &filter);

/// Reads strides, dilations, pads, auto_pad (and ceil_mode) of a node whose
/// input 0 is [N, C, spatial...].
Windows windowsOf(const NodeContext &context, std::vector<int64_t> kernel);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_SPATIAL_H
