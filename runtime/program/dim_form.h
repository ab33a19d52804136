// The inside of a Dim: for the files that take sizes apart.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_DIM_FORM_H
#define LOCKSTITCH_RUNTIME_PROGRAM_DIM_FORM_H

#include "runtime/program/dim.h"

#include <atomic>
#include <memory>

namespace lockstitch {

/// What cannot be written as a sum of products. Operands are canonical.
struct Atom {
  enum class Kind : uint8_t { Symbol, FloorDiv, Min, Max };
  Kind kind = Kind::Symbol;
  uint32_t symbol = 0;
  std::vector<Dim> operands; // FloorDiv: 2; Min, Max: at least 2, sorted
  bool isDivisionByNumber() const {
    return kind == Kind::FloorDiv && operands[1].isConstant();
  }
};
using AtomPointer = std::shared_ptr<const Atom>;

struct DimTerm {
  std::vector<AtomPointer> factors; // sorted; a power is a factor several times
  int64_t coefficient = 1;
};

struct Dim::Node {
  mutable std::atomic<uint32_t> references{1};
  bool invalid = false;
  std::vector<DimTerm> terms;
};

/// A sum in the making.
struct DimForm {
  int64_t constant = 0;
  std::vector<DimTerm> terms; // sorted
  bool invalid = false;

  DimForm() = default;
  explicit DimForm(const Dim &dim);
  void add(const Dim &dim, int64_t scale);
  void add(const DimTerm &term, int64_t scale);
  Dim dim() &&;

  static const std::vector<DimTerm> &termsOf(const Dim &dim);
  static int64_t constantOf(const Dim &dim);
};

/// A total order by structure, the same on every run: < 0, 0, > 0.
int compareDims(const Dim &a, const Dim &b);

/// `dim` = scale * (base mod modulus) + rest, where rest has fewer terms.
struct ModSplit {
  Dim base, rest;
  int64_t modulus = 1, scale = 1;
};
std::optional<ModSplit> splitMod(const Dim &dim);

__extension__ typedef __int128 Wide;

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_DIM_FORM_H
