#include "frontends/onnx/input_shapes.h"

namespace lockstitch::onnx {
namespace {

std::string declaredText(const std::vector<DeclaredDim> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + (shape[i].value ? std::to_string(*shape[i].value)
                              : shape[i].symbol.empty() ? "?"
                                                        : shape[i].symbol);
  return text + "]";
}

std::string givenText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string listText(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

class Resolver {
public:
  Resolver(const OnnxModel &model, const ImportOptions &options,
           SymbolTable &symbols, std::vector<ErrorMessage> &messages)
      : model(model), options(options), symbols(symbols), messages(messages) {}

  std::vector<std::optional<TensorType>> run() {
    enterSymbols();
    checkNames();
    for (const OnnxTensorInfo &input : model.inputs)
      if (auto given = options.shapes.find(input.name);
          given != options.shapes.end())
        applyGiven(input, given->second);
    std::vector<std::optional<TensorType>> types;
    for (const OnnxTensorInfo &input : model.inputs)
      types.push_back(resolve(input));
    return types;
  }

private:
  void report(const std::string &where, std::string reason,
              std::string wayOut) {
    messages.push_back({"", where, std::move(reason), std::move(wayOut)});
  }

  void enterSymbols() {
    for (const OnnxTensorInfo &input : model.inputs)
      if (input.shape)
        for (const DeclaredDim &dim : *input.shape)
          if (!dim.value && !dim.symbol.empty())
            symbols.getOrCreate(dim.symbol);
    for (const auto &[name, value] : options.dims) {
      std::optional<uint32_t> symbol = symbols.find(name);
      if (!symbol) {
        std::vector<std::string> names;
        for (uint32_t i = 0; i < symbols.size(); ++i)
          names.push_back(symbols[i].name);
        report("--dim " + name, "the model has no dimension '" + name + "'",
               "its open dimensions: " + listText(names));
      } else if (value < 0) {
        report("--dim " + name,
               "a dimension cannot be " + std::to_string(value),
               "give a number that is not negative");
      } else {
        symbols[*symbol].value = value;
      }
    }
  }

  void checkNames() {
    for (const auto &[name, shape] : options.shapes) {
      bool found = false;
      std::vector<std::string> names;
      for (const OnnxTensorInfo &input : model.inputs) {
        found |= input.name == name;
        names.push_back(input.name);
      }
      if (!found)
        report("--shape " + name, "the model has no input '" + name + "'",
               "its inputs: " + listText(names));
    }
  }

  void applyGiven(const OnnxTensorInfo &input,
                  const std::vector<int64_t> &given) {
    std::string where = "input '" + input.name + "'";
    for (int64_t extent : given)
      if (extent < 0) {
        badShape.push_back(&input);
        return report(where,
                      "a dimension of the shape " + givenText(given) +
                          " is negative",
                      "give numbers that are not");
      }
    if (!input.shape)
      return;
    bool fits = given.size() == input.shape->size();
    for (size_t i = 0; i < given.size() && fits; ++i)
      fits = !(*input.shape)[i].value || *(*input.shape)[i].value == given[i];
    if (!fits) {
      badShape.push_back(&input);
      return report(where,
                    "the shape " + givenText(given) +
                        " does not fit the declared " +
                        declaredText(*input.shape),
                    "give a shape that fits");
    }
    for (size_t i = 0; i < given.size(); ++i) {
      const DeclaredDim &dim = (*input.shape)[i];
      if (dim.value || dim.symbol.empty())
        continue;
      Symbol &symbol = symbols[symbols.getOrCreate(dim.symbol)];
      if (symbol.value && *symbol.value != given[i]) {
        badShape.push_back(&input);
        report(where,
               "the dimension '" + dim.symbol + "' is " +
                   std::to_string(given[i]) + " here, but " +
                   std::to_string(*symbol.value) + " elsewhere",
               "dimensions of one name have one size: give shapes that agree");
      } else {
        symbol.value = given[i];
      }
    }
  }

  std::optional<TensorType> resolve(const OnnxTensorInfo &input) {
    std::string where = "input '" + input.name + "'";
    if (!input.element) {
      report(where, "its type " + input.elementName + " is not supported", "");
      return std::nullopt;
    }
    for (const OnnxTensorInfo *bad : badShape)
      if (bad == &input)
        return std::nullopt;
    TensorType type;
    type.element = *input.element;
    if (auto given = options.shapes.find(input.name);
        given != options.shapes.end()) {
      type.shape = Shape(given->second.begin(), given->second.end());
      return type;
    }
    if (!input.shape) {
      report(where, "the model does not say which shape it has",
             "give --shape " + input.name + "=N,N,... or the input itself");
      return std::nullopt;
    }
    std::vector<std::string> open, ways;
    for (size_t i = 0; i < input.shape->size(); ++i) {
      const DeclaredDim &dim = (*input.shape)[i];
      if (dim.value) {
        type.shape.push_back(*dim.value);
      } else if (!dim.symbol.empty() &&
                 symbols[symbols.getOrCreate(dim.symbol)].value) {
        type.shape.push_back(*symbols[symbols.getOrCreate(dim.symbol)].value);
      } else {
        open.push_back(dim.symbol.empty() ? "number " + std::to_string(i)
                                          : dim.symbol);
        if (!dim.symbol.empty())
          ways.push_back("--dim " + dim.symbol + "=N");
      }
    }
    if (open.empty())
      return type;
    std::string wayOut = "give ";
    for (const std::string &way : ways)
      wayOut += way + (&way == &ways.back() ? "" : " ");
    bool allNamed = ways.size() == open.size();
    if (!allNamed)
      wayOut = "give ";
    wayOut += (allNamed ? " or " : "") + ("--shape " + input.name + "=");
    for (size_t i = 0; i < input.shape->size(); ++i)
      wayOut += (i ? "," : "") + ((*input.shape)[i].value
                                      ? std::to_string(*(*input.shape)[i].value)
                                      : std::string("N"));
    report(
        where,
        std::string(open.size() == 1 ? "its dimension " : "its dimensions ") +
            listText(open) + (open.size() == 1 ? " is" : " are") + " open in " +
            declaredText(*input.shape),
        wayOut + ", or the input itself");
    return std::nullopt;
  }

  const OnnxModel &model;
  const ImportOptions &options;
  SymbolTable &symbols;
  std::vector<ErrorMessage> &messages;
  std::vector<const OnnxTensorInfo *> badShape; // already reported
};

} // namespace

std::vector<std::optional<TensorType>>
resolveInputs(const OnnxModel &model, const ImportOptions &options,
              SymbolTable &symbols, std::vector<ErrorMessage> &messages) {
  return Resolver(model, options, symbols, messages).run();
}

} // namespace lockstitch::onnx
