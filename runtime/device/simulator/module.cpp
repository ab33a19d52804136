//===- module.cpp - Module ------------------------------------------------===//
#include "runtime/device/simulator/module.h"
#include "runtime/device/simulator/decode.h"
#include "runtime/device/simulator/parser.h"

#include <atomic>

namespace lockstitch::simulator {

Module::Module() : Impl(std::make_unique<Implementation>()) {}
Module::~Module() = default;

std::shared_ptr<const Module> Module::parse(std::string text,
                                            Diagnostic &diagnostic) {
  static std::atomic<uint64_t> Count{0};
  diagnostic = Diagnostic();
  std::unique_ptr<ParsedModule> parsed =
      parseModule(std::move(text), diagnostic);
  if (!parsed)
    return nullptr;
  std::shared_ptr<Module> module(new Module);
  module->Impl->parsed = std::move(parsed);
  module->Impl->id = ++Count;
  return module;
}

std::vector<KernelInfo> Module::kernels() const {
  std::vector<KernelInfo> result;
  for (const Function &f : Impl->parsed->functions) {
    if (!f.isEntry || !f.hasBody)
      continue;
    KernelInfo info;
    info.name = std::string(f.name);
    info.line = f.line;
    for (const Variable &v : f.parameters)
      info.parameters.push_back({std::string(v.name), (uint32_t)v.bytes});
    result.push_back(std::move(info));
  }
  return result;
}

/// `vadd` of `_Z4vaddPKfPf` and of `_ZN2ns4vaddEv`: the last length-prefixed
/// name before the arguments.
static std::string plainName(std::string_view mangled) {
  if (mangled.substr(0, 2) != "_Z")
    return std::string(mangled);
  size_t i = 2;
  std::string last;
  while (i < mangled.size() && (mangled[i] == 'N' || mangled[i] == 'L'))
    ++i;
  while (i < mangled.size() && mangled[i] >= '0' && mangled[i] <= '9') {
    size_t n = 0;
    while (i < mangled.size() && mangled[i] >= '0' && mangled[i] <= '9' &&
           n < 100000)
      n = n * 10 + (size_t)(mangled[i++] - '0');
    if (n > mangled.size() - i)
      break;
    last = std::string(mangled.substr(i, n));
    i += n;
  }
  return last;
}

std::string Module::findKernel(std::string_view name,
                               Diagnostic &diagnostic) const {
  std::string found;
  unsigned count = 0;
  std::string all;
  for (const KernelInfo &kernel : kernels()) {
    if (kernel.name == name)
      return kernel.name;
    all += (all.empty() ? "" : ", ") + kernel.name;
    if (plainName(kernel.name) == name) {
      found = kernel.name;
      ++count;
    }
  }
  if (count == 1)
    return found;
  diagnostic.message =
      (count ? "several kernels are called '" : "there is no kernel '") +
      std::string(name) + "'; the module has: " + (all.empty() ? "none" : all);
  return {};
}

std::string_view Module::target() const { return Impl->parsed->target; }

bool Module::check(const std::string &kernel, Diagnostic &diagnostic) const {
  return Impl->program(kernel, diagnostic) != nullptr;
}

const Program *Module::Implementation::program(const std::string &kernel,
                                               Diagnostic &diagnostic) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto [it, isNew] = decoded.try_emplace(kernel);
  Decoded &entry = it->second;
  if (isNew)
    entry.program = Decoder(*parsed, entry.error).run(kernel);
  if (!entry.program)
    diagnostic = entry.error;
  return entry.program.get();
}

} // namespace lockstitch::simulator
