// Chooses the space of a kernel - what a row is, what its columns are - and places its outputs in it.
//
// Row kernel: one or more reductions are *cooperative*. They have equally many results, R; row r computes element r of each,
// and the columns are what they fold. Any other output with R*C elements lies in the same space if some bijection from
// (row, column) to its elements makes every read of a cooperative reduction a read of *this* row's result. Two are tried:
// row-major order (r*C + c), and the order in which a reduction of the kernel walks through a tensor of the same shape
// (which is the right one when the folded dimensions are not the innermost).
//
// Scan kernel: one scan; a lane per line of its domain, which walks along the line and stores as it goes. Every output has
// the shape of the scan, and lies where its reads of the scan are reads of the element just scanned: at the same
// coordinates, or mirrored along the line (a scan from the end). Reductions are loops of a lane.
//
// Loop kernel: nothing is cooperative. All outputs have equally many elements; an element is computed by one lane, with
// reductions as loops if no two elements share one.
#include "compiler/schedule/build_stages.h"

#include "compiler/schedule/stage_emitter.h"

#include <algorithm>
#include <set>

namespace lockstitch {
namespace {

class Builder {
public:
  Builder(const PrimitiveGraph &graph, const KernelSpec &spec,
          const StageOptions &options)
      : graph(graph), spec(spec), options(options) {}

  std::variant<StageProgram, Refusal> run() {
    std::vector<PrimitiveId> reductions, scans;
    for (PrimitiveId id : spec.members) {
      if (graph.primitives[id].kind == Primitive::Kind::Reduce)
        reductions.push_back(id);
      if (graph.primitives[id].kind == Primitive::Kind::Scan)
        scans.push_back(id);
    }
    if (scans.size() > 1) {
      refuse("a kernel's lanes walk along one scan, not " +
             std::to_string(scans.size()));
      return refusal;
    }
    if (!scans.empty()) {
      if (tryScanKernel(scans[0]))
        return finish();
      return refusal;
    }
    bool allLanewise =
        std::all_of(reductions.begin(), reductions.end(),
                    [&](PrimitiveId id) { return isLanewise(id); });
    if (allLanewise)
      if (tryLoopKernel())
        return finish();
    // The reduction with the largest space first: its rows are the ones that matter.
    std::vector<int64_t> rowCounts;
    std::sort(reductions.begin(), reductions.end(),
              [&](PrimitiveId a, PrimitiveId b) {
                int64_t left = numElements(graph.primitives[a].domain),
                        right = numElements(graph.primitives[b].domain);
                return left != right ? left > right : a < b;
              });
    for (PrimitiveId id : reductions) {
      int64_t rows = graph.type(graph.primitives[id].result).elements();
      if (rows > 0 && std::find(rowCounts.begin(), rowCounts.end(), rows) ==
                          rowCounts.end())
        rowCounts.push_back(rows);
    }
    for (int64_t rows : rowCounts)
      if (tryRowKernel(rows))
        return finish();
    if (!allLanewise && tryLoopKernel())
      return finish();
    return refusal;
  }

private:
  /// Is a reduction best done by one lane per result? So it is when neighbouring results read neighbouring elements and the
  /// folded dimension does not (columns), or when windows overlap (pooling).
  bool isLanewise(PrimitiveId id) const {
    const Primitive &primitive = graph.primitives[id];
    IndexRanges ranges = rangesOf(primitive.domain);
    int64_t most = -1;
    bool lanewise = false;
    for (const ScalarOp &op : primitive.body.ops) {
      if (op.opcode != ScalarOpcode::Read)
        continue;
      const TensorType &type = graph.type(primitive.operands[op.operand]);
      if (type.elements() <= most)
        continue;
      most = type.elements();
      LinearForm form =
          toLinearForm(linearize(op.map.results, type.shape, ranges), ranges);
      int64_t foldedStride = 0, resultStride = 0;
      unsigned resultRank = primitive.resultRank();
      for (const auto &[atom, coefficient] : form.terms) {
        if (atom.kind() != IndexExpr::Kind::Dim)
          continue;
        // The innermost dimension of each kind that moves at all.
        if (atom.position() < resultRank)
          resultStride = coefficient;
        else
          foldedStride = coefficient;
      }
      bool windows = false;
      for (const IndexExpr &result : op.map.results) {
        bool usesResult = false, usesFolded = false;
        for (unsigned d = 0; d < primitive.domain.size(); ++d)
          if (result.usesDim(d))
            (d < resultRank ? usesResult : usesFolded) = true;
        windows |= usesResult && usesFolded;
      }
      lanewise = windows ||
                 (resultStride == 1 && foldedStride != 1 && foldedStride != 0);
    }
    return lanewise;
  }

  bool tryLoopKernel() {
    int64_t elements = graph.type(spec.outputs[0]).elements();
    for (ValueId output : spec.outputs)
      if (graph.type(output).elements() != elements)
        return refuse("its outputs have different sizes (" +
                      std::to_string(elements) + " and " +
                      std::to_string(graph.type(output).elements()) +
                      " elements) and no reduction that makes rows");
    if (elements == 0)
      return refuse("its outputs are empty: there is nothing to compute");
    int64_t columns = options.loopRows == StageOptions::LoopRows::Vector
                          ? vectorColumns(elements)
                          : runColumns(graph.type(spec.outputs[0]).shape);
    InstanceGraph instances(graph, spec, options, elements / columns);
    std::vector<StageEmitter::Output> outputs;
    for (ValueId output : spec.outputs)
      if (!placeRowMajor(instances, output, columns, outputs))
        return refuse(instances.refusal);
    return emit(instances, outputs, {});
  }

  bool tryScanKernel(PrimitiveId id) {
    const Primitive &scan = graph.primitives[id];
    const Shape &domain = scan.domain;
    Shape lines = domain;
    lines.erase(lines.begin() + scan.along);
    // Lines whose neighbours are neighbours in memory share vectors; others are walked alone.
    bool areNeighbours = false;
    for (size_t d = scan.along + 1; d < domain.size(); ++d)
      areNeighbours |= domain[d].value() != 1;
    int64_t count = numElements(lines);
    int64_t columns = !areNeighbours ? 1
                      : options.loopRows == StageOptions::LoopRows::Vector
                          ? vectorColumns(count)
                          : runColumns(lines);
    InstanceGraph instances(graph, spec, options, count / columns);
    InstanceId walked = instances.makeScan(id, columns);
    if (walked == kNone)
      return refuse(instances.refusal);
    std::vector<StageEmitter::Output> outputs;
    for (ValueId output : spec.outputs)
      if (!placeAlong(instances, walked, output, outputs))
        return refuse(instances.refusal);
    program =
        StageEmitter(graph, spec, options, instances).runScan(outputs, walked);
    return checkSize();
  }

  /// Places `output` at the coordinates of the element being scanned, or mirrored along the line.
  bool placeAlong(InstanceGraph &instances, InstanceId walked, ValueId output,
                  std::vector<StageEmitter::Output> &outputs) {
    const Instance scan = instances.instances[walked];
    const Primitive &primitive = graph.primitives[scan.primitive];
    if (graph.type(output).shape != primitive.domain) {
      instances.refusal = {false, "its output of shape " +
                                      toString(graph.type(output).shape) +
                                      " has not the shape of its scan, " +
                                      toString(primitive.domain)};
      return false;
    }
    IndexMap map = scan.map;
    if (place(instances, output, map, scan.columns, outputs))
      return true;
    Refusal first = instances.refusal;
    instances.refusal = {};
    IndexExpr &at = map.results[primitive.along];
    at = simplify(IndexExpr::constant(scan.trips - 1) - at,
                  instances.ranges(scan.columns));
    if (place(instances, output, map, scan.columns, outputs))
      return true;
    instances.refusal = first;
    return false;
  }

  bool tryRowKernel(int64_t rows) {
    InstanceGraph instances(graph, spec, options, rows);
    std::vector<PrimitiveId> cooperative;
    for (PrimitiveId id : spec.members) {
      const Primitive &primitive = graph.primitives[id];
      if (primitive.kind != Primitive::Kind::Reduce ||
          graph.type(primitive.result).elements() != rows ||
          numElements(primitive.domain) == 0)
        continue;
      instances.makeCooperative(id);
      cooperative.push_back(id);
    }
    if (cooperative.empty())
      return refuse("its reductions fold nothing");
    std::vector<InstanceId> rowResults;
    for (PrimitiveId id : cooperative) {
      const Primitive &primitive = graph.primitives[id];
      InstanceId instance = instances.get(
          primitive.result,
          instances.rowMap(graph.type(primitive.result).shape), 1);
      if (instance == kNone)
        return refuse(instances.refusal);
      rowResults.push_back(instance);
    }
    std::vector<StageEmitter::Output> outputs;
    for (ValueId output : spec.outputs) {
      const TensorType &type = graph.type(output);
      if (type.elements() == rows) {
        IndexMap map = instances.rowMap(type.shape);
        InstanceId instance = instances.get(output, map, 1);
        if (instance != kNone) {
          outputs.push_back(
              {output, instance,
               linearize(map.results, type.shape, instances.ranges(1)), true,
               1});
          continue;
        }
        return refuse(instances.refusal);
      }
      if (type.elements() % rows != 0 || type.elements() == 0)
        return refuse("its output of " + std::to_string(type.elements()) +
                      " elements does not divide into the " +
                      std::to_string(rows) + " rows of its reductions");
      if (!placeRowMajor(instances, output, type.elements() / rows, outputs) &&
          !placeAsReduced(instances, output, cooperative, outputs))
        return refuse(instances.refusal);
    }
    return emit(instances, outputs, rowResults);
  }

  /// Places `output` so that (r, c) is its element r*columns + c.
  bool placeRowMajor(InstanceGraph &instances, ValueId output, int64_t columns,
                     std::vector<StageEmitter::Output> &outputs) {
    const TensorType &type = graph.type(output);
    IndexRanges ranges = instances.ranges(columns);
    IndexMap linear;
    linear.numDims = 2;
    linear.results = {IndexExpr::dim(kRowDim) * IndexExpr::constant(columns) +
                      IndexExpr::dim(kColumnDim)};
    return place(instances, output,
                 compose(IndexMap::delinearize(type.shape), linear, ranges),
                 columns, outputs);
  }

  /// Places `output` as a cooperative reduction walks through a tensor of the same shape.
  bool placeAsReduced(InstanceGraph &instances, ValueId output,
                      const std::vector<PrimitiveId> &cooperative,
                      std::vector<StageEmitter::Output> &outputs) {
    const TensorType &type = graph.type(output);
    for (PrimitiveId id : cooperative) {
      const Primitive &primitive = graph.primitives[id];
      int64_t columns =
          numElements(Shape(primitive.domain.begin() + primitive.resultRank(),
                            primitive.domain.end()));
      if (instances.rows * columns != type.elements())
        continue;
      IndexRanges ranges = instances.ranges(columns);
      IndexMap space = instances.rowMap(
          Shape(primitive.domain.begin(),
                primitive.domain.begin() + primitive.resultRank()));
      IndexMap column;
      column.numDims = 2;
      column.results = {IndexExpr::dim(kColumnDim)};
      Shape reduced(primitive.domain.begin() + primitive.resultRank(),
                    primitive.domain.end());
      for (const IndexExpr &coordinate :
           compose(IndexMap::delinearize(reduced), column, ranges).results)
        space.results.push_back(coordinate);
      for (const ScalarOp &op : primitive.body.ops) {
        if (op.opcode != ScalarOpcode::Read ||
            graph.type(primitive.operands[op.operand]).shape != type.shape ||
            !isPermutation(op.map, primitive.domain, type.shape))
          continue;
        Refusal before = instances.refusal;
        instances.refusal = {};
        if (place(instances, output, compose(op.map, space, ranges), columns,
                  outputs))
          return true;
        instances.refusal = before;
      }
    }
    return false;
  }

  /// Does `map` reach every element of a tensor of `shape` exactly once?
  static bool isPermutation(const IndexMap &map, const Shape &domain,
                            const Shape &shape) {
    std::set<unsigned> used;
    if (!map.constraints.empty())
      return false;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i].value() == 1)
        continue;
      if (map.results[i].kind() != IndexExpr::Kind::Dim ||
          domain[map.results[i].position()] != shape[i] ||
          !used.insert(map.results[i].position()).second)
        return false;
    }
    return true;
  }

  bool place(InstanceGraph &instances, ValueId output, const IndexMap &map,
             int64_t columns, std::vector<StageEmitter::Output> &outputs) {
    InstanceId instance = instances.get(output, map, columns);
    if (instance == kNone)
      return false;
    outputs.push_back({output, instance,
                       linearize(map.results, graph.type(output).shape,
                                 instances.ranges(columns)),
                       false, columns});
    return true;
  }

  bool emit(const InstanceGraph &instances,
            const std::vector<StageEmitter::Output> &outputs,
            const std::vector<InstanceId> &rowResults) {
    program =
        StageEmitter(graph, spec, options, instances).run(outputs, rowResults);
    return checkSize();
  }

  bool checkSize() {
    size_t operations = 0;
    for (const Stage &stage : program.stages)
      operations += count(stage.body) + count(stage.finish);
    if (operations > options.maxOperations)
      return refuse(
          Refusal{false,
                  "it would take " + std::to_string(operations) +
                      " operations, more than the limit of " +
                      std::to_string(options.maxOperations),
                  {{Figure::Operations, static_cast<double>(operations)},
                   {Figure::OperationsLimit,
                    static_cast<double>(options.maxOperations)}}});
    return true;
  }

  static size_t count(const StageBlock &block) {
    size_t operations = block.ops.size();
    for (const StageOp &op : block.ops)
      if (op.loop)
        operations += count(op.loop->body) + count(op.loop->trip);
    return operations;
  }

  /// The largest power of two of elements that fits a vector access of every output and divides `elements`.
  int64_t vectorColumns(int64_t elements) const {
    int64_t bytes = 1;
    for (ValueId output : spec.outputs)
      bytes = std::max<int64_t>(bytes, byteSize(graph.type(output).element));
    int64_t columns = std::max<int64_t>(options.vectorBytes / bytes, 1);
    while (elements % columns)
      columns /= 2;
    return columns;
  }

  /// The product of the innermost dimensions of `shape`, about options.runLength elements.
  int64_t runColumns(const Shape &shape) const {
    int64_t columns = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      int64_t extent = shape[i].value();
      if (columns * extent <= options.runLength) {
        columns *= extent;
        continue;
      }
      // A part of this dimension: its largest divisor that keeps the run short enough.
      int64_t best = 1;
      for (int64_t divisor = 2; divisor * columns <= options.runLength;
           ++divisor)
        if (extent % divisor == 0)
          best = divisor;
      return columns * best >= 64 || columns >= 16 ? columns * best
                                                   : columns * extent;
    }
    return columns;
  }

  std::variant<StageProgram, Refusal> finish() {
    if (!options.alignment)
      for (StageArgument &argument : program.arguments)
        argument.alignment = kAccessAlignment;
    return std::move(program);
  }
  bool refuse(std::string reason) {
    return refuse(Refusal{false, std::move(reason)});
  }
  bool refuse(Refusal why) {
    // The first reason is the one to tell, unless a later one is about profit: that is the nearer miss.
    if (refusal.reason.empty() || (why.byProfit && !refusal.byProfit))
      refusal = std::move(why);
    return false;
  }

  const PrimitiveGraph &graph;
  const KernelSpec &spec;
  const StageOptions &options;
  StageProgram program;
  Refusal refusal;
};

} // namespace

std::variant<StageProgram, Refusal> buildStages(const PrimitiveGraph &graph,
                                                const KernelSpec &spec,
                                                const StageOptions &options) {
  return Builder(graph, spec, options).run();
}

} // namespace lockstitch
