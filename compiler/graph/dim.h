// Dim: the extent of one dimension of a tensor, and the table of symbols it may mention.
//
// Every type from the importer to the artifact carries Dim instead of a plain integer, so that one program for all shapes
// is an addition later. Today the importer resolves every symbol to a number before anything is planned (`--dim`,
// `--shape`, or the inputs themselves), so value() may be called wherever a graph has passed the importer.
#ifndef LOCKSTITCH_COMPILER_GRAPH_DIM_H
#define LOCKSTITCH_COMPILER_GRAPH_DIM_H

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstitch {

/// Extent of a dimension: a number, or a symbol of a SymbolTable.
class Dim {
public:
  Dim(int64_t value = 0) : constant(value) {}
  static Dim symbol(uint32_t id) {
    Dim dim;
    dim.symbolId = static_cast<int32_t>(id);
    return dim;
  }
  bool isConstant() const { return symbolId < 0; }
  /// The number; only for constant dimensions.
  int64_t value() const {
    assert(isConstant() && "a symbolic dimension has no value");
    return constant;
  }
  uint32_t symbol() const {
    assert(!isConstant());
    return static_cast<uint32_t>(symbolId);
  }
  bool operator==(const Dim &) const = default;

private:
  int64_t constant = 0;
  int32_t symbolId = -1;
};

/// A dimension that a model leaves open: its name in the model, what is known of it, and its value once it is given.
struct Symbol {
  std::string name;
  int64_t minimum = 0;
  int64_t maximum = INT64_MAX;
  int64_t divisor = 1;
  std::optional<int64_t> value;
};

/// The symbols of one model. Equal names are one symbol, as ONNX means them.
class SymbolTable {
public:
  /// The symbol named `name`, made when there is none.
  uint32_t getOrCreate(std::string_view name);
  std::optional<uint32_t> find(std::string_view name) const;
  Symbol &operator[](uint32_t id) { return symbols[id]; }
  const Symbol &operator[](uint32_t id) const { return symbols[id]; }
  size_t size() const { return symbols.size(); }
  /// `dim` with its symbol replaced by its value where that is known.
  Dim resolve(Dim dim) const;

private:
  std::vector<Symbol> symbols;
};

using Shape = std::vector<Dim>;

/// Number of elements of a constant shape; 1 for rank 0.
int64_t numElements(const Shape &shape);
/// Row-major strides in elements of a constant shape.
std::vector<int64_t> rowMajorStrides(const Shape &shape);
/// "2x3x4", "scalar" for rank 0, symbols as "?".
std::string toString(const Shape &shape);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_DIM_H
