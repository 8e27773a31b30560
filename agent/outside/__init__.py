"""The three outside calls: their contract, and what wraps them, such as journal and budget."""

from agent.outside.contract import *
from agent.outside.threads import *
