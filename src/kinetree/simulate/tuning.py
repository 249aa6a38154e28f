"""Numbers that were chosen, not derived: what each limits, its unit and the reason for it.

Sizes of one call of a loop bound the time between two looks at the progress bar and at Ctrl-C;
results do not depend on them. The other numbers decide where a run stops and what it reports.
"""

# Times
FIXED_STEP = 0.001  # s: default dt of fixed steps
RESULT_STEP = 0.01  # s: default distance of results of the adaptive method
MAX_STEPS = 1e9  # duration / dt: more is taken for a mistyped dt
WHOLE_STEPS = 1e-9  # share by which duration / dt may miss a whole number: 2.0 - 1.95 is not 0.05
TIME_SLACK = 1e-9  # of a sample time: times are sums of steps, so that 0.1 + 0.2 counts as 0.3
MAX_DELAY_STEPS = 10_000  # steps of a delay: compiled code grows with each of them
MAX_SAMPLES = 1_000_000  # calls of a digital controller in a run

# Work in one call of a loop, about a tenth of a second
CPU_OPERATIONS, CPU_TABLE = 4_000_000_000, 4_000_000  # operations; numbers over time
GPU_OPERATIONS, GPU_TABLE = 2_000_000_000_000, 64_000_000  # the same on a GPU
PYTHON_CALLS = 2_000  # evaluations of a law by Python
MEAN_NUMBERS = 2**22  # recorded in one call where contact forces are averaged: those of all steps
KEPT_LOOPS = 32  # compiled loops for each model: a search over gains makes one for every value

UNIT_LENGTH = {4: 1e-6, 8: 1e-9}  # error of the length of a quaternion on a GPU, by bytes

# Adaptive steps (adaptive.py)
RTOL, ATOL = 1e-8, 1e-10  # relative, and in rad, m, rad/s or m/s: errors allowed in a step
LEAST_STEPS = 25  # in a run: bounds what a step can pass over where nothing shows before
LEAST_STEPS_IN_PYTHON = 100  # the same for forces that may depend on t in ways that no trace shows
PACE_WINDOW = 1000  # steps, after which the pace of a run is judged
MOST_WINDOWS = 2000  # that may be left at this pace: about ten minutes of computing
DRIFT = 1e3  # of the error allowed in a step: a larger drift begins multistep solvers anew
FADING = 0.98  # of the changes of accelerations, from step to step, that name the joint
NEAR = 1e-12  # of a time: results that are so close to a break belong to the stretch after it

# Breaks: times at which inputs jump or begin to change (breaks.py)
TRACED_SAMPLES = 2**15  # of a traced function of time over the simulation
PYTHON_SAMPLES = 2048  # of one that only Python can run
CHANGE = 1e-6  # of its range: a smaller change from sample to sample does not count
SHORTEST_REST = 24  # samples: a shorter rest is the crest of a wave

# Estimate of the error of fixed steps (accuracy.py)
LARGE_ERROR = 1e-4  # of the range of the motion: a larger error is a warning
SMALL_ERROR = 1e-10  # rad or m: smaller errors are not reported
JUDGED_STEPS = 8  # of a run: fewer have no range to compare with

# Events (events.py)
EVENT_DEGREE = 16  # of the polynomial that replaces an event within a step
EVENT_RESOLVED = 1e-7  # of the largest coefficient: the last ones must be below
EVENT_HALVINGS = 6  # of a step whose function does not die out, because it bends or jumps
EVENT_CLOSEST = 1e-15  # of a step: the largest distance of a root from a change of sign

# Functions of the user (laws.py)
NEARBY = 1e-7  # of an argument: so far from a jump, rounding does not decide on its side
REPEATED_CALL = 1e-9  # of the largest result: two calls with equal arguments agree
TRIED = 0.03  # rad or m, rad/s or m/s: beside the start, where functions are checked

# Limits, friction and constraints
LIMIT_ROUNDING = 1e-9  # of a limit, or rad, m, N m if that is more
RELEASE_SLACK = 5e-10  # of the friction in both directions: a held joint is released so late
AT_REST = 1e-6  # rad/s or m/s: rates that fixed steps leave to a joint that friction holds
FAR_FROM_GOAL = {"rad": 1e-3, "m": 1e-4}  # rad or m: smaller errors are not reported
STUCK_SLACK = 1e-6  # of the friction level, by which the end of a step may exceed it
NEARLY_SINGULAR = 1e-2  # pivot of a recorded state next to a singular one: 0.1 rad from it
PULLED_ERROR = 1e-3  # rad or m: of constraints with a time constant, which leaves errors by design
LEAST_PULL = 2.0  # steps in a time constant: shorter ones make the pull itself unstable

# Derivatives
DERIVATIVE_BLOCK = 2**22  # numbers of the steps that are differentiated together, 32 MB
MAX_SLOPES = 2**28  # numbers of all derivatives of a motion, 2 GiB
REPEATED_STEP = 1e-6  # a repeated step leads to the same state up to rounding, or is another one
