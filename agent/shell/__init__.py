"""What the commands share: options, streams, files, and how a process ends."""

from agent.shell.formats import *
from agent.shell.options import *
from agent.shell.process import *
from agent.shell.streams import *
