//===- handlers.h - handlers that are not table entries ---------*- C++ -*-===//
#pragma once

#include "runtime/device/simulator/program.h"

namespace lockstitch::simulator {

// execute_memory.cpp: ld and st, every space but .param.
Handler memoryHandler(bool isLoad, unsigned elementBytes, unsigned count);
// execute_parameter.cpp
Handler kernelParameterHandler();            // ld.param of a kernel
Handler threadParameterHandler(bool isLoad); // .param of calls
void copyParameters(Warp &w, const std::vector<ParameterCopy> &copies);
// execute_atomic.cpp; null where the combination does not exist.
Handler atomicHandler(std::string_view operation, ScalarType type);
// execute_async.cpp
Handler asyncCopyHandler();
Handler asyncCommitHandler();
Handler asyncWaitHandler(); // imm groups may stay; -1: none, nor uncommitted
// execute_warp.cpp
enum class Shuffle : uint8_t { Up, Down, Butterfly, Index };
enum class Vote : uint8_t { All, Any, Uniform, Ballot };
enum class Reduction : uint8_t { Add, Min, Max, And, Or, Xor };
Handler shuffleHandler(); // mode: Shuffle
Handler voteHandler();    // mode: Vote; flags bit 0: negated
Handler matchHandler();   // mode bit 0: all, bit 1: 64 bits
Handler reduxHandler();   // mode: Reduction; flags bit 0: signed
Handler electHandler();
Handler activeMaskHandler();
Handler warpSyncHandler();
// execute_sync.cpp
Handler fenceHandler(); // mode: Scope
Handler nothingHandler();
Handler clockHandler(); // mode 0: 32 bits, 1: 64, 2: upper 32, 3: global timer
// execute_move.cpp
Handler packHandler(unsigned parts, unsigned bits);   // parts of bits each
Handler unpackHandler(unsigned parts, unsigned bits); // list holds the slots
Handler cvtaHandler(); // mode: StateSpace; flags bit 0: .to
Handler isSpaceHandler();
Handler broadcastZeroHandler(bool wide);
// execute_convert.cpp; null where the combination does not exist.
Handler convertHandler(std::string_view modifiers, ScalarType to,
                       ScalarType from, unsigned sources, uint8_t &mode);
// execute_matrix.cpp
Handler matrixHandler(std::string_view shape, ScalarType d, ScalarType a,
                      ScalarType b, ScalarType c, unsigned counts[4]);
Handler loadMatrixHandler(); // mode: matrices; flags bit 0: transposed

} // namespace lockstitch::simulator
