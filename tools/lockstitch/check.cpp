#include "tools/lockstitch/check.h"

#include "tools/lockstitch/inputs.h"
#include "tools/lockstitch/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstitch::tool {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double rootMeanSquare(const Array &array) {
  double sum = 0;
  int64_t n = 0;
  for (int64_t i = 0, end = array.elements(); i < end; ++i) {
    double value = elementAsDouble(array, i);
    if (!std::isfinite(value))
      continue;
    sum += value * value;
    ++n;
  }
  return n ? std::sqrt(sum / static_cast<double>(n)) : 0;
}

std::string coordinates(const Array &array, int64_t index) {
  std::vector<int64_t> at(array.shape.size());
  for (size_t d = at.size(); d-- > 0;) {
    at[d] = index % array.shape[d];
    index /= array.shape[d];
  }
  std::string text = "[";
  for (size_t d = 0; d < at.size(); ++d)
    text += (d ? "," : "") + std::to_string(at[d]);
  return text + "]";
}

std::string valueText(const Array &array, int64_t index) {
  if (isFloat(array.type))
    return number(elementAsDouble(array, index));
  int64_t value = elementAsInteger(array, index);
  return array.type == ElementType::U64
             ? std::to_string(static_cast<uint64_t>(value))
             : std::to_string(value);
}

/// |a - b| of two integers of the array's type, without overflow.
double integerDifference(const Array &array, int64_t a, int64_t b) {
  if (a == b)
    return 0;
  if (array.type == ElementType::U64) {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<double>(x > y ? x - y : y - x);
  }
  return static_cast<double>(
      a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
            : static_cast<uint64_t>(b) - static_cast<uint64_t>(a));
}

} // namespace

Tolerance toleranceFor(ElementType type, const CheckOptions &options) {
  Tolerance tolerance{1e-3, 1e-5, options.atolRms};
  if (type == ElementType::F16)
    tolerance = {1e-2, 1e-3, options.atolRms};
  else if (type == ElementType::BF16)
    tolerance = {8e-2, 1e-2, options.atolRms};
  if (options.rtol)
    tolerance.rtol = *options.rtol;
  if (options.atol)
    tolerance.atol = *options.atol;
  return tolerance;
}

CheckEntry compare(const std::string &name, const Array &actual,
                   const Array &expected, const Tolerance &tolerance) {
  CheckEntry entry;
  entry.output = name;
  if (actual.type != expected.type || actual.shape != expected.shape) {
    entry.reason = "is " + describe(actual.type, actual.shape) + ", expected " +
                   describe(expected.type, expected.shape);
    return entry;
  }
  bool exact = !isFloat(actual.type);
  double allowance =
      tolerance.atol + (tolerance.atolRms > 0
                            ? tolerance.atolRms * rootMeanSquare(expected)
                            : 0);
  double maxAbs = 0, maxRel = 0, worst = 0;
  int64_t wrong = 0, worstIndex = 0;
  for (int64_t i = 0, n = actual.elements(); i < n; ++i) {
    double difference, magnitude, allowed = 0;
    if (exact) {
      difference = integerDifference(actual, elementAsInteger(actual, i),
                                     elementAsInteger(expected, i));
      magnitude = std::abs(elementAsDouble(expected, i));
    } else {
      double a = elementAsDouble(actual, i), e = elementAsDouble(expected, i);
      if (a == e || (std::isnan(a) && std::isnan(e)))
        continue;
      magnitude = std::abs(e);
      bool comparable = std::isfinite(a) && std::isfinite(e);
      difference = comparable ? std::abs(a - e) : kInfinity;
      allowed = comparable ? allowance + tolerance.rtol * magnitude : 0;
    }
    maxAbs = std::max(maxAbs, difference);
    if (difference > 0)
      maxRel = std::max(maxRel, std::isfinite(difference) && magnitude > 0
                                    ? difference / magnitude
                                    : kInfinity);
    if (difference <= allowed)
      continue;
    if (wrong++ == 0 || difference > worst) {
      worst = difference;
      worstIndex = i;
    }
  }
  entry.maxAbs = maxAbs;
  entry.maxRel = maxRel;
  entry.ok = wrong == 0;
  if (!entry.ok)
    entry.reason =
        std::to_string(wrong) + " of " + count(actual.elements(), "element") +
        " differ" + (wrong == 1 ? "s" : "") + ", most at " +
        coordinates(actual, worstIndex) + ": " + valueText(actual, worstIndex) +
        ", expected " + valueText(expected, worstIndex);
  return entry;
}

Result<std::vector<CheckEntry>>
checkOutputs(const std::vector<TensorInfo> &infos,
             const std::vector<Array> &outputs, const std::string &dataSet,
             const CheckOptions &options) {
  Result<std::vector<std::string>> files = listDataSet(dataSet, "output");
  if (!files.ok())
    return files.error();
  if (files->size() != outputs.size())
    return Error::refused(
        "--check",
        "'" + dataSet + "' has " + count(files->size(), "output file") +
            " (output_0.pb ...), the model " + count(outputs.size(), "output"),
        "add the missing files, or leave --check out");
  std::vector<CheckEntry> entries;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Result<Array> expected =
        readArray((*files)[i], "output '" + infos[i].name + "'");
    if (!expected.ok())
      return expected.error();
    entries.push_back(compare(infos[i].name, outputs[i], *expected,
                              toleranceFor(outputs[i].type, options)));
  }
  return entries;
}

} // namespace lockstitch::tool
