"""Numbers that were chosen, not derived: what each limits, its unit and the reason for it.

Sizes of one call of a loop bound the time between two looks at the progress bar and at Ctrl-C;
results do not depend on them. The other numbers decide where a run stops and what it reports.
"""

import numpy as np

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
DERIVATIVE_BLOCK = 2**22  # numbers of the steps that are differentiated together, 32 MB
MAX_SLOPES = 2**28  # numbers of all derivatives of a motion, 2 GiB
KEPT_LOOPS = 32  # compiled loops for each model: a search over gains makes one for every value

# Repeated runs on a GPU (gpu/again.py)
GPU_THREADS = 2**17  # that copy states and read notes, at most
GPU_RUNS, GPU_ROLLOUTS = 8, 2**18  # runs that are kept, and rollouts in them: they hold memory
UNIT_LENGTH = {4: 1e-6, 8: 1e-9}  # error of the length of a quaternion, by bytes of a number

# Adaptive steps (adaptive.py, integration.py)
LEAST_STEPS = 25  # in a run: bounds what a step can pass over where nothing shows before
LEAST_STEPS_IN_PYTHON = 100  # the same for forces that may depend on t in ways that no trace shows
CHECKED_SHARES = np.array([0.467, 0.929])  # of a step: the widest gaps between the stages
DEFECT = 1e3  # of the error allowed in a step: the largest defect of its polynomial
DEFECT_AT_RESULTS = 1e2  # of that: at results, whose number is the user's choice
FINE_STEP = 1e-6  # of the longest step: shorter ones are judged by their error alone
SHORTEST_STEP = 16 * np.finfo(float).eps  # of the time reached: a shorter one does not change it
MAX_FINE_STEPS = 1000  # one after the other: forces jump back and forth
# length of a step times the slope of the rate. dop853 is stable up to 6.1; the errors of a stiff
# motion keep it near 4.9 at a tolerance of 1e-9. Of seven robots that are not stiff, 95 % of the
# steps stay below 2 at tolerances from 1e-4 to 1e-10, but for one with 3.5 at 1e-4.
STIFF = 4.0
STIFF_STEPS, CALM_STEPS = 15, 6  # such steps make a motion stiff, if never so many others between
# steps of a stiff motion after which dop853 is tried again, and steps of the try: if they are
# shorter than this share of those of radau, which cost twice as much, radau goes on for twice as
# many steps, and tries become rarer
STIFF_PHASE, TRIED_STEPS, WORTH = 25, 20, 0.5
HINTED_STEPS = 300  # such steps of dop853, after which a run says that another method is quicker
MAX_BY_ROW = 8  # rollouts: more are quicker side by side in NumPy where each step needs Python
TIMES_AT_ONCE = 64  # at which functions of time are evaluated together

# Motions that slide along a jump of the forces (integration.Pace). A slide rejects half of its
# steps and keeps their length; a stiff motion rejects a tenth, and the steps across a single jump
# differ by five powers of ten.
PACE_WINDOW = 1000  # steps and trials of steps, after which their pace is judged
SLIDE_REJECTED = 0.25  # of these: the least share that a slide rejects
SLIDE_SPREAD = 1e4  # times the shortest: the longest step of a slide
SLIDE_TRIES = 20 * PACE_WINDOW  # a slide that ends within so many more is let to its end
FADING = 0.98  # of the changes of accelerations, from step to step, that name the joint
NEAR_LAST_SPEED = 1e-3  # of a speed: a motion that slides along it is at most so far from it

# Breaks: times at which inputs jump or begin to change (switches.py)
MAX_STRETCHES = 20_000  # of time that are halved at once, about the number of switches found
TRACED_SAMPLES = 8192  # of a traced function of time over the simulation
PYTHON_SAMPLES = 2048  # of one that only Python can run
CHANGE = 1e-6  # of its range: a smaller change from sample to sample does not count
SHORTEST_REST = 24  # samples: a shorter rest is the crest of a wave
JUMP = 1e-3  # of its range: a larger difference of two samples is looked at for a jump

# Events (events.py)
EVENT_DEGREE = 16  # of the polynomial that replaces an event within a step
EVENT_RESOLVED = 1e-7  # of the largest coefficient: the last ones must be below
EVENT_HALVINGS = 6  # of a step whose function does not die out, because it bends or jumps
EVENT_CLOSEST = 1e-15  # of a step: the largest distance of a root from a change of sign

# Functions of the user (laws.py, forces.py)
REPEATED_CALL = 1e-9  # of the largest result: two calls with equal arguments agree
NEARBY = 1e-7  # of an argument: so far from a jump, rounding does not decide on its side
DENSE_CALLS = 16  # in Python that are kept at the beginning of a run, later fewer and fewer
CHECKED_STATES = 16  # of a run at which laws are compared with what was compiled
TRIED_TIMES = 9  # at which laws are tried where a run ended with numbers that are not finite

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
SLIDING_ROUNDING = 1e-9  # of the forces: by which a step's friction may miss that of sliding
REPEATED_STEP = 1e-6  # a repeated step leads to the same state up to rounding, or is another one
STEP_ARRAYS = 20  # arrays of the size of all changes that an adaptive step keeps
