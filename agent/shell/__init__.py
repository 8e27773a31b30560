"""What the commands share: options, streams, files, and how a process ends."""

from agent.shell.files import require_writable as require_writable
from agent.shell.files import write_file as write_file
from agent.shell.options import PATH as PATH
from agent.shell.options import cap_options as cap_options
from agent.shell.options import door_command as door_command
from agent.shell.options import options as options
from agent.shell.options import server_options as server_options
from agent.shell.options import split_commas as split_commas
from agent.shell.process import INTERRUPTED as INTERRUPTED
from agent.shell.process import exit_now as exit_now
from agent.shell.process import exit_status_of as exit_status_of
from agent.shell.process import fail_as_json as fail_as_json
from agent.shell.process import fail_in_lines as fail_in_lines
from agent.shell.process import interruptible as interruptible
from agent.shell.process import require_extra as require_extra
from agent.shell.process import run_and_exit as run_and_exit
from agent.shell.process import run_command as run_command
from agent.shell.process import run_process as run_process
from agent.shell.streams import open_streams as open_streams
from agent.shell.streams import output_failure as output_failure
from agent.shell.streams import print_json as print_json
from agent.shell.streams import print_text as print_text
from agent.shell.streams import require_stdin as require_stdin
from agent.shell.streams import require_stdout as require_stdout
from agent.shell.streams import tell as tell
from agent.shell.streams import write_all as write_all
