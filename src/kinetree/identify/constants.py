"""Tuning constants of the identification, in the order of its stages.

Each has its meaning and unit, and where it is not plain, the reason for its value. Names that end
in _Z are numbers of standard errors or deviations. Shares and ratios have no unit. Values were set
on random robots with corrupted recordings and on recordings of real arms; benchmarks/results has
the records.
"""

import numpy as np

# Reading: checks of values
# times the robot's own time, about 0.5 s: longer steps are mostly ms taken for s
LONGEST_STEP = 1.5
STILL_RANGE = 1e-3  # rad, or times the robot's own length: a joint that moves less counts as still
QUATERNION_EXACT = 4e-16  # error of a quaternion's length after scaling it to 1
QUATERNION_ROUNDED = 1e-2  # error of a quaternion's length: few digits in a file, or a filter
JUMP_RATIO = 8  # times the residual that nine samples in ten have: 13 standard deviations
# smallest jump: share of a joint's range; rad, or lengths of the robot
JUMP_SHARE, JUMP_LEAST = 1e-3, 2e-4
COMPARED_PAIRS = 200  # pairs of positions that are compared if there are quaternions
LISTED = 8  # names in a note
COARSE_STEPS = 4096  # steps of an encoder over a joint's motion: fewer are noted
# share and number of samples at the largest joint force
SATURATED_SHARE, SATURATED_SAMPLES = 0.01, 5

# Reading: times of samples
UNEVEN_STEP = 1e-3  # steps that differ by more of a step are resampled before filtering
JUMP_QUANTA = 3  # a jump after held rows is larger than this many steps of the encoder
CATCH_UP_SPEED = 0.3  # least speed of that jump, in terms of the speed before and after it
CATCH_UP_LENGTH = 0.6  # least length of the jump, in terms of the steps beside it
SURE_STEPS = 0.1  # standard error of the number of steps between rows that are moving
WHOLE_STEPS = 0.25  # distance from a whole number of steps
TIME_ROUNDS = 2
MOST_CHANGES = 5000  # changes between sure and not sure, after which times decide alone
PLACING_ROWS = 50  # rows whose times place the rows that are not sure
# errors of neighbours with the steps of the robot, in terms of those of the file
BETTER_TIMES = 0.7
GAP_STEPS = 10  # steps from sample to sample that are interpolated; more are a gap
GAP_PERIODS = 0.2  # the same in periods of the cutoff
SHORT_HOLD = 5  # held rows in a short run
STEP_SHARES = 4
LATE_PERIODS = 2.0  # periods by which most times of a file may be late
JITTER_Z = 6.0  # standard errors by which jitter of times differs from none
JITTER_SHARE = 0.2  # share of the squared error of a position that comes from jitter
TIMED_ROWS = 64  # rows that show whether steps are whole

# Reading: wild samples
SPIKE_NEIGHBOURS = 3  # neighbours on each side: up to three wild samples in a row are found
SPIKE_Z = 12.0  # deviations: slow noise, whose samples follow each other, reaches 9 by itself
COMMON_SHARE = 0.9  # share of the samples whose distance is common
COMMON_Z = 1.645  # of the distance that this share of a normal distribution has, to its deviation
SPIKE_BLOCK = 65_536  # samples at a time
SPIKE_SHARE = 0.05  # share of wild samples from which they are no accident

# Reading: joints at rest
REST_SHARE = 0.1  # share of a joint's largest way within the window, below which it stands still
REST_PERIODS = 0.5  # of the cutoff: least length of the window
REST_STEPS = 8  # of time: least length of the window
# share of the recording in which a joint rests while others move, worth a note
STICKING_SHARE = 0.1
MOVING_SHARE = 0.2  # share of the recording that has to move: less is not a motion with rests

# Reading: recordings
LEAST_SAMPLES = 16  # samples
JOINED_GAP = 20  # steps between joined recordings

# Rates: motion and noise in the spectrum of positions
BANDS_PER_OCTAVE, BAND_FREQUENCIES = 6, 5  # bands: width, and least number of frequencies
STEEPEST_NOISE = 2.6  # noise falls no faster than f to the power of minus this
STRAIGHT_OCTAVES = 2.0  # of the stretch whose straightness is tested
BAND_SCATTER = 0.25  # of the log of a band's level that is noise
STRAIGHT_MISFIT = 1.5  # mean square of the misfit of a straight line, in units of the scatter
LASTING_NOISE = 2.0  # noise that reaches the end falls by less than this factor's logarithm
MOTION_POWER = 1e-4  # share of the largest power that is motion, wherever it lies
# share of half the sampling frequency; above it, interpolation lowers the level
TOP_FREQUENCY = 0.8
MOTION_GAP = 2**0.6  # motion goes on above a gap that is narrower
EXACT_POWER = 1e-8  # share of the power of accelerations that may be lost where there is no noise
BAND_POWER = 1e-4  # share of the power of accelerations above `Spectrum.band`
HIGHEST_CUTOFF = 0.4  # largest cutoff, times the sampling frequency
LOWEST_CUTOFF = 5.0  # smallest cutoff, times 1 / duration

# Rates: the low-pass of positions
BUTTERWORTH_ORDER = 4
END_ORDER, END_SHARE = 10, 0.85  # derivative that is small at the ends, and share of the cutoff
# lengths of an end and where it goes over to the series, 1 / cutoff
END_WINDOW, END_FADE = 8.0, (3.0, 4.0)
END_DEGREES = 30  # polynomials of an end
COARSE_CUTOFF = 0.25  # periods per sample: polynomials do not resolve a higher cutoff
END_MARGIN = 0.75  # times 1 / cutoff
FILTER_BLOCK = 1 << 16  # samples that are transformed together
FILTER_MEMORY = 12.0  # times 1 / cutoff, after which a sample has less effect than rounding: 5e-13

# Rates that were recorded
CLEAN_RATES = 1e-4  # share of noise in the power of recorded rates that are used as they are
RATES_AS_GOOD = 1.1  # power of the error of recorded rates, in terms of that of the positions
POSITIONS_WORSE = 4.0  # the same of positions: above it, recorded rates that are late are shifted
VISIBLE_LAG = 0.01  # lag times frequency of the motion, and error of scale, that count
SURE_RATES = 4.0  # standard errors
OTHER_RATES = 0.3  # of the slopes of q: recorded rates that differ by more are not those

# Rows: the low-pass of both sides
KERNEL_REACH = 2.0  # half length of the kernel, times 1 / cutoff
KAISER_SHAPE = 6.0  # of the Kaiser window: 60 dB beyond 1.5 times the cutoff
ROW_SPACING = 0.5  # of rows, times 1 / cutoff: the noise of rows is close to white
ROW_GROUP = 48  # rows that are computed by one product of matrices
FORCE_BAND, WIDEST_FORCES = 5.0, 50.0  # cutoff of joint forces over that of the motion; Hz
FINEST_CUTOFF = 0.2  # cutoff, in periods per sample, from which every sample is a row
STRETCH_GAP = 1.5  # times the median step: longer steps separate stretches

# Rows: columns in memory
COLUMN_SAMPLES = 8192  # of which columns are computed together
KEPT_NUMBERS = 25_000_000  # most numbers in columns that are kept: 200 MB
PIECES_TOGETHER = 4  # pieces of a long recording that take as much memory together

# Rows: regressors
REGRESSOR_BLOCK = 8192  # samples whose columns are computed together

# Mechanisms
FOLLOWED_STEP = 0.05  # of the motors from one closed position to the next, rad or lengths
REACHED_STEP = 0.2  # the same where positions are reached on a straight way
CLOSING_STEPS = 30  # of Newton's method; four are enough from a position nearby
CLOSING_STEP = 1e-9  # rad or m: after a step this short, the error is its square
DEAD_CENTRE = 1e-4  # of S_m: motors that move the mechanism by less than this do not determine it

# Plain least squares, a rival
PLAIN_CUTOFF = 10.0  # Hz
PLAIN_BLOCKS, PLAIN_FOLDS = 20, 4  # blocks of rows, and folds of blocks spread over them
PLAIN_SAMPLES = 20_000  # of a recording that are used, in stretches
AGAIN_SAMPLES = 200_000  # of a recording that is kept to be filtered again

# Lag of joint forces
LONGEST_LAG = 0.5  # tried in both directions, times the robot's own time of about 0.3 s, or
LAG_SHARE = 0.05  # of the longest stretch
LAG_GRID = 41  # lags that are tried first
LAG_STEPS, LAG_SETTLED = 8, 0.03  # steps; standard errors by which the last one may move a lag
LEAST_LAG = 0.05  # of a sample: interpolation would do more harm
SURE_LAG = 4.0  # standard errors by which a lag differs from none
SURE_STICKING = 10.0  # the same of friction that is late, and of no filter's reversals
LARGER_LAG = 0.1  # rows by which reversals of filtered rates may make a lag too small
LAG_SAMPLES, LAG_ROWS = 60_000, 10_000  # that are used
# time constants of a low-pass, and what the delay beside it is more than the rest, times the lag
TIME_CONSTANTS, DELAYS = np.geomspace(0.25, 2, 7), (0.0, 0.2, 0.4)
# directions, first and last length of the steps of a time constant and a delay, times the lag
DIRECTIONS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)])
FIRST_STEP, LAST_STEP = 0.2, 0.005
LEAST_CONSTANT = 0.5  # of a sample: interpolation of steps smooths as much
SAME_CONSTANT = 0.01  # share by which a time constant may change without another fit
SHARP_FREQUENCY = 0.1  # periods per sample up to which interpolation keeps 99 % of the power
LAG_UNEVEN = 0.01  # relative difference of time steps from which no lag is sought

# Friction: shapes of laws
GRID_SPEEDS, GRID_STEEPNESSES, GRID_SHIFTS = 60, 24, 9  # grid of starts
STRIBECK_EXPONENT = 2  # exponent of Stribeck friction that the description does not have
WIDEST_SHAPE = 0.5  # relative standard error from which a shape counts as not determined
SHAPE_SAMPLES = 5  # samples that cannot show the shape of a curve
SURE_LAW = 1.96  # standard errors by which a law differs from none at all

# Friction: trials of laws
LAW_FOLDS = 8
ERROR_BLOCKS = 32  # of errors, at most
BLOCK_LENGTH = 4.0  # rows of a block, times those over which errors are correlated
LINEAR_ERROR = 3.0  # times the noise: larger errors count linearly
WEIGHT_ROUNDS = 6  # of weights
# of shapes; shorter steps where one does not decrease the squares
TRIAL_STEPS, SHORTER_STEPS = 8, 3
TRIAL_DECREASE = 0.1  # decrease of the squares, in units of the noise, that ends the steps
TRIAL_RIDGE = 1e-10  # of columns of length 1
SEEN_SHARE = 1e-6  # share of a column that others do not have, squared; less is rounding
NEGATIVE_FRICTION = 3.0  # standard errors by which friction may be negative
FILTERED_NUMBERS = 3_000_000  # numbers that are filtered at once

# Friction: choice of a law
SIMPLER_LAW_Z = 1.64  # standard errors
LAW_PASSES = 2
# samples and rows that are used, in stretches over the recording
LAW_SAMPLES, LAW_ROWS = 60_000, 12_000
LAW_STRETCHES = 8  # of a longer recording

# Friction: search of shapes
THIN_SAMPLES, SHAPE_ROWS = 800, 2000  # samples, or rows of a low-pass, of grid and first steps
GRID_SWEEPS, GRID_SEARCHES = 4, 4  # grids of all laws before steps; grids followed by steps
SHAPE_STEPS, SHAPE_TRIES = 40, 12
# first damping, in terms of squares of the derivatives; its changes
SHAPE_DAMPING, DAMPING_FACTOR = 1e-8, 10.0
SHAPE_REWEIGHTS = 10  # rounds of weights before the first grid
SHAPE_CLOSE = 1e-9  # relative change of the shapes that ends the steps
SHAPE_SMALL = 1e-3  # the same in standard errors of the shapes
SHAPE_RIDGE = 1e-14  # of columns of length 1: shapes without effect do not move
SHAPE_BETTER = 1e-9  # relative decrease of the squares that counts

# Fit: base parameters
COEFFICIENT_ROUNDING = 1e-7  # coefficients between columns of length 1 that are rounding
FAINTEST_COLUMN = 1e-5  # smaller additions of a column would be known with 100,000 times the noise

# Fit: least squares
HUBER = 1.345  # 95% as efficient as least squares when there are no outliers
CLIPPED_SLOPE = 1e-9  # of psi where it is clipped: a parameter of clipped rows alone has an error
FIT_ROUNDS = 50
FIT_SETTLED = 1e-9, 1e-3  # standard errors by which the last round may change beta, if rows are
MANY_ROWS = 100_000  # at most so many, or more
FREE_ROUNDS = 10  # rounds after which the noise of joints stays
WORST_CONDITION = 1e6  # largest condition that can be solved

# Fit: colour of the errors
NOISE_ORDER = 24  # order of an autoregression
NOISE_STRETCH = 4  # times as long as the order are the stretches that hold most rows, at least
NOISE_MEMORY = 1024  # most rows over which errors are taken to be correlated
CORRELATED_ROWS = 2048  # the same for the verdict on coloured errors
NOISE_BLOCK = 2048  # rows that are transformed together
LEFT_POWER = 0.2  # least share of the power that a residual is taken to have kept
LUMP_ROWS = 8  # rows, 4 periods of the cutoff, within which large errors come together
NEGLIGIBLE_LEVERAGE = 2e-3  # parameters over rows: less leverage does not matter

# Fit: calibration of intervals
# the largest of 100 twins is exceeded by 1 % of sound recordings
INTERVAL_TWINS, TWIN_SEED = 100, 0
# rows from which 24 coefficients of a spectrum widen intervals by less than 0.4 %
CALIBRATED_ROWS = 8192
# degrees of freedom: with fewer, the series of `student` is off by more than 1 %
LEAST_FREEDOM = 4.0

# Bodies: prior and search
THINNEST_BODY = 0.1  # smallest gyration radius of a prior body, relative to its largest
SMALLEST_BODY = 0.02  # gyration radius of a point mass as a prior, in lengths of the robot
BODY_ROUNDS = 200
LOOSE_PRIOR = 2.0  # deviation of the logarithms of a body's size: a factor of e^2 is common
# decrease of the cost that ends the search: a hundredth of a standard deviation
BODY_DECREASE = 1e-4
ZERO_DRIVE = 1e-9  # share of the spread below which friction or armature counts as zero
OFFSET_PRIOR = 10.0  # an offset of a sensor may be as large as the forces, not a tenth of them
VARIANCE_ROUNDING = 1e-15  # variances that are rounding, relative to the largest
FINEST_NOISE = 1e-6  # least noise relative to joint forces: rounding must not outweigh the prior

# Bodies: the start of the search
LAST_MU = 0.1  # mu at the end: the cost is that far from its minimum for each unknown, at most
MU_FACTOR = 10.0  # by which mu decreases
NEWTON_STEPS = 40  # of Newton's method for each mu
NEWTON_DECREASE = 0.1  # decrease of the cost, in units of mu, that ends the steps
STEP_HALVES = 40  # of a step
DECREASE_SHARE = 0.1  # share of the expected decrease that a step must have

# Payloads
PAYLOAD_BLOCK = 4096  # samples whose regressor of the whole robot is in memory at once
WEAK_PRIOR = 1e-3  # weight of a prior that keeps a flat body from becoming infinitely flat
# least squared gyration radius, in lengths of the robot, of a body kept as found
FLATTEST_BODY = 1e-8
OTHER_FRICTION = 0.7  # errors with free friction over those without: half of the power is friction

# Gains of drives
GAIN_ROUNDS = 50
GAIN_SETTLED = 1e-3  # standard errors by which the last round may change a gain
GAIN_CHANGE = 2.0  # factor by which a round may change a gain
GAIN_ALONE = 0.05  # relative standard error up to which a joint by itself determines its gain
GAIN_OPEN = 0.3  # relative standard error from which a gain counts as not determined

# Verdict: readings and outliers
# in which a recording is compared with the description
READING_SAMPLES, READING_STRETCHES = 20_000, 4
# samples that are compared in all readings; readings that are looked at
GLANCE_SAMPLES, CLOSER_READINGS = 300, 6
# largest share of a joint's squared force counted as unexplained: 1 is a guess of 0
UNEXPLAINED_MOST = 2.0
UNLIKE_SHARE = 0.5  # share that is unexplained if the description is not that of the recorded robot
# correlation of two signals of the same shape; ratio that is an error
ALIKE_CORRELATION, UNIT_RATIO = 0.7, 10.0
POOR_CONDITION = 1000  # condition of the regressor
OUTLIER_Z = 8.0  # standard deviations that no sample in a billion reaches by itself
OUTLIER_SHARE = 0.15  # more than this share of rows are not outliers, but another law
ROUGH_FORCE = 1e-6  # of the robot's own unit of force: smaller errors are not looked at
SLIGHT_FORCE = 1e-3  # of that unit: a joint with less force as described may carry much more
SHIFTED_MEAN = 0.5  # mean of the errors, in units of their standard deviation

# Verdict: hypotheses
# rows in which hypotheses are compared, in stretches of the recording
TESTED_ROWS, TESTED_STRETCHES = 3000, 4
CLIPPED_ERROR = 4.0  # noise at which errors are clipped: outliers have a warning of their own
FINEST_ERROR = 3e-4  # of a joint's force: smaller errors, as those of filters, are no evidence
PHI_STEP = 1e-4  # of phi, for derivatives
PHI_STEPS, LONGEST_PHI_STEP = 6, 0.3  # of Gauss and Newton, and the longest step of phi
SINGULAR_VALUE = 1e-7  # relative size of singular values that count as zero: far above rounding
COUPLED_JOINTS = 2  # joints from one to another whose motor may turn with it
TOP_FORCE = 0.97  # quantile of a joint's force beyond which saturation is sought
# shares of the duration after which a payload may change
CHANGE_TIMES = np.linspace(0.15, 0.85, 15)
POOR_FIT = 0.1  # error over joint force from which exchanged columns of q are tried
CLOCK_RANGE = 0.7, 1.4  # factors of rates that a wrong clock may have

HIDDEN_MISFIT = 2.5  # held-out error over that of the fit
LITTLE_EXPLAINED = 0.5  # error over joint force
DEGREES_INERTIA = 0.1  # of the described one: less is that of angles in degrees

# Verdict: simulated twins
HYPOTHESIS_TWINS = 400
FALSE_ALARMS = 0.01  # share of twins of which any hypothesis exceeds the limit
WHITE_FLOOR = 0.3  # of the noise of a joint, which is white at least by that
BLIND_SHARE = 1e-9  # squared share of a column beside those of W: less is rounding
TEST_POWER = 2.0  # z above the limit at which a fault is accepted in 97 % of recordings
# of phi
PLAUSIBLE_FAULT = {"time-scale": 0.024, "encoder-zero": 0.1, "gear-ratio": 0.1, "offset": 0.01}
# deviation of phi that intervals allow for
ALLOWED_FAULT = {"time-scale": 0.1, "encoder-zero": 0.02}
LARGEST_ODDS = 100.0  # logarithm of odds, beyond which they are the same
# singular values, relative to the largest, that count as zero: far above rounding
DEPENDENT_COLUMN = 1e-5
FITTED_HYPOTHESES = 6  # hypotheses that are fitted and compared by their likelihood
UNNAMED_GAIN = 0.5  # of the gain of a hypothesis without a cause, beside those with one
LEAST_GAIN = -2 * np.log(FALSE_ALARMS)  # likelihood, averaged over phi, 100 times the plain one
LATER_GAIN = 0.02  # least gain of a second cause in terms of the first one's
MOST_CAUSES = 2  # that are sought one after the other

# Verdict
# ratio of the errors of a joint that is worse than described, or than the base fit
WORSE_ERROR = 1.1
EQUAL_ERROR = 1e-5  # of a joint's force: errors that differ by less are equal
NEGLIGIBLE_ERROR = 1e-3  # of a joint's force: smaller errors are not looked at
UNSTEADY_FACTOR = 2.0  # by which errors may differ from half to half
UNSTEADY_Z = 3.0  # standard errors that a difference exceeds beyond that
# typical errors at which larger ones are clipped: outliers have a warning of their own
WILD_ERROR = 5.0
COLOURED_PEAK = 4.0  # largest over mean power density of coloured errors
COLOURED_DURATION = 10.0  # least duration of a recording, in times of correlation
INFLUENCE_SHARE = 0.1  # of the variance of a parameter that comes from joints that fail a test
# of the largest eigenvalue: smaller ones are cut, far above any rounding
SMALLEST_EIGENVALUE = 1e-9
INFLUENCE_SAMPLES = 400  # samples at which variances are shared out
IMPOSSIBLE_Z = 4.0  # standard errors by which friction is negative: once in 30,000 by chance
# standard errors of a constant force that is a reason: friction was chosen with it, so 2 are chance
SURE_OFFSET = 4.0
# of a joint's force: smaller errors of the fit refute other readings of the recording
POOR_READING = 0.05
MOVED_Z = 0.5  # standard errors by which a hypothesis may move a parameter that is given

# Self-checks
CHECKED_SAMPLES, CHECKED_ROWS = 50, 12  # samples and rows at which a result is computed again
AGREEMENT = 1e-9  # share of the terms of joint forces by which equal results differ: rounding

# Report
# an unknown of which the data remove less of the prior's variance is not identified
LEARNED_LEAST = 0.1
LEARNED_NEAR_ZERO = 0.74  # the 95% margin is below the prior's deviation: 1 - 1 / 1.96^2
PLOTTED_POINTS = 2000  # of a plotted curve
FRICTION_SAMPLES = 20_000  # from which friction is drawn
CURVE_POINTS = 201  # points of a friction curve
SPECTRUM_POINTS = 400  # of a spectrum

# Plots
LOWEST_POWER = 1e-8  # of the largest power density: rounding is not drawn

# Exciting motions
EXCITE_SAMPLES = 150  # of the motion at which its regressor is computed
# share of the force limits that is used at these samples: peaks lie between them
EXCITE_FORCE = 0.97
EXCITE_ROOM = 0.3  # share of the centre's distance from singular positions that is kept
SMALLEST_AMPLITUDE = 0.02  # share of the possible amplitude
