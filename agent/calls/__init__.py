"""The three external calls: their contract, and what wraps them, such as journal and budget."""

from agent.calls.contract import *
from agent.calls.threads import *
