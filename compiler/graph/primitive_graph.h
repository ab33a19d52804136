// PrimitiveGraph: the seam between the importer, the planner, the schedule and the cost model. Plain C++, no MLIR.
//
// A model is a list of primitives over values. A primitive says *how one element of its result is made* (a ScalarProgram
// that reads operands through index maps) and of which kind that is; legality of fusion, coalescing, recompute cost,
// thread mapping and the emitted code all derive from this one answer. Nothing here knows an ONNX operator's name.
#ifndef LOCKSTITCH_COMPILER_GRAPH_PRIMITIVE_GRAPH_H
#define LOCKSTITCH_COMPILER_GRAPH_PRIMITIVE_GRAPH_H

#include "compiler/graph/dim.h"
#include "compiler/graph/scalar_program.h"
#include "runtime/program/library_call.h"

#include <memory>
#include <string>
#include <vector>

namespace lockstitch {

using ValueId = uint32_t;
using PrimitiveId = uint32_t;
inline constexpr uint32_t kNone = UINT32_MAX;
/// Alignment in bytes of every tensor that is not part of another.
inline constexpr int64_t kTensorAlignment = 64;

/// Element type and shape of a tensor. Layout is row-major.
struct TensorType {
  ElementType element = ElementType::F32;
  Shape shape;
  bool operator==(const TensorType &) const = default;
  int64_t elements() const { return numElements(shape); }
  int64_t bytes() const {
    return elements() * static_cast<int64_t>(byteSize(element));
  }
};
std::string toString(const TensorType &type); // "f32[2x3]"

/// Bytes of a constant: a handle into the mapped model, or owned here. Never copied on the way in.
struct ConstantData {
  const std::byte *data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void>
      owner; // keeps `data` alive: a mapping of the file, or a vector
  /// Makes an owned constant of `bytes` bytes.
  static ConstantData own(std::vector<std::byte> bytes);
};

/// A tensor: an input of the model, a constant, or the result of a primitive.
struct Value {
  enum class Kind : uint8_t { Input, Constant, Result };
  Kind kind = Kind::Input;
  TensorType type;
  std::string name;             // of the ONNX value where there is one
  PrimitiveId producer = kNone; // Result
  ConstantData constant;        // Constant
};

/// Where a primitive comes from. Every ONNX node has an entry; every node ends as part of a kernel, a library call, a view,
/// folded, or merged into another (the invariant is tested).
struct Origin {
  enum class Fate : uint8_t { Pending, Primitive, Folded, Dead };
  std::string node; // node ID as INTERFACES.md defines it
  std::string
      opType; // for messages only; nothing after the importer looks at it
  bool isConstantNode = false;
  Fate fate = Fate::Pending;
  std::string note =
      {}; // for `explain`: what is special about the way it is computed
};
using OriginId = uint32_t;

/// How a reduction folds the values that its body yields into its accumulators. Regions: `update` has arguments
/// (accumulators..., values...) and yields accumulators; `combine` has (accumulators of the left..., of the right...) and
/// yields accumulators; `finish` has (accumulators...) and yields the result. Argmax, Welford and online softmax fit.
struct Reducer {
  std::vector<ElementType> types;   // of the accumulators
  std::vector<ScalarConstant> init; // neutral elements
  ScalarProgram update, combine, finish;
  bool operator==(const Reducer &) const = default;

  /// One accumulator in the compute type of `type`, `opcode` one of Add, Mul, Min, Max, And, Or; the result is cast to
  /// `resultType`.
  static Reducer simple(ScalarOpcode opcode, ElementType type,
                        ElementType resultType);
};

struct Loop; // compiler/graph/loop.h

/// One operation of the model on whole tensors.
struct Primitive {
  /// Pull: each element is computed from elements of the operands (elementwise, view, gather, pad, concat).
  /// Reduce: as Pull, over extra dimensions that are folded away.  Library: opaque, a library does it.
  /// Scan: as Reduce along one dimension of the result, of which every element keeps what was folded up to and with it
  /// (inclusive and forward; the others are index maps around it).
  /// Push: each point of the domain, in row-major order, is combined with the element of the result that `target` names
  /// (scatter); operand 0, which the body does not read, is what the result is before. Updates that fall outside of the
  /// result, or that a constraint of `target` excludes, do nothing.
  /// Sort: the stable order of keys along one dimension, as positions (i64). A NaN is larger than every number.
  /// Loop: a body graph, executed trip after trip; yields a token.  Project: one result of a loop, whose token it reads.
  enum class Kind : uint8_t {
    Pull,
    Reduce,
    Library,
    Scan,
    Push,
    Sort,
    Loop,
    Project
  };

  Kind kind = Kind::Pull;
  std::string name; // "ORIGIN/k", unique
  std::vector<OriginId> origins;
  std::vector<ValueId> operands;
  ValueId result = kNone;

  /// Iteration space: dimensions of the result, then (Reduce) the reduced ones. Push: of the updates. Sort: of the keys;
  /// the result may hold only the first ones along `along`.
  Shape domain;
  unsigned reducedDims = 0; // how many at the end of `domain` are folded away
  /// Yields one value for Pull and Sort (the key), the reducer's values for Reduce and Scan; for Push the update and then
  /// the run-time variables of `target` (i64).
  ScalarProgram body;
  Reducer
      reducer; // Reduce, Scan; Push: one accumulator, an element of the result
  LibraryCall call;                 // Library
  unsigned along = 0;               // Scan, Sort: a dimension of `domain`
  bool descending = false;          // Sort
  IndexMap target;                  // Push: domain -> coordinates in the result
  std::shared_ptr<const Loop> loop; // Loop: immutable, copied to be changed
  uint32_t projection = 0;          // Project: which result of the loop

  unsigned resultRank() const { return domain.size() - reducedDims; }
  bool operator==(const Primitive &) const = default;
};

/// "pull", "reduce", ...: how the text form names it.
std::string_view toString(Primitive::Kind kind);

/// The model: values and primitives in topological order (operands before users).
class PrimitiveGraph {
public:
  std::string name;
  std::vector<Value> values;
  std::vector<Primitive> primitives;
  std::vector<ValueId> inputs,
      outputs; // outputs may name inputs, constants, or a value twice
  std::vector<std::string>
      outputNames; // as the model calls them, beside `outputs`
  std::vector<Origin> origins;
  SymbolTable symbols;
  /// Storage root of every value (see storageRoot), once computeStorageRoots() has run; empty before.
  std::vector<ValueId> storageRoots;
  /// Alignment in bytes of every storage root's first element, computed with the roots (see alignmentOf).
  std::vector<uint8_t> alignments;

  ValueId addInput(std::string name, TensorType type);
  ValueId addConstant(std::string name, TensorType type, ConstantData data);
  /// Appends `primitive`, whose `result` is made here with `type`; returns the new value.
  ValueId add(Primitive primitive, TensorType type, std::string valueName = {});

  const TensorType &type(ValueId value) const { return values[value].type; }
  /// Users of every value, in order, without repetition.
  std::vector<std::vector<PrimitiveId>> users() const;
  /// Checks every invariant (types, ranks, bounds of maps, order); returns what is wrong, or nothing.
  std::optional<std::string> verify() const;
};

/// The graph as text, and back; constants' bytes are not part of it except when they are small (at most 8 elements).
std::string toString(const PrimitiveGraph &graph);
/// Returns false and sets `error` ("line 3: ...") on bad text. Large constants come back as zeros.
bool parsePrimitiveGraph(std::string_view text, PrimitiveGraph &graph,
                         std::string &error);

/// Is it a reinterpretation of its only operand's bytes: same element type, same row-major order?
bool isReshape(const PrimitiveGraph &graph, const Primitive &primitive);

/// A value's bytes lie where its storage root's bytes lie: reshapes have no storage of their own.
ValueId storageRoot(const PrimitiveGraph &graph, ValueId value);
/// Remembers all roots, and their alignments, of the graph and of the bodies of its loops; call it when the graph is final.
void computeStorageRoots(PrimitiveGraph &graph);
/// Alignment in bytes of a value's first element: kTensorAlignment, or less where it is a slice of a loop.
int64_t alignmentOf(const PrimitiveGraph &graph, ValueId value);

/// If it only moves elements of its one operand by an affine map (transpose, slice, expand): the view of the operand that it
/// is, with strides over the result's dimensions.
std::optional<StridedView> asStridedView(const PrimitiveGraph &graph,
                                         const Primitive &primitive);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_PRIMITIVE_GRAPH_H
