#include "frontends/onnx/spatial.h"

#include <algorithm>

namespace lockstitch::onnx {

bool Windows::isPadded() const {
  for (int64_t i = 0; i < rank(); ++i)
    if (padsBegin[i] > 0 || (output[i] - 1) * strides[i] - padsBegin[i] +
                                    (kernel[i] - 1) * dilations[i] >=
                                input[i])
      return true;
  return false;
}

std::vector<int64_t> listOf(const NodeContext &c, std::string_view name,
                            size_t size, int64_t fallback) {
  std::vector<int64_t> values =
      c.attrInts(name).value_or(std::vector<int64_t>(size, fallback));
  if (values.size() != size)
    c.refuse("attribute '" + std::string(name) + "' should have " +
             std::to_string(size) + " numbers");
  return values;
}

std::vector<int64_t> kernelOf(const NodeContext &c, const Extents &filter) {
  std::vector<int64_t> kernel(filter.begin() + 2, filter.end());
  if (auto given = c.attrInts("kernel_shape"); given && *given != kernel)
    c.refuse("kernel_shape " + toString(*given) + " does not fit a filter of " +
             toString(filter));
  return kernel;
}

Windows windowsOf(const NodeContext &c, std::vector<int64_t> kernel) {
  Windows w;
  Extents from = c.extents(0);
  w.input.assign(from.begin() + 2, from.end());
  w.kernel = std::move(kernel);
  size_t rank = w.input.size();
  if (w.kernel.size() != rank)
    c.refuse("its kernel " + toString(w.kernel) + " does not fit an input of " +
             toString(from));
  w.strides = listOf(c, "strides", rank, 1);
  w.dilations = listOf(c, "dilations", rank, 1);
  std::vector<int64_t> pads = listOf(c, "pads", 2 * rank, 0);
  std::string autoPad = c.attrString("auto_pad", "NOTSET");
  bool isCeil = c.attrInt("ceil_mode", 0) != 0;
  for (size_t i = 0; i < rank; ++i) {
    if (w.strides[i] < 1 || w.dilations[i] < 1 || w.kernel[i] < 1)
      c.refuse("strides, dilations and the kernel should be positive");
    int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1, before = pads[i],
            after = pads[i + rank], count;
    if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      count = (w.input[i] + w.strides[i] - 1) / w.strides[i];
      int64_t total =
          std::max<int64_t>((count - 1) * w.strides[i] + reach - w.input[i], 0);
      before = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
    } else {
      if (autoPad == "VALID")
        before = after = 0;
      else if (autoPad != "NOTSET" && !autoPad.empty())
        c.refuse("attribute 'auto_pad' should be NOTSET, SAME_UPPER, "
                 "SAME_LOWER or VALID, not '" +
                 autoPad + "'");
      int64_t room = w.input[i] + before + after - reach;
      if (room < 0)
        c.refuse("a window of " + std::to_string(reach) +
                 " does not fit a dimension of " +
                 std::to_string(w.input[i] + before + after));
      count = (room + (isCeil ? w.strides[i] - 1 : 0)) / w.strides[i] + 1;
      // A last window that would begin in the padding at the end is not one.
      if (isCeil && (count - 1) * w.strides[i] >= w.input[i] + before)
        --count;
    }
    if (before < 0 || after < 0)
      c.refuse("negative pads are not supported here");
    w.padsBegin.push_back(before);
    w.padsEnd.push_back(after);
    w.output.push_back(count);
  }
  return w;
}

} // namespace lockstitch::onnx
