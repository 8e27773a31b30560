"""Numbers, dates, scores and quantities in text, and arithmetic over them."""

from agent.evidence.quantities.arithmetic import *
from agent.evidence.quantities.dates import *
from agent.evidence.quantities.numbers import *
from agent.evidence.quantities.parsing import *
from agent.evidence.quantities.patterns import *
from agent.evidence.quantities.quantity import *
