"""What the answer checker refuses to look at. Every bound is here, so that one page says what a pair can cost.

The cheap steps run in the calling process and rest on these bounds alone; symbolic work has hard limits of time and
memory besides (see `pool`).
"""

MAX_REPLY_CHARS = 4_000_000  # longer replies: only the end is read
STATEMENT_WINDOW = 20_000  # "the answer is ..." is looked for in the end of a reply, ...
MAX_STATEMENTS = 200  # ... and only the last ones count
MAX_ANSWER_CHARS = 20_000  # longer answers are compared as text, and as digits, only
MAX_TOKENS = 1_500  # of one answer
MAX_NESTING = 40  # brackets, fractions, powers inside each other
MAX_NUMBER_DIGITS = 4_000  # of one literal (Python itself refuses to read more than 4,300)
MAX_ITEMS = 200  # members of a set, list or tuple
MAX_PAIRINGS = 2_500  # member-by-member comparisons within one pair
MAX_WORK = 300_000  # products of terms and interval operations within one pair: about two seconds

MAX_BITS = 60_000  # of any integer that exact arithmetic makes (about 18,000 digits)
MAX_FACTORIAL = 5_000
MAX_TERMS = 400  # of a polynomial in normal form
MAX_PRODUCTS = 40_000  # term-by-term products spent on one expression
MAX_EXPANDED_POWER = 64  # (a+b)^n is multiplied out up to this n
MAX_SHIFT = 40  # (n+40)! is written with n!
TRIAL_DIVISION = 2_000  # primes tried when roots and logarithms are split

INTERVAL_BITS = 160  # precision of interval arithmetic
INTERVAL_BITS_FINE = 700  # second try, for values that lie close together
MAX_INTERVAL_NODES = 5_000  # operations in one evaluation
MAX_INTERVAL_EXPONENT = 10**12  # |log2| of any value in it: a large exponent costs nothing, but
MAX_ANGLE_BITS = 1_000  # the sine of a large number does
MAX_RENAMINGS = 24

MAX_SYMBOLIC_CHARS = 2_000  # of a formula given to the LaTeX parser of math-verify
MAX_SYMBOLIC_NODES = 400
MAX_SYMBOLIC_BITS = 4_000  # of a number given to sympy

WORKER_START_SECONDS = 120.0  # importing sympy on a busy machine
MARGIN_SECONDS = 0.2  # kept back from the time limit for the other steps
GONE_SECONDS = 0.2  # a worker that is gone this soon was gone before: its request is given to another one
WORKER_JOBS = 300  # then the worker is replaced: sympy's caches only grow
MAX_MESSAGE_BYTES = 64_000_000
MANY = 1_000  # compare_many starts processes for this many pairs, or more
CHUNK = 128  # pairs sent to a process at a time
CHUNK_CHARS = 4_000_000
CHUNK_SECONDS = 60.0  # the cheap steps on one chunk; past it, its pairs are done one by one
