#include "compiler/graph/evaluate_loop.h"

#include <algorithm>

namespace lockstitch::evaluation {

Result<std::vector<HostTensor>>
evaluateLoop(const Loop &loop, std::span<const OperandView> operands) {
  const PrimitiveGraph &body = loop.body;
  int64_t trips = loop.trips.value();
  std::vector<HostTensor> results;
  for (size_t i = 0; i < loop.numResults(); ++i) {
    TensorType type = loop.resultType(i);
    results.push_back({type, std::vector<std::byte>(type.bytes())});
    if (i < loop.carried)
      results[i].bytes.assign(operands[i].bytes.begin(),
                              operands[i].bytes.end());
  }
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::vector<OperandView> inputs(operands.begin(), operands.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].type = body.type(body.inputs[i]);
      size_t bytes = inputs[i].type.bytes();
      if (i < loop.carried) {
        inputs[i].bytes = results[i].bytes;
      } else if (loop.isSliced(i)) {
        int64_t at = loop.slices[i - loop.carried] ? trips - 1 - trip : trip;
        inputs[i].bytes = inputs[i].bytes.subspan(at * bytes, bytes);
      }
    }
    auto made = evaluateViews(body, inputs);
    if (!made.ok())
      return made.error();
    for (size_t i = 0; i < made->size(); ++i) {
      std::vector<std::byte> &bytes = (*made)[i].bytes;
      if (i < loop.carried) {
        results[i].bytes = std::move(bytes);
        continue;
      }
      int64_t at = loop.collected[i - loop.carried] ? trips - 1 - trip : trip;
      std::copy(bytes.begin(), bytes.end(),
                results[i].bytes.begin() + at * bytes.size());
    }
  }
  return results;
}

} // namespace lockstitch::evaluation
