"""Every setting: its default and its variable in `fields.py`, how it is read in the other files."""

from agent.settings.fields import *
from agent.settings.loading import *
from agent.settings.risks import *
from agent.settings.variables import *
