"""What the commands share: options, streams, how a process ends."""

from agent.answer.file_formats import *
from agent.cli.shell.options import *
from agent.cli.shell.process import *
from agent.cli.shell.streams import *
from agent.run.output_files import *
