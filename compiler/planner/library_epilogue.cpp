// An epilogue is looked at as what it computes, never by an operator's name. Its primitives are built as a kernel would be
// (build_stages.h): one loop over the elements e of the result, bodies inlined, maps composed. What then stands there is
// compared with what the contract can say:
//
//   store(e, load(product, e) + load(c, f(e)))       c is an addend: f must be linear in the call's coordinates
//   store(e, max(..., 0))                            an activation on top
//
// e is a linear offset into the result, which the call's own view gives as a function of (batch..., row, column); put into f
// and simplified on the ranges of those, it yields the addend's strides.
#include "compiler/planner/library_epilogue.h"

#include "compiler/graph/product_space.h"

#include <algorithm>

namespace lockstitch {
namespace {

Refusal no(std::string reason) { return {false, std::move(reason)}; }

/// The operations of a loop kernel by the value they define.
class Body {
public:
  explicit Body(const StageProgram &program) : program(program) {
    defined.resize(program.numValues, nullptr);
    for (const StageOp &op : program.stages[0].body.ops)
      if (op.result != kNone)
        defined[op.result] = &op;
  }
  const StageOp &operator[](StageValueId value) const {
    return *defined[value];
  }
  bool isLoadOf(StageValueId value, ValueId root) const {
    const StageOp &op = *defined[value];
    return op.opcode == StageOpcode::Load &&
           program.arguments[op.argument].value == root;
  }
  bool isPlainLoad(StageValueId value) const {
    const StageOp &op = *defined[value];
    return op.opcode == StageOpcode::Load && op.guards.empty() &&
           !op.index.usesAnyRuntime();
  }
  bool isZero(StageValueId value) const {
    const StageOp &op = *defined[value];
    return op.opcode == StageOpcode::Scalar &&
           op.scalar == ScalarOpcode::Constant && op.constant.real == 0 &&
           op.constant.integer == 0;
  }

private:
  const StageProgram &program;
  std::vector<const StageOp *> defined;
};

bool isScalar(const StageOp &op, ScalarOpcode opcode) {
  return op.opcode == StageOpcode::Scalar && op.scalar == opcode;
}

/// Extents of the call's result coordinates, and the linear offset in the result of each.
std::pair<Shape, IndexExpr> resultSpace(const LibraryCall &call) {
  if (call.kind == LibraryCall::Kind::MatMul)
    return {productSpace(call.matmul, call.matmul.m, call.matmul.n),
            offsetOf(call.matmul.result)};
  const ConvCall &conv = call.conv;
  int64_t positions = 1;
  for (int64_t extent : conv.outputSpatial)
    positions *= extent;
  Shape space = {conv.batch, conv.outputChannels, positions};
  return {space,
          offsetOf({0, {conv.outputChannels * positions, positions, 1}})};
}

/// Puts an addend that is read at `offset`, a function of the call's coordinates, into the call.
std::optional<Refusal> addTo(LibraryCall &call, const IndexExpr &offset,
                             const IndexRanges &ranges, size_t rank,
                             const Shape &addend) {
  std::optional<StridedView> view = stridedViewOf(offset, ranges, rank);
  if (!view)
    return no("what is added is not a strided view over the product's result");
  if (call.kind == LibraryCall::Kind::MatMul) {
    call.matmul.hasC = true;
    call.matmul.c = std::move(*view);
    call.matmul.beta = 1;
    return std::nullopt;
  }
  // An extent of 1 makes any stride right.
  Shape space = resultSpace(call).first;
  bool perChannel = view->offset == 0 &&
                    (view->strides[0] == 0 || space[0].value() == 1) &&
                    (view->strides[1] == 1 || space[1].value() == 1) &&
                    (view->strides[2] == 0 || space[2].value() == 1) &&
                    numElements(addend) == call.conv.outputChannels;
  if (!perChannel)
    return no("what is added to the convolution is not one value per channel");
  call.conv.hasBias = true;
  return std::nullopt;
}

} // namespace

std::variant<LibraryStep, Refusal>
buildLibraryStep(const PrimitiveGraph &graph,
                 std::span<const PrimitiveId> members, ValueId result) {
  const Primitive &product = graph.primitives[members[0]];
  LibraryStep step;
  step.call = product.call;
  step.result = result;
  for (ValueId operand : product.operands)
    step.operands.push_back(storageRoot(graph, operand));
  if (members.size() == 1)
    return step;

  KernelSpec spec;
  spec.name = "epilogue";
  spec.members.assign(members.begin() + 1, members.end());
  spec.outputs = {result};
  for (PrimitiveId member : spec.members)
    if (graph.primitives[member].kind != Primitive::Kind::Pull)
      return no(graph.primitives[member].name + " is not elementwise");
  StageOptions options;
  options.loopRows = StageOptions::LoopRows::Vector;
  auto built = buildStages(graph, spec, options);
  if (auto *refusal = std::get_if<Refusal>(&built))
    return *refusal;
  const StageProgram &program = std::get<StageProgram>(built);
  const StageBlock &block = program.stages[0].body;
  auto isStore = [](const StageOp &op) {
    return op.opcode == StageOpcode::Store;
  };
  bool straight =
      program.stages.size() == 1 && program.stages[0].reductions.empty() &&
      std::count_if(block.ops.begin(), block.ops.end(), isStore) == 1 &&
      std::none_of(block.ops.begin(), block.ops.end(),
                   [](const StageOp &op) { return op.loop != nullptr; });
  if (!straight)
    return no("its epilogue is more than one value for each element");
  const StageOp &store =
      *std::find_if(block.ops.begin(), block.ops.end(), isStore);

  Body body(program);
  StageValueId value = store.args[0];
  if (const StageOp &op = body[value];
      isScalar(op, ScalarOpcode::Max) && op.type == operandType(product.call))
    for (size_t side : {0, 1})
      if (body.isZero(op.args[side])) {
        step.call.activation = Activation::Relu;
        value = op.args[1 - side];
        break;
      }
  StageValueId addend = kNone;
  if (const StageOp &op = body[value];
      isScalar(op, ScalarOpcode::Add) && op.type == operandType(product.call))
    for (size_t side : {0, 1})
      if (body.isLoadOf(op.args[side], product.result) &&
          body.isPlainLoad(op.args[1 - side])) {
        addend = op.args[1 - side];
        value = op.args[side];
        break;
      }
  if (!body.isLoadOf(value, product.result))
    return no("its epilogue is more than an addend and max(x, 0)");
  // Element e of the product must become element e of the result.
  if (!(body[value].index == store.index) || !body[value].guards.empty())
    return no("its epilogue moves elements");
  if (addend == kNone)
    return step;
  if (body.isLoadOf(addend, product.result))
    return no("its epilogue reads the product twice");
  if (product.call.kind == LibraryCall::Kind::MatMul
          ? product.call.matmul.hasC
          : product.call.conv.hasBias)
    return no("the call has an addend already");

  // (row, column) of the loop from the linear offset e = row * columns + column.
  int64_t columns = program.stages[0].columns;
  IndexExpr r = IndexExpr::dim(kRowDim), c = IndexExpr::dim(kColumnDim);
  IndexRanges loops = program.ranges(columns);
  if (!(simplify(r * IndexExpr::constant(columns) + c, loops) ==
        simplify(store.index, loops)))
    return no("its epilogue does not write its result in order");
  auto [space, e] = resultSpace(step.call);
  IndexRanges ranges = rangesOf(space);
  IndexExpr place[] = {floorDiv(e, columns), mod(e, columns)};
  IndexExpr offset = simplify(substitute(body[addend].index, place), ranges);
  ValueId root = program.arguments[body[addend].argument].value;
  if (auto refusal = addTo(step.call, offset, ranges, space.size(),
                           graph.type(root).shape))
    return *refusal;
  step.operands.push_back(root);
  return step;
}

} // namespace lockstitch
