"""Text as evidence: cut at sentence borders, ranked for a question, shown to a model, and quoted.

Every span is a half-open range of character offsets into a page's stored text.
"""

from agent.evidence.bm25 import *
from agent.evidence.near_duplicates import *
from agent.evidence.passages import *
from agent.evidence.quoting import *
from agent.evidence.selection import *
from agent.evidence.sentences import *
from agent.evidence.tokens import *
from agent.evidence.words import *
