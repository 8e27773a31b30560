"""Every setting: its default in `fields.py`, its variable in `variable_names.py`."""

from agent.settings.dotenv_limits import *
from agent.settings.fields import *
from agent.settings.loading import *
from agent.settings.mcp_servers import *
from agent.settings.services import *
from agent.settings.variable_names import *
from agent.settings.variables import *
