// Comparison of an output with what is expected.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_CHECK_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_CHECK_H

#include "tools/lockstitch/array.h"
#include "tools/lockstitch/options.h"
#include "tools/lockstitch/report.h"

namespace lockstitch::tool {

/// An element is right if |actual - expected| <= atol + atolRms * rms + rtol *
/// |expected|, rms being the root mean square of the finite expected values.
/// NaN equals NaN, an infinity only itself. Integers and bools must be equal.
struct Tolerance {
  double rtol = 0, atol = 0, atolRms = 0;
};

/// What `options` say, with the defaults of `type`: rtol 1e-3 and atol 1e-5 for
/// f32 and f64, 1e-2 and 1e-3 for f16, 8e-2 and 1e-2 for bf16 (a few units in
/// the last place of a value that went through several roundings).
Tolerance toleranceFor(ElementType type, const CheckOptions &options);

/// `maxAbs` and `maxRel` (relative to the expected value) are over the elements
/// that are finite on both sides; infinite where one side is not a number or
/// infinite and the other is not the same.
CheckEntry compare(const std::string &name, const Array &actual,
                   const Array &expected, const Tolerance &tolerance);

/// Compares outputs with `output_0.pb` ... of the data set, one entry per
/// output. Errors (refused): fewer or more files than outputs, a file that
/// cannot be read.
Result<std::vector<CheckEntry>>
checkOutputs(const std::vector<TensorInfo> &infos,
             const std::vector<Array> &outputs, const std::string &dataSet,
             const CheckOptions &options);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_CHECK_H
