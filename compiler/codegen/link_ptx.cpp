// Texts of several PTX modules -> one. Each text is what LLVM wrote for one
// kernel: a header, declarations, the kernel, and what is left of the debug
// information. Labels and registers belong to the kernel's braces, so the
// bodies can follow each other as they are; the header, the array of dynamic
// shared memory and the file table are common.
#include "compiler/codegen/codegen.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

namespace lockstitch {

Result<std::string> linkPtx(std::span<const std::string_view> modules) {
  std::string header, sharedMemory, file, bodies;
  llvm::StringSet<> symbols;
  for (std::string_view text : modules) {
    std::string thisHeader;
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(text.data(), text.size()).split(lines, '\n');
    bool blank = true; // of the line before, in `bodies`
    for (llvm::StringRef line : lines) {
      llvm::StringRef content = line.trim();
      if (content.starts_with(".version") || content.starts_with(".target") ||
          content.starts_with(".address_size")) {
        thisHeader += content.str() + "\n";
      } else if (content.starts_with(".extern .shared")) {
        sharedMemory = content.str() + "\n";
      } else if (content.starts_with(".file")) {
        file = content.str() + "\n";
      } else if (content.starts_with(".section") || content.starts_with("//")) {
        // An empty debug section, and LLVM's remarks.
      } else if (!content.empty() || !blank) {
        if (content.starts_with(".visible .entry")) {
          llvm::StringRef symbol =
              content.drop_front(sizeof(".visible .entry") - 1)
                  .split('(')
                  .first.trim();
          if (!symbols.insert(symbol).second)
            return Error::internal("PTX module", "kernel " + symbol.str() +
                                                     " is there twice");
        }
        bodies += line.str() + "\n";
        blank = content.empty();
      }
    }
    if (header.empty())
      header = thisHeader;
    else if (header != thisHeader)
      return Error::internal(
          "PTX module", "kernels for different targets cannot share a module");
  }
  return header + "\n" + file + sharedMemory + bodies;
}

} // namespace lockstitch
