"""The three outside calls: their contract, and what wraps them, such as journal and budget."""

from agent.calls.contract import *
from agent.calls.threads import *
