//===- fuzz_main.cpp - the libFuzzer entry --------------------------------===//
//
//   cmake -DLOCKSTITCH_FUZZ=ON ... && ninja simulator_fuzz
//   bin/simulator_fuzz CORPUS -dict=tests/simulator/fuzz/ptx.dict
//
//===----------------------------------------------------------------------===//
#include "tests/simulator/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lockstitch::simtest::runAnyText(reinterpret_cast<const char *>(data), size);
  return 0;
}
