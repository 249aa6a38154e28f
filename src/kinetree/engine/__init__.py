"""From a declared quantity to a callable: trace, compile, call, export.

Its names for other rooms, imported when first used: traced functions become a `Graph`, which
`interpret` defines and `Kernel`, `CudaKernel` and `Rollout` compute.
"""

from kinetree.core.later import later

__getattr__ = later(
    __name__,
    {
        "compiler.derivatives": "gradient hessian hessian_vector jacobian jvp vjp",
        "compiler.graph": "Graph Node Port",
        "compiler.interpret": "interpret",
        "compiler.ops": "OPERATIONS",
        "compiler.optimise": "optimise",
        "compiler.stepping": "Field Run Stepping interpret_run",
        "compiler.trace": "guarded trace",
        "cuda.kernel": "CudaKernel",
        "interpreted": "SlowKernelWarning",
        "kernel": "Kernel has_llvm",
        "rollout": "Rollout",
    },
)
