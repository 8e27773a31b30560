"""What the commands share: options, streams, how a process ends."""

from agent.cli.shell.options import *
from agent.cli.shell.process import *
from agent.cli.shell.streams import *
from agent.file_formats import *
from agent.files import *
