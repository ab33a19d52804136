// Scans, scatters and sorts in every element type and along every dimension, as host code and as PTX, against the reference
// evaluator.
#include "compiler/driver/compile.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/evaluate_scalar.h"
#include "tests/unit/compiler/driver/run_program.h"
#include "tests/unit/compiler/graph_maker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

HostTensor randomTensor(const TensorType &type, std::mt19937 &random) {
  HostTensor made{type, std::vector<std::byte>(type.bytes())};
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t i = 0; i < type.elements(); ++i) {
    evaluation::Slot slot;
    if (isFloat(type.element))
      slot.real = uniform(random);
    else
      slot.integer = static_cast<int64_t>(random() % 7);
    evaluation::store(type.element, slot,
                      made.bytes.data() + i * byteSize(type.element));
  }
  return made;
}

/// Runs `graph` on `device` and compares every output; floats within `tolerance` of their magnitude.
void check(const PrimitiveGraph &graph, const std::string &target,
           DeviceKind device, double tolerance) {
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  for (ValueId input : graph.inputs)
    inputs.push_back(randomTensor(graph.type(input), random));
  auto want = evaluateGraph(graph, inputs);
  ASSERT_TRUE(want.ok());
  for (Explorer explorer : {Explorer::FusionStitching, Explorer::None}) {
    CompileOptions options;
    options.targets = {target};
    options.explorer = explorer;
    options.verify = true;
    options.assemble = false;
    auto compiled = compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().messages[0].reason;
    SessionOptions session;
    session.device = device;
    std::vector<std::vector<std::byte>> got =
        runProgram(compiled->program, inputs, session).outputs;
    ASSERT_EQ(got.size(), want->size());
    for (size_t i = 0; i < want->size(); ++i) {
      const HostTensor &expected = (*want)[i];
      ElementType type = expected.type.element;
      for (int64_t j = 0; j < expected.type.elements(); ++j) {
        size_t at = j * byteSize(type);
        evaluation::Slot a = evaluation::load(type, got[i].data() + at),
                         b = evaluation::load(type, expected.bytes.data() + at);
        if (!isFloat(type))
          ASSERT_EQ(a.integer, b.integer)
              << name(type) << " output " << i << " element " << j;
        else
          ASSERT_LE(std::fabs(a.real - b.real),
                    tolerance * std::max(1.0, std::fabs(b.real)))
              << name(type) << " output " << i << " element " << j << ": "
              << a.real << ", expected " << b.real;
      }
    }
  }
}

constexpr ElementType kTypes[] = {
    ElementType::F32, ElementType::F16, ElementType::BF16,
    ElementType::F64, ElementType::I8,  ElementType::U8,
    ElementType::I32, ElementType::I64, ElementType::U64};

double toleranceOf(ElementType type) {
  return type == ElementType::F16    ? 2e-3
         : type == ElementType::BF16 ? 2e-2
                                     : 1e-5;
}

/// Sums and maxima along each dimension, a consumer, and a mirrored one (a scan from the end).
void checkScans(Shape shape, ElementType type, const std::string &target,
                DeviceKind device) {
  for (unsigned along = 0; along < shape.size(); ++along) {
    SCOPED_TRACE(toString(shape) + " along " + std::to_string(along));
    GraphMaker maker;
    ValueId x = maker.input(shape, type);
    ValueId sum = maker.scan(ScalarOpcode::Add, x, along);
    maker.output(sum);
    maker.output(maker.scan(ScalarOpcode::Max, x, along));
    if (computeType(type) == type)
      maker.output(maker.map(ScalarOpcode::Mul, {sum, x}));
    int64_t extent = shape[along].value();
    maker.output(maker.slice(sum, along, extent - 1, extent, -1));
    check(maker.graph, target, device, toleranceOf(type));
  }
}

TEST(ExecuteScan, EveryTypeOnTheHost) {
  for (ElementType type : kTypes)
    checkScans({3, 5, 9}, type, "host", DeviceKind::Host);
}
TEST(ExecuteScan, EveryTypeOnTheSimulator) {
  for (ElementType type : kTypes)
    checkScans({3, 5, 9}, type, "sm_90", DeviceKind::Simulator);
}
TEST(ExecuteScan, Sizes) {
  for (Shape shape : {Shape{1}, Shape{2}, Shape{777}, Shape{33, 1},
                      Shape{1, 33}, Shape{64, 32}, Shape{4, 1, 31}}) {
    checkScans(shape, ElementType::F32, "host", DeviceKind::Host);
    checkScans(shape, ElementType::F32, "sm_90", DeviceKind::Simulator);
  }
}

Reducer combining(ScalarOpcode opcode, ElementType type) {
  return Reducer::simple(opcode, type, type);
}

void checkPushes(ElementType type, const std::string &target,
                 DeviceKind device) {
  for (unsigned axis : {0u, 1u, 2u}) {
    SCOPED_TRACE("axis " + std::to_string(axis));
    GraphMaker maker;
    Shape shape = {4, 5, 9}, part = {3, 4, 7};
    part[axis] = 11; // more updates than there is room for
    ValueId base = maker.input(shape, type),
            index = maker.input(part, ElementType::F32),
            updates = maker.input(part, type);
    maker.output(maker.scatter(base, index, updates, axis));
    for (ScalarOpcode opcode :
         {ScalarOpcode::Add, ScalarOpcode::Mul, ScalarOpcode::Max})
      maker.output(
          maker.scatter(base, index, updates, axis, combining(opcode, type)));
    check(maker.graph, target, device, toleranceOf(type));
  }
}

TEST(ExecutePush, EveryTypeOnTheHost) {
  for (ElementType type : kTypes)
    checkPushes(type, "host", DeviceKind::Host);
}
TEST(ExecutePush, EveryTypeOnTheSimulator) {
  for (ElementType type : kTypes)
    checkPushes(type, "sm_90", DeviceKind::Simulator);
}

void checkSorts(ElementType type, const std::string &target,
                DeviceKind device) {
  for (unsigned along : {0u, 1u})
    for (bool descending : {false, true}) {
      GraphMaker maker;
      ValueId x = maker.input({33, 7}, type);
      maker.output(maker.sort(x, along, descending, 4));
      check(maker.graph, target, device, 0);
    }
}

TEST(ExecuteSort, EveryTypeOnTheHost) {
  for (ElementType type : kTypes)
    checkSorts(type, "host", DeviceKind::Host);
}
TEST(ExecuteSort, EveryTypeOnTheSimulator) {
  for (ElementType type : kTypes)
    checkSorts(type, "sm_90", DeviceKind::Simulator);
}

} // namespace
