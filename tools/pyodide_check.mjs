// Run kinetree in Pyodide, the Python of browsers, under Node.
//
//     npm install pyodide                                            in a folder of its own
//     pip wheel --no-deps -w FOLDER .                                kinetree's wheel
//     pip download --only-binary :all: -d FOLDER rich cyclopts sympy
//     node tools/pyodide_check.mjs FOLDER [PYODIDE]
//
// FOLDER has wheels; PYODIDE is the folder of the npm package (./node_modules/pyodide unless named).
// A NumPy for WebAssembly (numpy-*-wasm32.whl) is part of Pyodide's own distribution and not of the
// npm package: put it into FOLDER too. With it the check computes: the demonstration, symbols,
// export, and a kernel, which is compared with the textbook's form. Without it NumPy
// is replaced by a stand-in that accepts everything, and the check only imports every module. It
// shows that kinetree needs no module that Pyodide lacks, and that importing it starts no thread and
// no process, which Pyodide does not have.
//
// Exit code: 0 if everything that was checked works, otherwise 1.

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, home = "node_modules/pyodide"] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node tools/pyodide_check.mjs FOLDER [PYODIDE]");
  process.exit(2);
}
const { loadPyodide } = await import(pathToFileURL(resolve(home, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: resolve(home) });
const wheels = readdirSync(folder).filter((name) => name.endsWith(".whl"));
const fits = (name) => /-none-any\.whl$|wasm32\.whl$/.test(name);
for (const name of wheels.filter(fits)) {
  python.unpackArchive(new Uint8Array(readFileSync(join(folder, name))), "wheel");
}
const has_numpy = wheels.some((name) => /^numpy-.*wasm32\.whl$/.test(name));
console.log(`wheels: ${wheels.filter(fits).join(", ")}`);
console.log(has_numpy ? "NumPy for WebAssembly is there" : "no NumPy for WebAssembly: a stand-in");

const IMPORTS = `
import importlib, pkgutil, subprocess, sys, threading, warnings

def refuse(*args, **options):
    raise AssertionError("a thread or process is started while kinetree is imported")

threading.Thread.start = subprocess.Popen.__init__ = refuse
if not has_numpy:
    import types
    from unittest.mock import MagicMock

    class StandIn(types.ModuleType):
        __path__ = []
        __version__ = "2.0.0"

        class ndarray:
            def __class_getitem__(cls, item):
                return cls

        class generic:
            def __class_getitem__(cls, item):
                return cls

        ufunc = number = floating = integer = generic
        float64 = float32 = int64 = intp = bool_ = float

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return MagicMock(name=f"numpy.{name}")

    for name in ("numpy", "numpy.typing", "numpy.linalg", "numpy.random", "numpy.lib",
                 "numpy.lib.mixins", "numpy.lib.stride_tricks", "numpy.exceptions",
                 "numpy.polynomial", "numpy.polynomial.legendre", "numpy.fft"):
        sys.modules[name] = StandIn(name)

import kinetree
found, failed = [], []
for module in pkgutil.walk_packages(kinetree.__path__, "kinetree.", onerror=lambda name: None):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
        found.append(module.name)
    except BaseException as problem:
        failed.append(f"{module.name}: {type(problem).__name__}: {problem}")
f"imported {len(found)} modules of kinetree {kinetree.__version__}", failed
`;

const COMPUTING = `
import io, contextlib, json, sys, warnings
import kinetree as kt
from kinetree import dynamics
from kinetree.engine.interpreted import SlowKernelWarning
lines = []
with warnings.catch_warnings():
    warnings.simplefilter("error", SlowKernelWarning)
    from kinetree.cli.demo import document
    found = document(False)
    assert found["computed_by"] == "textbook" and found["disagreement"] < 1e-14, found
    lines.append(f"demo: {len(found['exercises'])} exercises, disagreement {found['disagreement']:.1e}")
    arm = kt.robots.planar_2r()
    languages = ("c", "matlab", "casadi")
    sizes = [len(str(kt.export(arm, "inverse_dynamics", language=x))) for x in languages]
    lines.append(f"export: {sizes} characters of {', '.join(languages)}")
    try:
        import sympy
    except ImportError:
        lines.append("symbols: left out, sympy is not among the wheels")
    else:
        lines.append(f"symbols: M = {kt.symbolic(arm).M.text()}")
panda = kt.robots.panda()
state = [0.1 * k for k in range(7)]
direct = dynamics.inverse_dynamics(panda.model, state, state, state)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SlowKernelWarning)
    tau = panda.inverse_dynamics(state, state, state)
assert abs(tau - direct).max() < 1e-12, (tau, direct)
lines.append(f"kernel: {[x.hex() for x in tau.tolist()]}")
"\\n".join(lines)
`;

python.globals.set("has_numpy", has_numpy);
let failures = 0;
const [summary, failed] = python.runPython(IMPORTS).toJs();
console.log(summary);
for (const line of failed) {
  console.log(`  ${line}`);
  failures += 1;
}
if (has_numpy) {
  try {
    console.log(python.runPython(COMPUTING));
  } catch (problem) {
    console.log(problem.message);
    failures += 1;
  }
}
process.exit(failures ? 1 : 0);
