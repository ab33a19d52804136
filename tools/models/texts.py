"""Small files whose type the model `magika` must tell; name of the type -> text."""
import json

TEXTS = {
    "cpp": r"""// Row-wise softmax over a [rows, cols] matrix.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace lockstitch {

template <typename T> T rowMax(const T *row, std::size_t cols) {
  T best = row[0];
  for (std::size_t i = 1; i < cols; ++i)
    best = std::max(best, row[i]);
  return best;
}

void softmax(const float *in, float *out, std::size_t rows, std::size_t cols) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float *x = in + r * cols;
    float *y = out + r * cols;
    const float m = rowMax(x, cols);
    float sum = 0.0f;
    for (std::size_t c = 0; c < cols; ++c) {
      y[c] = std::exp(x[c] - m);
      sum += y[c];
    }
    for (std::size_t c = 0; c < cols; ++c)
      y[c] /= sum;
  }
}

} // namespace lockstitch

int main() {
  std::vector<float> in(4 * 8, 1.0f), out(4 * 8);
  lockstitch::softmax(in.data(), out.data(), 4, 8);
  return out[0] > 0.12f ? 0 : 1;
}
""",
    "python": r'''"""Counts the words of a text file."""
import collections
import sys


def count(path):
    words = collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words.update(word.strip(".,;:!?").lower() for word in line.split())
    return words


class Report:
    def __init__(self, words):
        self.words = words

    def __str__(self):
        return "\n".join(f"{n:6d}  {word}" for word, n in self.words.most_common(10))


if __name__ == "__main__":
    print(Report(count(sys.argv[1])))
''',
    "json": json.dumps({"name": "lockstitch", "version": "0.1.0", "targets": ["sm_80", "sm_90", "host"],
                        "devices": [{"id": i, "memory": 80 << 30, "clock": 1.98, "ecc": True} for i in range(6)]}, indent=2),
    "html": """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Plan</title><link rel="stylesheet" href="plan.css"></head>
<body><h1>Plan</h1><table><tr><th>kernel</th><th>bytes</th></tr><tr><td>softmax</td><td>4096</td></tr></table>
<p>Made by <a href="https://example.org/">example</a>.</p><script src="plan.js"></script></body></html>
""",
    "shell": r"""#!/usr/bin/env bash
# Makes a copy of every model that is newer than the last one.
set -euo pipefail
source=${1:?where the models are}
target=${2:?where the copies go}
mkdir -p "$target"
for model in "$source"/*.onnx; do
  name=$(basename "$model" .onnx)
  if [[ ! -e $target/$name.onnx || $model -nt $target/$name.onnx ]]; then
    cp -p "$model" "$target/$name.onnx"
    echo "copied $name"
  fi
done
""",
    "css": """body { margin: 0; font-family: sans-serif; color: #222; background: #fff; }
.plan > h1 { font-size: 2rem; border-bottom: 1px solid #ccc; }
.kernel { display: flex; justify-content: space-between; padding: 0.25rem 1rem; }
.kernel:hover { background-color: rgba(0, 0, 0, 0.05); }
@media (max-width: 40em) { .kernel { flex-direction: column; } }
""",
    "rust": r"""//! Sums the rows of a matrix.
use std::io::{self, BufRead};

#[derive(Debug, Clone)]
struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f32>,
}

impl Matrix {
    fn row_sums(&self) -> Vec<f32> {
        (0..self.rows).map(|r| self.data[r * self.cols..(r + 1) * self.cols].iter().sum()).collect()
    }
}

fn main() -> io::Result<()> {
    let data: Vec<f32> = io::stdin().lock().lines().filter_map(|l| l.ok()?.parse().ok()).collect();
    let matrix = Matrix { rows: 1, cols: data.len(), data };
    println!("{:?}", matrix.row_sums());
    Ok(())
}
""",
}
