// Einsum: the operands are multiplied from left to right; a label that neither the result nor a later operand has is summed
// as soon as it can be.
//
// Of two operands each label is of one kind: *batch* (both have it, and it stays), *inner* (both, summed), *rows* (only the
// left one), *columns* (only the right one). With inner labels and rows or columns that is a matrix product, batched; with
// neither rows nor columns a reduction; without inner labels an elementwise product. What a matrix product needs in another
// order is transposed before it, which clean-up turns into strides.
#include "frontends/onnx/reduce.h"
#include "frontends/onnx/rules.h"

#include <algorithm>
#include <map>

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;
/// A letter, or a dimension of the ellipsis from kEllipsis on, counted from the right.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;

struct Term {
  ValueId value;
  Labels labels; // one per dimension, each once
};

bool contains(const Labels &labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
unsigned positionOf(const Labels &labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}
int64_t product(const Extents &extents) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  return count;
}

class Einsum {
public:
  explicit Einsum(NodeContext &c) : c(c), graph(c.graph) {}

  void run() {
    c.requireSameType(0, c.numInputs());
    if (c.element(0) == ElementType::Bool)
      c.refuse("a product of bools is not defined");
    parse();
    std::vector<Term> terms;
    for (size_t i = 0; i < subscripts.size(); ++i)
      terms.push_back(termOf(i));
    Term result = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      Labels kept = output;
      for (size_t later = i + 1; later < terms.size(); ++later)
        kept.insert(kept.end(), terms[later].labels.begin(),
                    terms[later].labels.end());
      result = multiply(sumOut(result, kept, terms[i].labels),
                        sumOut(terms[i], kept, result.labels), kept);
    }
    result = sumOut(result, output, {});
    // Every label of the output is there: dimensions of 1 that were left out are put back by broadcasting.
    BodyBuilder body(graph, toShape(extentsOf(output)));
    if (result.labels == output)
      return c.setOutput(0, result.value);
    c.setOutput(0, body.pull(body.read(result.value, at(result, output)),
                             c.element(0)));
  }

private:
  // The equation

  Labels labelsOf(std::string_view text, size_t ellipsisRank, bool &ellipsis) {
    Labels labels;
    ellipsis = false;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text.substr(i, 3) == "..." && !ellipsis) {
        for (size_t d = ellipsisRank; d-- > 0;)
          labels.push_back(kEllipsis + static_cast<Label>(d));
        ellipsis = true;
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
        labels.push_back(text[i]);
      } else {
        c.refuse("its equation '" + equation + "' has '" +
                 std::string(1, text[i]) +
                 "' where a letter or an ellipsis should be");
      }
    }
    return labels;
  }

  void parse() {
    for (char letter : c.attrString("equation", ""))
      if (letter != ' ')
        equation += letter;
    size_t arrow = equation.find("->");
    std::string left = equation.substr(0, arrow);
    std::vector<std::string> parts(1);
    for (char letter : left) {
      if (letter == ',')
        parts.emplace_back();
      else
        parts.back() += letter;
    }
    if (parts.size() != c.numInputs())
      c.refuse("its equation '" + equation + "' is for " +
               std::to_string(parts.size()) + " operands, not " +
               std::to_string(c.numInputs()));
    size_t widest = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      bool ellipsis;
      size_t letters = labelsOf(parts[i], 0, ellipsis).size(),
             rank = c.extents(i).size();
      if (ellipsis ? letters > rank : letters != rank)
        c.refuse("'" + parts[i] + "' of its equation does not fit " +
                 toString(c.extents(i)));
      size_t own = ellipsis ? rank - letters : 0;
      subscripts.push_back(labelsOf(parts[i], own, ellipsis));
      widest = std::max(widest, own);
    }
    for (size_t i = 0; i < subscripts.size(); ++i)
      for (size_t d = 0; d < subscripts[i].size(); ++d) {
        int64_t extent = c.extents(i)[d];
        auto [known, isNew] = extents.try_emplace(subscripts[i][d], extent);
        if (!isNew && known->second == 1)
          known->second = extent;
        if (extent != known->second && extent != 1)
          c.refuse("a label of its equation '" + equation + "' is both " +
                   std::to_string(known->second) + " and " +
                   std::to_string(extent));
      }
    if (arrow != std::string::npos) {
      bool ellipsis;
      output = labelsOf(equation.substr(arrow + 2), widest, ellipsis);
    } else {
      for (size_t d = widest; d-- > 0;)
        output.push_back(kEllipsis + static_cast<Label>(d));
      std::map<Label, int> count;
      for (const Labels &labels : subscripts)
        for (Label label : labels)
          ++count[label];
      for (auto [label, times] : count)
        if (label < kEllipsis && times == 1)
          output.push_back(label);
    }
    for (size_t i = 0; i < output.size(); ++i)
      if (!extents.count(output[i]) || positionOf(output, output[i]) != i)
        c.refuse("the result of its equation '" + equation +
                 "' has a label twice, or one that no operand has");
  }

  // Terms

  Extents extentsOf(const Labels &labels) {
    Extents result;
    for (Label label : labels)
      result.push_back(extents[label]);
    return result;
  }

  /// Where an element of `term` lies in a space of `labels`.
  static std::vector<IndexExpr> at(const Term &term, const Labels &labels) {
    std::vector<IndexExpr> result;
    for (Label label : term.labels)
      result.push_back(IndexExpr::dim(positionOf(labels, label)));
    return result;
  }

  /// Operand `i` with each label once: a label that it has twice is a diagonal; one that it has with an extent of 1, to be
  /// broadcast, it has not.
  Term termOf(size_t i) {
    const Labels &own = subscripts[i];
    Term term{c.input(i), {}};
    Extents from = c.extents(i);
    for (size_t d = 0; d < own.size(); ++d)
      if (from[d] == extents[own[d]] && !contains(term.labels, own[d]))
        term.labels.push_back(own[d]);
    if (term.labels == own)
      return term;
    BodyBuilder body(graph, toShape(extentsOf(term.labels)));
    std::vector<IndexExpr> place;
    for (size_t d = 0; d < own.size(); ++d)
      place.push_back(from[d] != extents[own[d]]
                          ? IndexExpr::constant(0)
                          : IndexExpr::dim(positionOf(term.labels, own[d])));
    term.value = body.pull(body.read(term.value, place), c.element(i));
    return term;
  }

  /// Sums over the labels of `term` that are neither in `kept` nor in `other`.
  Term sumOut(const Term &term, const Labels &kept, const Labels &other) {
    std::vector<int64_t> axes;
    Term result{term.value, {}};
    for (size_t d = 0; d < term.labels.size(); ++d) {
      if (contains(kept, term.labels[d]) || contains(other, term.labels[d]))
        result.labels.push_back(term.labels[d]);
      else
        axes.push_back(static_cast<int64_t>(d));
    }
    ElementType type = c.element(0);
    if (!axes.empty())
      result.value = reduceAxes(
          graph, term.value, axes, false,
          {.opcode = Op::Add, .accumulate = computeType(type), .result = type});
    return result;
  }

  /// `term` with its dimensions in the order of `labels`, as a tensor of `to`.
  ValueId arranged(const Term &term, const Labels &labels, const Extents &to) {
    std::vector<int64_t> permutation;
    for (Label label : labels)
      permutation.push_back(positionOf(term.labels, label));
    return reshape(graph, transpose(graph, term.value, permutation), to);
  }

  Term multiply(const Term &left, const Term &right, const Labels &kept) {
    Labels batch, inner, rows, columns;
    for (Label label : left.labels)
      (!contains(right.labels, label) ? rows
       : contains(kept, label)        ? batch
                                      : inner)
          .push_back(label);
    for (Label label : right.labels)
      if (!contains(left.labels, label))
        columns.push_back(label);
    auto joined = [](std::initializer_list<Labels> parts) {
      Labels all;
      for (const Labels &part : parts)
        all.insert(all.end(), part.begin(), part.end());
      return all;
    };
    Labels made = joined({batch, rows, columns});
    ElementType type = c.element(0);
    bool isMatrixProduct =
        !inner.empty() && (!rows.empty() || !columns.empty());
    if (!isMatrixProduct) {
      Labels space = joined({made, inner});
      BodyBuilder body(graph, toShape(extentsOf(space)));
      ScalarId value =
          body.b.op(Op::Mul, {body.readWide(left.value, at(left, space)),
                              body.readWide(right.value, at(right, space))});
      if (inner.empty())
        return {body.pull(value, type), made};
      return {body.reduce({value}, inner.size(),
                          Reducer::simple(Op::Add, type, type), type),
              made};
    }
    int64_t b = product(extentsOf(batch)), m = product(extentsOf(rows)),
            n = product(extentsOf(columns)), k = product(extentsOf(inner));
    Extents to = extentsOf(made);
    if (b * m * n == 0 || k == 0) {
      BodyBuilder body(graph, toShape(to));
      return {body.pull(body.b.constant(type, 0), type), made};
    }
    Primitive primitive;
    primitive.kind = Primitive::Kind::Library;
    primitive.operands = {
        arranged(left, joined({batch, rows, inner}), {b, m, k}),
        arranged(right, joined({batch, inner, columns}), {b, k, n})};
    Shape shape = toShape({b, m, n});
    primitive.domain = shape;
    primitive.call.kind = LibraryCall::Kind::MatMul;
    MatMulCall &call = primitive.call.matmul;
    call.type = type;
    call.m = m;
    call.n = n;
    call.k = k;
    call.a.strides = {k, 1};
    call.b.strides = {n, 1};
    call.result.strides = {n, 1};
    if (b != 1) {
      call.batch = {b};
      call.a.strides.insert(call.a.strides.begin(), m * k);
      call.b.strides.insert(call.b.strides.begin(), k * n);
      call.result.strides.insert(call.result.strides.begin(), m * n);
    }
    ValueId result = graph.add(std::move(primitive), {type, shape});
    return {reshape(graph, result, to), made};
  }

  NodeContext &c;
  GraphBuilder &graph;
  std::string equation;
  std::vector<Labels> subscripts; // of the operands
  Labels output;
  std::map<Label, int64_t> extents;
};

void einsum(NodeContext &c) { Einsum(c).run(); }

constexpr Rule kRules[] = {
    {"Einsum", 12, kNewest, einsum},
};

} // namespace

std::span<const Rule> einsumRules() { return kRules; }

} // namespace lockstitch::onnx
