#include "runtime/program/manifest_conversion.h"

#include "runtime/program/bind.h"

namespace lockstitch {
namespace {

// --- to ---

template <typename Field, typename List>
void setAll(Field *field, const List &values) {
  for (const auto &value : values)
    *field->Add() = value;
}

/// The two fields of a size; `symbols` is in scope.
#define SET_SIZE(to, field, size)                                              \
  do {                                                                         \
    if ((size).isConstant())                                                   \
      (to).set_##field((size).value());                                        \
    else                                                                       \
      (to).set_open_##field(toString(size, &symbols));                         \
  } while (false)

template <typename Numbers, typename Texts, typename Sizes>
void putSizes(Numbers *numbers, Texts *texts, const Sizes &sizes,
              const SymbolTable &symbols) {
  bool open = false;
  for (const Dim &size : sizes)
    open |= !size.isConstant();
  for (const Dim &size : sizes) {
    numbers->Add(size.isConstant() ? size.value() : 0);
    if (open)
      *texts->Add() = size.isConstant() ? "" : toString(size, &symbols);
  }
}

void put(manifest::Tensor &to, const TensorInfo &from,
         const SymbolTable &symbols) {
  to.set_name(from.name);
  to.set_type(static_cast<uint32_t>(from.type));
  putSizes(to.mutable_shape(), to.mutable_open_shape(), from.shape, symbols);
}

void put(manifest::BufferRef &to, const BufferRef &from,
         const SymbolTable &symbols) {
  to.set_space(static_cast<uint32_t>(from.space));
  to.set_index(from.index);
  SET_SIZE(to, offset, from.offset);
  SET_SIZE(to, bytes, from.bytes);
  for (const TripStride &stride : from.trips) {
    manifest::TripStride &entry = *to.add_trips();
    entry.set_depth(stride.depth);
    entry.set_bytes(stride.bytes);
    entry.set_phase(stride.phase);
    entry.set_period(stride.period);
  }
}

void put(manifest::Kernel &to, const KernelCode &from,
         const SymbolTable &symbols) {
  to.set_symbol(from.symbol);
  to.set_hash(from.hash);
  for (const KernelArgument &argument : from.arguments) {
    manifest::Argument &entry = *to.add_arguments();
    entry.set_type(static_cast<uint32_t>(argument.type));
    SET_SIZE(entry, elements, argument.elements);
    entry.set_is_output(argument.isOutput);
  }
  SET_SIZE(to, rows, from.rows);
  to.set_rows_per_task(from.rowsPerTask);
  SET_SIZE(to, scratch_bytes, from.scratchBytes);
  putSizes(to.mutable_grid(), to.mutable_open_grid(), from.grid, symbols);
  setAll(to.mutable_block(), from.block);
  SET_SIZE(to, shared_bytes, from.sharedBytes);
}

void put(manifest::View &to, const StridedView &from) {
  to.set_offset(from.offset);
  setAll(to.mutable_strides(), from.strides);
}

void put(manifest::MatMul &to, const MatMulCall &from) {
  to.set_type(static_cast<uint32_t>(from.type));
  setAll(to.mutable_batch(), from.batch);
  to.set_m(from.m);
  to.set_n(from.n);
  to.set_k(from.k);
  put(*to.mutable_a(), from.a);
  put(*to.mutable_b(), from.b);
  if (from.hasC)
    put(*to.mutable_c(), from.c);
  put(*to.mutable_result(), from.result);
  to.set_alpha(from.alpha);
  to.set_beta(from.beta);
}

void put(manifest::Conv &to, const ConvCall &from) {
  to.set_type(static_cast<uint32_t>(from.type));
  to.set_batch(from.batch);
  to.set_input_channels(from.inputChannels);
  to.set_output_channels(from.outputChannels);
  to.set_group(from.group);
  setAll(to.mutable_input_spatial(), from.inputSpatial);
  setAll(to.mutable_kernel(), from.kernel);
  setAll(to.mutable_output_spatial(), from.outputSpatial);
  setAll(to.mutable_strides(), from.strides);
  setAll(to.mutable_dilations(), from.dilations);
  setAll(to.mutable_pads_begin(), from.padsBegin);
  setAll(to.mutable_pads_end(), from.padsEnd);
  to.set_has_bias(from.hasBias);
}

void put(manifest::Step &to, const Step &from, const SymbolTable &symbols) {
  to.set_kind(static_cast<uint32_t>(from.kind));
  to.set_name(from.name);
  setAll(to.mutable_nodes(), from.nodes);
  setAll(to.mutable_schemes(), from.schemes);
  setAll(to.mutable_line_nodes(), from.lineNodes);
  to.set_kernel(from.kernel);
  if (from.kind == Step::Kind::Library) {
    to.set_activation(static_cast<uint32_t>(from.library.activation));
    if (from.library.kind == LibraryCall::Kind::MatMul)
      put(*to.mutable_matmul(), from.library.matmul);
    else
      put(*to.mutable_conv(), from.library.conv);
  }
  for (const BufferRef &ref : from.args)
    put(*to.add_args(), ref, symbols);
  setAll(to.mutable_arg_names(), from.argNames);
  to.set_bytes_read(from.bytesRead);
  to.set_bytes_written(from.bytesWritten);
  to.set_estimated_microseconds(from.estimatedMicroseconds);
  if (from.kind != Step::Kind::Loop)
    return;
  to.set_trips(from.trips);
  for (const Step &step : from.steps)
    put(*to.add_steps(), step, symbols);
}

// --- from ---

/// Values of enumerations are checked here; the first that is unknown is
/// remembered.
class Reader {
public:
  explicit Reader(const std::function<bool(uint32_t, Blob &)> &blob)
      : blob(blob) {}
  std::string problem;

  void get(const manifest::Manifest &from, Program &to) {
    to.model = from.model();
    to.compilerVersion = from.compiler_version();
    to.optionsHash = from.options_hash();
    to.planHash = from.plan_hash();
    to.explorer = from.explorer();
    to.totalNodes = from.total_nodes();
    get(from, to.symbols);
    symbols = &to.symbols;
    each(from.inputs(), to.inputs);
    each(from.outputs(), to.outputs);
    for (const manifest::Constant &constant : from.constants()) {
      get(constant.info(), to.constantInfos.emplace_back());
      get(constant.section(), to.constants.emplace_back());
    }
    each(from.targets(), to.targets);
  }

private:
  template <typename E>
  E enumeration(uint32_t value, int count, const char *what) {
    if (value < static_cast<uint32_t>(count))
      return static_cast<E>(value);
    if (problem.empty())
      problem = std::string("unknown ") + what + " " + std::to_string(value);
    return E{};
  }
  ElementType type(uint32_t value) {
    return enumeration<ElementType>(value, kNumElementTypes, "element type");
  }

  template <typename From, typename To>
  void each(const From &from, std::vector<To> &to) {
    for (const auto &element : from)
      get(element, to.emplace_back());
  }
  template <typename From, typename To>
  static void all(const From &from, std::vector<To> &to) {
    to.assign(from.begin(), from.end());
  }

  void get(const manifest::Manifest &from, SymbolTable &to) {
    if (from.symbols_size() > kMostSymbols ||
        from.equalities_size() > kMostSymbols) {
      problem = "it has more than " + std::to_string(kMostSymbols) +
                " symbols or equalities";
      return;
    }
    for (const manifest::Symbol &entry : from.symbols()) {
      if (to.find(entry.name()) && problem.empty())
        problem = "symbol '" + entry.name() + "' is there twice";
      Symbol &symbol = to[to.getOrCreate(entry.name())];
      symbol.minimum = entry.minimum();
      symbol.maximum = entry.maximum();
      symbol.divisor = entry.divisor();
      if (entry.has_value())
        symbol.value = entry.value();
      if (problem.empty() && symbol.divisor < 1)
        problem = "symbol '" + entry.name() + "' has an impossible divisor";
    }
    symbols = &to;
    for (const manifest::Equality &entry : from.equalities()) {
      if (entry.symbol() >= to.size()) {
        problem = "an equality of a symbol that is not there";
        return;
      }
      if (Status status = to.equate(entry.symbol(), open(entry.size()));
          !status.ok() && problem.empty())
        problem = status.error().messages[0].where + ": " +
                  status.error().messages[0].reason;
    }
  }

  Dim open(const std::string &text) {
    Result<Dim> size = parseDim(text, *symbols);
    if (size.ok())
      return *size;
    if (problem.empty())
      problem = size.error().messages[0].where + ": " +
                size.error().messages[0].reason;
    return {};
  }

  Dim size(int64_t number, const std::string &text) {
    return text.empty() ? Dim(number) : open(text);
  }

  template <typename Numbers, typename Texts, typename Sizes>
  void sizes(const Numbers &numbers, const Texts &texts, Sizes &to) {
    if (!texts.empty() && texts.size() != numbers.size())
      problem = "a list of sizes that is not complete";
    for (int i = 0; problem.empty() && i < numbers.size(); ++i)
      to[i] = texts.empty() ? Dim(numbers[i]) : size(numbers[i], texts[i]);
  }

  void get(uint32_t section, Blob &to) {
    if (section && !blob(section, to) && problem.empty())
      problem = "there is no section " + std::to_string(section);
  }

  void get(const manifest::Tensor &from, TensorInfo &to) {
    to.name = from.name();
    to.type = type(from.type());
    to.shape.resize(from.shape_size());
    sizes(from.shape(), from.open_shape(), to.shape);
  }

  void get(const manifest::BufferRef &from, BufferRef &to) {
    to.space = enumeration<BufferRef::Space>(from.space(), 5, "memory");
    to.index = from.index();
    to.offset = size(from.offset(), from.open_offset());
    to.bytes = size(from.bytes(), from.open_bytes());
    each(from.trips(), to.trips);
  }

  static void get(const manifest::TripStride &from, TripStride &to) {
    to.depth = from.depth();
    to.bytes = from.bytes();
    to.phase = from.phase();
    to.period = from.period();
  }

  void get(const manifest::Argument &from, KernelArgument &to) {
    to.type = type(from.type());
    to.elements = size(from.elements(), from.open_elements());
    to.isOutput = from.is_output();
  }

  bool isTriple(const google::protobuf::RepeatedField<int64_t> &from) {
    if (from.size() != 3)
      problem = "a launch shape without three extents";
    return from.size() == 3;
  }

  void get(const manifest::Kernel &from, KernelCode &to) {
    to.symbol = from.symbol();
    to.hash = from.hash();
    each(from.arguments(), to.arguments);
    to.rows = size(from.rows(), from.open_rows());
    to.rowsPerTask = from.rows_per_task();
    to.scratchBytes = size(from.scratch_bytes(), from.open_scratch_bytes());
    if (isTriple(from.grid()))
      sizes(from.grid(), from.open_grid(), to.grid);
    if (isTriple(from.block()))
      std::copy(from.block().begin(), from.block().end(), to.block.begin());
    to.sharedBytes = size(from.shared_bytes(), from.open_shared_bytes());
  }

  void get(const manifest::View &from, StridedView &to) {
    to.offset = from.offset();
    all(from.strides(), to.strides);
  }

  void get(const manifest::MatMul &from, MatMulCall &to) {
    to.type = type(from.type());
    all(from.batch(), to.batch);
    to.m = from.m();
    to.n = from.n();
    to.k = from.k();
    get(from.a(), to.a);
    get(from.b(), to.b);
    to.hasC = from.has_c();
    if (to.hasC)
      get(from.c(), to.c);
    get(from.result(), to.result);
    to.alpha = from.alpha();
    to.beta = from.beta();
  }

  void get(const manifest::Conv &from, ConvCall &to) {
    to.type = type(from.type());
    to.batch = from.batch();
    to.inputChannels = from.input_channels();
    to.outputChannels = from.output_channels();
    to.group = from.group();
    all(from.input_spatial(), to.inputSpatial);
    all(from.kernel(), to.kernel);
    all(from.output_spatial(), to.outputSpatial);
    all(from.strides(), to.strides);
    all(from.dilations(), to.dilations);
    all(from.pads_begin(), to.padsBegin);
    all(from.pads_end(), to.padsEnd);
    to.hasBias = from.has_bias();
  }

  void get(const manifest::Step &from, Step &to) {
    to.kind = enumeration<Step::Kind>(from.kind(), 4, "kind of step");
    to.name = from.name();
    all(from.nodes(), to.nodes);
    all(from.schemes(), to.schemes);
    all(from.line_nodes(), to.lineNodes);
    to.kernel = from.kernel();
    if (to.kind == Step::Kind::Library) {
      if (from.has_matmul() == from.has_conv())
        problem = "a library step that is not one call";
      to.library.kind =
          from.has_conv() ? LibraryCall::Kind::Conv : LibraryCall::Kind::MatMul;
      from.has_conv() ? get(from.conv(), to.library.conv)
                      : get(from.matmul(), to.library.matmul);
      to.library.activation = enumeration<Activation>(
          from.activation(), 2, "activation of a library call");
    }
    each(from.args(), to.args);
    all(from.arg_names(), to.argNames);
    to.bytesRead = from.bytes_read();
    to.bytesWritten = from.bytes_written();
    to.estimatedMicroseconds = from.estimated_microseconds();
    to.trips = from.trips();
    each(from.steps(), to.steps);
  }

  void get(const manifest::Target &from, TargetProgram &to) {
    to.target = from.target();
    to.requiredCpu = from.required_cpu();
    all(from.required_features(), to.requiredFeatures);
    each(from.kernels(), to.kernels);
    each(from.prologue(), to.prologue);
    each(from.steps(), to.steps);
    each(from.outputs(), to.outputs);
    to.arenaBytes = size(from.arena_bytes(), from.open_arena_bytes());
    to.workspaceBytes =
        size(from.workspace_bytes(), from.open_workspace_bytes());
    to.floorKernels = from.floor_kernels();
    get(from.code_section(), to.code);
    get(from.cubin_section(), to.cubin);
  }

  const std::function<bool(uint32_t, Blob &)> &blob;
  const SymbolTable *symbols = nullptr;
};

} // namespace

manifest::Manifest
toManifest(const Program &from,
           const std::function<uint32_t(const Blob &)> &section) {
  manifest::Manifest to;
  to.set_model(from.model);
  to.set_compiler_version(from.compilerVersion);
  to.set_options_hash(from.optionsHash);
  to.set_plan_hash(from.planHash);
  to.set_explorer(from.explorer);
  to.set_total_nodes(from.totalNodes);
  const SymbolTable &symbols = from.symbols;
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    manifest::Symbol &entry = *to.add_symbols();
    entry.set_name(symbols[i].name);
    entry.set_minimum(symbols[i].minimum);
    entry.set_maximum(symbols[i].maximum);
    entry.set_divisor(symbols[i].divisor);
    entry.set_has_value(symbols[i].value.has_value());
    entry.set_value(symbols[i].value.value_or(0));
  }
  for (const SymbolTable::Equality &equality : symbols.equalities()) {
    manifest::Equality &entry = *to.add_equalities();
    entry.set_symbol(equality.symbol);
    entry.set_size(toString(equality.size, &symbols));
  }
  for (const TensorInfo &info : from.inputs)
    put(*to.add_inputs(), info, symbols);
  for (const TensorInfo &info : from.outputs)
    put(*to.add_outputs(), info, symbols);
  for (size_t i = 0; i < from.constants.size(); ++i) {
    manifest::Constant &constant = *to.add_constants();
    put(*constant.mutable_info(), from.constantInfos[i], symbols);
    constant.set_section(section(from.constants[i]));
  }
  for (const TargetProgram &target : from.targets) {
    manifest::Target &entry = *to.add_targets();
    entry.set_target(target.target);
    entry.set_required_cpu(target.requiredCpu);
    setAll(entry.mutable_required_features(), target.requiredFeatures);
    for (const KernelCode &kernel : target.kernels)
      put(*entry.add_kernels(), kernel, symbols);
    for (const Step &step : target.prologue)
      put(*entry.add_prologue(), step, symbols);
    for (const Step &step : target.steps)
      put(*entry.add_steps(), step, symbols);
    for (const BufferRef &ref : target.outputs)
      put(*entry.add_outputs(), ref, symbols);
    SET_SIZE(entry, arena_bytes, target.arenaBytes);
    SET_SIZE(entry, workspace_bytes, target.workspaceBytes);
    entry.set_floor_kernels(target.floorKernels);
    entry.set_code_section(section(target.code));
    entry.set_cubin_section(section(target.cubin));
  }
  return to;
}

std::string fromManifest(const manifest::Manifest &manifest,
                         const std::function<bool(uint32_t, Blob &)> &blob,
                         Program &program) {
  Reader reader(blob);
  reader.get(manifest, program);
  return reader.problem;
}

} // namespace lockstitch
