"""The state of a run: a topic, and the events by which knowledge of it grows.

Values and events are immutable. `Research.grow` is the only place where state changes. Whatever can
be computed from the events is a property of `Research`.
"""

from agent.state.claims import *
from agent.state.clock import *
from agent.state.events import *
from agent.state.excerpts import *
from agent.state.json_data import *
from agent.state.places import *
from agent.state.plans import *
from agent.state.reports import *
from agent.state.research import *
from agent.state.run_request import *
from agent.state.sanitizing import *
from agent.state.urls import *
from agent.state.values import *
